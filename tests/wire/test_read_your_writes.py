"""Random writes of three users against a model in memory, read back after each step with the write's own token.

Invariants:
- isolation: a user's reads show that user's memories and nobody else's;
- read-your-writes: what a write returned is what a read that carries its token shows;
- no lost write: all that was acknowledged and not deleted is there, with its last text and revision;
- history is a valid sequence: revisions 1..n, the first an ADD, each valid until the next one's beginning.
"""

import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import grpc
import pytest

from memlane.v1 import (
    compliance_service_pb2,
    compliance_service_pb2_grpc,
    consistency_pb2,
    context_service_pb2,
    context_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
)

STEPS = 60
TOPICS = ("外汇套保比例", "home loan rate", "孩子的学校", "favourite branch")


@pytest.mark.parametrize("seed", [1, 2])
def test_reads_agree_with_the_writes_before_them(channel: grpc.Channel, seed: int) -> None:
    chance = random.Random(seed)
    users = [f"user-{n}-{uuid.uuid4().hex}" for n in range(3)]
    model: dict[str, dict[str, tuple[str, int]]] = {user: {} for user in users}
    known: dict[str, set[str]] = {user: set() for user in users}
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    compliance = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
    for step in range(STEPS):
        user = chance.choice(users)
        own, text = model[user], f"{chance.choice(TOPICS)} {step}"
        kind = chance.choices(("create", "update", "delete", "remember", "forget"), (5, 4, 2, 3, 0.4))[0]
        memory_id = chance.choice(sorted(own)) if own else ""
        if kind == "update" and own:
            written = stub.UpdateMemory(
                memory_service_pb2.UpdateMemoryRequest(
                    user_id=user, memory_id=memory_id, content=text, revision=own[memory_id][1]
                )
            )
            assert written.memory.revision == own[memory_id][1] + 1
            own[memory_id] = (text, written.memory.revision)
        elif kind == "delete" and own:
            written = stub.DeleteMemory(
                memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id=memory_id)
            )
            del own[memory_id]
        elif kind == "remember":
            facts = memory_pb2.FactList(facts=[memory_pb2.Fact(content=text)])
            written = stub.Remember(memory_service_pb2.RememberRequest(user_id=user, facts=facts))
            for done in written.operations:
                if done.action in (memory_pb2.ACTION_ADD, memory_pb2.ACTION_UPDATE):
                    own[done.memory.memory_id] = (done.memory.content, done.memory.revision)
                elif done.action == memory_pb2.ACTION_DELETE:
                    del own[done.memory.memory_id]
        elif kind == "forget":
            written = compliance.ForgetUser(
                compliance_service_pb2.ForgetUserRequest(user_id=user, operator="tester", reason="asked")
            )
            assert written.memory_count == len(own)
            own.clear()
            known[user].clear()
        else:
            written = stub.CreateMemory(memory_service_pb2.CreateMemoryRequest(user_id=user, content=text))
            own[written.memory.memory_id] = (text, 1)
        known[user] |= set(own)
        fresh = consistency_pb2.Consistency(at_least_as_fresh=written.written_at)
        _agree(stub, user, own, fresh)
    for user in users:
        _agree(stub, user, model[user], consistency_pb2.Consistency(fully_consistent=True))
        for memory_id in known[user]:
            _check_history(stub, user, memory_id, model[user].get(memory_id))


def _agree(
    stub: memory_service_pb2_grpc.MemoryServiceStub,
    user: str,
    own: dict[str, tuple[str, int]],
    fresh: consistency_pb2.Consistency,
) -> None:
    listed = stub.ListMemories(
        memory_service_pb2.ListMemoriesRequest(user_id=user, page_size=1000, consistency=fresh)
    ).memories
    assert {m.memory_id: (m.content, m.revision) for m in listed} == own
    found = stub.SearchMemories(
        memory_service_pb2.SearchMemoriesRequest(
            user_id=user, query="利率 rate", top_k=100, consistency=fresh
        )
    ).results
    assert {r.memory.memory_id: (r.memory.content, r.memory.revision) for r in found} == own
    assert {r.memory.user_id for r in found} <= {user}
    for memory_id in sorted(own)[:2]:
        got = stub.GetMemory(
            memory_service_pb2.GetMemoryRequest(user_id=user, memory_id=memory_id, consistency=fresh)
        ).memory
        assert (got.content, got.revision, got.user_id) == (*own[memory_id], user)


def _check_history(
    stub: memory_service_pb2_grpc.MemoryServiceStub, user: str, memory_id: str, live: tuple[str, int] | None
) -> None:
    steps = stub.ListMemoryRevisions(
        memory_service_pb2.ListMemoryRevisionsRequest(user_id=user, memory_id=memory_id, page_size=1000)
    ).revisions
    assert [s.revision for s in steps] == list(range(1, len(steps) + 1))
    assert steps[0].action == memory_pb2.ACTION_ADD
    for before, after in pairwise(steps):
        assert before.valid_until == after.valid_from
    assert not steps[-1].HasField("valid_until")
    if live is None:
        assert steps[-1].action == memory_pb2.ACTION_DELETE
    else:
        assert (steps[-1].content, steps[-1].revision) == live


KINDS = ("list", "search", "get", "context", "full")


def test_what_an_ingestion_says_it_did_is_there(channel: grpc.Channel) -> None:
    """Whoever sees SUCCEEDED and reads with its token finds the memory, however many do so at once."""

    def rounds(worker: int) -> list[str]:
        return [kind for number in range(40) for kind in _missing(channel, f"{worker}-{number}")]

    with ThreadPoolExecutor(4) as pool:
        assert [kind for missing in pool.map(rounds, range(4)) for kind in missing] == []


def _missing(channel: grpc.Channel, name: str) -> list[str]:
    """Kinds of reads that did not show what an ingestion had written."""
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    user, text = f"user-{name}-{uuid.uuid4().hex}", f"外汇套保比例 rate {name}"
    taken = stub.Remember(
        memory_service_pb2.RememberRequest(
            user_id=user,
            facts=memory_pb2.FactList(facts=[memory_pb2.Fact(content=text)]),
            mode=memory_pb2.REMEMBER_MODE_ASYNC,
        )
    )
    asked = memory_service_pb2.GetIngestionRequest(user_id=user, ingestion_id=taken.ingestion_id)
    until = time.monotonic() + 60
    while (done := stub.GetIngestion(asked)).state != memory_service_pb2.INGESTION_STATE_SUCCEEDED:
        assert time.monotonic() < until, done.state
    [operation] = done.operations
    # Each user is read in one way only: a first read would have waited for what the next one needs.
    kind = KINDS[sum(map(ord, name)) % len(KINDS)]
    fresh = (
        consistency_pb2.Consistency(fully_consistent=True)
        if kind == "full"
        else consistency_pb2.Consistency(at_least_as_fresh=done.written_at)
    )
    if kind == "search":
        response = stub.SearchMemories(
            memory_service_pb2.SearchMemoriesRequest(user_id=user, query="rate", consistency=fresh)
        )
        seen = [result.memory.content for result in response.results]
    elif kind == "get":
        wanted = memory_service_pb2.GetMemoryRequest(
            user_id=user, memory_id=operation.memory.memory_id, consistency=fresh
        )
        try:
            seen = [stub.GetMemory(wanted).memory.content]
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.NOT_FOUND, error
            seen = []
    elif kind == "context":
        response = context_service_pb2_grpc.ContextServiceStub(channel).BuildContext(
            context_service_pb2.BuildContextRequest(user_id=user, query="rate", consistency=fresh)
        )
        seen = [memory.memory.content for memory in response.memories]
    else:
        response = stub.ListMemories(memory_service_pb2.ListMemoriesRequest(user_id=user, consistency=fresh))
        seen = [memory.content for memory in response.memories]
    return [] if seen == [text] else [kind]
