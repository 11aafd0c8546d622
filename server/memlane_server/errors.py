"""Domain errors to gRPC: one table, used for the status of a call and for that of one part of a call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from memlane.v1 import error_reason_pb2, memory_pb2
from memlane_core.domain.errors import (
    Aborted,
    AlreadyExists,
    DataCorrupt,
    DeadlineExceeded,
    Exhausted,
    FailedPrecondition,
    FieldViolation,
    InvalidArgument,
    MemlaneError,
    ModelAnswerUnusable,
    NotFound,
    PermissionDenied,
    Unauthenticated,
    Unavailable,
)

DOMAIN = "memlane.io"
DETAILS_KEY = "grpc-status-details-bin"

_MAX_VIOLATIONS = 25
_MAX_DETAILS_BYTES = 4096
"""Trailing metadata is limited to 8 KiB by default, base64 of the details included."""
_MAX_MESSAGE_BYTES = 1024


class Overloaded(Exhausted):
    """More calls run than the server takes."""

    reason = "OVERLOADED"


class MessageTooLarge(InvalidArgument):
    """The whole request is over its limit."""

    reason = "MESSAGE_TOO_LARGE"


class ShuttingDown(Unavailable):
    """The server drains."""

    reason = "SHUTTING_DOWN"


class Internal(MemlaneError):
    """An exception that no one foresaw; its own text stays in the log."""

    reason = "INTERNAL"

    def __init__(self, correlation_id: str) -> None:
        super().__init__(
            f"internal error; correlation id {correlation_id}", metadata={"correlation_id": correlation_id}
        )


CODES: Mapping[type[MemlaneError], grpc.StatusCode] = {
    InvalidArgument: grpc.StatusCode.INVALID_ARGUMENT,
    NotFound: grpc.StatusCode.NOT_FOUND,
    AlreadyExists: grpc.StatusCode.ALREADY_EXISTS,
    Aborted: grpc.StatusCode.ABORTED,
    FailedPrecondition: grpc.StatusCode.FAILED_PRECONDITION,
    Exhausted: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
    DeadlineExceeded: grpc.StatusCode.DEADLINE_EXCEEDED,
    ModelAnswerUnusable: grpc.StatusCode.INTERNAL,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    PermissionDenied: grpc.StatusCode.PERMISSION_DENIED,
    DataCorrupt: grpc.StatusCode.DATA_LOSS,
    Internal: grpc.StatusCode.INTERNAL,
}
"""By class; a subclass has the code of its nearest ancestor."""

_CODES_BY_REASON: dict[str, grpc.StatusCode] = {}


def code_of(error: MemlaneError) -> grpc.StatusCode:
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return grpc.StatusCode.INTERNAL


def code_of_reason(reason: str) -> grpc.StatusCode:
    """Code of an error that only its reason is left of, as of an ingestion that failed."""
    if not _CODES_BY_REASON:
        pending: list[type[MemlaneError]] = list(CODES)
        for kind in pending:
            code = next(CODES[k] for k in kind.__mro__ if k in CODES)
            _CODES_BY_REASON.setdefault(kind.reason, code)
            pending.extend(kind.__subclasses__())
    return _CODES_BY_REASON.get(reason, grpc.StatusCode.INTERNAL)


@dataclass(frozen=True, slots=True)
class WireError:
    """What a failed call ends with."""

    code: grpc.StatusCode
    message: str
    """ASCII, so that every client can show it."""
    details: bytes
    """Serialised google.rpc.Status, for the trailer `grpc-status-details-bin`."""


def to_wire(error: MemlaneError) -> WireError:
    code = code_of(error)
    message = _ascii(error.message)
    details: list[Message] = [
        error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=_bounded(error.metadata))
    ]
    violations = _violations(error)
    if violations:
        details.append(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(field=v.field, description=v.description)
                    for v in violations
                ]
            )
        )
    seconds = retry_after_seconds(error)
    if seconds is not None:
        details.append(error_details_pb2.RetryInfo(retry_delay=duration(seconds)))
    status = status_pb2.Status(code=code.value[0], message=message, details=[_packed(d) for d in details])
    return WireError(code, message, status.SerializeToString())


def to_status(error: MemlaneError) -> memory_pb2.Status:
    """The same error as the status of one part of a call."""
    status = memory_pb2.Status(
        code=code_of(error).value[0],
        message=_ascii(error.message),
        reason=reason_value(error.reason),
        metadata=_bounded(error.metadata),
        field_violations=[
            memory_pb2.FieldViolation(field=v.field, description=v.description) for v in _violations(error)
        ],
    )
    seconds = retry_after_seconds(error)
    if seconds is not None:
        status.retry_after.CopyFrom(duration(seconds))
    return status


def reason_value(reason: str) -> "error_reason_pb2.ErrorReason.ValueType":
    name = f"ERROR_REASON_{reason}"
    if name not in error_reason_pb2.ErrorReason.keys():  # noqa: SIM118 - an enum wrapper, not a mapping
        return error_reason_pb2.ERROR_REASON_INTERNAL
    return error_reason_pb2.ErrorReason.Value(name)


def retry_after_seconds(error: MemlaneError) -> float | None:
    return error.retry_after_seconds if isinstance(error, Exhausted) else None


def duration(seconds: float) -> Duration:
    value = Duration()
    value.FromNanoseconds(max(round(seconds * 1e9), 0))
    return value


def quoted(name: str, at_most: int = 40) -> str:
    """A caller's name (of a label) made safe to stand in a field path: JSON, ASCII, cut."""
    return json.dumps(name if len(name) <= at_most else name[:at_most] + "...")


def _violations(error: MemlaneError) -> list[FieldViolation]:
    """As many as fit into a trailer; what is left out is counted."""
    if not isinstance(error, InvalidArgument):
        return []
    kept: list[FieldViolation] = []
    size = 0
    for violation in error.violations:
        size += len(violation.field.encode()) + len(violation.description.encode()) + 8
        if len(kept) == _MAX_VIOLATIONS or size > _MAX_DETAILS_BYTES - _MAX_MESSAGE_BYTES - 512:
            kept.append(FieldViolation("", f"and {len(error.violations) - len(kept)} more"))
            break
        kept.append(violation)
    return kept


def _bounded(metadata: Mapping[str, str]) -> dict[str, str]:
    return {k: v if len(v) <= 256 else v[:256] + "..." for k, v in metadata.items()}


def _ascii(text: str) -> str:
    plain = text.encode("ascii", "backslashreplace").decode()
    return plain if len(plain) <= _MAX_MESSAGE_BYTES else plain[: _MAX_MESSAGE_BYTES - 3] + "..."


def _packed(message: Message) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed
