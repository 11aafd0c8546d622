"""Health per service (grpc.health.v1), driven by the composition root."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping

import grpc
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc

from memlane.v1 import (
    compliance_service_pb2,
    context_service_pb2,
    diagnostics_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    rule_service_pb2,
    session_service_pb2,
)

from .principal import ServicerContext

_log = logging.getLogger(__name__)

OVERALL = ""
_FILES: tuple[FileDescriptor, ...] = tuple(
    module.DESCRIPTOR
    for module in (
        memory_service_pb2,
        session_service_pb2,
        context_service_pb2,
        knowledge_service_pb2,
        rule_service_pb2,
        compliance_service_pb2,
        diagnostics_service_pb2,
    )
)
SERVICES: Mapping[str, ServiceDescriptor] = {
    service.full_name: service for file in _FILES for service in file.services_by_name.values()
}
"""The services of memlane, by full name."""


class HealthBoard:
    """What health says: NOT_SERVING until `set_ready`, SERVING while nothing speaks against it.

    One board for all services: they stand and fall together. To be used on the event loop. `shut_down` is final.
    """

    def __init__(self, services: Iterable[str] = SERVICES) -> None:
        self.services = frozenset(services) | {OVERALL}
        self._reason = "starting"
        self._started = False
        self._final = False
        self._changed = asyncio.Event()

    @property
    def serving(self) -> bool:
        return not self._reason

    @property
    def started(self) -> bool:
        """Was ready once: calls are let through since, whatever health says now."""
        return self._started

    @property
    def reason(self) -> str:
        """Why it is not serving; "" while it is."""
        return self._reason

    @property
    def final(self) -> bool:
        """It will never serve again."""
        return self._final

    def set_ready(self) -> None:
        self._started = True
        self._set("")

    def set_not_serving(self, reason: str) -> None:
        self._set(reason)

    def shut_down(self) -> None:
        changed = self._changed
        self._set("shutting down")
        self._final = True
        changed.set()

    @property
    def next_change(self) -> asyncio.Event:
        """Set by the next change. Take it before looking at the state, so that no change is missed."""
        return self._changed

    def _set(self, reason: str) -> None:
        if self._final or reason == self._reason:
            return
        _log.info("health: %s", reason or "serving")
        self._reason = reason
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


class HealthServicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # untyped base
    """Check, Watch and List of grpc.health.v1."""

    def __init__(self, board: HealthBoard) -> None:
        self._board = board

    async def Check(
        self, request: health_pb2.HealthCheckRequest, context: ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        if request.service not in self._board.services:
            await context.abort(grpc.StatusCode.NOT_FOUND, "no such service")
        return self._answer(request.service)

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: ServicerContext
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        last = None
        while True:
            change = self._board.next_change
            answer = self._answer(request.service)
            if answer.status != last:
                last = answer.status
                yield answer
            if self._board.final:
                # A watcher must not hold up the end of the server.
                await context.abort(grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
            await change.wait()

    async def List(self, request: object, context: ServicerContext) -> object:
        return health_pb2.HealthListResponse(
            statuses={name: self._answer(name) for name in sorted(self._board.services)}
        )

    def _answer(self, service: str) -> health_pb2.HealthCheckResponse:
        response = health_pb2.HealthCheckResponse
        if service not in self._board.services:
            return response(status=response.SERVICE_UNKNOWN)
        return response(status=response.SERVING if self._board.serving else response.NOT_SERVING)
