"""Mem0: its own `Memory.search` over its local stores, the query's vector given, so that no embedder is asked."""

import logging
import os
import uuid
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from .corpus import TOP_K, Corpus, Query
from .peer import Found, Kind, folder_bytes
from .postgres import PostgresServer, versions

_BATCH = 2_000
_IDS = uuid.UUID("5f0d7a3e-0b5c-4f43-9a57-6f8f4b1f2c11")


class GivenVector:
    """Stands where Mem0 keeps its embedder, and returns what it was last given."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.vector: list[float] = []

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.vector

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.vector for _ in texts]


class _Mem0:
    title: ClassVar[str]
    kind: ClassVar[Kind]

    def __init__(self) -> None:
        self._memory: Any = None

    def _open(self, corpus: Corpus, folder: Path, store: dict[str, Any]) -> None:
        # Read when Mem0 is imported: nothing is reported to anyone, and its own files stay in this folder.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder / "mem0")
        from mem0 import Memory

        # It says at each start what could be installed besides.
        logging.getLogger("mem0").setLevel(logging.ERROR)

        # Neither the language model nor the embedder is ever called; their clients want a key to be made.
        model = {"provider": "openai", "config": {"api_key": "unused"}}
        embedder = {"provider": "openai", "config": {"api_key": "unused", "embedding_dims": corpus.dimension}}
        self._memory = Memory.from_config(
            {
                "llm": model,
                "embedder": embedder,
                "vector_store": store,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._given = GivenVector(self._memory.embedding_model.config)
        self._memory.embedding_model = self._given

        self._ids = [uuid.uuid5(_IDS, str(n)) for n in range(len(corpus))]
        self._row_of = {str(memory_id): n for n, memory_id in enumerate(self._ids)}

    def _payload(self, corpus: Corpus, row: int) -> dict[str, str | int]:
        """As `add` with infer=False stores it."""
        return {
            "data": corpus.text(row),
            "user_id": corpus.user_of(row),
            "deleted": int(corpus.deleted[row]),
            "created_at": "2026-01-01T00:00:00+00:00",
        }

    def _fill(self, corpus: Corpus) -> None:
        """Through Mem0's own store, without the embedding of each."""
        for start in range(0, len(corpus), _BATCH):
            rows = range(start, min(start + _BATCH, len(corpus)))
            self._memory.vector_store.insert(
                vectors=[corpus.vectors[n].tolist() for n in rows],
                ids=[str(self._ids[n]) for n in rows],
                payloads=[self._payload(corpus, n) for n in rows],
            )

    def search(self, query: Query) -> list[Found]:
        self._given.vector = query.vector.tolist()
        filters = {"user_id": query.user_id, "deleted": 0}
        found = self._memory.search("?", filters=filters, top_k=TOP_K, threshold=0.0)["results"]
        return [(self._row_of[one["id"]], one["score"], one["memory"]) for one in found]

    def version(self) -> str:
        return f"Mem0 {package_version('mem0ai')}"


class Mem0Pgvector(_Mem0):
    title = "Mem0 on pgvector"
    kind = "service"
    settings = (
        "`Memory.search` over the PostgreSQL store with hnsw off (exact) and, what Mem0 does not do itself, vectors "
        "stored PLAIN and the table clustered by an index on the payload's user; Unix socket; no spaCy"
    )

    def __init__(self) -> None:
        super().__init__()
        self._server: PostgresServer | None = None

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._server = PostgresServer(folder)
        store = {
            "connection_string": self._server.uri,
            "collection_name": "memories",
            "embedding_model_dims": corpus.dimension,
            "hnsw": False,
        }
        self._open(corpus, folder, {"provider": "pgvector", "config": store})
        self._memory.vector_store.create_col()
        with psycopg.connect(self._server.uri, autocommit=True) as connection:
            register_vector(connection)
            connection.execute("ALTER TABLE memories ALTER COLUMN vector SET STORAGE PLAIN")
            # The rows that Mem0 would insert one by one, in minutes.
            copy = "COPY memories (id, vector, payload) FROM STDIN WITH (FORMAT BINARY)"
            with connection.cursor() as cursor, cursor.copy(copy) as rows:
                rows.set_types(["uuid", "vector", "jsonb"])
                for n, vector in enumerate(corpus.vectors):
                    rows.write_row((self._ids[n], Vector(vector), Jsonb(self._payload(corpus, n))))
            connection.execute("CREATE INDEX memories_user ON memories ((payload->>'user_id'))")
            connection.execute("CLUSTER memories USING memories_user")
            connection.execute("VACUUM ANALYZE memories")

    def version(self) -> str:
        assert self._server is not None
        with psycopg.connect(self._server.uri) as connection:
            return f"{super().version()}, {versions(connection)}"

    def nbytes(self) -> int:
        assert self._server is not None
        with psycopg.connect(self._server.uri) as connection:
            found = connection.execute("SELECT pg_total_relation_size('memories')").fetchone()
        assert found is not None
        return int(found[0])

    def close(self) -> None:
        if self._memory is not None:
            self._memory.vector_store.connection_pool.close()
        if self._server is not None:
            self._server.close()


class Mem0Faiss(_Mem0):
    title = "Mem0 on FAISS"
    kind = "engine"
    settings = (
        "`Memory.search` over the FAISS store, cosine; it takes the nearest of all users and filters afterwards; "
        "no spaCy"
    )

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._folder = folder / "faiss"
        store = {
            "collection_name": "memories",
            "path": str(self._folder),
            "embedding_model_dims": corpus.dimension,
            "distance_strategy": "cosine",
        }
        self._open(corpus, folder, {"provider": "faiss", "config": store})
        self._fill(corpus)

    def nbytes(self) -> int:
        return folder_bytes(self._folder)

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()


class Mem0Chroma(_Mem0):
    title = "Mem0 on Chroma, local"
    kind = "engine"
    settings = "`Memory.search` over the Chroma store in a folder, as Mem0 makes it; no spaCy"

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._folder = folder / "chroma"
        store = {"collection_name": "memories", "path": str(self._folder)}
        self._open(corpus, folder, {"provider": "chroma", "config": store})
        self._fill(corpus)

    def version(self) -> str:
        return f"{super().version()}, chromadb {package_version('chromadb')}"

    def nbytes(self) -> int:
        return folder_bytes(self._folder)

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
