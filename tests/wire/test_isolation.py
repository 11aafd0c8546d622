"""No user ever gets a row of another: many users with the same texts, many random searches."""

import os
import random
from collections import defaultdict

import grpc
import numpy as np
import pytest

from memlane.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc

USERS = int(os.environ.get("MEMLANE_TEST_ISOLATION_USERS", "40"))
ROWS = int(os.environ.get("MEMLANE_TEST_ISOLATION_ROWS", "12"))
SEARCHES = int(os.environ.get("MEMLANE_TEST_ISOLATION_SEARCHES", "10000"))
"""The long run: 200 users, 1000 rows, 100000 searches."""
BATCH = 200

TOPICS = (
    "外汇套保比例是",
    "每月工资入账",
    "prefers calls at",
    "房贷利率为",
    "has a term deposit of",
    "孩子在上学，今年",
)


@pytest.mark.timeout(3 * 3600)
def test_random_searches_return_only_own_rows(channel: grpc.Channel) -> None:
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    chance = random.Random(11)
    users = [f"user-{n}" if n % 2 else f'客户{n}"\' or true or ("' for n in range(USERS)]
    owner: dict[str, str] = {}
    for user_id in users:
        for row in range(ROWS):
            created = stub.CreateMemory(
                memory_service_pb2.CreateMemoryRequest(
                    user_id=user_id,
                    content=f"{TOPICS[row % len(TOPICS)]} {row}",
                    metadata={"topic": str(row % len(TOPICS))},
                )
            )
            owner[created.memory.memory_id] = user_id
    generator = np.random.default_rng(7)
    answered: dict[str, int] = defaultdict(int)
    for _ in range(SEARCHES // BATCH):
        searches = []
        for _ in range(BATCH):
            search = memory_service_pb2.SearchMemoriesRequest(
                user_id=chance.choice(users), top_k=chance.choice((1, 5, 8, 50))
            )
            if chance.random() < 0.5:
                search.embedding_f32 = generator.standard_normal(512).astype("<f4").tobytes()
            else:
                search.query = f"{chance.choice(TOPICS)} {chance.randrange(ROWS)}"
            if chance.random() < 0.2:
                search.metadata_filter["topic"] = str(chance.randrange(len(TOPICS)))
            searches.append(search)
        batch = stub.BatchSearchMemories(memory_service_pb2.BatchSearchMemoriesRequest(searches=searches))
        assert len(batch.responses) == len(searches)
        for search, outcome in zip(searches, batch.responses, strict=True):
            assert outcome.status.code == 0
            assert outcome.response.results
            for result in outcome.response.results:
                assert owner[result.memory.memory_id] == search.user_id == result.memory.user_id
                for key, value in search.metadata_filter.items():
                    assert result.memory.metadata[key] == value
            answered[search.user_id] += 1
        one = searches[0]
        unary = stub.SearchMemories(one)
        assert {owner[r.memory.memory_id] for r in unary.results} == {one.user_id}
    assert sum(answered.values()) == SEARCHES // BATCH * BATCH
    assert isinstance(unary.results[0].memory, memory_pb2.Memory)
