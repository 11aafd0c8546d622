"""PostgreSQL with pgvector, from the package `pgserver`, over its Unix socket."""

import contextlib
import shutil
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any

import pgserver
import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from .corpus import TOP_K, Corpus, Query
from .peer import Found

_SETTINGS = {
    "shared_buffers": "'1GB'",
    "effective_cache_size": "'4GB'",
    "maintenance_work_mem": "'512MB'",
    "work_mem": "'64MB'",
    "random_page_cost": "1.1",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
}


class PostgresServer:
    """A server of its own in a folder, with settings for data that fit the memory."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "pgdata"
        self.data.mkdir(parents=True)
        self._server: Any = pgserver.get_server(self.data, cleanup_mode="stop")
        with psycopg.connect(self.uri, autocommit=True) as connection:
            for name, value in _SETTINGS.items():
                connection.execute(f"ALTER SYSTEM SET {name} = {value}")
        # Some are read at start only.
        self._server.cleanup()
        self._server = pgserver.get_server(self.data, cleanup_mode="stop")

    @property
    def uri(self) -> str:
        uri: str = self._server.get_uri()
        return uri

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._server.cleanup()
        shutil.rmtree(self.data, ignore_errors=True)


class Postgres:
    title = "PostgreSQL + pgvector"
    kind = "service"
    settings = (
        "exact; B-tree on user_id of rows not deleted, table clustered by it, vectors stored PLAIN, prepared "
        "statement with a generic plan, binary vectors, shared_buffers 1 GB, JIT and parallel workers off, "
        "Unix socket, psycopg"
    )

    def __init__(self) -> None:
        self._server: PostgresServer | None = None
        self._connection: psycopg.Connection[Any] | None = None

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._server = PostgresServer(folder)
        self._connection = connection = psycopg.connect(self._server.uri, autocommit=True)
        connection.execute("CREATE EXTENSION vector")
        register_vector(connection)
        connection.execute(
            "CREATE TABLE memories (id bigint PRIMARY KEY, user_id text NOT NULL, content text NOT NULL, "
            f"is_deleted boolean NOT NULL, embedding vector({corpus.dimension}) NOT NULL)"
        )
        # Next to the row instead of in a table of its own, where a vector of this size would go.
        connection.execute("ALTER TABLE memories ALTER COLUMN embedding SET STORAGE PLAIN")
        copy = "COPY memories FROM STDIN WITH (FORMAT BINARY)"
        with connection.cursor() as cursor, cursor.copy(copy) as rows:
            rows.set_types(["int8", "text", "text", "bool", "vector"])
            for n, vector in enumerate(corpus.vectors):
                rows.write_row(
                    (n, corpus.user_of(n), corpus.text(n), bool(corpus.deleted[n]), Vector(vector))
                )
        connection.execute("CREATE INDEX memories_user ON memories (user_id) WHERE NOT is_deleted")
        connection.execute("CREATE INDEX memories_order ON memories (user_id)")
        connection.execute("CLUSTER memories USING memories_order")
        connection.execute("DROP INDEX memories_order")
        connection.execute("VACUUM ANALYZE memories")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        self._cursor = connection.cursor(binary=True)

    def search(self, query: Query) -> list[Found]:
        # The inner product: the vectors are of unit length, and it is the cheaper of the two.
        found: list[tuple[int, str, float]] = self._cursor.execute(
            "SELECT id, content, embedding <#> %b AS distance FROM memories "
            f"WHERE user_id = %s AND NOT is_deleted ORDER BY distance LIMIT {TOP_K}",
            (query.vector, query.user_id),
            prepare=True,
        ).fetchall()
        return [(row, -distance, content) for row, content, distance in found]

    def version(self) -> str:
        assert self._connection is not None
        return f"{versions(self._connection)}, psycopg {package_version('psycopg')}"

    def nbytes(self) -> int:
        assert self._connection is not None
        found = self._connection.execute("SELECT pg_total_relation_size('memories')").fetchone()
        assert found is not None
        return int(found[0])

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._server is not None:
            self._server.close()


def versions(connection: psycopg.Connection[Any]) -> str:
    """Of the server and of its extension."""
    found = connection.execute(
        "SELECT current_setting('server_version'), extversion FROM pg_extension WHERE extname = 'vector'"
    ).fetchone()
    assert found is not None
    return f"PostgreSQL {found[0]}, pgvector {found[1]}"
