"""Time's work: what expired is soft-deleted, what was deleted long enough is purged. Both are audited."""

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass, replace

from ..domain.errors import Unavailable
from ..domain.limits import GLOBAL_USER_ID
from ..domain.memory import Action, DeciderKind
from ..ports.clock import Clock
from ..ports.compliance_store import ComplianceStore, PurgeItem
from ..ports.journal import Change, Commit, History, Journal, LostRace
from ..ports.vector_store import VectorStore
from .call import Call, Deadline
from .offload import Offload
from .writer import MemoryWriter

_log = logging.getLogger(__name__)

_BATCH = 500
_COMPACT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Swept:
    expired: int
    purged: int
    legal_hold_skipped: int


@dataclass(frozen=True, slots=True)
class Retention:
    purge_after_seconds: int = 30 * 86_400
    """Time between a soft delete and the physical removal."""
    replay_seconds: int = 7 * 86_400
    """How long answers are kept for replays of a request_id."""
    sweep_every_seconds: float = 60.0
    scrub_every_seconds: float = 3600.0
    """Least time between two scrubs of the files by the background sweep; a purge on request scrubs at once."""


class Sweeper:
    """Expiry hides a memory at once, whether the sweeper runs or not; the sweeper only makes it durable."""

    def __init__(
        self,
        *,
        journal: Journal,
        history: History,
        compliance: ComplianceStore,
        store: VectorStore,
        writer: MemoryWriter,
        offload: Offload,
        clock: Clock,
        retention: Retention,
    ) -> None:
        self._journal = journal
        self._history = history
        self._compliance = compliance
        self._store = store
        self._writer = writer
        self._offload = offload
        self._clock = clock
        self._retention = retention
        self._unscrubbed: set[str] = set()
        self._scrubbed_at = clock.now()

    async def run_forever(self) -> None:
        while True:
            await asyncio.sleep(self._retention.sweep_every_seconds)
            try:
                rested = self._clock.now() - self._scrubbed_at >= self._retention.scrub_every_seconds
                for tenant in await self._offload(self._journal.tenants):
                    await self.sweep(Call(tenant, "sweeper", Deadline.after(600.0)), scrub=rested)
                await self._offload(
                    self._journal.expire_requests,
                    before_us=self._now_us() - self._retention.replay_seconds * 1_000_000,
                )
            except Unavailable as error:
                _log.warning("sweep put off: %s", error.reason)

    async def sweep(self, call: Call, *, scrub: bool = True) -> Swept:
        """Expire, then purge, what is due in one tenant; safe to repeat and to interrupt.

        `scrub` also makes what was purged disappear from the files, which stops writers for a moment.
        """
        expired = await self._expire(call)
        purged, held = await self.purge(call)
        self._unscrubbed.update([call.tenant] if purged else [])
        if scrub and self._unscrubbed:
            await self.scrub()
        return Swept(expired, purged, held)

    async def _expire(self, call: Call) -> int:
        total = 0
        while True:
            now = self._clock.now()
            due = await self._offload(self._history.expired, call.tenant, now_seconds=int(now), limit=_BATCH)
            if not due:
                return total
            expired = 0
            for user_id, memory_ids in due:
                expired += await self._expire_user(call, user_id, memory_ids)
            total += expired
            if not expired:
                # Lost races or rows that the store does not have yet: the next sweep meets them again.
                return total

    async def _expire_user(self, call: Call, user_id: str, memory_ids: tuple[str, ...]) -> int:
        now = self._clock.now()
        knowledge = user_id == GLOBAL_USER_ID
        async with self._writer.hold(call.tenant, user_id):
            rows = await self._offload(
                self._store.get, call.tenant, memory_ids, knowledge=knowledge, timeout_seconds=30.0
            )
            changes = tuple(
                Change(
                    action=Action.EXPIRE,
                    memory=replace(row.memory, updated_at=int(now), revision=row.memory.revision + 1),
                    previous_content=row.memory.content,
                    embedding=row.embedding,
                    reason="",
                    reason_code="TTL",
                    decider=DeciderKind.EXPLICIT,
                    is_deleted=True,
                )
                for row in rows
                if not row.is_deleted and not row.memory.visible(now)
            )
            if not changes:
                return 0
            try:
                await self._writer.commit_locked(
                    Commit(
                        tenant=call.tenant,
                        user_id=user_id,
                        actor=call.actor,
                        operation="Sweep",
                        time_us=self._now_us(),
                        changes=changes,
                        knowledge=knowledge,
                    )
                )
            except LostRace:
                return 0
            return len(changes)

    async def purge(self, call: Call, *, user_id: str | None = None) -> tuple[int, int]:
        """Remove physically what is due, of one user or of all: (memories removed, kept back by legal hold)."""
        total = 0
        while True:
            items, held = await self._offload(
                self._compliance.due_for_purge,
                call.tenant,
                now_us=self._now_us(),
                retention_us=self._retention.purge_after_seconds * 1_000_000,
                limit=_BATCH,
                user_id=user_id,
            )
            removed = await self._purge_items(call, items)
            total += removed
            if not removed:
                break
        return total, held

    async def scrub(self, *tenants: str) -> None:
        """Make what was purged from these tenants, and by sweeps before, disappear from the files of store and
        journal."""
        for tenant in sorted({*tenants, *self._unscrubbed}):
            await self._offload(self._store.compact, tenant, timeout_seconds=_COMPACT_SECONDS)
        await self._offload(self._compliance.scrub)
        self._unscrubbed.clear()
        self._scrubbed_at = self._clock.now()

    async def _purge_items(self, call: Call, items: list[PurgeItem]) -> int:
        by_user: dict[str, list[PurgeItem]] = defaultdict(list)
        for item in items:
            by_user[item.user_id].append(item)
        removed = 0
        for user_id, own in by_user.items():
            async with self._writer.hold(call.tenant, user_id):
                first_seq, _ = await self._offload(
                    self._compliance.record_purge, own, actor=call.actor, time_us=self._now_us()
                )
            removed += len(own) if first_seq else 0
        if removed:
            await self._writer.replay_pending()
        return removed

    def _now_us(self) -> int:
        return int(self._clock.now() * 1_000_000)
