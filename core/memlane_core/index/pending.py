"""Changes that arrive while a user's rows are being read."""

from collections.abc import Sequence

from ..ports.vector_store import StoredRow


class PendingChanges:
    """The last change of each memory since the load began. Not thread-safe; the index holds the user's write lock."""

    def __init__(self) -> None:
        self._changes: dict[str, tuple[int, StoredRow | None]] = {}
        """By memory id: place in the journal, and the row, None = deleted."""
        self._position = 0
        self.dropped = False

    def add(self, upserts: Sequence[StoredRow], deletes: Sequence[str], position: int) -> None:
        for memory_id in deletes:
            self._changes[memory_id] = (position, None)
        for row in upserts:
            self._changes[row.memory.memory_id] = (row.memory.position, row)
        self._position = max(self._position, position)

    def drop(self) -> None:
        self.dropped = True

    def merged(self, rows: Sequence[StoredRow], position: int) -> tuple[list[StoredRow], int]:
        """The rows read, each replaced by its change if that is later in the journal, and the position of all."""
        merged = {row.memory.memory_id: row for row in rows}
        for memory_id, (place, changed) in self._changes.items():
            read = merged.get(memory_id)
            if read is not None and read.memory.position > place:
                continue
            if changed is None:
                merged.pop(memory_id, None)
            else:
                merged[memory_id] = changed
        return list(merged.values()), max(position, self._position)
