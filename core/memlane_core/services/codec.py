"""JSON forms of what the journal keeps for replays and for waiting ingestions."""

import json
from datetime import datetime
from typing import Any

from ..domain.conversation import Fact, Message, RejectedFact, Role
from ..domain.decision import Operation, RememberResult
from ..domain.memory import Action, DeciderKind, Memory, MemoryType


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def memory_to_json(memory: Memory) -> dict[str, Any]:
    return {
        "memory_id": memory.memory_id,
        "user_id": memory.user_id,
        "content": memory.content,
        "memory_type": memory.memory_type.value,
        "metadata": dict(memory.metadata),
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "expires_at": memory.expires_at,
        "revision": memory.revision,
        "position": memory.position,
    }


def memory_from_json(data: dict[str, Any]) -> Memory:
    return Memory(**{**data, "memory_type": MemoryType(data["memory_type"])})


def message_to_json(message: Message) -> dict[str, Any]:
    return {
        "role": message.role.value,
        "content": message.content,
        "create_time": message.create_time.isoformat() if message.create_time else None,
    }


def message_from_json(data: dict[str, Any]) -> Message:
    time = datetime.fromisoformat(data["create_time"]) if data["create_time"] else None
    return Message(Role(data["role"]), data["content"], time)


def fact_to_json(fact: Fact) -> dict[str, Any]:
    return {
        "content": fact.content,
        "expires_at": fact.expires_at,
        "metadata": dict(fact.metadata),
        "source": fact.source,
        "retraction": fact.retraction,
    }


def fact_from_json(data: dict[str, Any]) -> Fact:
    return Fact(**data)


def _operation_to_json(operation: Operation) -> dict[str, Any]:
    return {
        "action": operation.action.value,
        "memory": memory_to_json(operation.memory) if operation.memory else None,
        "previous": memory_to_json(operation.previous) if operation.previous else None,
        "reason": operation.reason,
        "decider": operation.decider.value,
        "similarity": operation.similarity,
        "guards": list(operation.guards),
    }


def _operation_from_json(data: dict[str, Any]) -> Operation:
    return Operation(
        action=Action(data["action"]),
        memory=memory_from_json(data["memory"]) if data["memory"] else None,
        previous=memory_from_json(data["previous"]) if data["previous"] else None,
        reason=data["reason"],
        decider=DeciderKind(data["decider"]),
        similarity=data["similarity"],
        guards=tuple(data["guards"]),
    )


def result_to_json(result: RememberResult) -> str:
    return dumps(
        {
            "operations": [_operation_to_json(o) for o in result.operations],
            "rejected": [[r.content, r.reason] for r in result.rejected],
            "partial": result.partial,
            "position": result.position,
            "ingestion_id": result.ingestion_id,
        }
    )


def result_from_json(text: str) -> RememberResult:
    data = json.loads(text)
    return RememberResult(
        operations=tuple(_operation_from_json(o) for o in data["operations"]),
        rejected=tuple(RejectedFact(content, reason) for content, reason in data["rejected"]),
        partial=data["partial"],
        position=data["position"],
        ingestion_id=data["ingestion_id"],
    )
