"""Tokens of rows turned round: for each token the rows that hold it."""

import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import kernels


@dataclass(frozen=True, slots=True)
class Postings:
    """Entries of the first `rows` rows, by token and then by row; see `kernels.Columns`."""

    words: NDArray[np.uint32]
    starts: NDArray[np.int64]
    entry_rows: NDArray[np.int32]
    entry_frequencies: NDArray[np.float32]
    rows: int

    @property
    def nbytes(self) -> int:
        """Nothing for EMPTY, which all share."""
        arrays = (self.words, self.starts, self.entry_rows, self.entry_frequencies)
        return sum(map(sys.getsizeof, arrays)) if self.rows else 0


EMPTY = Postings(
    np.empty(0, np.uint32), np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), 0
)


def invert(
    offsets: NDArray[np.int64],
    tokens: NDArray[np.uint32],
    frequencies: NDArray[np.float32],
    times: NDArray[np.int64],
    rows: int,
) -> Postings:
    """Postings of the first `rows` rows; those that are tombstones by now are left out."""
    used = int(offsets[rows])
    owners = np.repeat(np.arange(rows, dtype=np.int32), np.diff(offsets[: rows + 1]))
    alive = times[owners, 0] != kernels.TOMBSTONE
    owners = owners[alive]
    kept = tokens[:used][alive]
    order = np.argsort(kept, kind="stable")
    ordered = kept[order]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    starts = np.concatenate([[0], changes, [len(ordered)]] if len(ordered) else [[0]]).astype(np.int64)
    return Postings(ordered[starts[:-1]], starts, owners[order], frequencies[:used][alive][order], rows)
