"""Rows with vectors, durable, filtered by user. All calls block; call them off the event loop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..domain.memory import Memory


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A memory with its vector as the store keeps it."""

    memory: Memory
    embedding: NDArray[np.float32]
    """Unit vector, shape (dimension,)."""
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class KnowledgeQuery:
    """Approximate nearest knowledge of one tenant."""

    tenant: str
    embedding: NDArray[np.float32]
    top_k: int
    now: int
    """Unix second; expired rows are left out."""
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class KnowledgeHit:
    memory: Memory
    score: float
    """Cosine, -1..1, higher is better."""


class VectorStore(Protocol):
    """One collection of memories and one of knowledge per tenant. `knowledge=True` names the latter.

    Every method raises StoreUnavailable when the engine does not answer in time; driver texts never get out.
    """

    def open(self, tenants: Sequence[str]) -> None:
        """Connect, create what is missing, load, check. Raises StoreMismatch naming both embedders or dimensions."""
        ...

    def upsert(
        self, tenant: str, rows: Sequence[StoredRow], *, knowledge: bool = False, timeout_seconds: float
    ) -> None:
        """Write whole rows by memory_id; idempotent. Durable when it returns."""
        ...

    def load_user(self, tenant: str, user_id: str, *, timeout_seconds: float) -> list[StoredRow]:
        """All rows of one user that are not soft-deleted, expired ones included, in no particular order."""
        ...

    def scan(self, tenant: str, *, batch_rows: int, timeout_seconds: float) -> Iterator[list[StoredRow]]:
        """All rows not soft-deleted of all users, in batches: for filling the index at start."""
        ...

    def get(
        self, tenant: str, memory_ids: Sequence[str], *, knowledge: bool = False, timeout_seconds: float
    ) -> list[StoredRow]:
        """The rows with these ids that exist, soft-deleted ones included."""
        ...

    def count(
        self, tenant: str, *, user_id: str | None = None, knowledge: bool = False, timeout_seconds: float
    ) -> int:
        """Rows physically present, soft-deleted ones included."""
        ...

    def purge(
        self, tenant: str, memory_ids: Sequence[str], *, knowledge: bool = False, timeout_seconds: float
    ) -> None:
        """Remove rows physically; unknown ids are no error."""
        ...

    def search_knowledge(self, query: KnowledgeQuery) -> list[KnowledgeHit]:
        """Best first."""
        ...

    def compact(self, tenant: str, *, timeout_seconds: float) -> None:
        """Make the engine drop what was purged from its files. An engine that cannot does nothing."""
        ...

    def ping(self, *, timeout_seconds: float) -> None:
        """Returns when the engine answers a read; raises StoreUnavailable otherwise."""
        ...

    def describe(self) -> Mapping[str, str]:
        """Engine, version, address, index type: for `doctor` and the log. No secrets."""
        ...

    def close(self) -> None: ...
