"""Remember and its ingestions."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from memlane.v1 import memory_pb2, memory_service_pb2
from memlane_core.domain import limits
from memlane_core.domain.conversation import Fact, Message, StoredMessage
from memlane_core.domain.decision import Operation, RememberResult
from memlane_core.domain.memory import Action
from memlane_core.ports.ingestion_queue import Ingestion, IngestionState
from memlane_core.ports.journal import RequestStamp
from memlane_core.services.remember import RememberCommand

from .. import validate
from ..errors import code_of_reason, reason_value
from ..validate import Violations
from .common import ACTIONS, DECIDERS, ROLES, ROLES_BY_NUMBER, from_datetime, from_us, memory_message

_STATES = {
    IngestionState.PENDING: memory_service_pb2.INGESTION_STATE_PENDING,
    IngestionState.RUNNING: memory_service_pb2.INGESTION_STATE_RUNNING,
    IngestionState.DONE: memory_service_pb2.INGESTION_STATE_SUCCEEDED,
    IngestionState.FAILED: memory_service_pb2.INGESTION_STATE_FAILED,
    IngestionState.CANCELLED: memory_service_pb2.INGESTION_STATE_CANCELLED,
}
_STATES_BY_NUMBER: dict[int, IngestionState] = {number: state for state, number in _STATES.items()}


@dataclass(frozen=True, slots=True)
class Received:
    """When a request came, and the zone of speakers who named none."""

    now: float
    zone: tzinfo = UTC

    def time(self, zone: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(int(self.now), zone or self.zone)


@dataclass(frozen=True, slots=True)
class RememberRequest:
    command: RememberCommand
    """Its messages are still to be read from the session where `session_id` is set."""
    wait: bool
    assumed_time: datetime | None
    """Set when a message carried no time."""


def remember_request(
    request: memory_service_pb2.RememberRequest, stamp: RequestStamp | None, received: Received
) -> RememberRequest:
    v = Violations()
    user_id = validate.user_id(v, request.user_id)
    validate.request_id(v, request.request_id)
    wait = remember_waits(v, request.mode)
    if request.validate_only and not wait:
        v.add("validate_only", "cannot be combined with REMEMBER_MODE_ASYNC")
    source = request.WhichOneof("source")
    messages: tuple[Message, ...] | None = None
    facts: tuple[Fact, ...] | None = None
    recalled: tuple[str, ...] = ()
    if source == "conversation":
        messages = messages_of(v, "conversation.messages", request.conversation.messages, received)
        recalled = _recalled(v, request.conversation.recalled)
    elif source == "facts":
        facts = _facts(v, request.facts.facts, int(received.now))
    elif source == "session_id":
        validate.session_id(v, request.session_id)
    else:
        v.add("source", "one of conversation, session_id and facts is required")
    v.check()
    timeless = source == "conversation" and any(
        not m.HasField("create_time") for m in request.conversation.messages
    )
    return RememberRequest(
        RememberCommand(
            user_id=user_id,
            messages=messages,
            facts=facts,
            recalled=recalled,
            session_id=request.session_id,
            request=stamp,
            validate_only=request.validate_only,
        ),
        wait,
        received.time() if timeless else None,
    )


def remember_waits(v: Violations, mode: int) -> bool:
    validate.enumerated(v, "mode", mode, memory_pb2.RememberMode.values())
    return mode != memory_pb2.REMEMBER_MODE_ASYNC


def messages_of(v: Violations, field: str, messages: Any, received: Received) -> tuple[Message, ...]:
    """The messages of one request, each with an aware time."""
    if not 0 < len(messages) <= limits.MAX_MESSAGES:
        v.add(field, f"must hold 1 to {limits.MAX_MESSAGES} messages, holds {len(messages)}")
    taken = tuple(message_of(v, f"{field}[{i}]", m, received) for i, m in enumerate(messages))
    if sum(len(m.content.encode()) for m in taken) > limits.MAX_CONVERSATION_BYTES:
        v.add(field, f"must not be larger than {limits.MAX_CONVERSATION_BYTES} bytes together")
    return taken


def message_of(v: Violations, field: str, message: memory_pb2.Message, received: Received) -> Message:
    role = validate.enumerated(v, f"{field}.role", message.role, tuple(ROLES_BY_NUMBER))
    zone = validate.time_zone(v, f"{field}.time_zone", message.time_zone) or received.zone
    time: datetime | None = received.time(zone)
    if message.HasField("create_time"):
        moment = validate.timestamp_us(v, f"{field}.create_time", message.create_time)
        time = validate.local_time(v, f"{field}.create_time", moment, zone)
    content = validate.text(v, f"{field}.content", message.content, limits.MAX_MESSAGE_BYTES)
    return Message(ROLES_BY_NUMBER[role], content, time)


def message_message(message: Message, time_us: int | None = None) -> memory_pb2.Message:
    """`time_us`: when it was received, for one that carries no time."""
    answer = memory_pb2.Message(role=ROLES[message.role], content=message.content)
    if message.create_time is not None:
        answer.create_time.CopyFrom(from_datetime(message.create_time))
        answer.time_zone = _offset(message.create_time)
    elif time_us is not None:
        answer.create_time.CopyFrom(from_us(time_us))
    return answer


def stored_message(stored: StoredMessage) -> memory_pb2.Message:
    return message_message(stored.message, stored.time_us)


def result_fields(result: RememberResult, *, validate_only: bool = False) -> dict[str, Any]:
    """What Remember, GetIngestion and EndSession say of a result."""
    return {
        "operations": [_operation(o, validate_only) for o in result.operations],
        "rejected": [memory_pb2.RejectedFact(fact=r.content, reason=r.reason) for r in result.rejected],
        "partial": result.partial,
    }


def ingestion_message(ingestion: Ingestion) -> memory_service_pb2.Ingestion:
    return memory_service_pb2.Ingestion(**ingestion_fields(ingestion))


def ingestion_fields(ingestion: Ingestion) -> dict[str, Any]:
    """What GetIngestion and Ingestion have in common."""
    fields: dict[str, Any] = {
        "ingestion_id": ingestion.ingestion_id,
        "state": _STATES[ingestion.state],
        "create_time": from_us(ingestion.created_us),
        "update_time": from_us(ingestion.updated_us),
        "attempt_count": ingestion.attempts,
    }
    if ingestion.state is IngestionState.FAILED:
        fields["error"] = memory_pb2.Status(
            code=code_of_reason(ingestion.error_reason).value[0],
            message=ingestion.error_message,
            reason=reason_value(ingestion.error_reason),
        )
    return fields


def ingestion_state(v: Violations, value: int) -> IngestionState | None:
    validate.enumerated(v, "state", value, memory_service_pb2.IngestionState.values())
    return _STATES_BY_NUMBER.get(value)


def _facts(v: Violations, facts: Any, now: int) -> tuple[Fact, ...]:
    if not 0 < len(facts) <= limits.MAX_FACTS:
        v.add("facts.facts", f"must hold 1 to {limits.MAX_FACTS} facts, holds {len(facts)}")
    return tuple(
        Fact(
            content=validate.text(v, f"facts.facts[{i}].content", f.content, limits.MAX_CONTENT_BYTES),
            expires_at=now + validate.ttl_seconds(v, f"facts.facts[{i}].ttl", f.ttl)
            if f.HasField("ttl")
            else None,
            metadata=validate.metadata(v, f"facts.facts[{i}].metadata", f.metadata),
        )
        for i, f in enumerate(facts)
    )


def _recalled(v: Violations, recalled: Any) -> tuple[str, ...]:
    field = "conversation.recalled"
    if len(recalled) > validate.MAX_RECALLED:
        v.add(field, f"must not hold more than {validate.MAX_RECALLED} texts")
    return tuple(
        validate.note(v, f"{field}[{i}]", text, limits.MAX_CONTENT_BYTES) for i, text in enumerate(recalled)
    )


def _operation(operation: Operation, validate_only: bool) -> memory_pb2.RememberOperation:
    message = memory_pb2.RememberOperation(
        action=ACTIONS[operation.action],
        reason=operation.reason,
        decider=DECIDERS[operation.decider],
        similarity=operation.similarity,
        guards=operation.guards,
    )
    if operation.memory is not None:
        deleted = operation.action is Action.DELETE
        message.memory.CopyFrom(memory_message(operation.memory, deleted=deleted))
        if validate_only and operation.action is Action.ADD:
            message.memory.memory_id = ""
    if operation.previous is not None:
        message.previous.CopyFrom(memory_message(operation.previous))
    return message


def _offset(time: datetime) -> str:
    """The zone's offset as `+08:00`; "" for UTC."""
    offset = time.utcoffset()
    if not offset:
        return ""
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
