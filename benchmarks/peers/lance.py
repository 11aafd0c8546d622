"""LanceDB inside the process."""

import asyncio
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import Bitmap

from .corpus import TOP_K, Corpus, Query
from .peer import Found, folder_bytes


class LanceDB:
    title = "LanceDB"
    kind = "engine"
    settings = (
        "asynchronous client (the faster one), no vector index (exact), bitmap indexes on the user (fewer than 1,000) "
        "and the deletion flag, filter before the search, rows in the users' order, compacted"
    )

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._folder = folder / "lance"
        flat = pa.array(corpus.vectors.reshape(-1), pa.float32())
        rows = pa.table(
            {
                "id": np.arange(len(corpus), dtype=np.int64),
                "user_id": [corpus.user_of(n) for n in range(len(corpus))],
                "content": [corpus.text(n) for n in range(len(corpus))],
                "is_deleted": corpus.deleted,
                "vector": pa.FixedSizeListArray.from_arrays(flat, corpus.dimension),
            }
        )
        self._table = self._loop.run_until_complete(self._create(rows))

    async def _create(self, rows: pa.Table) -> Any:
        database = await lancedb.connect_async(str(self._folder))
        table = await database.create_table("memories", rows)
        for column in ("user_id", "is_deleted"):
            await table.create_index(column, config=Bitmap())
        await table.optimize()
        return table

    def search(self, query: Query) -> list[Found]:
        return self._loop.run_until_complete(self._nearest(query))

    async def _nearest(self, query: Query) -> list[Found]:
        found: list[dict[str, Any]] = await (
            self._table.query()
            .nearest_to(query.vector)
            .distance_type("dot")
            .where(f"user_id = '{query.user_id}' AND is_deleted = false")
            .select(["id", "content", "_distance"])
            .limit(TOP_K)
            .to_list()
        )
        return [(row["id"], 1.0 - row["_distance"], row["content"]) for row in found]

    def version(self) -> str:
        return f"lancedb {package_version('lancedb')}"

    def nbytes(self) -> int:
        return folder_bytes(self._folder)

    def close(self) -> None:
        self._loop.close()
