"""The table of RPCs: everything about a method that does not depend on sync or async, read from its descriptor."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from memlane.v1 import (
    compliance_service_pb2,
    context_service_pb2,
    diagnostics_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    rule_service_pb2,
    session_service_pb2,
)


class Pace(Enum):
    """How long a method usually takes: which default deadline it has."""

    READ = "read"
    WRITE = "write"
    MODEL = "model"
    """May wait for a language model."""
    BULK = "bulk"
    """Goes through all data of a user, or of the server."""
    OPEN = "open"
    """Lives until it is closed."""


@dataclass(frozen=True, slots=True)
class Method:
    """One RPC."""

    name: str
    path: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]
    pace: Pace
    has_request_id: bool
    """It changes something."""
    has_consistency: bool
    """The caller chooses how fresh it reads."""
    client_streaming: bool
    server_streaming: bool


_MODULES: tuple[Any, ...] = (
    memory_service_pb2,
    session_service_pb2,
    context_service_pb2,
    knowledge_service_pb2,
    rule_service_pb2,
    compliance_service_pb2,
    diagnostics_service_pb2,
)
_PACES = {
    "Remember": Pace.MODEL,
    "EndSession": Pace.MODEL,
    "Chat": Pace.MODEL,
    "ForgetUser": Pace.BULK,
    "ExportUser": Pace.BULK,
    "SetLegalHold": Pace.BULK,
    "VerifyAuditLog": Pace.BULK,
    "PurgeExpired": Pace.BULK,
    "StreamSearchMemories": Pace.OPEN,
}


def _method(descriptor: Any) -> Method:
    fields = descriptor.input_type.fields_by_name
    writes = "request_id" in fields
    return Method(
        name=descriptor.name,
        path=f"/{descriptor.containing_service.full_name}/{descriptor.name}",
        serialize=GetMessageClass(descriptor.input_type).SerializeToString,
        deserialize=GetMessageClass(descriptor.output_type).FromString,
        pace=_PACES.get(descriptor.name, Pace.WRITE if writes else Pace.READ),
        has_request_id=writes,
        has_consistency="consistency" in fields,
        client_streaming=descriptor.client_streaming,
        server_streaming=descriptor.server_streaming,
    )


METHODS = {
    descriptor.name: _method(descriptor)
    for module in _MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for descriptor in service.methods
}
"""By RPC name, unique over all services."""
