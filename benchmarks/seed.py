"""Memories for benchmarks, put straight into the vector store: what is measured afterwards is reading."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memlane_core.adapters.local_embedder import LocalEmbedder
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


def seed(data_dir: Path, sizes: Sequence[int], *, seed_number: int = 1) -> None:
    """One user per size with that many memories of random unit vectors."""
    data_dir.mkdir(parents=True, exist_ok=True)
    embedder = LocalEmbedder()
    store = MilvusStore(
        str(data_dir / "milvus.db"), dimension=embedder.dimension, embedder_model=embedder.model
    )
    store.open([TENANT])
    generator = np.random.default_rng(seed_number)
    now = int(time.time())
    try:
        for size in sizes:
            vectors = generator.standard_normal((size, embedder.dimension)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            rows = [
                StoredRow(
                    Memory(
                        memory_id=f"m_{size}_{n}",
                        user_id=user_of(size),
                        content=text(n),
                        created_at=now - n,
                        updated_at=now - n,
                        position=n + 1,
                    ),
                    vectors[n],
                )
                for n in range(size)
            ]
            for start in range(0, size, _BATCH):
                store.upsert(TENANT, rows[start : start + _BATCH], timeout_seconds=120.0)
    finally:
        store.close()
