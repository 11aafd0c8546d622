"""The growing arrays behind the versions of one block."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..domain.memory import Memory
from ..lexical import RowTokens

_T = TypeVar("_T", bound=np.generic)

FIRST_ROWS = 8
TOKENS_PER_ROW = 24

_ROW_OVERHEAD_BYTES = 700
"""Python objects of one row: memory, record, their strings and dict entries, measured with tracemalloc."""


class Buffers:
    """Rows are only appended. Versions of a block share the buffers and differ in how many rows count, so what a
    version can see is never written again; an array that is full is replaced, not resized."""

    __slots__ = (
        "by_id",
        "codes",
        "entries",
        "entry_numbers",
        "entry_offsets",
        "frequencies",
        "memories",
        "offsets",
        "records",
        "rows",
        "text_bytes",
        "tokens",
        "vectors",
    )

    def __init__(self, dimension: int, rows: int, tokens: int) -> None:
        self.vectors = np.empty((rows, dimension), np.float32)
        self.codes = np.empty((rows, dimension), np.int8)
        self.rows = np.empty((4, rows), np.float32)
        """See kernels.Columns."""
        self.offsets = np.zeros(rows + 1, np.int64)
        self.tokens = np.empty(tokens, np.uint32)
        self.frequencies = np.empty(tokens, np.float32)
        self.entry_numbers: dict[tuple[str, str], int] = {}
        """Number of each metadata entry that occurs."""
        self.entry_offsets = np.zeros(rows + 1, np.int64)
        self.entries = np.empty(rows, np.int32)
        """Numbers of the metadata entries of row r: entry_offsets[r] up to entry_offsets[r + 1]."""
        self.memories: list[Memory] = []
        self.records: list[object] = []
        self.by_id: dict[str, int] = {}
        """Newest row of each memory."""
        self.text_bytes = 0

    @property
    def capacity(self) -> int:
        return int(self.vectors.shape[0])

    def nbytes(self) -> int:
        arrays = (
            self.vectors, self.codes, self.rows, self.offsets, self.tokens, self.frequencies,
            self.entry_offsets, self.entries,
        )  # fmt: skip
        return sum(a.nbytes for a in arrays) + self.text_bytes + len(self.memories) * _ROW_OVERHEAD_BYTES

    def append(
        self, row: int, memory: Memory, record: object, vector: NDArray[np.float32], tokens: RowTokens
    ) -> None:
        """Write row number `row`, the one after the last; the caller codes the vectors when it has written all."""
        start = int(self.offsets[row])
        end = start + len(tokens.ids)
        if end > len(self.tokens):
            size = max(end, 2 * len(self.tokens))
            self.tokens = _wider(self.tokens, start, size)
            self.frequencies = _wider(self.frequencies, start, size)
        self.vectors[row] = vector
        self.tokens[start:end] = tokens.ids
        self.frequencies[start:end] = tokens.frequencies
        self.offsets[row + 1] = end
        self.rows[3, row] = tokens.length
        self._append_entries(row, memory)
        # A failed write may have left rows behind that no version counts.
        del self.memories[row:], self.records[row:]
        self.memories.append(memory)
        self.records.append(record)
        self.by_id[memory.memory_id] = row
        self.text_bytes += len(memory.content.encode("utf-8", "surrogatepass"))

    def _append_entries(self, row: int, memory: Memory) -> None:
        start = int(self.entry_offsets[row])
        end = start + len(memory.metadata)
        if end > len(self.entries):
            self.entries = _wider(self.entries, start, max(end, 2 * len(self.entries)))
        numbers = self.entry_numbers
        for place, entry in enumerate(memory.metadata.items(), start):
            self.entries[place] = numbers.setdefault(entry, len(numbers))
        self.entry_offsets[row + 1] = end

    def tokens_of(self, row: int) -> RowTokens:
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        return RowTokens(self.tokens[start:end], self.frequencies[start:end], float(self.rows[3, row]))

    def copied(self, rows: NDArray[np.int64], capacity: int) -> "Buffers":
        """New buffers with these rows, in this order; the old ones stay as they are for older versions."""
        used = int((self.offsets[rows + 1] - self.offsets[rows]).sum())
        fresh = Buffers(self.vectors.shape[1], capacity, max(TOKENS_PER_ROW * capacity, used))
        n = len(rows)
        fresh.vectors[:n] = self.vectors[rows]
        fresh.codes[:n] = self.codes[rows]
        fresh.rows[:, :n] = self.rows[:, rows]
        _copy_runs(
            self.offsets,
            rows,
            fresh.offsets,
            (self.tokens, fresh.tokens),
            (self.frequencies, fresh.frequencies),
        )
        fresh.entry_numbers = dict(self.entry_numbers)
        entries = int((self.entry_offsets[rows + 1] - self.entry_offsets[rows]).sum())
        fresh.entries = np.empty(max(capacity, entries), np.int32)
        _copy_runs(self.entry_offsets, rows, fresh.entry_offsets, (self.entries, fresh.entries))
        fresh.memories = [self.memories[r] for r in rows.tolist()]
        fresh.records = [self.records[r] for r in rows.tolist()]
        fresh.by_id = {memory.memory_id: row for row, memory in enumerate(fresh.memories)}
        fresh.text_bytes = sum(len(m.content.encode("utf-8", "surrogatepass")) for m in fresh.memories)
        return fresh

    def code(self, first: int, last: int) -> None:
        kernels.code_rows(self.vectors, first, last, self.codes, self.rows)


def capacity_for(rows: int) -> int:
    """Doubling: the next power of two."""
    return max(FIRST_ROWS, 1 << (rows - 1).bit_length()) if rows else FIRST_ROWS


def _wider(array: NDArray[_T], kept: int, size: int) -> NDArray[_T]:
    wider = np.empty(size, array.dtype)
    wider[:kept] = array[:kept]
    return wider


def _copy_runs(
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    new_offsets: NDArray[np.int64],
    *pairs: tuple[NDArray[Any], NDArray[Any]],
) -> None:
    counts = offsets[rows + 1] - offsets[rows]
    np.cumsum(counts, out=new_offsets[1 : len(rows) + 1])
    total = int(new_offsets[len(rows)])
    # Place of each copied entry in the old array: its run's start there, plus how far into the run it is.
    places = np.repeat(offsets[rows] - new_offsets[: len(rows)], counts) + np.arange(total)
    for old, new in pairs:
        new[:total] = old[places]
