"""Qdrant inside the process: the package `qdrant-edge-py`."""

from importlib.metadata import version as package_version
from pathlib import Path

from qdrant_edge import (
    Distance,
    EdgeConfig,
    EdgeShard,
    EdgeVectorParams,
    FieldCondition,
    Filter,
    HnswIndexConfig,
    IntegerIndexParams,
    KeywordIndexParams,
    MatchValue,
    Point,
    QueryRequest,
    ScoredPoint,
    UpdateOperation,
)
from qdrant_edge import (
    Query as VectorQuery,
)

from .corpus import TOP_K, Corpus, Query
from .peer import Found, folder_bytes

_BATCH = 2_000
_PAYLOAD = ["text"]


class QdrantEdge:
    title = "Qdrant Edge"
    kind = "engine"
    settings = (
        "one shard, keyword index on the user marked as tenant, HNSW by tenant only (m 0, payload_m 16), integer index "
        "on the deletion flag (0/1), optimised after loading"
    )

    def __init__(self) -> None:
        self._shard: EdgeShard | None = None

    def load(self, corpus: Corpus, folder: Path) -> None:
        self._folder = folder / "shard"
        config = EdgeConfig(
            vectors=EdgeVectorParams(
                size=corpus.dimension,
                distance=Distance.Dot,
                hnsw_config=HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000, payload_m=16),
            ),
            max_search_threads=1,
        )
        self._folder.mkdir(parents=True)
        self._shard = shard = EdgeShard.create(str(self._folder), config)
        shard.update(UpdateOperation.create_field_index("user_id", KeywordIndexParams(is_tenant=True)))
        shard.update(
            UpdateOperation.create_field_index("deleted", IntegerIndexParams(lookup=True, range=False))
        )
        for start in range(0, len(corpus), _BATCH):
            points = [
                Point(
                    n,
                    corpus.vectors[n].tolist(),
                    {"user_id": corpus.user_of(n), "deleted": int(corpus.deleted[n]), "text": corpus.text(n)},
                )
                for n in range(start, min(start + _BATCH, len(corpus)))
            ]
            shard.update(UpdateOperation.upsert_points(points))
        shard.flush()
        shard.optimize()
        self._live = FieldCondition("deleted", match=MatchValue(0))

    def search(self, query: Query) -> list[Found]:
        assert self._shard is not None
        user = FieldCondition("user_id", match=MatchValue(query.user_id))
        found: list[ScoredPoint] = self._shard.query(
            QueryRequest(
                limit=TOP_K,
                query=VectorQuery.Nearest(query.vector.tolist()),
                filter=Filter(must=[user, self._live]),
                with_payload=_PAYLOAD,
            )
        )
        return [(point.id, point.score, point.payload["text"]) for point in found]

    def version(self) -> str:
        return f"qdrant-edge-py {package_version('qdrant-edge-py')}"

    def nbytes(self) -> int:
        return folder_bytes(self._folder)

    def close(self) -> None:
        if self._shard is not None:
            self._shard.close()
