"""The searches of MemoryService: one, many in one call, many on one stream."""

import asyncio
import time
from collections.abc import Sequence

from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain import limits
from memlane_core.domain.errors import Exhausted, InvalidArgument, MemlaneError
from memlane_core.services.call import Call
from memlane_core.services.search import SearchCommand, SearchResult

from .. import validate
from ..errors import to_status
from ..services import Services
from ..streams import Admit
from ..translate import wire
from ..translate.plain import PlainBatch, PlainReader, PlainSearch, PlainStreamSearch
from ..translate.search import search_command, search_message
from ..validate import Violations
from .base import Servicer

_BATCH_ANSWER_BYTES = limits.MAX_RESPONSE_MESSAGE_BYTES - 64 * 1024
_STATUS_BYTES = 256
"""Kept free for each search of a batch that no longer fits."""
_SLICE = 32
"""Searches of a batch between two looks at what else the process has to do."""


class SearchServicer(Servicer):
    def __init__(self, services: Services) -> None:
        super().__init__(services)
        plain = PlainReader(services.search.dimension)
        self.readers = {
            "SearchMemories": plain.search,
            "BatchSearchMemories": plain.batch,
            "StreamSearchMemories": plain.stream,
        }

    async def SearchMemories(self, request: pb.SearchMemoriesRequest | PlainSearch, call: Call) -> bytes:
        services = self._services
        if isinstance(request, PlainSearch):
            found = services.search.search_raw(call.tenant, request)
            if found is not None:
                return wire.plain_response(found, wire.read_at(services.positions.current_token(call.tenant)))
            request = request.parsed()
        command = search_command(request, services.search.dimension, services.clock.now())
        result = await services.search.search(call, command)
        return search_message(request, result, services.positions.current_token(call.tenant))

    async def BatchSearchMemories(
        self, request: pb.BatchSearchMemoriesRequest | PlainBatch, call: Call
    ) -> bytes:
        started = time.perf_counter_ns()
        searches = request.searches
        if not 0 < len(searches) <= limits.MAX_BATCH_SEARCHES:
            raise InvalidArgument.of(
                "searches", f"must hold 1 to {limits.MAX_BATCH_SEARCHES} searches, holds {len(searches)}"
            )
        pieces: list[bytes] = []
        for start in range(0, len(searches), _SLICE):
            end, outcomes = start + _SLICE, None
            if isinstance(request, PlainBatch):
                outcomes = self._plain_slice(request.searches[start:end], call)
            pieces += await self._slice(searches[start:end], call) if outcomes is None else outcomes
            await asyncio.sleep(0)
        pieces = _fitting(pieces)
        tail = pb.BatchSearchMemoriesResponse(total_us=(time.perf_counter_ns() - started) // 1000)
        return b"".join((*pieces, tail.SerializeToString()))

    async def StreamSearchMemories(
        self, request: pb.StreamSearchMemoriesRequest | PlainStreamSearch, admit: Admit
    ) -> bytes:
        """One request of the stream; what goes wrong with it is its own status."""
        mark = request.correlation_id
        try:
            with admit() as call:
                v = Violations()
                validate.note(v, "correlation_id", mark, validate.MAX_CORRELATION_ID_BYTES)
                if not isinstance(request, PlainStreamSearch) and not request.HasField("search"):
                    v.add("search", "is required")
                v.check()
                return wire.stream_response(mark, await self.SearchMemories(request.search, call))
        except MemlaneError as error:
            failed = pb.StreamSearchMemoriesResponse(correlation_id=mark, status=to_status(error))
            return failed.SerializeToString()

    async def _slice(
        self, searches: Sequence[pb.SearchMemoriesRequest | PlainSearch], call: Call
    ) -> list[bytes]:
        """Entries of a batch's answer."""
        # Before the searches: what they show may be newer, never older.
        read_at = self._services.positions.current_token(call.tenant)
        requests = [s.parsed() if isinstance(s, PlainSearch) else s for s in searches]
        outcomes = await self._services.search.search_all(call, [self._command(r) for r in requests])
        return [_outcome(r, o, read_at) for r, o in zip(requests, outcomes, strict=True)]

    def _plain_slice(self, searches: Sequence[PlainSearch], call: Call) -> list[bytes] | None:
        """The same, where none of the searches has to take the long way."""
        read_at = wire.read_at(self._services.positions.current_token(call.tenant))
        found = self._services.search.search_raw_all(call.tenant, searches)
        if found is None:
            return None
        return [wire.outcome(wire.plain_response(one, read_at)) for one in found]

    def _command(self, request: pb.SearchMemoriesRequest) -> SearchCommand | MemlaneError:
        try:
            return search_command(request, self._services.search.dimension, self._services.clock.now())
        except MemlaneError as error:
            return error


def _outcome(request: pb.SearchMemoriesRequest, outcome: SearchResult | MemlaneError, read_at: str) -> bytes:
    """One encoded entry of a batch's answer."""
    if isinstance(outcome, MemlaneError):
        return wire.failed_outcome(to_status(outcome))
    return wire.outcome(search_message(request, outcome, read_at))


def _fitting(pieces: Sequence[bytes]) -> list[bytes]:
    """Entries of a batch's answer, those replaced that would make it larger than an answer may be."""
    room = _BATCH_ANSWER_BYTES - _STATUS_BYTES * len(pieces)
    full = wire.failed_outcome(to_status(Exhausted("the answer is full: send this search in another batch")))
    fitting: list[bytes] = []
    for piece in pieces:
        extra = len(piece) - _STATUS_BYTES
        fitting.append(piece if extra <= room else full)
        room -= max(extra, 0) if extra <= room else 0
    return fitting


def may_wait(request: pb.StreamSearchMemoriesRequest | PlainStreamSearch) -> bool:
    """Whether a search may have to wait for an embedder, the journal or another process."""
    if isinstance(request, PlainStreamSearch):
        return False
    search = request.search
    return search.WhichOneof("input") == "query" or search.HasField("consistency") or search.HasField("as_of")
