"""The few google.rpc messages that carry error details, without the package googleapis-common-protos.

They live in a descriptor pool of their own: in the default pool they would collide with the same files when the
application imports google.rpc itself. Field numbers from google/rpc/status.proto and google/rpc/error_details.proto.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, message_factory
from google.protobuf.message import DecodeError

_INT32 = descriptor_pb2.FieldDescriptorProto.TYPE_INT32
_STRING = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_MESSAGE = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="google/rpc/status.proto", package="google.rpc", syntax="proto3"
    )
    file.dependency.extend(["google/protobuf/any.proto", "google/protobuf/duration.proto"])

    status = file.message_type.add(name="Status")
    _field(status, "code", 1, _INT32)
    _field(status, "message", 2, _STRING)
    _field(status, "details", 3, _MESSAGE, ".google.protobuf.Any", repeated=True)

    info = file.message_type.add(name="ErrorInfo")
    _field(info, "reason", 1, _STRING)
    _field(info, "domain", 2, _STRING)
    _field(info, "metadata", 3, _MESSAGE, ".google.rpc.ErrorInfo.MetadataEntry", repeated=True)
    entry = info.nested_type.add(name="MetadataEntry")
    entry.options.map_entry = True
    _field(entry, "key", 1, _STRING)
    _field(entry, "value", 2, _STRING)

    bad = file.message_type.add(name="BadRequest")
    _field(bad, "field_violations", 1, _MESSAGE, ".google.rpc.BadRequest.FieldViolation", repeated=True)
    violation = bad.nested_type.add(name="FieldViolation")
    _field(violation, "field", 1, _STRING)
    _field(violation, "description", 2, _STRING)

    retry = file.message_type.add(name="RetryInfo")
    _field(retry, "retry_delay", 1, _MESSAGE, ".google.protobuf.Duration")
    return file


def _field(
    message: descriptor_pb2.DescriptorProto,
    name: str,
    number: int,
    kind: descriptor_pb2.FieldDescriptorProto.Type.ValueType,
    type_name: str = "",
    *,
    repeated: bool = False,
) -> None:
    field = message.field.add(name=name, number=number, type=kind)
    field.label = (
        descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
        if repeated
        else descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
    )
    if type_name:
        field.type_name = type_name


def _messages() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    for module in (any_pb2, duration_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(_file().SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"google.rpc.{name}"))
        for name in ("Status", "ErrorInfo", "BadRequest", "RetryInfo")
    }


_MESSAGES = _messages()


@dataclass(frozen=True, slots=True)
class Details:
    """What a failed call says beyond its code and text."""

    reason: str = ""
    metadata: Mapping[str, str] | None = None
    violations: tuple[tuple[str, str], ...] = ()
    """Field and description, pairs."""
    retry_after_seconds: float | None = None


def parse_details(raw: bytes | None) -> Details:
    """Details from the trailer `grpc-status-details-bin`. Bytes that are no google.rpc.Status give none: a proxy may
    have cut them, and the code and text still hold."""
    if not raw:
        return Details()
    found: dict[str, Any] = {}
    try:
        for packed in _MESSAGES["Status"].FromString(raw).details:
            name = packed.type_url.rpartition("google.rpc.")[2]
            if name in _MESSAGES:
                found.setdefault(name, _MESSAGES[name].FromString(packed.value))
    except DecodeError:
        return Details()
    info, bad, retry = found.get("ErrorInfo"), found.get("BadRequest"), found.get("RetryInfo")
    delay = retry.retry_delay if retry is not None and retry.HasField("retry_delay") else None
    return Details(
        reason=info.reason if info is not None else "",
        metadata=dict(info.metadata) if info is not None else None,
        violations=tuple((v.field, v.description) for v in bad.field_violations) if bad is not None else (),
        retry_after_seconds=None if delay is None else delay.seconds + delay.nanos / 1e9,
    )
