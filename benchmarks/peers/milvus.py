"""Milvus, asked directly: a server over gRPC, and Milvus Lite, which a client starts for itself."""

import re
from importlib.metadata import version as package_version
from pathlib import Path

from pymilvus import DataType, MilvusClient

from tests.support.milvus_server import MilvusServer

from .corpus import TOP_K, Corpus, Query
from .peer import Found, folder_bytes

_COLLECTION = "memories"
_BATCH = 2_000
_TIMEOUT_SECONDS = 60.0
_PARTITIONS = 64
_OUTPUT = ["content"]


def fill(client: MilvusClient, corpus: Corpus, *, partitions: bool, scalar_index: str) -> None:
    """A collection with the whole corpus, flushed, indexed and loaded."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.INT64, is_primary=True)
    schema.add_field("user_id", DataType.VARCHAR, max_length=64, is_partition_key=partitions)
    schema.add_field("content", DataType.VARCHAR, max_length=2048)
    schema.add_field("is_deleted", DataType.BOOL)
    schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=corpus.dimension)
    options = {"num_partitions": _PARTITIONS} if partitions else {}
    client.create_collection(_COLLECTION, schema=schema, consistency_level="Strong", **options)
    for start in range(0, len(corpus), _BATCH):
        rows = [
            {
                "id": n,
                "user_id": corpus.user_of(n),
                "content": corpus.text(n),
                "is_deleted": bool(corpus.deleted[n]),
                "embedding": corpus.vectors[n],
            }
            for n in range(start, min(start + _BATCH, len(corpus)))
        ]
        client.insert(_COLLECTION, rows, timeout=_TIMEOUT_SECONDS)
    client.flush(_COLLECTION, timeout=_TIMEOUT_SECONDS)
    index = client.prepare_index_params()
    index.add_index("embedding", index_type="FLAT", metric_type="IP")
    if scalar_index:
        index.add_index("user_id", index_type=scalar_index)
    client.create_index(_COLLECTION, index, timeout=_TIMEOUT_SECONDS)
    client.load_collection(_COLLECTION, timeout=_TIMEOUT_SECONDS)
    # Waits until everything that was written is searched.
    client.query(_COLLECTION, filter="id >= 0", limit=1, consistency_level="Strong", timeout=_TIMEOUT_SECONDS)


class _Direct:
    """What both ways have in common."""

    def __init__(self) -> None:
        self._client: MilvusClient | None = None

    def search(self, query: Query) -> list[Found]:
        assert self._client is not None
        [hits] = self._client.search(
            _COLLECTION,
            data=[query.vector],
            filter=f'user_id == "{query.user_id}" and is_deleted == false',
            limit=TOP_K,
            output_fields=_OUTPUT,
            # Nothing is written any more: no need to wait for what is still on its way.
            consistency_level="Eventually",
            timeout=_TIMEOUT_SECONDS,
        )
        return [(hit["id"], hit["distance"], hit["entity"]["content"]) for hit in hits]


class MilvusDirect(_Direct):
    title = "Milvus server"
    kind = "service"
    settings = (
        f"standalone, FLAT, the user as partition key ({_PARTITIONS} partitions), consistency Eventually, "
        "pymilvus"
    )

    def __init__(self) -> None:
        super().__init__()
        self._server: MilvusServer | None = None

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._data = folder / "milvus"
        self._data.mkdir()
        self._server = MilvusServer(self._data)
        self._server.start()
        self._client = MilvusClient(self._server.uri, timeout=_TIMEOUT_SECONDS)
        fill(self._client, corpus, partitions=True, scalar_index="")

    def version(self) -> str:
        assert self._client is not None
        found = re.sub(r"^v|-lite$", "", str(self._client.get_server_version()))
        return f"Milvus {found}, pymilvus {package_version('pymilvus')}"

    def nbytes(self) -> int:
        return folder_bytes(self._data / "data")

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.close()


class MilvusLite(_Direct):
    title = "Milvus Lite"
    kind = "engine"
    settings = "FLAT, the user as partition key, flushed, as `MilvusClient(path)` starts it"

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._data = folder / "lite.db"
        self._client = MilvusClient(str(self._data))
        fill(self._client, corpus, partitions=True, scalar_index="")

    def version(self) -> str:
        return f"milvus-lite {package_version('milvus-lite')}, pymilvus {package_version('pymilvus')}"

    def nbytes(self) -> int:
        return folder_bytes(self._data)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
