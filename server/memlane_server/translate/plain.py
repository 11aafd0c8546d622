"""The commonest searches read from their bytes, without a message being made of them.

What a warm search costs besides its kernel is how much Python it runs (docs/adr/0007). Most searches are alike: a user,
a vector as bytes, perhaps a number of results. Such a one is recognised here by its bytes; its vector is not copied out
of the message before the kernel reads it. Whatever looks otherwise, or is not valid, is left to the long way, which has
the rules and the errors; so nothing is refused here, and nothing is decided here.

The wire format: https://protobuf.dev/programming-guides/encoding/. A test holds that both ways give the same answers.
"""

from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain import limits

from .wire import LENGTH_DELIMITED, VARINT, tag, varint

[_USER_ID] = tag(pb.SearchMemoriesRequest.USER_ID_FIELD_NUMBER, LENGTH_DELIMITED)
_VECTOR = tag(pb.SearchMemoriesRequest.EMBEDDING_F32_FIELD_NUMBER, LENGTH_DELIMITED)
[_VECTOR_TAG] = _VECTOR
[_TOP_K] = tag(pb.SearchMemoriesRequest.TOP_K_FIELD_NUMBER, VARINT)
[_SEARCHES] = tag(pb.BatchSearchMemoriesRequest.SEARCHES_FIELD_NUMBER, LENGTH_DELIMITED)
[_MARK] = tag(pb.StreamSearchMemoriesRequest.CORRELATION_ID_FIELD_NUMBER, LENGTH_DELIMITED)
[_SEARCH] = tag(pb.StreamSearchMemoriesRequest.SEARCH_FIELD_NUMBER, LENGTH_DELIMITED)
_LONG = 0x80
"""From here on a varint has more than one byte."""


class PlainSearch:
    """A SearchMemoriesRequest of user_id, embedding_f32 and top_k alone. Stands in for it where only the names of its
    fields are asked for."""

    __slots__ = ("_begin", "_end", "message", "offset", "top_k", "user_id")

    def __init__(self, message: bytes, begin: int, end: int, user_id: str, offset: int, top_k: int) -> None:
        self.message = message
        """What the search stands in, at [begin, end)."""
        self._begin = begin
        self._end = end
        self.user_id = user_id
        self.offset = offset
        """Of the vector in the message."""
        self.top_k = top_k

    def parsed(self) -> pb.SearchMemoriesRequest:
        """The same as a message, for the long way."""
        return pb.SearchMemoriesRequest.FromString(self.message[self._begin : self._end])


class PlainBatch:
    """A BatchSearchMemoriesRequest of nothing but plain searches."""

    __slots__ = ("searches",)

    def __init__(self, searches: list[PlainSearch]) -> None:
        self.searches = searches


class PlainStreamSearch:
    """A StreamSearchMemoriesRequest with a plain search."""

    __slots__ = ("correlation_id", "search")

    def __init__(self, correlation_id: str, search: PlainSearch) -> None:
        self.correlation_id = correlation_id
        self.search = search


class PlainReader:
    """Recognises plain searches on a server whose vectors have this dimension. Each method gives None for what it does
    not recognise."""

    def __init__(self, dimension: int) -> None:
        self._head = _VECTOR + varint(4 * dimension)
        self._bytes = 4 * dimension

    def search(self, message: bytes) -> PlainSearch | None:
        return self._search(message, 0, len(message))

    def batch(self, message: bytes) -> PlainBatch | None:
        searches: list[PlainSearch] = []
        at, end = 0, len(message)
        while at < end:
            if message[at] != _SEARCHES:
                return None
            length, at = _length(message, at + 1)
            search = self._search(message, at, at + length) if at + length <= end else None
            if search is None:
                return None
            searches.append(search)
            at += length
        return PlainBatch(searches) if 0 < len(searches) <= limits.MAX_BATCH_SEARCHES else None

    def stream(self, message: bytes) -> PlainStreamSearch | None:
        mark, at, end = "", 0, len(message)
        if end > 2 and message[0] == _MARK:
            length, begin = _length(message, 1)
            at = begin + length
            try:
                mark = message[begin:at].decode()
            except UnicodeDecodeError:
                return None
        if at >= end or message[at] != _SEARCH:
            return None
        length, at = _length(message, at + 1)
        search = self._search(message, at, end) if at + length == end else None
        return None if search is None else PlainStreamSearch(mark, search)

    def _search(self, message: bytes, at: int, end: int) -> PlainSearch | None:
        """The search in message[at:end]. Fields may come in any order, and the last of a field counts."""
        begin, user_id, offset, top_k = at, b"", -1, 0
        try:
            while at < end:
                field, value = message[at], message[at + 1]
                at += 2
                if field == _USER_ID and value < _LONG:
                    user_id = message[at : at + value]
                    at += value
                elif field == _VECTOR_TAG and message.startswith(self._head, at - 2):
                    offset = at - 2 + len(self._head)
                    at = offset + self._bytes
                elif field == _TOP_K and value <= limits.MAX_TOP_K:
                    top_k = value
                else:
                    return None
            if at != end or offset < 0 or not user_id:
                return None
            return PlainSearch(message, begin, end, user_id.decode(), offset, top_k or limits.DEFAULT_TOP_K)
        except (IndexError, UnicodeDecodeError):
            return None


def _length(message: bytes, at: int) -> tuple[int, int]:
    """A length and where what it measures begins; one that ends beyond the message where it is malformed."""
    value = shift = 0
    while at < len(message) and shift < 28:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _LONG:
            return value, at
        shift += 7
    return len(message) + 1, at
