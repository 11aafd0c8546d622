"""A Chroma server over HTTP: one collection with a filter, and a collection for each user."""

import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Any, ClassVar

import chromadb
from chromadb.config import Settings

from tests.support.ports import free_port

from .corpus import TOP_K, Corpus, Query
from .peer import Found, Kind, folder_bytes

_BATCH = 2_000
_START_SECONDS = 60.0
_INCLUDE = ["documents", "distances"]


class ChromaProcess:
    """`chroma run` on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "chroma"
        self.port = free_port()
        command = [
            str(Path(sys.executable).with_name("chroma")),
            *("run", "--path", str(self.data), "--host", "127.0.0.1", "--port", str(self.port)),
        ]
        with (folder / "chroma.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def client(self) -> Any:
        """Once the server answers. Raises TimeoutError, or RuntimeError when it has ended."""
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            if self._process.poll() is not None:
                raise RuntimeError(f"chroma run ended with {self._process.returncode}")
            # Settings of its own: a client writes its address into them.
            settings = Settings(anonymized_telemetry=False)
            try:
                return chromadb.HttpClient(host="127.0.0.1", port=self.port, settings=settings)
            except ValueError:
                time.sleep(0.2)
        raise TimeoutError(f"chroma run did not answer within {_START_SECONDS:g} s")

    def close(self) -> None:
        self._process.kill()
        self._process.wait(timeout=30)


class _Chroma:
    title: ClassVar[str]
    kind: ClassVar[Kind] = "service"

    def __init__(self) -> None:
        self._server: ChromaProcess | None = None
        self._client: Any = None

    def _start(self, folder: Path) -> None:
        self._server = ChromaProcess(folder)
        self._client = self._server.client()

    def _collection(self, name: str) -> Any:
        # ef_search: as far as the graph is to be looked through for five of a filtered few.
        hnsw = {"space": "ip", "ef_search": 200}
        return self._client.create_collection(name, embedding_function=None, configuration={"hnsw": hnsw})

    def _add(self, collection: Any, corpus: Corpus, rows: Iterable[int]) -> None:
        numbers = list(rows)
        collection.add(
            ids=[str(n) for n in numbers],
            embeddings=corpus.vectors[numbers],
            documents=[corpus.text(n) for n in numbers],
            metadatas=[
                {
                    "user_id": corpus.user_of(n),
                    "is_deleted": bool(corpus.deleted[n]),
                    # Both in one: a single narrow condition is the fastest filter by far.
                    "live_user": "" if corpus.deleted[n] else corpus.user_of(n),
                }
                for n in numbers
            ],
        )

    @staticmethod
    def _ask(memories: Any, query: Query) -> list[Found]:
        answer = memories.query(
            query_embeddings=[query.vector],
            n_results=TOP_K,
            where={"live_user": query.user_id},
            include=_INCLUDE,
        )
        parts = zip(answer["ids"][0], answer["distances"][0], answer["documents"][0], strict=True)
        return [(int(row), 1.0 - distance, text) for row, distance, text in parts]

    def version(self) -> str:
        return f"Chroma {package_version('chromadb')}"

    def nbytes(self) -> int:
        assert self._server is not None
        return folder_bytes(self._server.data)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class ChromaFiltered(_Chroma):
    title = "Chroma server"
    settings = "one collection, HNSW (ef_search 200), one metadata filter for user and flag, HTTP client"

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._start(folder)
        self._memories = self._collection("memories")
        for start in range(0, len(corpus), _BATCH):
            self._add(self._memories, corpus, range(start, min(start + _BATCH, len(corpus))))

    def search(self, query: Query) -> list[Found]:
        return self._ask(self._memories, query)


class ChromaSplit(_Chroma):
    title = "Chroma server, a collection a user"
    settings = (
        "a collection for each user, HNSW (ef_search 200), one metadata filter for user and flag, HTTP client"
    )

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._start(folder)
        self._of_user = [self._collection(corpus.user_id(user)) for user in range(corpus.users)]
        for user, collection in enumerate(self._of_user):
            self._add(collection, corpus, corpus.rows_of(user))

    def search(self, query: Query) -> list[Found]:
        return self._ask(self._of_user[query.user], query)
