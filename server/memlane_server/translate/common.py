"""What several services share: memories, times, tokens, consistency, enums."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from memlane.v1 import consistency_pb2, memory_pb2
from memlane_core.domain.conversation import Role
from memlane_core.domain.memory import Action, DeciderKind, Memory, MemoryType
from memlane_core.services.consistency import MINIMIZE_LATENCY, Consistency, Freshness

from ..validate import MAX_TOKEN_BYTES, Violations

ACTIONS: Mapping[Action, "memory_pb2.Action.ValueType"] = {
    a: memory_pb2.Action.Value(f"ACTION_{a.name}") for a in Action
}
DECIDERS: Mapping[DeciderKind, "memory_pb2.DeciderKind.ValueType"] = {
    d: memory_pb2.DeciderKind.Value(f"DECIDER_KIND_{d.name}") for d in DeciderKind
}
ROLES: Mapping[Role, "memory_pb2.Role.ValueType"] = {r: memory_pb2.Role.Value(f"ROLE_{r.name}") for r in Role}
ROLES_BY_NUMBER: Mapping[int, Role] = {number: role for role, number in ROLES.items()}
MEMORY_TYPES: Mapping[MemoryType, "memory_pb2.MemoryType.ValueType"] = {
    t: memory_pb2.MemoryType.Value(f"MEMORY_TYPE_{t.name}") for t in MemoryType
}
_MEMORY_TYPES_BY_NUMBER: Mapping[int, MemoryType] = {number: t for t, number in MEMORY_TYPES.items()}


def from_seconds(seconds: int) -> Timestamp:
    return Timestamp(seconds=seconds)


def from_us(moment_us: int) -> Timestamp:
    seconds, rest = divmod(moment_us, 1_000_000)
    return Timestamp(seconds=seconds, nanos=rest * 1000)


def from_datetime(moment: datetime) -> Timestamp:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return from_us(since // timedelta(microseconds=1))


def token(value: str) -> consistency_pb2.ConsistencyToken:
    return consistency_pb2.ConsistencyToken(token=value)


def consistency(v: Violations, request: Any) -> Consistency:
    """What the request's `consistency` asks for. The token itself is checked by the service that made it."""
    if not request.HasField("consistency"):
        return MINIMIZE_LATENCY
    asked: consistency_pb2.Consistency = request.consistency
    kind = asked.WhichOneof("requirement")
    if kind == "fully_consistent" and asked.fully_consistent:
        return Consistency(Freshness.FULL)
    if kind == "at_least_as_fresh" and asked.at_least_as_fresh.token:
        value = asked.at_least_as_fresh.token
        if len(value) > MAX_TOKEN_BYTES or not value.isascii():
            v.add("consistency.at_least_as_fresh.token", "is not a token of this service")
        return Consistency(Freshness.AT_LEAST, value)
    return MINIMIZE_LATENCY


def memory_of(message: memory_pb2.Memory, position: int) -> Memory:
    """The memory that `memory_message` was made of."""
    return Memory(
        message.memory_id,
        message.user_id,
        message.content,
        _MEMORY_TYPES_BY_NUMBER[message.memory_type],
        dict(message.metadata) if message.metadata else {},
        message.create_time.seconds,
        message.update_time.seconds,
        message.expire_time.seconds if message.HasField("expire_time") else None,
        message.revision,
        position,
    )


def memory_message(memory: Memory, *, deleted: bool = False) -> memory_pb2.Memory:
    """`deleted`: it was soft-deleted by the change that made this revision."""
    message = memory_pb2.Memory(
        memory_id=memory.memory_id,
        user_id=memory.user_id,
        content=memory.content,
        memory_type=MEMORY_TYPES[memory.memory_type],
        metadata=memory.metadata,
        create_time=from_seconds(memory.created_at),
        update_time=from_seconds(memory.updated_at),
        revision=memory.revision,
    )
    if memory.expires_at is not None:
        message.expire_time.seconds = memory.expires_at
    if deleted:
        message.delete_time.seconds = memory.updated_at
    return message
