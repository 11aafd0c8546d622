"""ForgetUser to PurgeExpired."""

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from memlane.v1 import compliance_service_pb2, memory_pb2
from memlane_core.domain.conversation import Role
from memlane_core.domain.memory import Action, DeciderKind, Memory, MemoryType, Revision
from memlane_core.ports.compliance_store import AuditEvent, AuditQuery
from memlane_core.services.receipts import Receipt

from .. import validate
from ..validate import Violations
from .common import ROLES, from_us, memory_message
from .memories import revision_message

MAX_NAMES = 50
MAX_NAME_BYTES = 64
_HEX_HASH_BYTES = 64


def audit_query(
    v: Violations,
    request: compliance_service_pb2.ListAuditEventsRequest,
    tenant: str,
    cursor: tuple[int, ...] | None,
) -> AuditQuery:
    """One event more than the page, so that its end is known."""
    return AuditQuery(
        tenant=tenant,
        user_id=validate.user_id(v, request.user_id) if request.HasField("user_id") else None,
        actions=_names(v, "actions", request.actions),
        operations=_names(v, "operations", request.operations),
        from_us=_moment(v, "start_time", request),
        until_us=_moment(v, "end_time", request),
        after_seq=cursor[0] if cursor else 0,
        limit=validate.page_size(v, request.page_size) + 1,
    )


def anchors_of(v: Violations, request: compliance_service_pb2.VerifyAuditLogRequest) -> dict[int, str]:
    if len(request.anchors) > validate.MAX_ANCHORS:
        v.add("anchors", f"must not hold more than {validate.MAX_ANCHORS}")
    anchors: dict[int, str] = {}
    for i, anchor in enumerate(request.anchors):
        if anchor.seq < 1:
            v.add(f"anchors[{i}].seq", "must be 1 or more")
        if len(anchor.hash) != _HEX_HASH_BYTES or not set(anchor.hash) <= set("0123456789abcdef"):
            v.add(f"anchors[{i}].hash", f"must have {_HEX_HASH_BYTES} lowercase hexadecimal digits")
        if anchors.setdefault(anchor.seq, anchor.hash) != anchor.hash:
            v.add(f"anchors[{i}]", "contradicts an earlier anchor of the same seq")
    return anchors


def event_message(event: AuditEvent) -> compliance_service_pb2.AuditEvent:
    return compliance_service_pb2.AuditEvent(
        seq=event.seq,
        time=from_us(event.time_us),
        tenant=event.tenant,
        user_id=event.user_id,
        actor=event.actor,
        operation=event.operation,
        memory_id=event.memory_id,
        revision=event.revision,
        count=event.count,
        reason_code=event.reason_code,
        detail=event.detail,
        digest=event.commitment,
        prev_hash=event.prev_hash,
        hash=event.hash,
        action=event.action,
    )


def event_bytes(event: AuditEvent) -> int:
    return 512 + len(event.detail.encode())


def receipt_message(receipt: Receipt) -> compliance_service_pb2.ErasureReceipt:
    return compliance_service_pb2.ErasureReceipt(
        receipt_id=receipt.receipt_id,
        user_id=receipt.user_id,
        counts=compliance_service_pb2.ErasureCounts(
            memories=receipt.memories,
            revisions=receipt.revisions,
            messages=receipt.messages,
            ingestions=receipt.ingestions,
            requests=receipt.requests,
            sessions=receipt.sessions,
        ),
        first_audit_seq=receipt.first_audit_seq,
        last_audit_seq=receipt.last_audit_seq,
        audit_head_hash=receipt.audit_head_hash,
        issue_time=from_us(receipt.issued_us),
        purge_after=from_us(receipt.purge_after_us),
        digest=receipt.digest,
        signature=bytes.fromhex(receipt.signature),
        key_id=receipt.key_id,
        signature_algorithm=receipt.algorithm,
        legal_hold=receipt.legal_hold,
    )


def hold_message(user_id: str, active: bool, last: AuditEvent | None) -> compliance_service_pb2.LegalHold:
    hold = compliance_service_pb2.LegalHold(user_id=user_id, active=active)
    if last is not None:
        hold.operator = last.actor
        hold.reason = last.detail
        hold.update_time.CopyFrom(from_us(last.time_us))
    return hold


def export_record(kind: str, record: Mapping[str, Any]) -> compliance_service_pb2.ExportUserResponse:
    """One record of an export, of a kind that the journal names."""
    return compliance_service_pb2.ExportUserResponse(**_EXPORTED[kind](record))


def _exported_memory(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"memory": memory_message(_memory(record))}


def _exported_revision(record: Mapping[str, Any]) -> dict[str, Any]:
    revision = Revision(
        memory_id=record["memory_id"],
        revision=record["revision"],
        action=Action(record["action"]),
        content=record["content"],
        previous_content=record["previous_content"],
        time_us=record["time_us"],
        actor=record["actor"],
        decider=DeciderKind(record["decider"]),
        reason=record["reason"] or "",
        position=record["position"],
        metadata=record.get("metadata") or {},
        expires_at=record["expires_at"],
        valid_from_us=record["valid_from_us"],
        valid_until_us=record.get("valid_until_us"),
        created_at=record["created_at"],
    )
    return {"revision": revision_message(revision)}


def _exported_message(record: Mapping[str, Any]) -> dict[str, Any]:
    time = Timestamp()
    if record["create_time"]:
        time.FromJsonString(record["create_time"])
    else:
        time = from_us(record["time_us"])
    message = memory_pb2.Message(
        role=ROLES[Role(record["role"])], content=record["content"], create_time=time
    )
    return {
        "message": compliance_service_pb2.ExportedMessage(session_id=record["session_id"], message=message)
    }


def _exported_ingestion(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "ingestion": compliance_service_pb2.ExportedIngestion(
            ingestion_id=record["ingestion_id"],
            state=record["state"],
            input_json=record["payload"],
            result_json=record["result"],
            create_time=from_us(record["created_us"]),
        )
    }


def _exported_event(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"audit_event": event_message(AuditEvent(**record))}


_EXPORTED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "memory": _exported_memory,
    "revision": _exported_revision,
    "message": _exported_message,
    "ingestion": _exported_ingestion,
    "event": _exported_event,
}


def _memory(record: Mapping[str, Any]) -> Memory:
    return Memory(
        memory_id=record["memory_id"],
        user_id=record["user_id"],
        content=record["content"],
        memory_type=MemoryType(record["memory_type"]),
        metadata=record.get("metadata") or {},
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        expires_at=record["expires_at"],
        revision=record["revision"],
        position=record["position"],
    )


def _names(v: Violations, field: str, names: Any) -> tuple[str, ...]:
    if len(names) > MAX_NAMES:
        v.add(field, f"must not hold more than {MAX_NAMES} names")
    for i, name in enumerate(names):
        validate.identifier(v, f"{field}[{i}]", name, MAX_NAME_BYTES)
    return tuple(names)


def _moment(v: Violations, field: str, request: compliance_service_pb2.ListAuditEventsRequest) -> int | None:
    if field == "start_time":
        return validate.timestamp_us(v, field, request.start_time) if request.HasField("start_time") else None
    return validate.timestamp_us(v, field, request.end_time) if request.HasField("end_time") else None
