"""Memories for benchmarks, put straight into the vector store: what is measured afterwards is reading."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memlane_core.adapters.local_embedder import DIMENSION, LocalEmbedder
from memlane_core.adapters.milvus import MilvusStore
from memlane_core.domain.memory import Memory
from memlane_core.ports.vector_store import StoredRow

TENANT = "default"
_BATCH = 2000

_SUBJECTS = ("用户", "User", "用户的公司", "User's company", "用户的妻子", "User's daughter")
_FACTS = (
    "每月定投基金 {n} 元",
    "pays {n} dollars a month into a pension",
    "在分行办理了合同 HT-{n}",
    "holds contract FWD-{n} that matures next year",
    "希望用短信接收第 {n} 号产品的报价",
    "visits branch {n} on Fridays",
)


def text(n: int) -> str:
    """A short fact; no two are equal."""
    subject = _SUBJECTS[n % len(_SUBJECTS)]
    fact = _FACTS[(n // len(_SUBJECTS)) % len(_FACTS)].format(n=n)
    return f"{subject} {fact}"


def user_of(size: int) -> str:
    return f"bench-{size}"


def put(data_dir: Path, rows: Sequence[StoredRow]) -> None:
    """Write rows into a fresh store of the local embedder's dimension, as a server will find them at its start."""
    data_dir.mkdir(parents=True, exist_ok=True)
    embedder = LocalEmbedder()
    store = MilvusStore(
        str(data_dir / "milvus.db"), dimension=embedder.dimension, embedder_model=embedder.model
    )
    store.open([TENANT])
    try:
        for start in range(0, len(rows), _BATCH):
            store.upsert(TENANT, rows[start : start + _BATCH], timeout_seconds=120.0)
    finally:
        store.close()


def synthetic_rows(user_id: str, vectors: NDArray[np.float32], now: int) -> list[StoredRow]:
    """A memory of its own text for each unit vector, shape (memories, dimension); one second between two."""
    return [
        StoredRow(
            Memory(
                memory_id=f"m_{user_id}_{n}",
                user_id=user_id,
                content=text(n),
                created_at=now - n,
                updated_at=now - n,
                position=n + 1,
            ),
            vector,
        )
        for n, vector in enumerate(vectors)
    ]


def unit_vectors(generator: np.random.Generator, rows: int, dimension: int) -> NDArray[np.float32]:
    """Random, shape (rows, dimension)."""
    vectors = generator.standard_normal((rows, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def seed(data_dir: Path, sizes: Sequence[int], *, seed_number: int = 1) -> None:
    """One user per size with that many memories of random unit vectors."""
    generator = np.random.default_rng(seed_number)
    now = int(time.time())
    rows = [
        row
        for size in sizes
        for row in synthetic_rows(user_of(size), unit_vectors(generator, size, DIMENSION), now)
    ]
    put(data_dir, rows)
