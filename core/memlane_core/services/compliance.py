"""The right to be forgotten, and the proof of it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from itertools import islice
from typing import Any

from ..domain.errors import LegalHold
from ..domain.ids import new_receipt_id
from ..index import UserIndex
from ..ports.clock import Clock
from ..ports.compliance_store import AuditEvent, AuditQuery, ChainCheck, ComplianceStore, ForgetCommand
from ..ports.journal import Journal, RequestStamp
from ..ports.signer import Signer
from .call import Call
from .consistency import Positions
from .embedding_cache import CachingEmbedder
from .offload import Offload
from .receipts import Receipt, from_json, sign, to_json
from .sessions import SessionService
from .sweeper import Retention, Sweeper
from .writer import MemoryWriter

_EXPORT_CHUNK = 100


class ComplianceService:
    def __init__(
        self,
        *,
        store: ComplianceStore,
        journal: Journal,
        index: UserIndex,
        writer: MemoryWriter,
        sessions: SessionService,
        sweeper: Sweeper,
        embedder: CachingEmbedder,
        positions: Positions,
        offload: Offload,
        clock: Clock,
        signer: Signer,
        retention: Retention,
        cancel_work: Callable[[str, str], None],
    ) -> None:
        self._store = store
        self._journal = journal
        self._index = index
        self._writer = writer
        self._sessions = sessions
        self._sweeper = sweeper
        self._embedder = embedder
        self._positions = positions
        self._offload = offload
        self._clock = clock
        self._signer = signer
        self._retention = retention
        self._cancel_work = cancel_work

    async def forget(
        self, call: Call, user_id: str, *, detail: str, purge_now: bool, request: RequestStamp | None
    ) -> Receipt:
        """Everything of the user is invisible when it returns, and erased unless a legal hold keeps it.

        `purge_now` removes the rows physically before it returns. Raises LegalHold for `purge_now` under hold, before
        anything is done. A user never seen has counts of 0. Work in flight for the user writes nothing afterwards.
        """
        if purge_now:
            state = await self._offload(self._journal.user_state, call.tenant, user_id)
            if state.legal_hold:
                raise LegalHold("the user is under legal hold and cannot be purged")
        receipt = await asyncio.shield(self._forget(call, user_id, detail, purge_now, request))
        if purge_now:
            await self._sweeper.purge(call, user_id=user_id)
            await self._sweeper.scrub(call.tenant)
        return receipt

    async def _forget(
        self, call: Call, user_id: str, detail: str, purge_now: bool, request: RequestStamp | None
    ) -> Receipt:
        now_us = self._now_us()
        wait_us = 0 if purge_now else self._retention.purge_after_seconds * 1_000_000
        async with self._writer.hold(call.tenant, user_id):
            forgotten = await self._offload(
                self._store.forget_user,
                ForgetCommand(call.tenant, user_id, call.actor, detail, now_us, now_us + wait_us, request),
            )
            self._index.drop(call.tenant, user_id)
            self._sessions.forget(call.tenant, user_id)
            self._embedder.clear()
            self._cancel_work(call.tenant, user_id)
            self._positions.advance(forgotten.last_seq)
        if forgotten.replay is not None:
            return from_json(forgotten.replay)
        # The rows' tombstones reach the store here; should it be down, they are pending and reads stay right.
        await self._writer.replay_user(call.tenant, user_id)
        receipt = sign(
            Receipt(
                receipt_id=new_receipt_id(),
                tenant=call.tenant,
                user_id=user_id,
                memories=len(forgotten.memory_ids),
                revisions=forgotten.revisions,
                messages=forgotten.messages,
                ingestions=forgotten.ingestions,
                requests=forgotten.requests,
                sessions=forgotten.sessions,
                first_audit_seq=forgotten.first_seq,
                last_audit_seq=forgotten.last_seq,
                audit_head_hash=forgotten.head_hash,
                issued_us=now_us,
                purge_after_us=forgotten.purge_after_us,
                legal_hold=forgotten.legal_hold,
            ),
            self._signer,
        )
        await self._offload(
            self._store.save_receipt,
            call.tenant,
            user_id,
            receipt.receipt_id,
            to_json(receipt),
            request=request,
        )
        return receipt

    async def set_legal_hold(self, call: Call, user_id: str, *, hold: bool, detail: str) -> int:
        """Returns the position of its audit event. A release that erases what was kept back of a forgotten user
        does so down to the files."""
        async with self._writer.hold(call.tenant, user_id):
            seq = await self._offload(
                self._store.set_legal_hold,
                call.tenant,
                user_id,
                hold=hold,
                actor=call.actor,
                detail=detail,
                time_us=self._now_us(),
            )
        self._positions.advance(seq)
        if not hold:
            _, release = await self.legal_hold(call, user_id)
            if release is not None and release.count:
                await self._sweeper.purge(call, user_id=user_id)
                await self._sweeper.scrub(call.tenant)
        return seq

    async def legal_hold(self, call: Call, user_id: str) -> tuple[bool, AuditEvent | None]:
        """Whether a hold is active, and the event that last set or released it."""
        state = await self._offload(self._journal.user_state, call.tenant, user_id)
        last: AuditEvent | None = None
        for action in ("HOLD", "RELEASE"):
            events = await self._offload(
                self._store.audit_events, AuditQuery(call.tenant, user_id, actions=(action,), limit=10_000)
            )
            if events and (last is None or events[-1].seq > last.seq):
                last = events[-1]
        return state.legal_hold, last

    async def audit_events(self, query: AuditQuery) -> list[AuditEvent]:
        return await self._offload(self._store.audit_events, query)

    async def verify(self, anchors: Mapping[int, str]) -> ChainCheck:
        """Checks the whole chain, and that it holds these events (seq to hash, kept outside of it) unchanged."""
        return await self._offload(self._store.verify_chain, anchors=anchors)

    async def export(
        self, call: Call, user_id: str, *, detail: str
    ) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
        """Everything kept about a user, as (kind, JSON object): each live `memory`, then what the store exports, then
        one `position`, at which all of it was read. The export itself is audited first."""
        async with self._writer.hold(call.tenant, user_id):
            position = await self._offload(
                self._store.record_event,
                tenant=call.tenant,
                user_id=user_id,
                actor=call.actor,
                operation="ExportUser",
                action="EXPORT",
                count=0,
                reason_code="REQUESTED",
                detail=detail,
                time_us=self._now_us(),
            )
            self._positions.advance(position)
            # Both reads begin while nobody writes for this user, so they show the same moment.
            live = await self._offload(_live, self._store.export(call.tenant, user_id), self._clock.now())
            records = self._store.export(call.tenant, user_id)
            chunk = await self._offload(list, islice(records, _EXPORT_CHUNK))
        with contextlib.closing(records):
            for record in live:
                yield "memory", record
            while chunk:
                for kind, text in chunk:
                    record = json.loads(text)
                    # What is exported is what was kept before this call: an unknown user has nothing.
                    if kind != "event" or record["seq"] != position:
                        yield kind, record
                chunk = await self._offload(list, islice(records, _EXPORT_CHUNK))
        yield "position", {"position": position}

    async def purge_expired(self, call: Call, *, detail: str) -> tuple[int, int, int]:
        """(expired, purged, kept back by legal hold)."""
        swept = await self._sweeper.sweep(call)
        await self._offload(
            self._store.record_event,
            tenant=call.tenant,
            user_id="",
            actor=call.actor,
            operation="PurgeExpired",
            action="SWEEP",
            count=swept.expired + swept.purged,
            reason_code="REQUESTED",
            detail=detail,
            time_us=self._now_us(),
        )
        return swept.expired, swept.purged, swept.legal_hold_skipped

    def _now_us(self) -> int:
        return int(self._clock.now() * 1_000_000)


def _live(records: Generator[tuple[str, str], None, None], now: float) -> list[dict[str, Any]]:
    """Last revisions of the memories that are visible, out of the revisions with which an export begins."""
    live: dict[str, dict[str, Any]] = {}
    with contextlib.closing(records):
        for kind, text in records:
            if kind != "revision":
                break
            record = json.loads(text)
            live[record["memory_id"]] = record
    return [
        r for r in live.values() if not r["is_deleted"] and (r["expires_at"] is None or now < r["expires_at"])
    ]
