"""Calls of the API inside the process: the same handlers as over gRPC, without a socket.

Whatever guards a call from outside guards it here as well: readiness, lanes, the credential, scopes, limits,
validation, deadlines and audit all sit in the handler that is called.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from ..errors import DETAILS_KEY

R = TypeVar("R", bound=Message)
Metadata = Sequence[tuple[str, str]]

_PACKAGE = "/memlane.v1."


class CallRefused(Exception):
    """A call that ended with an error, as a client would see it."""

    def __init__(self, code: grpc.StatusCode, message: str, details: bytes) -> None:
        super().__init__(code.name)
        self.code = code
        self.message = message
        """In English, for a developer."""
        self.reason = ""
        """Name of an ErrorReason without its prefix; "" = none was given."""
        self.metadata: Mapping[str, str] = {}
        self.fields: dict[str, str] = {}
        """What is wrong, by field."""
        for detail in status_pb2.Status.FromString(details).details:
            info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info):
                self.reason, self.metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(request):
                self.fields = {v.field: v.description for v in request.field_violations}


@dataclass(frozen=True, slots=True)
class LocalContext:
    """What a handler asks of a call: its metadata and how to end it. There is no peer and no certificate, and the
    server's own time for such calls holds."""

    metadata: Metadata = ()

    def invocation_metadata(self) -> Metadata:
        return self.metadata

    def auth_context(self) -> Mapping[str, Iterable[bytes]]:
        return {}

    def time_remaining(self) -> float | None:
        return None

    async def abort(
        self, code: grpc.StatusCode, message: str = "", trailing_metadata: Sequence[tuple[str, bytes]] = ()
    ) -> NoReturn:
        raise CallRefused(code, message, dict(trailing_metadata).get(DETAILS_KEY, b""))


def context_of(token: str | None) -> LocalContext:
    """Context of a call with this bearer token, or with no credential."""
    return LocalContext(() if token is None else (("authorization", f"Bearer {token}"),))


@dataclass(frozen=True, slots=True)
class _Details:
    """grpc.HandlerCallDetails."""

    method: str
    invocation_metadata: Metadata = field(default=())


class Dispatcher:
    """Finds handlers as the gRPC server does. To be used on its event loop."""

    def __init__(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        self._handlers = handlers
        self._found: dict[str, Any] = {}

    async def call(self, token: str | None, rpc: str, request: Message, response: type[R]) -> R:
        """A unary RPC, named as `MemoryService/GetMemory`. Raises CallRefused."""
        run = self._found.get(rpc) or self._find(rpc)
        raw: bytes = await run(request.SerializeToString(), context_of(token))
        return response.FromString(raw)

    def _find(self, rpc: str) -> Any:
        details = _Details(f"{_PACKAGE}{rpc}")
        for generic in self._handlers:
            handler = generic.service(details)
            if handler is not None and handler.unary_unary is not None:
                self._found[rpc] = handler.unary_unary
                return handler.unary_unary
        raise LookupError(f"no unary RPC {rpc}")
