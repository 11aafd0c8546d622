"""The ComplianceStore port: erasure with proof, legal hold, purge and the audit log."""

import dataclasses
import json
from collections.abc import Generator, Mapping
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select

from ...domain.memory import Action, DeciderKind
from ...ports.compliance_store import (
    AuditEvent,
    AuditQuery,
    ChainCheck,
    ForgetCommand,
    Forgotten,
    PurgeItem,
)
from ...ports.journal import RequestStamp, UserState
from . import chain, erasure
from .base import AnswerKind, SqlBase
from .chain import ChainWriter, NewEvent
from .engine import require_text
from .schema import events, held_texts, pending, receipts, tombstones, users

_ID_BATCH = 500


class ComplianceMixin(SqlBase):
    """See ports/compliance_store.py for the contract of every method."""

    def forget_user(self, command: ForgetCommand) -> Forgotten:
        tenant, user_id = command.tenant, command.user_id
        require_text(tenant=tenant, user_id=user_id, actor=command.actor, detail=command.detail)
        with self._db.write() as connection:
            if command.request is not None:
                replay = self._find_replay(connection, tenant, user_id, command.request)
                if replay is not None:
                    return _replayed(connection, command, command.request, replay.response)
            state = self._user_state(connection, tenant, user_id)
            if state.legal_hold:
                erasure.hold_texts(connection, tenant, user_id)
            forgotten = self._forget(connection, command, state)
            if command.request is not None:
                self._keep_answer(
                    connection, tenant, user_id, command.request, json.dumps(dataclasses.asdict(forgotten)),
                    kind=AnswerKind.RECEIPT, position=forgotten.last_seq, time_us=command.time_us,
                )  # fmt: skip
        return forgotten

    def _forget(self, connection: Connection, command: ForgetCommand, state: UserState) -> Forgotten:
        tenant, user_id = command.tenant, command.user_id
        writer = ChainWriter(connection)
        first_seq = writer.seq + 1
        live = erasure.live_revisions(connection, tenant, user_id)
        ends = [_forget_revision(writer, command, row) for row in live]
        last_seq = writer.add(
            NewEvent(
                time_us=command.time_us, tenant=tenant, user_id=user_id, actor=command.actor,
                operation="ForgetUser", action=Action.FORGET.value, count=len(live),
                reason_code="LEGAL_HOLD" if state.legal_hold else "FORGOTTEN", detail=command.detail,
            )
        )  # fmt: skip
        writer.flush()
        erasure.supersede(connection, live, ends)
        erased = erasure.erase_user(connection, tenant, user_id, time_us=command.time_us)
        self._bury(connection, command, ends, last_seq)
        self._write_user(connection, tenant, user_id, UserState(last_seq, state.epoch + 1, state.legal_hold))
        return Forgotten(
            memory_ids=tuple(row["memory_id"] for row in live),
            revisions=erased.revisions,
            messages=erased.messages,
            sessions=erased.sessions,
            ingestions=erased.ingestions,
            requests=erased.requests,
            first_seq=first_seq,
            last_seq=last_seq,
            head_hash=writer.hash,
            epoch=state.epoch + 1,
            purge_after_us=command.purge_after_us,
            legal_hold=state.legal_hold,
        )

    def _bury(
        self, connection: Connection, command: ForgetCommand, ends: list[dict[str, Any]], last_seq: int
    ) -> None:
        """Tombstones for what was live; blank outbox rows for these and for what had been deleted before,
        whose texts the vector store still holds."""
        graves = {
            row["memory_id"]: row
            for row in erasure.user_tombstones(connection, command.tenant, command.user_id)
        }
        positions = dict.fromkeys(graves, last_seq)
        for row in ends:
            memory_id = row["memory_id"]
            positions[memory_id] = row["position"]
            graves[memory_id] = {
                "tenant": command.tenant, "user_id": command.user_id, "memory_id": memory_id,
                "knowledge": row["knowledge"], "position": row["position"],
                "deleted_us": command.time_us,
            }  # fmt: skip
        marked = [dict(grave, purge_after_us=command.purge_after_us) for grave in graves.values()]
        self._db.upsert(connection, tombstones, marked)
        blanks = [
            erasure.blank_pending(grave, positions[grave["memory_id"]], physical_delete=False)
            for grave in marked
        ]
        self._db.upsert(connection, pending, blanks)

    def save_receipt(
        self, tenant: str, user_id: str, receipt_id: str, receipt: str, *, request: RequestStamp | None = None
    ) -> None:
        require_text(receipt_id=receipt_id, receipt=receipt)
        row = {
            "tenant": tenant, "user_id": user_id, "receipt_id": receipt_id, "receipt": receipt,
            "method": request.method if request is not None else "",
            "request_id": request.request_id if request is not None else "",
        }  # fmt: skip
        with self._db.write() as connection:
            self._db.upsert(connection, receipts, [row])

    def set_legal_hold(
        self, tenant: str, user_id: str, *, hold: bool, actor: str, detail: str, time_us: int
    ) -> int:
        require_text(tenant=tenant, user_id=user_id, actor=actor, detail=detail)
        with self._db.write() as connection:
            state = self._user_state(connection, tenant, user_id)
            erased = 0 if hold else erasure.release_texts(connection, tenant, user_id)
            self._write_user(connection, tenant, user_id, UserState(state.head, state.epoch, hold))
            return _add_event(
                connection,
                NewEvent(
                    time_us=time_us, tenant=tenant, user_id=user_id, actor=actor, operation="SetLegalHold",
                    action="HOLD" if hold else "RELEASE", count=erased, reason_code="STATED",
                    detail=detail,
                ),
            )  # fmt: skip

    def due_for_purge(
        self, tenant: str, *, now_us: int, retention_us: int, limit: int, user_id: str | None = None
    ) -> tuple[list[PurgeItem], int]:
        due = and_(
            tombstones.c.tenant == tenant,
            or_(
                tombstones.c.purge_after_us <= now_us,
                and_(
                    tombstones.c.purge_after_us.is_(None),
                    tombstones.c.deleted_us <= now_us - retention_us,
                ),
            ),
        )
        if user_id is not None:
            due = and_(due, tombstones.c.user_id == user_id)
        held = func.coalesce(users.c.legal_hold, False)
        owner = and_(users.c.tenant == tombstones.c.tenant, users.c.user_id == tombstones.c.user_id)
        joined = tombstones.join(users, owner, isouter=True)
        items = (
            select(tombstones)
            .select_from(joined)
            .where(due, held.is_(False))
            .order_by(tombstones.c.deleted_us, tombstones.c.user_id, tombstones.c.memory_id)
            .limit(limit)
        )
        kept_back = select(func.count()).select_from(joined).where(due, held.is_(True))
        with self._db.read() as connection:
            found = [
                PurgeItem(row.tenant, row.user_id, row.memory_id, row.knowledge)
                for row in connection.execute(items)
            ]
            return found, int(connection.execute(kept_back).scalar_one())

    def record_purge(self, items: list[PurgeItem], *, actor: str, time_us: int) -> tuple[int, int]:
        def owner(item: PurgeItem) -> tuple[str, str]:
            return item.tenant, item.user_id

        with self._db.write() as connection:
            writer = ChainWriter(connection)
            first_seq = writer.seq + 1
            removals: list[dict[str, Any]] = []
            for (tenant, user_id), group in groupby(sorted(items, key=owner), key=owner):
                if self._user_state(connection, tenant, user_id).legal_hold:
                    continue
                wanted = [item.memory_id for item in group]
                purged = _tombstones_of(connection, tenant, user_id, wanted)
                if not purged:
                    continue
                seq = writer.add(
                    NewEvent(
                        time_us=time_us, tenant=tenant, user_id=user_id, actor=actor, operation="Purge",
                        action=Action.PURGE.value, count=len(purged), reason_code="RETENTION_OVER",
                    )
                )  # fmt: skip
                erasure.erase_memories(connection, purged)
                removals += [erasure.blank_pending(row, seq, physical_delete=True) for row in purged]
            writer.flush()
            self._db.upsert(connection, pending, removals)
            return (first_seq, writer.seq) if removals else (0, 0)

    def scrub(self) -> None:
        self._db.scrub()

    def record_event(
        self,
        *,
        tenant: str,
        user_id: str,
        actor: str,
        operation: str,
        action: str,
        count: int,
        reason_code: str,
        detail: str,
        time_us: int,
    ) -> int:
        require_text(
            tenant=tenant, user_id=user_id, actor=actor, operation=operation, action=action,
            reason_code=reason_code, detail=detail,
        )  # fmt: skip
        new = NewEvent(
            time_us=time_us, tenant=tenant, user_id=user_id, actor=actor, operation=operation,
            action=action, count=count, reason_code=reason_code, detail=detail,
        )  # fmt: skip
        with self._db.write() as connection:
            return _add_event(connection, new)

    def audit_events(self, query: AuditQuery) -> list[AuditEvent]:
        statement = select(events).where(events.c.tenant == query.tenant, events.c.seq > query.after_seq)
        if query.user_id is not None:
            statement = statement.where(events.c.user_id == query.user_id)
        if query.actions:
            statement = statement.where(events.c.action.in_(query.actions))
        if query.operations:
            statement = statement.where(events.c.operation.in_(query.operations))
        if query.from_us is not None:
            statement = statement.where(events.c.time_us >= query.from_us)
        if query.until_us is not None:
            statement = statement.where(events.c.time_us < query.until_us)
        with self._db.read() as connection:
            rows = connection.execute(statement.order_by(events.c.seq).limit(query.limit))
            return [chain.audit_event(row) for row in rows]

    def verify_chain(self, *, from_seq: int = 1, anchors: Mapping[int, str] | None = None) -> ChainCheck:
        return chain.verify(self._db, self._journal_id, from_seq, anchors or {})

    def export(self, tenant: str, user_id: str) -> Generator[tuple[str, str], None, None]:
        """One read transaction until the generator ends or is closed: all records are of the same moment.
        What is kept under a legal hold of a forgotten user is left out, as from every read; see
        `export_held`."""
        with self._db.read() as connection:
            yield from erasure.kept_texts(connection, tenant, user_id)
            yield from erasure.kept_events(connection, tenant, user_id)

    def export_held(self, tenant: str, user_id: str) -> Generator[tuple[str, str], None, None]:
        """What a legal hold keeps back of a forgotten user, as `export` would have given it before: for
        those who imposed the hold. Outside of the port, so that no RPC reaches it."""
        statement = (
            select(held_texts.c.kind, held_texts.c.record)
            .where(held_texts.c.tenant == tenant, held_texts.c.user_id == user_id)
            .order_by(held_texts.c.id)
        )
        with self._db.read() as connection:
            for row in connection.execute(statement):
                yield row.kind, row.record


def _add_event(connection: Connection, new: NewEvent) -> int:
    writer = ChainWriter(connection)
    seq = writer.add(new)
    writer.flush()
    return seq


def _forget_revision(writer: ChainWriter, command: ForgetCommand, live: dict[str, Any]) -> dict[str, Any]:
    """The FORGET revision that follows a live one, with its event. It has no text, and so no commitment."""
    position = writer.add(
        NewEvent(
            time_us=command.time_us, tenant=command.tenant, user_id=command.user_id,
            actor=command.actor, operation="ForgetUser", action=Action.FORGET.value,
            memory_id=live["memory_id"], revision=live["revision"] + 1, count=1, reason_code="FORGOTTEN",
        )
    )  # fmt: skip
    return dict(
        live, position=position, revision=live["revision"] + 1, action=Action.FORGET.value,
        is_deleted=True, decider=DeciderKind.EXPLICIT.value, updated_at=command.time_us // 1_000_000,
        valid_from_us=max(command.time_us, live["valid_from_us"]), valid_until_us=None, live=None,
    )  # fmt: skip


def _replayed(
    connection: Connection, command: ForgetCommand, request: RequestStamp, stored: str
) -> Forgotten:
    receipt = connection.execute(
        select(receipts.c.receipt).where(
            receipts.c.tenant == command.tenant,
            receipts.c.user_id == command.user_id,
            receipts.c.method == request.method,
            receipts.c.request_id == request.request_id,
        )
    ).scalar()
    fields = json.loads(stored)
    fields.update(memory_ids=tuple(fields["memory_ids"]), replay=receipt)
    return Forgotten(**fields)


def _tombstones_of(
    connection: Connection, tenant: str, user_id: str, memory_ids: list[str]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for start in range(0, len(memory_ids), _ID_BATCH):
        statement = select(tombstones).where(
            tombstones.c.tenant == tenant,
            tombstones.c.user_id == user_id,
            tombstones.c.memory_id.in_(memory_ids[start : start + _ID_BATCH]),
        )
        found += [dict(row) for row in connection.execute(statement).mappings()]
    return found
