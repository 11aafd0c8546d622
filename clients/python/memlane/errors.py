"""Every error that a call can end with.

MemlaneError
├── InvalidArgument            fields of the request are wrong: `.violations` names each
├── NotFound                   no such thing, or not this user's
├── AlreadyExists
│   └── RequestIdReused        the same request_id came before with another body
├── Aborted                    lost a race: read again, decide again, call again
│   ├── RevisionMismatch       the optimistic lock did not hold: `.current_revision`
│   └── UserForgotten          the user was forgotten while the call ran
├── FailedPrecondition         the server's state or settings do not allow it
│   ├── NotConfigured          the server runs without a part that the call needs
│   └── LegalHold              the user is under legal hold
├── ResourceExhausted          a limit was reached, or the server is too busy: `.retry_after` where the server knows
├── Unavailable                no server, or a part of it does not answer
├── DeadlineExceeded           the time ran out; a write is absent or complete, never half
├── Cancelled                  the caller cancelled the call, or closed the client
├── Unauthenticated            no valid credential
├── PermissionDenied           the credential lacks the scope, or is bound to another user
├── Unimplemented              the server does not know the call: it is older than this client
├── DataLoss                   stored data fails its own check
└── Internal                   a fault of the server, or of the model behind it

Reasons are the values of `memlane.v1.ErrorReason` without their prefix; the contract documents each with a remedy.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import grpc

from memlane.v1 import error_reason_pb2

from ._google_rpc import Details, parse_details

_DETAILS_KEY = "grpc-status-details-bin"
_UNREAD = "the server was too busy to read the call: try it again after a pause"
_REASON_PREFIX = "ERROR_REASON_"


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field that is wrong and why, in words for a developer."""

    field: str
    """Path of the field, as `messages[2].content`."""
    description: str


class MemlaneError(Exception):
    """Root of the tree.

    Example:
        >>> try:
        ...     client.get_memory("c-1001", "no-such-id")
        ... except memlane.NotFound as error:
        ...     print(error.reason, error.metadata)
    """

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN
    """The gRPC status code."""

    def __init__(
        self,
        message: str,
        *,
        code: grpc.StatusCode | None = None,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Iterable[FieldViolation] = (),
        retry_after: timedelta | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.reason = reason
        """Why, more precisely than the code: `REVISION_MISMATCH`. Empty where gRPC itself raised the error, except for
        `OVERLOADED` where a busy server refused the call unread."""
        self.metadata: dict[str, str] = dict(metadata or {})
        """Further facts by name, as the contract lists them for the reason."""
        self.violations = tuple(violations)
        """The fields that are wrong; empty unless the error is InvalidArgument."""
        self.retry_after = retry_after
        """How long to wait before the next try, where the server said so."""
        self.request_id = request_id
        """The request_id that the failed write carried: repeat the same write with it, and it happens once."""

    def __str__(self) -> str:
        name = self.reason or self.code.name
        return f"{name}: {self.message}" if self.message else name


class InvalidArgument(MemlaneError):
    """Fields of the request are missing, malformed, over their limit or reserved. The same request fails again."""

    code = grpc.StatusCode.INVALID_ARGUMENT


class NotFound(MemlaneError):
    """No such thing, or it belongs to another user: the two are not told apart."""

    code = grpc.StatusCode.NOT_FOUND


class AlreadyExists(MemlaneError):
    """What was to be created exists."""

    code = grpc.StatusCode.ALREADY_EXISTS


class RequestIdReused(AlreadyExists):
    """The request_id came before with another body."""


class Aborted(MemlaneError):
    """The call lost a race and wrote nothing: read again, decide again, call again."""

    code = grpc.StatusCode.ABORTED


class RevisionMismatch(Aborted):
    """The revision of the request is not the current one."""

    @property
    def current_revision(self) -> int | None:
        """The revision that holds now, where the server said so."""
        current = self.metadata.get("current", "")
        return int(current) if current.isdecimal() else None


class UserForgotten(Aborted):
    """The user was forgotten while the call ran. Do not repeat without a new reason: it was done on purpose."""


class FailedPrecondition(MemlaneError):
    """The state of the thing, or of the server, does not allow the call."""

    code = grpc.StatusCode.FAILED_PRECONDITION


class NotConfigured(FailedPrecondition):
    """The server runs without a part that the call needs; `.metadata["setting"]` names it."""


class LegalHold(FailedPrecondition):
    """The user is under legal hold: nothing of theirs may be removed physically."""


class ResourceExhausted(MemlaneError):
    """A limit is reached. Retried by the client only where the server says how long to wait.

    The reason `OVERLOADED` says that the server is too busy: try again with a growing pause. Where it is so busy that
    it refuses calls unread, gRPC ends them as CANCELLED, without a reason and a `retry_after`. A call that ends so
    before any of its answer has come, and that nobody here cancelled, is raised as this error: `.code` is
    RESOURCE_EXHAUSTED, `.reason` OVERLOADED, and `.__cause__` the error of gRPC as it came over the wire.
    """

    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class Unavailable(MemlaneError):
    """No server answers, or a part that it needs does not. Raised after the client's own tries."""

    code = grpc.StatusCode.UNAVAILABLE


class DeadlineExceeded(MemlaneError):
    """The time of the call ran out. Repeat a write with `.request_id` to learn how it went."""

    code = grpc.StatusCode.DEADLINE_EXCEEDED


class Cancelled(MemlaneError):
    """The caller cancelled the call or closed the client, or a stream was cut off after a part of it had come.
    asyncio's own cancellation stays `asyncio.CancelledError`."""

    code = grpc.StatusCode.CANCELLED


class Unauthenticated(MemlaneError):
    """No valid credential came with the call."""

    code = grpc.StatusCode.UNAUTHENTICATED


class PermissionDenied(MemlaneError):
    """The credential is valid and lacks the scope, or is bound to another user."""

    code = grpc.StatusCode.PERMISSION_DENIED


class Unimplemented(MemlaneError):
    """The server does not know the call: it is older than this client, or it is no memlane server."""

    code = grpc.StatusCode.UNIMPLEMENTED


class DataLoss(MemlaneError):
    """Stored data fails its own check: stop writing."""

    code = grpc.StatusCode.DATA_LOSS


class Internal(MemlaneError):
    """A fault of the server (`.metadata["correlation_id"]` finds it in the log), or an answer of the model that
    nothing could be made of."""

    code = grpc.StatusCode.INTERNAL


_BY_REASON: Mapping[str, type[MemlaneError]] = {
    "REQUEST_ID_REUSED": RequestIdReused,
    "REVISION_MISMATCH": RevisionMismatch,
    "USER_FORGOTTEN": UserForgotten,
    "NOT_CONFIGURED": NotConfigured,
    "LEGAL_HOLD": LegalHold,
}
_BY_CODE: Mapping[grpc.StatusCode, type[MemlaneError]] = {
    kind.code: kind
    for kind in (
        InvalidArgument,
        NotFound,
        AlreadyExists,
        Aborted,
        FailedPrecondition,
        ResourceExhausted,
        Unavailable,
        DeadlineExceeded,
        Cancelled,
        Unauthenticated,
        PermissionDenied,
        Unimplemented,
        DataLoss,
        Internal,
    )
}
_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def from_rpc(error: grpc.RpcError, request_id: str = "", *, unasked: bool = False) -> MemlaneError:
    """The error that a failed call stands for. Works for the errors of grpc and of grpc.aio.

    `unasked`: nobody here cancelled the call, and nothing of its answer had come. Then CANCELLED without a reason is
    how the transport of an overloaded server refuses a call that it does not read. (Where the time has run out, gRPC
    says DEADLINE_EXCEEDED by itself.)
    """
    # Typed as plain RpcError by grpc, but each that a call raises is also the finished call.
    call: Any = error
    trailers: Iterable[tuple[str, str | bytes]] = call.trailing_metadata() or ()
    raw = next((value for key, value in trailers if key == _DETAILS_KEY and isinstance(value, bytes)), None)
    details: Details = parse_details(raw)
    code = call.code() or grpc.StatusCode.UNKNOWN
    if unasked and code is grpc.StatusCode.CANCELLED and not details.reason:
        return ResourceExhausted(_UNREAD, reason="OVERLOADED", request_id=request_id)
    return _build(
        code,
        call.details() or "",
        reason=details.reason,
        metadata=details.metadata or {},
        violations=tuple(FieldViolation(*v) for v in details.violations),
        retry_after_seconds=details.retry_after_seconds,
        request_id=request_id,
    )


def from_status(status: Any) -> MemlaneError | None:
    """The error of one part of a call, from a `memlane.v1.Status`; None where the part succeeded."""
    if status.code == 0:
        return None
    reason = ""
    if status.reason in error_reason_pb2.ErrorReason.values() and status.reason:
        reason = error_reason_pb2.ErrorReason.Name(status.reason).removeprefix(_REASON_PREFIX)
    delay = status.retry_after if status.HasField("retry_after") else None
    return _build(
        _CODES.get(status.code, grpc.StatusCode.UNKNOWN),
        status.message,
        reason=reason,
        metadata=dict(status.metadata),
        violations=tuple(FieldViolation(v.field, v.description) for v in status.field_violations),
        retry_after_seconds=None if delay is None else delay.seconds + delay.nanos / 1e9,
        request_id="",
    )


def _build(
    code: grpc.StatusCode,
    message: str,
    *,
    reason: str,
    metadata: Mapping[str, str],
    violations: tuple[FieldViolation, ...],
    retry_after_seconds: float | None,
    request_id: str,
) -> MemlaneError:
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, MemlaneError)
    if kind.code is not code:
        # A reason never changes its code; if a server says otherwise, the code is what callers act on.
        kind = _BY_CODE.get(code, MemlaneError)
    make: Callable[..., MemlaneError] = kind
    return make(
        message,
        code=code,
        reason=reason,
        metadata=metadata,
        violations=violations,
        retry_after=None if retry_after_seconds is None else timedelta(seconds=retry_after_seconds),
        request_id=request_id,
    )
