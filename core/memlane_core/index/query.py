"""What is asked of a block, and what it answers."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..domain.memory import Memory
from ..lexical import QueryTokens


class SearchQuery(NamedTuple):
    embedding: NDArray[np.float32]
    """Unit vector, C-contiguous, shape (dimension,)."""
    tokens: QueryTokens | None
    """Words of the query; None = score by cosine alone."""
    top_k: int
    now: float
    """Unix seconds: rows with expires_at <= now are not seen."""
    min_score: float | None = None
    metadata: Mapping[str, str] | None = None
    """Entries that a memory's metadata must all hold."""
    created_after: int | None = None
    """Inclusive."""
    created_before: int | None = None
    """Exclusive."""


class Remembers(Protocol):
    """What a hit can be looked up in."""

    def memory(self, row: int) -> Memory: ...


class Hit(NamedTuple):
    record: bytes
    """The memory as it was encoded when it was written."""
    score: float
    cosine: float
    lexical: float
    """Normalised BM25, 0..1, before its weight."""
    row: int
    block: Remembers

    @property
    def memory(self) -> Memory:
        """Decoded from the record at each call."""
        return self.block.memory(self.row)
