"""Answers of searches, put together from bytes that were encoded when each memory was written.

A search answers with the same few memories again and again; encoding them anew costs several times what the
scoring costs. So the index keeps each memory ready as a piece of `SearchMemoriesResponse.results`, and an answer is
those pieces with their scores, followed by the rest of the message: concatenating encodings merges messages
(https://protobuf.dev/programming-guides/encoding/#last-one-wins). A test holds that the bytes mean what they should.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache

from memlane.v1 import consistency_pb2, context_service_pb2, memory_pb2, memory_service_pb2
from memlane_core.domain.conversation import Message, StoredMessage
from memlane_core.domain.memory import Memory
from memlane_core.index import Hit
from memlane_core.services.search import RawResult, SearchTiming

from .common import memory_message, memory_of
from .remember import message_message

VARINT = 0
LENGTH_DELIMITED = 2
_FIXED_32 = 5


def tag(field: int, wire_type: int) -> bytes:
    """What stands before each value."""
    return varint(field << 3 | wire_type)


def varint(value: int) -> bytes:
    """A number of at least 0."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_MEMORY = tag(memory_pb2.ScoredMemory.MEMORY_FIELD_NUMBER, LENGTH_DELIMITED)
_RESULTS = tag(memory_service_pb2.SearchMemoriesResponse.RESULTS_FIELD_NUMBER, LENGTH_DELIMITED)
_CONTEXT_MESSAGE = tag(context_service_pb2.BuildContextResponse.MESSAGES_FIELD_NUMBER, LENGTH_DELIMITED)
_CONTEXT_MEMORY = tag(context_service_pb2.BuildContextResponse.MEMORIES_FIELD_NUMBER, LENGTH_DELIMITED)
_OUTCOME = tag(memory_service_pb2.BatchSearchMemoriesResponse.RESPONSES_FIELD_NUMBER, LENGTH_DELIMITED)
_OUTCOME_RESPONSE = tag(memory_service_pb2.SearchOutcome.RESPONSE_FIELD_NUMBER, LENGTH_DELIMITED)
_STREAM_RESPONSE = tag(
    memory_service_pb2.StreamSearchMemoriesResponse.RESPONSE_FIELD_NUMBER, LENGTH_DELIMITED
)
_READ_AT = tag(memory_service_pb2.SearchMemoriesResponse.READ_AT_FIELD_NUMBER, LENGTH_DELIMITED)
_TIMING = tag(memory_service_pb2.SearchMemoriesResponse.TIMING_FIELD_NUMBER, LENGTH_DELIMITED)
_EMBED_US, _SEARCH_US, _TOTAL_US, _EMBED_CACHED = (
    tag(memory_pb2.SearchTiming.DESCRIPTOR.fields_by_name[name].number, VARINT)
    for name in ("embed_us", "search_us", "total_us", "embed_cached")
)
[_SCORE_TAG] = tag(memory_pb2.ScoredMemory.SCORE_FIELD_NUMBER, _FIXED_32)
_SCORE = struct.Struct("<Bf")
_NO_SCORE = _SCORE.pack(_SCORE_TAG, 0.0)


class MemoryRecords:
    """The index's records: a memory as a `results` entry up to where its score follows."""

    def encode(self, memory: Memory) -> bytes:
        message = memory_message(memory).SerializeToString()
        body = _MEMORY + varint(len(message)) + message
        return _RESULTS + varint(len(body) + _SCORE.size) + body

    def decode(self, record: bytes, position: int) -> Memory:
        return memory_of(self.message(record), position)

    @staticmethod
    def message(record: bytes) -> memory_pb2.Memory:
        """The memory in an encoded record, as callers get it."""
        # A message may end before its last field, the score; its length says that one follows.
        entry = memory_service_pb2.SearchMemoriesResponse.FromString(record + _NO_SCORE).results[0]
        return entry.memory


def search_response(
    hits: Sequence[Hit], read_at: bytes, timing: SearchTiming, *, parts: bool, lexical: bool
) -> bytes:
    """A serialised SearchMemoriesResponse: the hits, `read_at` (see below), the times.

    `parts` adds cosine and (`lexical`) words to each score.
    """
    pieces = _scored(hits)
    if parts:
        pieces = [_with_parts(pieces, hits, lexical)]
    pieces.append(read_at)
    pieces.append(_timing(timing))
    return b"".join(pieces)


def plain_response(result: RawResult, read_at: bytes) -> bytes:
    """A serialised SearchMemoriesResponse for a search by a given vector."""
    pieces: list[bytes] = []
    for record, score in zip(result.records, result.scores, strict=True):
        pieces.append(record)
        pieces.append(_SCORE.pack(_SCORE_TAG, score))
    pieces.append(read_at)
    pieces.append(_plain_timing(result.search_us))
    return b"".join(pieces)


@lru_cache(maxsize=1024)
def _plain_timing(search_us: int) -> bytes:
    return _timing(SearchTiming(0, search_us, search_us, False))


@lru_cache(maxsize=64)
def read_at(token: str) -> bytes:
    """The consistency token of a search's answer; the same one until something is written."""
    body = consistency_pb2.ConsistencyToken(token=token).SerializeToString()
    return _READ_AT + varint(len(body)) + body


def _timing(timing: SearchTiming) -> bytes:
    embed_us, search_us, total_us, cached = timing
    body = b"".join((
        _EMBED_US, varint(embed_us), _SEARCH_US, varint(search_us), _TOTAL_US, varint(total_us),
        _EMBED_CACHED, b"\1" if cached else b"\0",
    ))  # fmt: skip
    return _TIMING + varint(len(body)) + body


def context_response(
    rest: context_service_pb2.BuildContextResponse, window: Sequence[StoredMessage], memories: Sequence[Hit]
) -> bytes:
    """A serialised BuildContextResponse: what `rest` holds, the messages and the memories."""
    pieces = [rest.SerializeToString()]
    pieces += [message_record(m.message) if m.record is None else m.record for m in window]  # type: ignore[misc]
    for hit in memories:
        # The same message in a field of another number.
        pieces.append(_CONTEXT_MEMORY + hit.record[len(_RESULTS) :])
        pieces.append(_SCORE.pack(_SCORE_TAG, hit.score))
    return b"".join(pieces)


def message_record(message: Message) -> bytes:
    """A `messages` entry of BuildContextResponse: the record factory of the windows."""
    body = message_message(message).SerializeToString()
    return _CONTEXT_MESSAGE + varint(len(body)) + body


def outcome(response: bytes) -> bytes:
    """One successful entry of a BatchSearchMemoriesResponse."""
    body = _OUTCOME_RESPONSE + varint(len(response)) + response
    return _OUTCOME + varint(len(body)) + body


def failed_outcome(status: memory_pb2.Status) -> bytes:
    body = memory_service_pb2.SearchOutcome(status=status).SerializeToString()
    return _OUTCOME + varint(len(body)) + body


def stream_response(correlation_id: str, response: bytes) -> bytes:
    """A successful StreamSearchMemoriesResponse."""
    head = memory_service_pb2.StreamSearchMemoriesResponse(correlation_id=correlation_id)
    return head.SerializeToString() + _STREAM_RESPONSE + varint(len(response)) + response


def _scored(hits: Sequence[Hit]) -> list[bytes]:
    pieces: list[bytes] = []
    for hit in hits:
        pieces.append(hit.record)
        pieces.append(_SCORE.pack(_SCORE_TAG, hit.score))
    return pieces


def _with_parts(scored: Sequence[bytes], hits: Sequence[Hit], lexical: bool) -> bytes:
    response = memory_service_pb2.SearchMemoriesResponse.FromString(b"".join(scored))
    for result, hit in zip(response.results, hits, strict=True):
        result.cosine = hit.cosine
        if lexical:
            result.lexical = hit.lexical
    return response.SerializeToString()
