"""The Journal port: append, replays, and the outbox to the vector store."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from ...domain.errors import ForgottenMeanwhile, NotFound
from ...domain.memory import Action, Memory, MemoryType
from ...ports.ingestion_queue import IngestionState
from ...ports.journal import (
    AppliedRow,
    Change,
    Commit,
    Committed,
    LostRace,
    PendingRow,
    Replay,
    RequestStamp,
    UserState,
)
from ...ports.vector_store import StoredRow
from .base import AnswerKind
from .chain import ChainWriter, NewEvent, commitment, new_salt
from .engine import require_text
from .quotas import QuotasMixin
from .schema import (
    chain_head,
    events,
    ingestions,
    meta,
    pending,
    requests,
    revision_texts,
    revisions,
    tombstones,
)

_DELETING = frozenset({Action.DELETE, Action.EXPIRE, Action.FORGET})

_LAST_REVISIONS = select(
    revisions.c.memory_id,
    revisions.c.position,
    revisions.c.revision,
    revisions.c.valid_from_us,
    revisions.c.live,
    revisions.c.dimension,
).where(
    revisions.c.tenant == bindparam("tenant"),
    revisions.c.user_id == bindparam("user_id"),
    revisions.c.memory_id.in_(bindparam("memory_ids", expanding=True)),
    revisions.c.valid_until_us.is_(None),
)
_SUPERSEDE = (
    update(revisions)
    .where(revisions.c.position == bindparam("old_position"))
    .values(valid_until_us=bindparam("until_us"), live=None)
)
_INSERT_REVISION = insert(revisions)
_INSERT_TEXT = insert(revision_texts)
_DROP_TOMBSTONE = delete(tombstones).where(
    tombstones.c.tenant == bindparam("old_tenant"),
    tombstones.c.user_id == bindparam("old_user_id"),
    tombstones.c.memory_id == bindparam("old_memory_id"),
)
_INGESTION = select(ingestions.c.state, ingestions.c.result, ingestions.c.position).where(
    ingestions.c.ingestion_id == bindparam("ingestion_id"),
    ingestions.c.tenant == bindparam("tenant"),
    ingestions.c.user_id == bindparam("user_id"),
)
_FINISH_INGESTION = (
    update(ingestions)
    .where(ingestions.c.ingestion_id == bindparam("finished_id"))
    .values(
        state=IngestionState.DONE.value,
        unfinished=None,
        payload="",
        result=bindparam("new_result"),
        error_reason="",
        error_message="",
        updated_us=bindparam("new_updated_us"),
        position=bindparam("new_position"),
    )
)
_APPLIED = delete(pending).where(
    pending.c.tenant == bindparam("old_tenant"),
    pending.c.knowledge == bindparam("old_knowledge"),
    pending.c.memory_id == bindparam("old_memory_id"),
    pending.c.position <= bindparam("old_position"),
)
_PENDING = (
    select(
        pending,
        revisions.c.memory_type,
        revisions.c.created_at,
        revisions.c.updated_at,
        revisions.c.expires_at,
        revisions.c.revision,
        revisions.c.dimension,
        revision_texts.c.content,
        revision_texts.c.metadata.label("metadata_json"),
    )
    .join(revisions, revisions.c.position == pending.c.revision_position)
    .join(revision_texts, revision_texts.c.position == pending.c.revision_position, isouter=True)
    .order_by(pending.c.position, pending.c.memory_id)
)


@dataclass(slots=True)
class _Last:
    """The last revision of a memory; `row` when it was made in this very commit."""

    position: int
    revision: int
    valid_from_us: int
    live: bool
    dimension: int
    row: dict[str, Any] | None = None


def blank_vector(dimension: int) -> NDArray[np.float32]:
    """The unit vector that stands where there is no text any more."""
    vector = np.zeros(dimension, dtype=np.float32)
    vector[0] = 1.0
    return vector


class _Writer:
    """The rows that the changes of one commit come to."""

    def __init__(self, connection: Connection, commit: Commit) -> None:
        self._connection = connection
        self._commit = commit
        self.chain = ChainWriter(connection)
        self._last: dict[str, _Last] = {}
        self._superseded: list[dict[str, Any]] = []
        self._revisions: list[dict[str, Any]] = []
        self._texts: list[dict[str, Any]] = []
        self.pending: dict[str, dict[str, Any]] = {}
        self.tombstones: dict[str, dict[str, Any]] = {}
        self._revived: dict[str, dict[str, Any]] = {}

    def load(self) -> None:
        commit = self._commit
        rows = self._connection.execute(
            _LAST_REVISIONS,
            {
                "tenant": commit.tenant,
                "user_id": commit.user_id,
                "memory_ids": list({change.memory.memory_id for change in commit.changes}),
            },
        )
        for row in rows:
            self._last[row.memory_id] = _Last(
                row.position, row.revision, row.valid_from_us, row.live is not None, row.dimension
            )

    def add(self, change: Change) -> int:
        """Returns the position given to the change."""
        commit, memory = self._commit, change.memory
        last = self._last.get(memory.memory_id)
        self._check(change, last)
        deleted = change.is_deleted or change.action in _DELETING
        # What deletes may come without a vector; the outbox then writes the blank one, of the length known.
        dimension = len(change.embedding) or (last.dimension if last is not None else 0)
        salt = new_salt()
        position = self.chain.add(
            NewEvent(
                time_us=commit.time_us, tenant=commit.tenant, user_id=commit.user_id, actor=commit.actor,
                operation=commit.operation, action=change.action.value, memory_id=memory.memory_id,
                revision=memory.revision, count=1, reason_code=change.reason_code,
                commitment=commitment(salt, memory.content),
            )
        )  # fmt: skip
        # A clock that went back must not make the next revision hold before the one that it follows.
        valid_from_us = commit.time_us if last is None else max(commit.time_us, last.valid_from_us)
        if last is not None:
            self._supersede(last, valid_from_us)
        row: dict[str, Any] = {
            "position": position, "tenant": commit.tenant, "user_id": commit.user_id,
            "memory_id": memory.memory_id, "knowledge": commit.knowledge, "revision": memory.revision,
            "action": change.action.value, "is_deleted": deleted, "decider": change.decider.value,
            "memory_type": memory.memory_type.value, "created_at": memory.created_at,
            "updated_at": memory.updated_at, "expires_at": memory.expires_at, "valid_from_us": valid_from_us,
            "valid_until_us": None, "live": None if deleted else 1, "dimension": dimension,
        }  # fmt: skip
        self._revisions.append(row)
        self._texts.append(
            {
                "position": position, "content": memory.content, "previous_content": change.previous_content,
                "reason": change.reason, "metadata": json.dumps(dict(memory.metadata), ensure_ascii=False),
                "session_id": change.session_id, "salt": salt,
            }
        )  # fmt: skip
        self._last[memory.memory_id] = _Last(
            position, memory.revision, valid_from_us, not deleted, dimension, row
        )
        self._outbox(change, position, deleted)
        return position

    def _check(self, change: Change, last: _Last | None) -> None:
        memory = change.memory
        alive = last is not None and last.live
        if change.action is Action.ADD:
            if alive:
                raise LostRace
        elif last is None or not alive or memory.revision != last.revision + 1:
            raise LostRace

    def _supersede(self, last: _Last, until_us: int) -> None:
        if last.row is None:
            self._superseded.append({"old_position": last.position, "until_us": until_us})
        else:
            last.row["valid_until_us"] = until_us
            last.row["live"] = None

    def _outbox(self, change: Change, position: int, deleted: bool) -> None:
        commit, memory_id = self._commit, change.memory.memory_id
        self.pending[memory_id] = {
            "tenant": commit.tenant, "knowledge": commit.knowledge, "memory_id": memory_id,
            "user_id": commit.user_id, "position": position, "revision_position": position,
            "is_deleted": deleted, "physical_delete": False,
            "embedding": np.ascontiguousarray(change.embedding, dtype="<f4").tobytes(),
        }  # fmt: skip
        if deleted:
            self.tombstones[memory_id] = {
                "tenant": commit.tenant, "user_id": commit.user_id, "memory_id": memory_id,
                "knowledge": commit.knowledge, "position": position, "deleted_us": commit.time_us,
                "purge_after_us": None,
            }  # fmt: skip
        else:
            self.tombstones.pop(memory_id, None)
            if change.action is Action.ADD:
                self._revived[memory_id] = {
                    "old_tenant": commit.tenant, "old_user_id": commit.user_id, "old_memory_id": memory_id,
                }  # fmt: skip

    def flush(self) -> None:
        execute = self._connection.execute
        self.chain.flush()
        if self._superseded:
            execute(_SUPERSEDE, self._superseded)
        if self._revived:
            execute(_DROP_TOMBSTONE, list(self._revived.values()))
        execute(_INSERT_REVISION, self._revisions)
        execute(_INSERT_TEXT, self._texts)


class JournalMixin(QuotasMixin):
    """See ports/journal.py for the contract of every method."""

    @property
    def journal_id(self) -> str:
        return self._journal_id

    def append(self, commit: Commit) -> Committed:
        _check_commit(commit)
        with self._db.write() as connection:
            state = self._user_state(connection, commit.tenant, commit.user_id)
            replayed = self._replayed(connection, commit, state)
            if replayed is not None:
                return replayed
            if commit.expected_epoch is not None and commit.expected_epoch != state.epoch:
                raise ForgottenMeanwhile("the user was forgotten since this work began")
            if commit.expected_head is not None and commit.expected_head != state.head:
                raise LostRace
            self._check_quota(connection, commit)
            positions = self._write_changes(connection, commit)
            head = positions[-1] if positions else state.head
            if positions:
                self._write_user(connection, commit.tenant, commit.user_id, replace(state, head=head))
            self._answer(connection, commit, positions, head)
            # While no other write runs: the next one's check has to know of these.
            self._count(commit)
            return Committed(positions=positions, head=head, first=bool(positions) and state.head == 0)

    def _replayed(self, connection: Connection, commit: Commit, state: UserState) -> Committed | None:
        if commit.request is not None:
            replay = self._find_replay(connection, commit.tenant, commit.user_id, commit.request)
            if replay is not None:
                return Committed(positions=(), head=replay.position, replay=replay.response)
        if commit.ingestion_id:
            row = connection.execute(
                _INGESTION,
                {
                    "ingestion_id": commit.ingestion_id,
                    "tenant": commit.tenant,
                    "user_id": commit.user_id,
                },
            ).first()
            if row is None:
                raise NotFound("ingestion", commit.ingestion_id)
            if row.state == IngestionState.CANCELLED:
                raise ForgottenMeanwhile("the user was forgotten since this was accepted")
            if row.state == IngestionState.DONE:
                return Committed(positions=(), head=row.position, replay=row.result)
        return None

    def _write_changes(self, connection: Connection, commit: Commit) -> tuple[int, ...]:
        if not commit.changes:
            return ()
        writer = _Writer(connection, commit)
        writer.load()
        positions = tuple(writer.add(change) for change in commit.changes)
        writer.flush()
        self._db.upsert(connection, pending, list(writer.pending.values()))
        self._db.upsert(connection, tombstones, list(writer.tombstones.values()))
        return positions

    def _answer(self, connection: Connection, commit: Commit, positions: tuple[int, ...], head: int) -> None:
        if commit.request is None and not commit.ingestion_id:
            return
        response = commit.respond(positions) if commit.respond is not None else ""
        if commit.request is not None:
            self._keep_answer(
                connection, commit.tenant, commit.user_id, commit.request, response,
                kind=AnswerKind.TEXT, position=head, time_us=commit.time_us,
            )  # fmt: skip
        if commit.ingestion_id:
            connection.execute(
                _FINISH_INGESTION,
                {
                    "finished_id": commit.ingestion_id,
                    "new_result": response,
                    "new_updated_us": commit.time_us,
                    "new_position": head,
                },
            )

    def find_replay(self, tenant: str, user_id: str, request: RequestStamp) -> Replay | None:
        with self._db.read() as connection:
            return self._find_replay(connection, tenant, user_id, request)

    def user_state(self, tenant: str, user_id: str) -> UserState:
        with self._db.read() as connection:
            return self._user_state(connection, tenant, user_id)

    def head(self) -> int:
        with self._db.read() as connection:
            return int(connection.execute(select(chain_head.c.seq)).scalar_one())

    def pending(
        self, *, tenant: str | None = None, user_id: str | None = None, limit: int = 1000
    ) -> list[PendingRow]:
        query = _PENDING.limit(limit)
        if tenant is not None:
            query = query.where(pending.c.tenant == tenant)
        if user_id is not None:
            query = query.where(pending.c.user_id == user_id)
        with self._db.read() as connection:
            return [_pending_row(row) for row in connection.execute(query)]

    def mark_applied(self, rows: Sequence[AppliedRow]) -> None:
        if not rows:
            return
        keys = [
            {
                "old_tenant": row.tenant,
                "old_knowledge": row.knowledge,
                "old_memory_id": row.memory_id,
                "old_position": row.position,
            }
            for row in rows
        ]
        # Losing this to a power cut only means that the rows are applied once more.
        with self._db.write(durable=False) as connection:
            connection.execute(_APPLIED, keys)

    def tenants(self) -> list[str]:
        found: list[str] = []
        with self._db.read() as connection:
            # One step of the index per tenant, where DISTINCT would walk every event.
            step = select(func.min(events.c.tenant))
            tenant = connection.execute(step).scalar()
            while tenant is not None:
                found.append(tenant)
                tenant = connection.execute(step.where(events.c.tenant > tenant)).scalar()
        return sorted(found)

    def expire_requests(self, *, before_us: int) -> int:
        with self._db.write() as connection:
            return connection.execute(delete(requests).where(requests.c.time_us < before_us)).rowcount

    def ping(self) -> None:
        with self._db.read() as connection:
            connection.execute(select(meta.c.value).limit(1)).first()

    def close(self) -> None:
        self._db.close()


def _check_commit(commit: Commit) -> None:
    """What can be told without the database. Raises InvalidArgument; ValueError for what no caller may
    do."""
    require_text(tenant=commit.tenant, user_id=commit.user_id, actor=commit.actor, operation=commit.operation)
    for change in commit.changes:
        memory = change.memory
        if change.action is Action.NOOP:
            raise ValueError("NOOP changes nothing: it is no change to append")
        if memory.user_id != commit.user_id:
            raise ValueError("a commit holds the changes of one user")
        require_text(
            memory_id=memory.memory_id,
            content=memory.content,
            reason=change.reason,
            previous_content=change.previous_content or "",
            session_id=change.session_id,
        )
        for key, value in memory.metadata.items():
            require_text(metadata=key + value)


def _pending_row(row: Any) -> PendingRow:
    blank = row.content is None
    memory = Memory(
        memory_id=row.memory_id, user_id=row.user_id, content="" if blank else row.content,
        memory_type=MemoryType(row.memory_type), metadata={} if blank else json.loads(row.metadata_json),
        created_at=row.created_at, updated_at=row.updated_at, expires_at=row.expires_at,
        revision=row.revision, position=row.position,
    )  # fmt: skip
    if blank or not row.embedding:
        embedding = blank_vector(row.dimension)
    else:
        embedding = np.frombuffer(row.embedding, dtype="<f4").astype(np.float32)
    return PendingRow(
        tenant=row.tenant,
        knowledge=row.knowledge,
        position=row.position,
        row=StoredRow(memory=memory, embedding=embedding, is_deleted=row.is_deleted),
        physical_delete=row.physical_delete,
    )
