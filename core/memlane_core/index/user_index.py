"""Which users are resident, within a byte budget."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..ports.vector_store import StoredRow
from .block import Block
from .pending import PendingChanges
from .records import Records

_WRITE_LOCKS = 64

Key = tuple[str, str]
"""(tenant, user_id)"""


@dataclass(frozen=True, slots=True)
class IndexStats:
    users: int
    rows: int
    bytes: int
    budget_bytes: int
    hits: int
    misses: int
    evictions: int


class UserIndex:
    """Blocks by (tenant, user_id), least recently used first out. Safe to call from any thread: readers take one lock
    for the time of a dictionary look-up, and what a writer builds is built outside of it."""

    def __init__(self, dimension: int, byte_budget: int, records: Records) -> None:
        self._dimension = dimension
        self._budget = byte_budget
        self._records = records
        self._blocks: OrderedDict[Key, Block] = OrderedDict()
        self._loads: dict[Key, list[PendingChanges]] = {}
        self._lock = threading.Lock()
        # One user's changes are made one after the other; a lock for each user would have to be kept for ever.
        self._write_locks = [threading.Lock() for _ in range(_WRITE_LOCKS)]
        self._bytes = 0
        self._rows = 0
        self._hits = 0
        self._misses = 0
        self._evictions = 0

    def get(self, tenant: str, user_id: str, *, asked_again: bool = False) -> Block | None:
        """The newest version of a resident user's block. `asked_again`: whoever finds none will come a second time,
        and is counted then."""
        key = (tenant, user_id)
        with self._lock:
            block = self._blocks.get(key)
            if block is None:
                self._misses += not asked_again
                return None
            self._hits += 1
            self._blocks.move_to_end(key)
            return block

    def is_resident(self, tenant: str, user_id: str) -> bool:
        """Whether `get` would find a block; counts as no use of it."""
        with self._lock:
            return (tenant, user_id) in self._blocks

    def put_user(self, tenant: str, user_id: str, rows: Sequence[StoredRow], position: int) -> Block:
        """Make a user resident with exactly these rows, as they stood at `position` of the journal.

        A block that is resident already and complete up to a later position stays, and is returned.
        """
        block = Block.build(self._dimension, rows, position, self._records)
        with self._write_lock((tenant, user_id)):
            return self._publish((tenant, user_id), block, replace_newer=False)

    @contextmanager
    def loading(self, tenant: str, user_id: str) -> Iterator["UserLoad"]:
        """Load a cold user: read his rows inside the context, then call `finish`. Changes and drops that arrive
        meanwhile are not lost, whatever the read saw of them."""
        key = (tenant, user_id)
        pending = PendingChanges()
        with self._lock:
            self._loads.setdefault(key, []).append(pending)
        try:
            yield UserLoad(self, key, pending)
        finally:
            with self._lock:
                loads = self._loads[key]
                loads.remove(pending)
                if not loads:
                    del self._loads[key]

    def transient_block(self, rows: Sequence[StoredRow]) -> Block:
        """A block that is not kept."""
        return Block.build(self._dimension, rows, 0, self._records)

    def apply(
        self,
        tenant: str,
        user_id: str,
        upserts: Sequence[StoredRow],
        deletes: Sequence[str],
        position: int,
    ) -> None:
        """Bring changes to a resident user, or to one whose load is under way; others are read from the store when
        they are asked for. `position` is the last change's place in the journal."""
        key = (tenant, user_id)
        with self._write_lock(key):
            with self._lock:
                for pending in self._loads.get(key, ()):
                    pending.add(upserts, deletes, position)
                block = self._blocks.get(key)
            if block is None:
                return
            changed = None
            try:
                changed = block.changed(upserts, deletes, position)
            finally:
                if changed is None:
                    # It failed: better cold than stale.
                    self._remove(key)
            self._publish(key, changed, replace_newer=True)

    def drop(self, tenant: str, user_id: str) -> None:
        """Forget what is resident; a load under way starts again."""
        key = (tenant, user_id)
        with self._write_lock(key):
            with self._lock:
                for pending in self._loads.get(key, ()):
                    pending.drop()
            self._remove(key)

    def has_room(self) -> bool:
        """Whether the budget is not used up yet; for filling at start."""
        return self._bytes < self._budget

    def stats(self) -> IndexStats:
        with self._lock:
            return IndexStats(
                users=len(self._blocks),
                rows=self._rows,
                bytes=self._bytes,
                budget_bytes=self._budget,
                hits=self._hits,
                misses=self._misses,
                evictions=self._evictions,
            )

    def _write_lock(self, key: Key) -> threading.Lock:
        return self._write_locks[hash(key) % _WRITE_LOCKS]

    def _publish(self, key: Key, block: Block, *, replace_newer: bool) -> Block:
        released = []  # given back to the system after the lock is
        with self._lock:
            old = self._blocks.get(key)
            if old is not None:
                if old.position > block.position and not replace_newer:
                    self._blocks.move_to_end(key)
                    return old
                self._account(old, -1)
                released.append(old)
            self._blocks[key] = block
            self._blocks.move_to_end(key)
            self._account(block, +1)
            # The newest stays even when it alone is over the budget: it must be served once at least.
            while self._bytes > self._budget and len(self._blocks) > 1:
                _, evicted = self._blocks.popitem(last=False)
                self._account(evicted, -1)
                released.append(evicted)
                self._evictions += 1
            return block

    def _remove(self, key: Key) -> None:
        with self._lock:
            block = self._blocks.pop(key, None)
            if block is not None:
                self._account(block, -1)

    def _finish(
        self, key: Key, pending: PendingChanges, rows: Sequence[StoredRow], position: int
    ) -> Block | None:
        with self._write_lock(key):
            if pending.dropped:
                return None
            # Under the write lock nothing is added any more, so what is merged here is complete.
            merged, position = pending.merged(rows, position)
            block = Block.build(self._dimension, merged, position, self._records)
            return self._publish(key, block, replace_newer=False)

    def _account(self, block: Block, sign: int) -> None:
        self._bytes += sign * block.nbytes
        self._rows += sign * len(block)


class UserLoad:
    """One load under way; made by `UserIndex.loading`."""

    def __init__(self, index: UserIndex, key: Key, pending: PendingChanges) -> None:
        self._index = index
        self._key = key
        self._pending = pending

    def finish(self, rows: Sequence[StoredRow], position: int) -> Block | None:
        """Publish the rows, read when the journal stood at `position` or later, with the changes that came meanwhile.

        None when the user was dropped meanwhile: nothing was published, read again.
        """
        return self._index._finish(self._key, self._pending, rows, position)
