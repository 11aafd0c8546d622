"""What the servicers have in common."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from memlane.v1 import consistency_pb2
from memlane_core.ports.journal import RequestStamp
from memlane_core.services.call import Call
from memlane_core.services.consistency import Consistency

from ..services import Services
from ..translate.common import token
from ..translate.remember import Received
from ..translate.stamps import Pages, request_stamp


class Servicer:
    readers: Mapping[str, Callable[[bytes], Any]] = MappingProxyType({})
    """By method: see interceptors.Reader."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def _stamp(self, method: str, request: Any) -> RequestStamp | None:
        return request_stamp(self._services.key, method, request)

    def _pages(self, call: Call, method: str, request: Any) -> Pages:
        return Pages(self._services.key, call.tenant, method, request)

    def _received(self) -> Received:
        return Received(self._services.clock.now(), self._services.zone)

    def _written_at(self, call: Call, position: int) -> consistency_pb2.ConsistencyToken:
        return token(self._services.positions.token(call.tenant, position))

    async def _fresh(self, call: Call, user_id: str, wanted: Consistency) -> consistency_pb2.ConsistencyToken:
        """Token of the state that a read may begin from, once that is as fresh as asked. Taken before the read: an
        answer may hold more than its token says, never less. Raises as Positions.ensure does."""
        await self._services.positions.ensure(call, user_id, wanted)
        return self._now_at(call)

    def _now_at(self, call: Call) -> consistency_pb2.ConsistencyToken:
        return token(self._services.positions.current_token(call.tenant))
