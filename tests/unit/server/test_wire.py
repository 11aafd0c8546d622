"""Answers that are put together by hand mean exactly what protobuf would have said."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memlane.v1 import memory_pb2
from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain.memory import Memory
from memlane_core.index import Hit
from memlane_core.services.search import SearchResult, SearchTiming
from memlane_server.translate import MemoryRecords, wire
from memlane_server.translate.common import memory_message, token
from memlane_server.translate.search import search_message
from tests.support.hits import hit_of

TIMING = SearchTiming(embed_us=1, search_us=40, total_us=50, embed_cached=True)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
memories = st.builds(
    Memory,
    memory_id=texts,
    user_id=texts,
    content=texts,
    metadata=st.dictionaries(texts, texts, max_size=3),
    created_at=st.integers(0, 2**33),
    updated_at=st.integers(0, 2**33),
    expires_at=st.none() | st.integers(0, 2**33),
    revision=st.integers(1, 2**40),
)
scores = st.floats(width=32, allow_nan=False)
hits = st.lists(
    st.builds(hit_of, memories, scores, scores, scores),
    max_size=8,
)


def expected(found: list[Hit], request: pb.SearchMemoriesRequest) -> pb.SearchMemoriesResponse:
    response = pb.SearchMemoriesResponse(
        read_at=token("t"),
        timing=memory_pb2.SearchTiming(embed_us=1, search_us=40, total_us=50, embed_cached=True),
    )
    for hit in found:
        scored = response.results.add(memory=memory_message(hit.memory), score=hit.score)
        if request.include_score_parts:
            scored.cosine = hit.cosine
            if request.WhichOneof("input") == "query":
                scored.lexical = hit.lexical
    return response


@given(hits, st.booleans(), st.booleans())
def test_a_search_answer(found: list[Hit], parts: bool, by_text: bool) -> None:
    request = pb.SearchMemoriesRequest(include_score_parts=parts)
    if by_text:
        request.query = "利率"
    encoded = search_message(request, SearchResult(found, TIMING), "t")
    assert pb.SearchMemoriesResponse.FromString(encoded) == expected(found, request)


@given(st.lists(hits, max_size=3), texts)
def test_batches_and_streams_carry_the_same_answer(searches: list[list[Hit]], mark: str) -> None:
    request = pb.SearchMemoriesRequest()
    encoded = [search_message(request, SearchResult(found, TIMING), "t") for found in searches]
    status = memory_pb2.Status(code=3, message="no")
    batch = pb.BatchSearchMemoriesResponse.FromString(
        b"".join([wire.failed_outcome(status), *map(wire.outcome, encoded)])
    )
    assert batch.responses[0] == pb.SearchOutcome(status=status)
    assert [o.response for o in batch.responses[1:]] == [expected(found, request) for found in searches]
    for found, answer in zip(searches, encoded, strict=True):
        one = pb.StreamSearchMemoriesResponse.FromString(wire.stream_response(mark, answer))
        assert one == pb.StreamSearchMemoriesResponse(correlation_id=mark, response=expected(found, request))


def test_a_long_memory_needs_more_bytes_for_its_length() -> None:
    for size in (0, 60, 100, 127, 128, 129, 2048, 20_000):
        memory = Memory("m", "u", "长" * size)
        hit = hit_of(memory, float(np.float32(0.3)), 0.3)
        request = pb.SearchMemoriesRequest()
        encoded = search_message(request, SearchResult([hit], TIMING), "t")
        assert pb.SearchMemoriesResponse.FromString(encoded) == expected([hit], request)


@given(memories, st.integers(0, 2**40))
def test_a_memory_comes_out_of_its_record_as_it_went_in(memory: Memory, position: int) -> None:
    records = MemoryRecords()
    assert records.decode(records.encode(memory), position) == replace(memory, position=position)
