"""Which users are resident, within a byte budget."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from ..ports.vector_store import StoredRow
from .block import Block, RecordFactory


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
    """Blocks by (tenant, user_id), least recently used first out. Safe to call from any thread."""

    def __init__(self, dimension: int, byte_budget: int, record_factory: RecordFactory) -> None:
        self._dimension = dimension
        self._budget = byte_budget
        self._record_factory = record_factory
        self._blocks: OrderedDict[tuple[str, str], Block] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = 0
        self._hits = 0
        self._misses = 0
        self._evictions = 0

    def get(self, tenant: str, user_id: str) -> Block | None:
        """The newest version of a resident user's block."""
        key = (tenant, user_id)
        with self._lock:
            block = self._blocks.get(key)
            if block is None:
                self._misses += 1
                return None
            self._hits += 1
            self._blocks.move_to_end(key)
            return block

    def put_user(self, tenant: str, user_id: str, rows: Sequence[StoredRow], position: int) -> Block:
        """Make a user resident with exactly these rows."""
        block = Block.build(self._dimension, rows, position, self._record_factory)
        self._publish((tenant, user_id), block)
        return block

    def transient_block(self, rows: Sequence[StoredRow]) -> Block:
        """A block that is not kept."""
        return Block.build(self._dimension, rows, 0, self._record_factory)

    def apply(
        self,
        tenant: str,
        user_id: str,
        upserts: Sequence[StoredRow],
        deletes: Sequence[str],
        position: int,
    ) -> None:
        """Bring changes to a resident user; others are read from the store when they are asked for. Calls for one
        user must not overlap."""
        key = (tenant, user_id)
        with self._lock:
            block = self._blocks.get(key)
        if block is not None:
            self._publish(key, block.changed(upserts, deletes, position, self._record_factory))

    def drop(self, tenant: str, user_id: str) -> None:
        with self._lock:
            block = self._blocks.pop((tenant, user_id), None)
            if block is not None:
                self._bytes -= block.nbytes

    def has_room(self) -> bool:
        """Whether the budget is not used up yet; for filling at start."""
        return self._bytes < self._budget

    def stats(self) -> IndexStats:
        with self._lock:
            return IndexStats(
                users=len(self._blocks),
                rows=sum(len(b) for b in self._blocks.values()),
                bytes=self._bytes,
                budget_bytes=self._budget,
                hits=self._hits,
                misses=self._misses,
                evictions=self._evictions,
            )

    def _publish(self, key: tuple[str, str], block: Block) -> None:
        with self._lock:
            old = self._blocks.pop(key, None)
            if old is not None:
                self._bytes -= old.nbytes
            self._blocks[key] = block
            self._bytes += block.nbytes
            # The newest stays even when it alone is over the budget: it must be served once at least.
            while self._bytes > self._budget and len(self._blocks) > 1:
                _, evicted = self._blocks.popitem(last=False)
                self._bytes -= evicted.nbytes
                self._evictions += 1
