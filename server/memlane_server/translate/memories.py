"""CreateMemory to ListMemoryRevisions."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from memlane.v1 import memory_pb2, memory_service_pb2
from memlane_core.domain import limits
from memlane_core.domain.memory import Action, Memory, Revision
from memlane_core.guards.secrets import SecretPolicy
from memlane_core.ports.journal import RequestStamp
from memlane_core.services.memories import CreateMemory, DeleteMemory, MemoryList, UpdateMemory

from .. import validate
from ..validate import Violations
from .common import ACTIONS, DECIDERS, from_seconds, from_us

T = TypeVar("T")

_ROW_OVERHEAD_BYTES = 256
"""Ids, times and tags of one row on the wire, about."""
_UPDATABLE = ("content", "metadata", "ttl")
_BY_UPDATE_TIME = (
    memory_service_pb2.MEMORY_ORDER_UPDATE_TIME_DESC,
    memory_service_pb2.MEMORY_ORDER_UPDATE_TIME_ASC,
)
_ASCENDING = (
    memory_service_pb2.MEMORY_ORDER_CREATE_TIME_ASC,
    memory_service_pb2.MEMORY_ORDER_UPDATE_TIME_ASC,
)


def create_command(
    request: memory_service_pb2.CreateMemoryRequest, stamp: RequestStamp | None, secrets: SecretPolicy
) -> CreateMemory:
    v = Violations()
    command = CreateMemory(
        user_id=validate.user_id(v, request.user_id),
        content=validate.text(v, "content", request.content, limits.MAX_CONTENT_BYTES),
        metadata=validate.metadata(v, "metadata", request.metadata),
        ttl_seconds=validate.ttl_seconds(v, "ttl", request.ttl) if request.HasField("ttl") else None,
        reason=validate.reason(v, request.reason),
        request=stamp,
    )
    validate.request_id(v, request.request_id)
    validate.no_secret(v, "content", request.content, secrets)
    validate.no_secret(v, "reason", request.reason, secrets)
    v.check()
    return command


def update_command(
    request: memory_service_pb2.UpdateMemoryRequest, stamp: RequestStamp | None, secrets: SecretPolicy
) -> UpdateMemory:
    v = Violations()
    changed = _changed(v, request)
    content = metadata = ttl = None
    if "content" in changed:
        content = validate.text(v, "content", request.content, limits.MAX_CONTENT_BYTES)
        validate.no_secret(v, "content", request.content, secrets)
    if "metadata" in changed:
        metadata = validate.metadata(v, "metadata", request.metadata)
    if "ttl" in changed and request.HasField("ttl"):
        ttl = validate.ttl_seconds(v, "ttl", request.ttl)
    validate.no_secret(v, "reason", request.reason, secrets)
    validate.request_id(v, request.request_id)
    command = UpdateMemory(
        user_id=validate.user_id(v, request.user_id),
        memory_id=validate.memory_id(v, request.memory_id),
        content=content,
        metadata=metadata,
        ttl_seconds=ttl,
        clear_ttl="ttl" in changed and ttl is None,
        revision=validate.revision(v, request.revision),
        reason=validate.reason(v, request.reason),
        request=stamp,
    )
    v.check()
    return command


def _changed(v: Violations, request: memory_service_pb2.UpdateMemoryRequest) -> set[str]:
    """The parts to change: those named, or else those set (AIP-134)."""
    if request.HasField("update_mask") and request.update_mask.paths:
        named = set(request.update_mask.paths)
        if not named <= set(_UPDATABLE):
            v.add("update_mask", f"may name {', '.join(_UPDATABLE)} only")
        return named & set(_UPDATABLE)
    changed = {"ttl"} if request.HasField("ttl") else set()
    if request.content:
        changed.add("content")
    if request.metadata:
        changed.add("metadata")
    if not changed:
        v.add("update_mask", "the request changes nothing: set or name content, metadata or ttl")
    return changed


def delete_command(
    request: memory_service_pb2.DeleteMemoryRequest, stamp: RequestStamp | None, secrets: SecretPolicy
) -> DeleteMemory:
    v = Violations()
    command = DeleteMemory(
        user_id=validate.user_id(v, request.user_id),
        memory_id=validate.memory_id(v, request.memory_id),
        revision=validate.revision(v, request.revision),
        reason=validate.reason(v, request.reason),
        request=stamp,
    )
    validate.request_id(v, request.request_id)
    validate.no_secret(v, "reason", request.reason, secrets)
    v.check()
    return command


def list_query(
    v: Violations, request: memory_service_pb2.ListMemoriesRequest, cursor: tuple[int, ...] | None, now: float
) -> MemoryList:
    """One row more than the page, so that its end is known."""
    order = validate.enumerated(v, "order", request.order, memory_service_pb2.MemoryOrder.values())
    validate.enumerated(v, "memory_type", request.memory_type, memory_pb2.MemoryType.values())
    return MemoryList(
        user_id=validate.user_id(v, request.user_id),
        limit=validate.page_size(v, request.page_size) + 1,
        after_key=(cursor[0], cursor[1]) if cursor else None,
        by_update_time=order in _BY_UPDATE_TIME,
        descending=order not in _ASCENDING,
        metadata=validate.metadata(v, "metadata_filter", request.metadata_filter),
        created_after=validate.second_from(v, "created_after", request.created_after)
        if request.HasField("created_after")
        else None,
        created_before=validate.second_from(v, "created_before", request.created_before)
        if request.HasField("created_before")
        else None,
        as_of_us=validate.as_of_us(v, request.as_of, now) if request.HasField("as_of") else None,
    )


def page(rows: Sequence[T], page_size: int, size: Callable[[T], int]) -> tuple[Sequence[T], bool]:
    """As many rows as a page may hold by number and bytes, at least one; and whether more follow."""
    total = 0
    for count, row in enumerate(rows):
        total += size(row)
        if count == page_size or (count and total > limits.MAX_PAGE_BYTES):
            return rows[:count], True
    return rows, False


def memory_bytes(memory: Memory) -> int:
    return _ROW_OVERHEAD_BYTES + text_bytes(memory.content, *memory.metadata, *memory.metadata.values())


def revision_bytes(revision: Revision) -> int:
    texts = (revision.content or "", revision.previous_content or "", revision.reason)
    return _ROW_OVERHEAD_BYTES + text_bytes(*texts, *revision.metadata, *revision.metadata.values())


def text_bytes(*texts: str) -> int:
    return sum(len(t.encode()) for t in texts)


def revision_messages(revisions: Iterable[Revision]) -> list[memory_pb2.MemoryRevision]:
    return [revision_message(r) for r in revisions]


def revision_message(revision: Revision) -> memory_pb2.MemoryRevision:
    message = memory_pb2.MemoryRevision(
        memory_id=revision.memory_id,
        revision=revision.revision,
        action=ACTIONS[revision.action],
        content=revision.content,
        time=from_us(revision.time_us),
        actor=revision.actor,
        reason=revision.reason,
        decider=DECIDERS[revision.decider],
        valid_from=from_us(revision.valid_from_us or revision.time_us),
        metadata=revision.metadata,
    )
    if revision.action is not Action.ADD and revision.previous_content is not None:
        message.previous_content = revision.previous_content
    if revision.valid_until_us is not None:
        message.valid_until.CopyFrom(from_us(revision.valid_until_us))
    if revision.expires_at is not None:
        message.expire_time.CopyFrom(from_seconds(revision.expires_at))
    return message
