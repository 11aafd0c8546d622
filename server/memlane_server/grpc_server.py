"""The gRPC server: services, limits, binding, health, reflection, the end."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from memlane_core.domain import limits
from memlane_core.domain.errors import FailedPrecondition

from . import tls
from .config import ServerSettings, Settings
from .health import SERVICES, HealthBoard, HealthServicer
from .interceptors import Edge, Lane, OnCall, server_stream, unary
from .limits.limiter import Capacity
from .servicers import servicers
from .servicers.base import Servicer
from .servicers.search import may_wait
from .services import Services
from .streams import bidi

_log = logging.getLogger(__name__)

_RECEIVE_BYTES = 4 * limits.MAX_REQUEST_MESSAGE_BYTES
"""Above our own limit, so that a request over it gets our own answer and not that of the transport."""
_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", _RECEIVE_BYTES),
    ("grpc.max_send_message_length", limits.MAX_RESPONSE_MESSAGE_BYTES),
    # Clients behind load balancers ping every 10 s, also without calls; a little less is allowed for jitter.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 8_000),
    # A client that vanished is noticed within a minute and a half.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Two processes on one port would each get some of the calls, and only one has the data.
    ("grpc.so_reuseport", 0),
)

_FAST_SECONDS = 30.0
_MODEL_SECONDS = 120.0
_BULK_SECONDS = 600.0
_MAX_BULK_CALLS = 8
_MODEL_CALLS = frozenset({"Remember", "EndSession", "Chat"})
"""They may wait for a model for minutes, and must not take the places of reads."""
_BULK_CALLS = frozenset({"ExportUser", "VerifyAuditLog", "PurgeExpired"})
_FREE_CALLS = frozenset({"Echo", "GetServerInfo"})

Wrap = Callable[[grpc.RpcMethodHandler, str], grpc.RpcMethodHandler]
"""Puts something around the handler of a path when it is registered."""


class GrpcServer:
    """Serves `services` until `stop`. Health is what the board says."""

    def __init__(
        self,
        settings: Settings,
        services: Services,
        board: HealthBoard,
        on_call: OnCall | None = None,
        wrap: Wrap = lambda handler, path: handler,
    ) -> None:
        self._wrap = wrap
        self._settings: ServerSettings = settings.server
        self._board = board
        self._edge = Edge(
            board, services.caller, on_call, limiter=services.limiter, on_denied=services.on_denied
        )
        bounds = _lane_limits(self._settings)
        self._fast = Lane("fast", bounds["fast"], _FAST_SECONDS)
        self._streams = Lane("stream", bounds["stream"], _BULK_SECONDS)
        self._slow = Lane("slow", bounds["slow"], _MODEL_SECONDS)
        self._bulk = Lane("bulk", bounds["bulk"], _BULK_SECONDS)
        self._free = Lane("free", bounds["free"], _FAST_SECONDS)
        self._server = grpc.aio.server(options=(*_OPTIONS, *_waiting_room(self._settings.max_waiting_calls)))
        self.handlers = self._handlers(servicers(services))
        """What answers calls, also those that come from inside the process."""
        self._server.add_generic_rpc_handlers(self.handlers)
        health_pb2_grpc.add_HealthServicer_to_server(HealthServicer(board), self._server)
        if self._settings.reflection == "on" or (
            self._settings.reflection == "auto" and not services.authenticated
        ):
            names = (*sorted(SERVICES), health.SERVICE_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)

    async def start(self) -> int:
        """Listen; returns the port. Raises FailedPrecondition when the address cannot be had."""
        address = f"{_bracketed(self._settings.host)}:{self._settings.port}"
        credentials = await asyncio.to_thread(_credentials, self._settings)
        try:
            if credentials is None:
                port: int = self._server.add_insecure_port(address)
            else:
                port = self._server.add_secure_port(address, credentials)
        except RuntimeError:
            raise FailedPrecondition(
                f"cannot listen on {address}: it is in use, or not an address of this machine"
            ) from None
        await self._server.start()
        return port

    async def stop(self, grace_seconds: float) -> None:
        """No new calls; streams end after what is under way; the rest ends within the grace time."""
        self._board.shut_down()
        self._edge.draining.set()
        await self._server.stop(grace_seconds)

    def _handlers(self, by_service: Mapping[str, Servicer]) -> list[grpc.GenericRpcHandler]:
        return [
            grpc.method_handlers_generic_handler(
                name,
                {m.name: self._handler(m, by_service[name]) for m in descriptor.methods},
            )
            for name, descriptor in SERVICES.items()
        ]

    def _handler(self, method: MethodDescriptor, servicer: Servicer) -> grpc.RpcMethodHandler:
        function, reader = getattr(servicer, method.name), servicer.readers.get(method.name)
        path = f"/{method.containing_service.full_name}/{method.name}"
        request_type: type[Message] = GetMessageClass(method.input_type)
        if method.client_streaming:
            handler = bidi(
                self._edge, self._streams, self._fast, path, request_type, function, may_wait, reader
            )
        elif method.server_streaming:
            handler = server_stream(self._edge, self._lane(method.name), path, request_type, function)
        else:
            handler = unary(self._edge, self._lane(method.name), path, request_type, function, reader)
        return self._wrap(handler, path)

    def in_flight(self) -> list[tuple[str, int, int | None]]:
        """Name, calls under way and bound (None = none) of each lane. From any thread."""
        lanes = (self._fast, self._slow, self._bulk, self._streams, self._free)
        return [(lane.name, lane.running, lane.limit) for lane in lanes]

    def _lane(self, name: str) -> Lane:
        lanes = {lane.name: lane for lane in (self._fast, self._slow, self._bulk, self._free)}
        return lanes[_lane_name(name)]


def _lane_name(method: str) -> str:
    if method in _MODEL_CALLS:
        return "slow"
    if method in _BULK_CALLS:
        return "bulk"
    return "free" if method in _FREE_CALLS else "fast"


def _lane_limits(settings: ServerSettings) -> dict[str, int | None]:
    return {
        "fast": settings.max_concurrent_calls,
        "stream": settings.max_concurrent_calls,
        "slow": settings.max_slow_calls,
        "bulk": min(_MAX_BULK_CALLS, settings.max_slow_calls),
        "free": None,
    }


def capacity(settings: ServerSettings) -> Capacity:
    """How many calls run at once, by RPC."""
    bounds = _lane_limits(settings)
    return Capacity(
        lanes={
            f"/{name}/{method.name}": (_lane_name(method.name), bounds[_lane_name(method.name)])
            for name, service in SERVICES.items()
            for method in service.methods
        },
        streams=settings.max_concurrent_calls,
    )


def _credentials(settings: ServerSettings) -> grpc.ServerCredentials | None:
    files = certificate_files(settings)
    return None if files is None else tls.credentials(files)


def certificate_files(settings: ServerSettings) -> tls.CertificateFiles | None:
    """None = no TLS."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return tls.CertificateFiles(settings.tls_certificate, settings.tls_key, settings.tls_client_ca)


def _waiting_room(calls: int) -> tuple[tuple[str, int], ...]:
    """Bounds the queue in front of us. grpc.aio takes up one call at a time, so an overload shows neither in our lanes
    nor in the lateness of the loop: it waits in the transport, which by default keeps up to 3,000 calls, old ones
    first, and then answers them long after their deadlines (docs/adr/0009)."""
    return (
        ("grpc.server.max_pending_requests", calls // 2),
        ("grpc.server.max_pending_requests_hard_limit", calls),
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith(("[", "unix:")) else host
