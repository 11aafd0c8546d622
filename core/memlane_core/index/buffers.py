"""The growing arrays behind the versions of one block."""

import sys
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..domain.memory import Memory
from ..lexical import RowTokens

_T = TypeVar("_T", bound=np.generic)

FIRST_ROWS = 8
TOKENS_PER_ROW = 24

_BYTES_OBJECT = sys.getsizeof(b"") + 8
"""What a record takes besides its bytes, its place in the list included."""


class Buffers:
    """Rows are only appended. Versions of a block share the buffers and differ in how many rows count, so what a
    version can see is never written again; an array that is full is replaced, not resized."""

    __slots__ = (
        "codes",
        "entries",
        "entry_numbers",
        "entry_offsets",
        "frequencies",
        "ids",
        "offsets",
        "record_bytes",
        "records",
        "rows",
        "tokens",
        "vectors",
    )

    def __init__(self, dimension: int, rows: int, tokens: int) -> None:
        self.vectors = np.empty((rows, dimension), np.float32)
        coded = rows if rows * dimension >= kernels.CODED_MIN_ELEMENTS else 0
        self.codes = np.empty((coded, dimension), np.int8)
        """None for a block that is too small for the coded pass to be the faster one."""
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
        self.records: list[bytes] = []
        self.ids = np.zeros(rows, np.int64)
        """Hash of each row's memory id: tells quickly which rows cannot be it."""
        self.record_bytes = 0

    @property
    def capacity(self) -> int:
        return int(self.vectors.shape[0])

    def nbytes(self) -> int:
        arrays = (
            self.vectors, self.codes, self.rows, self.offsets, self.tokens, self.frequencies,
            self.entry_offsets, self.entries, self.ids,
        )  # fmt: skip
        records = self.record_bytes + len(self.records) * _BYTES_OBJECT
        # As a part of each, because they are small: 20 memories are worth 40 kB, a dozen arrays have 1.5 kB of heads.
        return sum(map(sys.getsizeof, arrays)) + records + sys.getsizeof(self.entry_numbers)

    def append(
        self, row: int, memory: Memory, record: bytes, vector: NDArray[np.float32], tokens: RowTokens
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
        self.record_bytes -= sum(map(len, self.records[row:]))
        del self.records[row:]
        self.records.append(record)
        self.ids[row] = hash(memory.memory_id)
        self.record_bytes += len(record)

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
        fresh.rows[:, :n] = self.rows[:, rows]
        fresh.ids[:n] = self.ids[rows]
        if len(self.codes) and len(fresh.codes):
            fresh.codes[:n] = self.codes[rows]
        else:
            fresh.code(0, n)
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
        fresh.records = [self.records[r] for r in rows.tolist()]
        fresh.record_bytes = sum(map(len, fresh.records))
        return fresh

    def code(self, first: int, last: int) -> None:
        if len(self.codes):
            kernels.code_rows(self.vectors, first, last, self.codes, self.rows)


def capacity_for(rows: int) -> int:
    """For a block that grows. Doubling: the next power of two."""
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
