"""Searches that are read from their bytes answer as those that take the long way."""

from collections.abc import Iterator

import grpc
import numpy as np
import pytest

from memlane.v1 import memory_service_pb2 as pb
from memlane.v1 import memory_service_pb2_grpc

USERS = {
    "客户甲": ("她有三个孩子", "预算是三十万元", "喜欢上午接电话"),
    "cust-7": ("has three children", "likes mornings"),
}


@pytest.fixture(scope="module")
def stub(channel: grpc.Channel) -> memory_service_pb2_grpc.MemoryServiceStub:
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    for user_id, contents in USERS.items():
        for content in contents:
            stub.CreateMemory(pb.CreateMemoryRequest(user_id=user_id, content=content))
    return stub


def requests() -> Iterator[tuple[pb.SearchMemoriesRequest, pb.SearchMemoriesRequest]]:
    """Plain ones, and the same with a filter that lets everything through."""
    rng = np.random.default_rng(5)
    for user_id in (*USERS, "nobody"):
        for top_k in (0, 1, 5):
            scale = np.float32(rng.choice([1.0, 1e-10, 250.0]))
            vector = (rng.standard_normal(512).astype("<f4") * scale).tobytes()
            plain = pb.SearchMemoriesRequest(user_id=user_id, embedding_f32=vector, top_k=top_k)
            filtered = pb.SearchMemoriesRequest.FromString(plain.SerializeToString())
            filtered.created_after.seconds = 1
            yield plain, filtered


def timeless(response: pb.SearchMemoriesResponse) -> pb.SearchMemoriesResponse:
    response.ClearField("timing")
    return response


def test_one_by_one(stub: memory_service_pb2_grpc.MemoryServiceStub) -> None:
    found = 0
    for plain, filtered in requests():
        answer, other = stub.SearchMemories(plain), stub.SearchMemories(filtered)
        assert answer.timing.total_us >= answer.timing.search_us
        assert answer.timing.embed_us == 0
        assert timeless(answer) == timeless(other)
        found += len(answer.results)
    assert found > 0


@pytest.mark.parametrize("mixed", [False, True])
def test_in_a_batch(stub: memory_service_pb2_grpc.MemoryServiceStub, mixed: bool) -> None:
    pairs = list(requests())
    searches = [filtered if mixed and n % 3 == 0 else plain for n, (plain, filtered) in enumerate(pairs)]
    batch = stub.BatchSearchMemories(pb.BatchSearchMemoriesRequest(searches=searches))
    assert len(batch.responses) == len(pairs)
    for outcome, (_, filtered) in zip(batch.responses, pairs, strict=True):
        assert outcome.status.code == 0
        assert timeless(outcome.response) == timeless(stub.SearchMemories(filtered))


def test_on_a_stream(stub: memory_service_pb2_grpc.MemoryServiceStub) -> None:
    pairs = list(requests())
    sent = [
        pb.StreamSearchMemoriesRequest(correlation_id=f"第{n}条", search=plain)
        for n, (plain, _) in enumerate(pairs)
    ]
    answers = list(stub.StreamSearchMemories(iter(sent)))
    assert [a.correlation_id for a in answers] == [s.correlation_id for s in sent]
    for answer, (_, filtered) in zip(answers, pairs, strict=True):
        assert timeless(answer.response) == timeless(stub.SearchMemories(filtered))


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_a_vector_that_is_none_is_refused_by_name(
    stub: memory_service_pb2_grpc.MemoryServiceStub, value: float
) -> None:
    search = pb.SearchMemoriesRequest(user_id="cust-7", embedding_f32=np.full(512, value, "<f4").tobytes())
    with pytest.raises(grpc.RpcError) as refused:
        stub.SearchMemories(search)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "embedding_f32" in refused.value.details()
    batch = stub.BatchSearchMemories(
        pb.BatchSearchMemoriesRequest(
            searches=[
                search,
                pb.SearchMemoriesRequest(user_id="cust-7", embedding_f32=np.ones(512, "<f4").tobytes()),
            ]
        )
    )
    assert [o.status.code for o in batch.responses] == [grpc.StatusCode.INVALID_ARGUMENT.value[0], 0]
    assert len(batch.responses[1].response.results) == len(USERS["cust-7"])
