"""Journal, then vector store, then index: the one way by which memories change."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from ..domain.errors import StoreUnavailable, Unavailable
from ..index import UserIndex
from ..ports.journal import AppliedRow, Commit, Committed, Journal, PendingRow
from ..ports.vector_store import StoredRow, VectorStore
from .consistency import Positions
from .locks import KeyedLocks
from .offload import Offload

_log = logging.getLogger(__name__)

_APPLY_SECONDS = 10.0
_RECONCILE_SECONDS = 0.5
_BATCH_ROWS = 500


class MemoryWriter:
    """Commits changes of one user and applies them in the order of the journal.

    What is journaled is true: if the store does not take it now, readers of this process see it all the same, the
    caller is told UNAVAILABLE, and a background task applies it as soon as the store answers again.
    """

    def __init__(
        self,
        journal: Journal,
        store: VectorStore,
        index: UserIndex,
        offload: Offload,
        positions: Positions,
        write_locks: KeyedLocks,
        *,
        on_store_state: Callable[[bool], None] = lambda up: None,
    ) -> None:
        self._journal = journal
        self._store = store
        self._index = index
        self._offload = offload
        self._positions = positions
        self._write_locks = write_locks
        self._on_store_state = on_store_state
        self._store_up = True
        self._applied: list[AppliedRow] = []

    @property
    def store_up(self) -> bool:
        return self._store_up

    def hold(self, tenant: str, user_id: str) -> AbstractAsyncContextManager[None]:
        """The user's write lock: held for a commit and its application, never across a model call."""
        return self._write_locks.hold((tenant, user_id))

    async def commit(self, commit: Commit) -> Committed:
        """Durable and visible when it returns. Raises what Journal.append raises, and StoreUnavailable.

        After StoreUnavailable from a store that was up, the change may be journaled: the caller's retry with the same
        request_id gets the stored answer.
        """
        async with self.hold(commit.tenant, commit.user_id):
            return await self.commit_locked(commit)

    async def commit_locked(self, commit: Commit) -> Committed:
        """The same for a caller that holds the user's write lock."""
        if not self._store_up:
            raise StoreUnavailable("the vector store does not answer; nothing was written")
        # Shielded: once the commit has begun, a cancelled caller must not leave journal and index apart.
        return await asyncio.shield(self._commit_and_apply(commit))

    async def _commit_and_apply(self, commit: Commit) -> Committed:
        committed = await self._offload(self._journal.append, commit)
        if committed.replay is not None or not committed.positions:
            self._positions.advance(committed.head)
            return committed
        pending = [
            PendingRow(
                commit.tenant,
                commit.knowledge,
                position,
                StoredRow(replace(change.memory, position=position), change.embedding, change.is_deleted),
            )
            for change, position in zip(commit.changes, committed.positions, strict=True)
        ]
        await self.apply(commit.tenant, commit.user_id, pending, first=committed.first)
        return committed

    async def apply(
        self, tenant: str, user_id: str, pending: Sequence[PendingRow], *, first: bool = False
    ) -> None:
        """Bring journaled rows of one user into store and index. Raises StoreUnavailable after the index is right.

        `first`: they are all that there is of the user, who becomes resident without a read of the store.
        """
        latest = {p.row.memory.memory_id: p for p in pending}
        rows = [p.row for p in latest.values()]
        knowledge = bool(pending) and pending[0].knowledge
        head = max(p.position for p in pending)
        try:
            await self._offload(
                self._store.upsert, tenant, rows, knowledge=knowledge, timeout_seconds=_APPLY_SECONDS
            )
        except StoreUnavailable:
            self._set_store_up(False)
            raise
        else:
            self._applied.extend(
                AppliedRow(tenant, p.row.memory.memory_id, p.position, knowledge) for p in latest.values()
            )
        finally:
            if not knowledge:
                live = [r for r in rows if not r.is_deleted]
                if first and not self._index.is_resident(tenant, user_id):
                    self._index.put_user(tenant, user_id, live, head)
                else:
                    self._index.apply(
                        tenant, user_id, live, [r.memory.memory_id for r in rows if r.is_deleted], head
                    )
            self._positions.advance(head)

    def _set_store_up(self, up: bool) -> None:
        if up != self._store_up:
            self._store_up = up
            _log.warning("vector store is %s", "back" if up else "down")
            self._on_store_state(up)

    async def replay_pending(self) -> int:
        """Apply all that is journaled and not acknowledged; returns how many rows. For start and after an outage."""
        total = 0
        while pending := await self._offload(self._journal.pending, limit=_BATCH_ROWS):
            for tenant, user_id in dict.fromkeys((p.tenant, p.row.memory.user_id) for p in pending):
                total += await self.replay_user(tenant, user_id)
        return total

    async def replay_user(self, tenant: str, user_id: str) -> int:
        async with self.hold(tenant, user_id):
            pending = await self._offload(
                self._journal.pending, tenant=tenant, user_id=user_id, limit=_BATCH_ROWS
            )
            groups: dict[tuple[bool, bool], list[PendingRow]] = {}
            for p in pending:
                groups.setdefault((p.knowledge, p.physical_delete), []).append(p)
            for (knowledge, physical), group in groups.items():
                await self._apply_group(tenant, knowledge, physical, group)
            await self._offload(
                self._journal.mark_applied,
                [AppliedRow(tenant, p.row.memory.memory_id, p.position, p.knowledge) for p in pending],
            )
            return len(pending)

    async def _apply_group(
        self, tenant: str, knowledge: bool, physical: bool, group: Sequence[PendingRow]
    ) -> None:
        if physical:
            ids = [p.row.memory.memory_id for p in group]
            await self._offload(
                self._store.purge, tenant, ids, knowledge=knowledge, timeout_seconds=_APPLY_SECONDS
            )
            return
        await self._offload(
            self._store.upsert,
            tenant,
            [p.row for p in group],
            knowledge=knowledge,
            timeout_seconds=_APPLY_SECONDS,
        )

    async def flush_applied(self) -> None:
        """Tell the journal what the store has acknowledged."""
        applied, self._applied = self._applied, []
        if applied:
            await self._offload(self._journal.mark_applied, applied)

    async def reconcile_forever(self) -> None:
        """Background task: acknowledge applied rows; while the store is down, try it until it is back."""
        while True:
            await asyncio.sleep(_RECONCILE_SECONDS)
            try:
                await self.reconcile_once()
            except Unavailable as error:
                _log.warning("reconcile: %s", error.reason)

    async def reconcile_once(self) -> None:
        if not self._store_up:
            await self._offload(self._store.ping, timeout_seconds=2.0)
            await self.flush_applied()
            await self.replay_pending()
            self._set_store_up(True)
        await self.flush_applied()

    async def probe(self) -> None:
        """Notice a store that went down without a write; called by the health watch."""
        if self._store_up:
            try:
                await self._offload(self._store.ping, timeout_seconds=2.0)
            except StoreUnavailable:
                self._set_store_up(False)
