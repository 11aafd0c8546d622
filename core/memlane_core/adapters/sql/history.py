"""The History port: past and present states of memories."""

import json
from typing import Any

from sqlalchemy import Select, func, or_, select, tuple_

from ...domain.memory import Action, DeciderKind, Memory, MemoryType, Revision
from ...ports.journal import MemoryPage, RevisionQuery
from .base import SqlBase
from .schema import events, revision_texts, revisions

REVISIONS = (
    select(
        revisions,
        events.c.time_us,
        events.c.actor,
        revision_texts.c.content,
        revision_texts.c.previous_content,
        revision_texts.c.reason,
        revision_texts.c.metadata.label("metadata_json"),
        revision_texts.c.session_id,
        revision_texts.c.salt,
    )
    .join(events, events.c.seq == revisions.c.position)
    .join(revision_texts, revision_texts.c.position == revisions.c.position, isouter=True)
    .order_by(revisions.c.position)
)
_MEMORIES = select(
    revisions, revision_texts.c.content, revision_texts.c.metadata.label("metadata_json")
).join(revision_texts, revision_texts.c.position == revisions.c.position)


class HistoryMixin(SqlBase):
    """See ports/journal.py for the contract of every method."""

    def revisions(self, query: RevisionQuery) -> list[Revision]:
        statement = REVISIONS.where(
            revisions.c.tenant == query.tenant,
            revisions.c.user_id == query.user_id,
            revisions.c.position > query.after_position,
        ).limit(query.limit)
        if query.memory_id is not None:
            statement = statement.where(revisions.c.memory_id == query.memory_id)
        with self._db.read() as connection:
            return [_revision(row) for row in connection.execute(statement)]

    def memories(self, page: MemoryPage) -> list[Memory]:
        statement = _page(page)
        with self._db.read() as connection:
            return [_memory(row) for row in connection.execute(statement)]

    def last_revision(self, tenant: str, user_id: str, memory_id: str) -> int:
        statement = select(func.max(revisions.c.revision)).where(
            revisions.c.tenant == tenant,
            revisions.c.user_id == user_id,
            revisions.c.memory_id == memory_id,
        )
        with self._db.read() as connection:
            return connection.execute(statement).scalar() or 0

    def expired(self, tenant: str, *, now_seconds: int, limit: int) -> list[tuple[str, tuple[str, ...]]]:
        statement = (
            select(revisions.c.user_id, revisions.c.memory_id)
            .where(
                revisions.c.tenant == tenant,
                revisions.c.live.is_not(None),
                revisions.c.expires_at.is_not(None),
                revisions.c.expires_at <= now_seconds,
            )
            .order_by(revisions.c.expires_at, revisions.c.position)
            .limit(limit)
        )
        found: dict[str, list[str]] = {}
        with self._db.read() as connection:
            for row in connection.execute(statement):
                found.setdefault(row.user_id, []).append(row.memory_id)
        return [(user_id, tuple(memory_ids)) for user_id, memory_ids in found.items()]


def _page(page: MemoryPage) -> Select[Any]:
    statement = _MEMORIES.where(revisions.c.tenant == page.tenant, revisions.c.user_id == page.user_id)
    if page.as_of_us is None and page.memory_ids:
        # The same rows as those that are live, said so that the index by memory_id is the one that serves.
        statement = statement.where(revisions.c.valid_until_us.is_(None), revisions.c.is_deleted.is_(False))
    elif page.as_of_us is None:
        statement = statement.where(revisions.c.live.is_not(None))
    else:
        statement = statement.where(
            revisions.c.valid_from_us <= page.as_of_us,
            or_(revisions.c.valid_until_us.is_(None), revisions.c.valid_until_us > page.as_of_us),
            revisions.c.is_deleted.is_(False),
        )
    if page.memory_ids:
        statement = statement.where(revisions.c.memory_id.in_(page.memory_ids))
    key = tuple_(revisions.c.created_at, revisions.c.position)
    if page.after_key is not None:
        statement = statement.where(key < page.after_key if page.descending else key > page.after_key)
    if page.descending:
        statement = statement.order_by(revisions.c.created_at.desc(), revisions.c.position.desc())
    else:
        statement = statement.order_by(revisions.c.created_at, revisions.c.position)
    return statement.limit(page.limit)


def _memory(row: Any) -> Memory:
    return Memory(
        memory_id=row.memory_id, user_id=row.user_id, content=row.content,
        memory_type=MemoryType(row.memory_type), metadata=json.loads(row.metadata_json),
        created_at=row.created_at, updated_at=row.updated_at, expires_at=row.expires_at,
        revision=row.revision, position=row.position,
    )  # fmt: skip


def _revision(row: Any) -> Revision:
    erased = row.content is None
    return Revision(
        memory_id=row.memory_id, revision=row.revision, action=Action(row.action), content=row.content,
        previous_content=row.previous_content, time_us=row.time_us, actor=row.actor,
        decider=DeciderKind(row.decider), reason="" if erased else row.reason, position=row.position,
        metadata={} if erased else json.loads(row.metadata_json), expires_at=row.expires_at,
        valid_from_us=row.valid_from_us, valid_until_us=row.valid_until_us, created_at=row.created_at,
    )  # fmt: skip
