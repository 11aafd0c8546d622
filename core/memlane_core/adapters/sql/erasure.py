"""What is kept about one user, and its removal. Every function works inside the caller's transaction."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update

from ...ports.ingestion_queue import IngestionState
from .base import AnswerKind
from .history import REVISIONS
from .schema import (
    events,
    held_texts,
    ingestions,
    messages,
    requests,
    revision_texts,
    revisions,
    sessions,
    tombstones,
)

_BATCH_ROWS = 500


@dataclass(frozen=True, slots=True)
class Erased:
    """How many rows lost their texts."""

    revisions: int
    messages: int
    sessions: int
    ingestions: int
    requests: int


def live_revisions(connection: Connection, tenant: str, user_id: str) -> list[dict[str, Any]]:
    """Last revisions of the memories that are not deleted, by position."""
    statement = (
        select(revisions)
        .where(revisions.c.tenant == tenant, revisions.c.user_id == user_id, revisions.c.live.is_not(None))
        .order_by(revisions.c.position)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def supersede(connection: Connection, old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> None:
    """Put the revisions `new` after the revisions `old`, pair by pair."""
    if not old:
        return
    connection.execute(
        update(revisions)
        .where(revisions.c.position == bindparam("old_position"))
        .values(live=None, valid_until_us=bindparam("until_us")),
        [
            {"old_position": before["position"], "until_us": after["valid_from_us"]}
            for before, after in zip(old, new, strict=True)
        ],
    )
    connection.execute(insert(revisions), list(new))


def user_tombstones(connection: Connection, tenant: str, user_id: str) -> list[dict[str, Any]]:
    statement = (
        select(tombstones)
        .where(tombstones.c.tenant == tenant, tombstones.c.user_id == user_id)
        .order_by(tombstones.c.position)
    )
    return [dict(row) for row in connection.execute(statement).mappings()]


def blank_pending(tombstone: dict[str, Any], position: int, *, physical_delete: bool) -> dict[str, Any]:
    """The outbox row that empties, or removes, what the vector store holds of a deleted memory."""
    return {
        "tenant": tombstone["tenant"], "knowledge": tombstone["knowledge"],
        "memory_id": tombstone["memory_id"], "user_id": tombstone["user_id"], "position": position,
        "revision_position": tombstone["position"], "is_deleted": True,
        "physical_delete": physical_delete, "embedding": b"",
    }  # fmt: skip


def erase_user(connection: Connection, tenant: str, user_id: str, *, time_us: int) -> Erased:
    """Empty every text of a user: revisions, messages, ingestions, stored answers. Shapes and counts
    stay."""
    execute = connection.execute
    of_user = select(revisions.c.position).where(revisions.c.tenant == tenant, revisions.c.user_id == user_id)
    texts = execute(delete(revision_texts).where(revision_texts.c.position.in_(of_user))).rowcount
    said = execute(
        delete(messages).where(messages.c.tenant == tenant, messages.c.user_id == user_id)
    ).rowcount
    ended = execute(
        delete(sessions).where(sessions.c.tenant == tenant, sessions.c.user_id == user_id)
    ).rowcount
    mine = (ingestions.c.tenant == tenant, ingestions.c.user_id == user_id)
    holding = or_(
        ingestions.c.unfinished.is_not(None),
        ingestions.c.payload != "",
        ingestions.c.result != "",
        ingestions.c.error_message != "",
    )
    jobs = execute(select(func.count()).select_from(ingestions).where(*mine, holding)).scalar_one()
    execute(
        update(ingestions)
        .where(*mine, ingestions.c.unfinished.is_not(None))
        .values(state=IngestionState.CANCELLED.value, unfinished=None, updated_us=time_us)
    )
    execute(update(ingestions).where(*mine).values(payload="", result="", error_message=""))
    answers = execute(
        update(requests)
        .where(
            requests.c.tenant == tenant,
            requests.c.user_id == user_id,
            requests.c.kind != AnswerKind.RECEIPT.value,
            requests.c.fingerprint != "",
        )
        .values(fingerprint="", response="")
    ).rowcount
    return Erased(revisions=texts, messages=said, sessions=ended, ingestions=int(jobs), requests=answers)


def erase_memories(connection: Connection, purged: Sequence[dict[str, Any]]) -> None:
    """Remove for good what is kept of these tombstones, all of one user: the texts of every revision, and
    the answers and results given up to the deletion, which may quote them."""
    tenant, user_id = purged[0]["tenant"], purged[0]["user_id"]
    for start in range(0, len(purged), _BATCH_ROWS):
        ids = [row["memory_id"] for row in purged[start : start + _BATCH_ROWS]]
        of_memories = select(revisions.c.position).where(
            revisions.c.tenant == tenant,
            revisions.c.user_id == user_id,
            revisions.c.memory_id.in_(ids),
        )
        connection.execute(delete(revision_texts).where(revision_texts.c.position.in_(of_memories)))
        connection.execute(
            delete(tombstones).where(
                tombstones.c.tenant == tenant,
                tombstones.c.user_id == user_id,
                tombstones.c.memory_id.in_(ids),
            )
        )
    position = max(row["position"] for row in purged)
    time_us = max(row["deleted_us"] for row in purged)
    connection.execute(
        update(requests)
        .where(
            requests.c.tenant == tenant,
            requests.c.user_id == user_id,
            requests.c.kind == AnswerKind.TEXT.value,
            or_(requests.c.position <= position, requests.c.time_us <= time_us),
        )
        .values(fingerprint="", response="")
    )
    connection.execute(
        update(ingestions)
        .where(
            ingestions.c.tenant == tenant,
            ingestions.c.user_id == user_id,
            ingestions.c.state == IngestionState.DONE.value,
            or_(ingestions.c.position <= position, ingestions.c.updated_us <= time_us),
        )
        .values(result="")
    )


def hold_texts(connection: Connection, tenant: str, user_id: str) -> None:
    """Copy what `erase_user` is about to empty to where no read of the service finds it."""
    batch: list[dict[str, str]] = []
    for kind, record in kept_texts(connection, tenant, user_id):
        batch.append({"tenant": tenant, "user_id": user_id, "kind": kind, "record": record})
        if len(batch) == _BATCH_ROWS:
            connection.execute(insert(held_texts), batch)
            batch = []
    if batch:
        connection.execute(insert(held_texts), batch)


def release_texts(connection: Connection, tenant: str, user_id: str) -> int:
    """Erase what was held; returns how many records."""
    return connection.execute(
        delete(held_texts).where(held_texts.c.tenant == tenant, held_texts.c.user_id == user_id)
    ).rowcount


def kept_texts(connection: Connection, tenant: str, user_id: str) -> Iterator[tuple[str, str]]:
    """Pairs of kind (revision, message, ingestion) and JSON, read in batches by key."""
    revision_rows = REVISIONS.where(revisions.c.tenant == tenant, revisions.c.user_id == user_id)
    yield from _records(connection, "revision", revision_rows, revisions.c.position)
    yield from _messages(connection, tenant, user_id)
    jobs = select(ingestions).where(ingestions.c.tenant == tenant, ingestions.c.user_id == user_id)
    yield from _records(connection, "ingestion", jobs.order_by(ingestions.c.serial), ingestions.c.serial)


def kept_events(connection: Connection, tenant: str, user_id: str) -> Iterator[tuple[str, str]]:
    rows = select(events).where(events.c.tenant == tenant, events.c.user_id == user_id)
    yield from _records(connection, "event", rows.order_by(events.c.seq), events.c.seq)


def _records(connection: Connection, kind: str, statement: Any, key: Any) -> Iterator[tuple[str, str]]:
    after = 0
    while True:
        rows = connection.execute(statement.where(key > after).limit(_BATCH_ROWS)).mappings().all()
        for row in rows:
            yield kind, _json(row)
        if len(rows) < _BATCH_ROWS:
            return
        after = rows[-1][key.name]


def _messages(connection: Connection, tenant: str, user_id: str) -> Iterator[tuple[str, str]]:
    of_sessions = (
        select(sessions.c.session_id)
        .where(sessions.c.tenant == tenant, sessions.c.user_id == user_id)
        .order_by(sessions.c.session_id)
    )
    for session_id in connection.execute(of_sessions).scalars().all():
        said = select(messages).where(
            messages.c.tenant == tenant,
            messages.c.user_id == user_id,
            messages.c.session_id == session_id,
        )
        yield from _records(connection, "message", said.order_by(messages.c.seq), messages.c.seq)


_BOOKKEEPING = frozenset({"live", "dimension", "unfinished", "serial"})


def _json(row: Any) -> str:
    record = {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in row.items()
        if name not in _BOOKKEEPING
    }
    if record.get("metadata_json") is not None:
        record["metadata"] = json.loads(record.pop("metadata_json"))
    return json.dumps(record, ensure_ascii=False)
