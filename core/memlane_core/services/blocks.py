"""A user's block, loaded when cold, as fresh as asked."""

from ..index import Block, SingleFlightLoader, UserIndex
from ..ports.journal import Journal
from ..ports.vector_store import StoredRow, VectorStore
from .call import Call
from .consistency import Consistency, Positions
from .locks import KeyedLocks
from .offload import Offload

_LOAD_SECONDS = 30.0
"""A cold load serves all who wait for it, so it is not bound to one caller's deadline."""


class UserBlocks:
    """Warm users come from the index at once; a cold one is loaded by one store query, once for all who wait."""

    def __init__(
        self,
        index: UserIndex,
        store: VectorStore,
        journal: Journal,
        offload: Offload,
        positions: Positions,
        write_locks: KeyedLocks,
    ) -> None:
        self._index = index
        self._store = store
        self._journal = journal
        self._offload = offload
        self._positions = positions
        self._write_locks = write_locks
        self._loader = SingleFlightLoader(self._load)

    async def get(self, call: Call, user_id: str, consistency: Consistency) -> Block:
        """Raises StoreUnavailable, JournalUnavailable, NotReady or InvalidArgument (consistency token)."""
        await self._positions.ensure(call, user_id, consistency)
        block = self._index.get(call.tenant, user_id)
        return await self._loader.load(call.tenant, user_id) if block is None else block

    async def get_locked(self, call: Call, user_id: str) -> Block:
        """The same for a caller that holds the user's write lock already."""
        block = self._index.get(call.tenant, user_id)
        return await self._load_rows(call.tenant, user_id) if block is None else block

    async def _load(self, tenant: str, user_id: str) -> Block:
        # Under the write lock no change of this user can fall between the query and the publication of its block.
        async with self._write_locks.hold((tenant, user_id)):
            block = self._index.get(tenant, user_id)
            return await self._load_rows(tenant, user_id) if block is None else block

    async def _load_rows(self, tenant: str, user_id: str) -> Block:
        return await self._offload(self._fill, tenant, user_id, self._positions.seen)

    def _fill(self, tenant: str, user_id: str, position: int) -> Block:
        return self._index.put_user(tenant, user_id, self._read(tenant, user_id), position)

    def _read(self, tenant: str, user_id: str) -> list[StoredRow]:
        rows = {
            row.memory.memory_id: row
            for row in self._store.load_user(tenant, user_id, timeout_seconds=_LOAD_SECONDS)
        }
        # What is journaled and not yet acknowledged by the store is the newer truth.
        for pending in self._journal.pending(tenant=tenant, user_id=user_id):
            if pending.knowledge:
                continue
            if pending.row.is_deleted or pending.physical_delete:
                rows.pop(pending.row.memory.memory_id, None)
            else:
                rows[pending.row.memory.memory_id] = pending.row
        return list(rows.values())
