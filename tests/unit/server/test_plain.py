"""What is read from the bytes of a request is what protobuf reads; everything unusual is left to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain import limits
from memlane_server.translate.plain import PlainReader, PlainSearch
from memlane_server.translate.wire import varint

DIMENSION = 3
READ = PlainReader(DIMENSION)
VECTOR = bytes(range(12))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
plain = st.builds(
    pb.SearchMemoriesRequest,
    user_id=texts.filter(bool),
    embedding_f32=st.binary(min_size=12, max_size=12),
    top_k=st.integers(0, limits.MAX_TOP_K),
)
other = st.one_of(
    st.builds(pb.SearchMemoriesRequest, user_id=texts, query=texts),
    st.builds(pb.SearchMemoriesRequest, user_id=texts, embedding_f32=st.binary(max_size=16)),
    st.builds(
        pb.SearchMemoriesRequest,
        user_id=texts.filter(bool),
        embedding_f32=st.just(VECTOR),
        top_k=st.integers(-(2**31), -1) | st.integers(limits.MAX_TOP_K + 1, 2**31 - 1),
    ),
    st.builds(
        pb.SearchMemoriesRequest,
        user_id=texts.filter(bool),
        embedding_f32=st.just(VECTOR),
        min_score=st.floats(width=32),
        include_score_parts=st.booleans(),
    ),
    st.builds(
        pb.SearchMemoriesRequest,
        user_id=texts.filter(bool),
        embedding_f32=st.just(VECTOR),
        metadata_filter=st.dictionaries(texts, texts, min_size=1, max_size=2),
    ),
)


def same(found: PlainSearch, request: pb.SearchMemoriesRequest) -> bool:
    vector = found.message[found.offset : found.offset + 4 * DIMENSION]
    return (found.user_id, vector, found.top_k) == (
        request.user_id,
        request.embedding_f32,
        request.top_k or limits.DEFAULT_TOP_K,
    )


@given(plain)
def test_a_plain_search_is_recognised(request: pb.SearchMemoriesRequest) -> None:
    found = READ.search(request.SerializeToString())
    if len(request.user_id.encode()) > 127:
        assert found is None
    else:
        assert found is not None
        assert same(found, request)


@given(other)
def test_any_other_is_left_alone_unless_it_is_the_same(request: pb.SearchMemoriesRequest) -> None:
    found = READ.search(request.SerializeToString())
    if found is not None:
        bare = pb.SearchMemoriesRequest(
            user_id=found.user_id, embedding_f32=request.embedding_f32, top_k=request.top_k
        )
        assert bare == request
        assert same(found, request)


@given(
    st.binary(max_size=60)
    | st.builds(lambda a, b: a + VECTOR + b, st.binary(max_size=9), st.binary(max_size=9))
)
def test_bytes_of_any_kind_are_read_as_protobuf_reads_them(raw: bytes) -> None:
    found = READ.search(raw)
    if found is not None:
        assert same(found, pb.SearchMemoriesRequest.FromString(raw))


@given(
    st.permutations(
        [b"\n\x02ab", b"\n\x03\xe5\xad\x90", b'"\x0c' + VECTOR, b'"\x0c' + VECTOR[::-1], b"(\x03", b"(\x07"]
    )
)
def test_fields_in_any_order_and_the_last_of_each_counts(pieces: list[bytes]) -> None:
    raw = b"".join(pieces)
    found = READ.search(raw)
    assert found is not None
    assert same(found, pb.SearchMemoriesRequest.FromString(raw))


@pytest.mark.parametrize("cut", range(1, 19))
def test_a_message_that_is_cut_off(cut: int) -> None:
    raw = pb.SearchMemoriesRequest(user_id="客户", embedding_f32=VECTOR, top_k=3).SerializeToString()
    found = READ.search(raw[:-cut])
    # Without its last field it is whole again.
    assert (found is not None) == (cut == 2)


def test_a_name_that_is_not_utf8() -> None:
    assert READ.search(b'\n\x02\xff\xfe"\x0c' + VECTOR) is None


@given(st.lists(plain | other, max_size=5))
def test_a_batch_is_plain_where_all_of_it_is(searches: list[pb.SearchMemoriesRequest]) -> None:
    raw = pb.BatchSearchMemoriesRequest(searches=searches).SerializeToString()
    found = READ.batch(raw)
    each = [READ.search(s.SerializeToString()) for s in searches]
    assert (found is not None) == (bool(searches) and None not in each)
    if found is not None:
        assert all(same(f, s) for f, s in zip(found.searches, searches, strict=True))


def test_a_batch_of_too_many_is_left_to_the_rules() -> None:
    one = pb.SearchMemoriesRequest(user_id="u", embedding_f32=VECTOR)
    for count, known in ((limits.MAX_BATCH_SEARCHES, True), (limits.MAX_BATCH_SEARCHES + 1, False)):
        raw = pb.BatchSearchMemoriesRequest(searches=[one] * count).SerializeToString()
        assert (READ.batch(raw) is not None) == known


@given(st.binary(max_size=40))
def test_batches_and_streams_of_any_bytes_do_no_harm(raw: bytes) -> None:
    for kind, found in (
        (pb.BatchSearchMemoriesRequest, READ.batch(raw)),
        (pb.StreamSearchMemoriesRequest, READ.stream(raw)),
    ):
        if found is not None:
            kind.FromString(raw)


@given(plain | other, texts)
def test_a_search_of_a_stream(search: pb.SearchMemoriesRequest, mark: str) -> None:
    request = pb.StreamSearchMemoriesRequest(correlation_id=mark, search=search)
    found = READ.stream(request.SerializeToString())
    recognised = READ.search(search.SerializeToString())
    assert (found is not None) == (recognised is not None)
    if found is not None:
        assert found.correlation_id == mark
        assert same(found.search, search)


@pytest.mark.parametrize("size", [127, 128, 300, 20_000])
def test_lengths_of_more_than_one_byte(size: int) -> None:
    reader = PlainReader(size)
    raw = pb.BatchSearchMemoriesRequest(
        searches=[pb.SearchMemoriesRequest(user_id="u", embedding_f32=bytes(4 * size))] * 2
    ).SerializeToString()
    found = reader.batch(raw)
    assert found is not None
    assert [s.offset for s in found.searches][1] - found.searches[0].offset == len(raw) // 2
    assert varint(4 * size) in raw
