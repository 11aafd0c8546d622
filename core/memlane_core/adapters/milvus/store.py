"""The vector store on Milvus: one schema for Milvus Lite and for a server."""

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ...domain.errors import MemlaneError, StoreUnavailable
from ...ports.vector_store import KnowledgeHit, KnowledgeQuery, StoredRow
from . import filters
from .calls import Deadline, MilvusCalls
from .catalog import Catalog, Settings, batches
from .gate import Gate
from .lite import LiteProcess
from .rewrite import Rewriter
from .schema import ALL_COLUMNS, CollectionNames, Column, from_columns, memory_from_columns, to_columns

logger = logging.getLogger(__name__)

_OPEN_SECONDS = 60.0
_RELOAD_SECONDS = 30.0
_FLUSH_ROWS = 500
"""Rows that Milvus Lite may hold in memory before they are written to a data file: until then each search walks
through them one by one."""
_WRITE_BYTES = 16 * 1024 * 1024
_DELETE_IDS = 1000
_LITE = "milvus_lite"


class MilvusStore:
    """Implements `ports.vector_store.VectorStore`. Thread-safe; all calls block."""

    def __init__(
        self,
        uri: str,
        *,
        dimension: int,
        embedder_model: str,
        collection_prefix: str = "memlane",
        index_type: str = "FLAT",
        index_params: Mapping[str, Any] | None = None,
        search_params: Mapping[str, Any] | None = None,
        consistency: str = "Strong",
        token: str | None = None,
        open_timeout_seconds: float = _OPEN_SECONDS,
    ) -> None:
        """
        Args:
            uri: a path (Milvus Lite, in a child process of ours), or http://, https:// or unix: of an engine
                that runs already.
            dimension: of the embedder; `embedder_model` is its name and version. Both are recorded in every
                collection and checked at open.
            collection_prefix: letters, digits and underscores; deployments on one server differ in it.
            index_type: of the vector column, e.g. FLAT or HNSW, with `index_params` (build) and `search_params`.
            consistency: of every read. Session is stale after a delete on 2.3.5, Bounded and Eventually after
                every write; they are for deployments that know what they do.
            token: "user:password" or an API key of the server.
        """
        self._uri = uri
        self._token = token
        self._names = CollectionNames(collection_prefix)
        self._settings = Settings(
            dimension, embedder_model, index_type, dict(index_params or {}), consistency
        )
        self._search_params = {"metric_type": "COSINE", "params": dict(search_params or {})}
        self._open_timeout_seconds = open_timeout_seconds
        self._process: LiteProcess | None = None
        self._opened: _Opened | None = None

    def open(self, tenants: Sequence[str]) -> None:
        deadline = Deadline.after(self._open_timeout_seconds)
        uri = self._uri
        if is_path(uri):
            self._process = LiteProcess(Path(uri).absolute(), on_restart=self._reload)
            uri = self._process.start(deadline)
        try:
            calls = MilvusCalls(uri, token=self._token, deadline=deadline)
            self._opened = _Opened(calls, self._names, self._settings)
            self._opened.open(tenants, deadline)
        except MemlaneError:
            self.close()
            raise

    def upsert(
        self, tenant: str, rows: Sequence[StoredRow], *, knowledge: bool = False, timeout_seconds: float
    ) -> None:
        """Raises InvalidArgument, before anything is written, for a row that does not fit the schema."""
        # Of several states of one row the last: a server would keep them all.
        latest = {row.memory.memory_id: to_columns(row, self._settings.dimension) for row in rows}
        if not latest:
            return
        deadline = Deadline.after(timeout_seconds)
        engine = self._engine
        name = engine.catalog.ensure(tenant, knowledge=knowledge, deadline=deadline)
        with engine.gate.write(deadline):
            engine.changed(name, latest)
            for batch in batches(latest.values(), engine.write_rows):
                engine.calls("upsert", name, batch, deadline=deadline)
                engine.wrote(name, len(batch), deadline)

    def load_user(self, tenant: str, user_id: str, *, timeout_seconds: float) -> list[StoredRow]:
        deadline = Deadline.after(timeout_seconds)
        mine = f"{filters.equals(Column.USER_ID, user_id)} and {filters.NOT_DELETED}"
        engine = self._engine
        with engine.gate.read(deadline):
            name = engine.catalog.existing(tenant, knowledge=False, deadline=deadline)
            if name is None:
                return []
            found = [from_columns(row) for row in engine.catalog.rows(name, mine, deadline)]
        # The rows beyond a first page are read by id, some time after they were found.
        return [row for row in found if row.memory.user_id == user_id and not row.is_deleted]

    def scan(self, tenant: str, *, batch_rows: int, timeout_seconds: float) -> Iterator[list[StoredRow]]:
        deadline = Deadline.after(timeout_seconds)
        engine = self._engine
        with engine.gate.read(deadline):
            name = engine.catalog.existing(tenant, knowledge=False, deadline=deadline)
            if name is None:
                return
            ids = engine.catalog.ids(name, f"{filters.ANYTHING} and {filters.NOT_DELETED}", deadline)
        for batch in batches(ids, min(batch_rows, engine.catalog.page_rows)):
            # Not held between batches: whoever fills an index from this may take its time.
            with engine.gate.read(deadline):
                page = engine.catalog.by_ids(name, batch, deadline)
            rows = [from_columns(row) for row in page if not row[Column.IS_DELETED]]
            if rows:
                yield rows

    def get(
        self, tenant: str, memory_ids: Sequence[str], *, knowledge: bool = False, timeout_seconds: float
    ) -> list[StoredRow]:
        deadline = Deadline.after(timeout_seconds)
        engine = self._engine
        with engine.gate.read(deadline):
            name = engine.catalog.existing(tenant, knowledge=knowledge, deadline=deadline)
            if name is None or not memory_ids:
                return []
            return [from_columns(row) for row in engine.catalog.by_ids(name, memory_ids, deadline)]

    def count(
        self, tenant: str, *, user_id: str | None = None, knowledge: bool = False, timeout_seconds: float
    ) -> int:
        deadline = Deadline.after(timeout_seconds)
        whose = filters.ANYTHING if user_id is None else filters.equals(Column.USER_ID, user_id)
        engine = self._engine
        with engine.gate.read(deadline):
            name = engine.catalog.existing(tenant, knowledge=knowledge, deadline=deadline)
            if name is None:
                return 0
            answer = engine.catalog.query(name, whose, ["count(*)"], deadline)
            return int(answer[0]["count(*)"])

    def purge(
        self, tenant: str, memory_ids: Sequence[str], *, knowledge: bool = False, timeout_seconds: float
    ) -> None:
        deadline = Deadline.after(timeout_seconds)
        engine = self._engine
        name = engine.catalog.existing(tenant, knowledge=knowledge, deadline=deadline)
        if name is None:
            return
        with engine.gate.write(deadline):
            engine.changed(name, memory_ids)
            for batch in batches(dict.fromkeys(memory_ids), _DELETE_IDS):
                # Never `ids=`: the driver puts them into a filter without escaping.
                chosen = filters.any_of(Column.MEMORY_ID, batch)
                engine.calls("delete", name, filter=chosen, deadline=deadline)

    def search_knowledge(self, query: KnowledgeQuery) -> list[KnowledgeHit]:
        deadline = Deadline.after(query.timeout_seconds)
        engine = self._engine
        with engine.gate.read(deadline):
            name = engine.catalog.existing(query.tenant, knowledge=True, deadline=deadline)
            if name is None or query.top_k <= 0:
                return []
            answer = engine.calls.read(
                "search",
                name,
                data=[np.ascontiguousarray(query.embedding, dtype=np.float32)],
                anns_field=Column.EMBEDDING.value,
                filter=filters.visible_at(query.now),
                limit=query.top_k,
                output_fields=[column for column in ALL_COLUMNS if column != Column.EMBEDDING],
                search_params=self._search_params,
                consistency_level=self._settings.consistency,
                deadline=deadline,
            )
        hits = [KnowledgeHit(memory_from_columns(hit["entity"]), float(hit["distance"])) for hit in answer[0]]
        return sorted(hits, key=lambda hit: -hit.score)

    def compact(self, tenant: str, *, timeout_seconds: float) -> None:
        """On Lite: afterwards no file holds a row that was purged or overwritten before the call; others write and
        read on meanwhile. On a server: asks for it; the server drops replaced files by its own garbage collection,
        hours later."""
        deadline = Deadline.after(timeout_seconds)
        engine = self._engine
        for knowledge in (False, True):
            name = engine.catalog.existing(tenant, knowledge=knowledge, deadline=deadline)
            if name is not None:
                engine.compact(name, deadline)

    def ping(self, *, timeout_seconds: float) -> None:
        deadline = Deadline.after(timeout_seconds)
        self._engine.ping(deadline)

    def describe(self) -> Mapping[str, str]:
        parts = {
            "address": _address(self._uri),
            "index_type": self._settings.index_type,
            "consistency": self._settings.consistency,
            "dimension": str(self._settings.dimension),
            "embedder": self._settings.embedder_model,
        }
        if self._opened is not None:
            parts["engine"] = self._opened.calls.engine
        if self._process is not None:
            parts["engine_pid"] = str(self._process.pid)
        return parts

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.calls.close()
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    @property
    def _engine(self) -> "_Opened":
        if self._opened is None:
            raise StoreUnavailable("the vector store is not open")
        return self._opened

    def _reload(self) -> None:
        if self._opened is not None:
            self._opened.reload(Deadline.after(_RELOAD_SECONDS))


def is_path(uri: str) -> bool:
    """Whether this names a data directory of Milvus Lite and not an engine that runs already."""
    return "://" not in uri and not uri.startswith("unix:")


class _Opened:
    """What exists while the store is open."""

    def __init__(self, calls: MilvusCalls, names: CollectionNames, settings: Settings) -> None:
        self.calls = calls
        self.lite = calls.engine.startswith(_LITE)
        self.gate = Gate(one_writer=self.lite)
        self.catalog = Catalog(calls, names, settings)
        self.write_rows = max(1, _WRITE_BYTES // (self.catalog.row_bytes))
        self._names = names
        self._rewriter = Rewriter(calls, self.catalog, self.gate)
        self._unflushed: dict[str, int] = {}
        """Rows since the last flush, by collection; changed by the holder of the writers' turn only, as is the
        next."""
        self._clean: set[str] = set()
        """Collections without a change since they were rewritten."""
        self._rewriting = threading.Lock()
        self._changed_meanwhile: dict[str, set[str]] = {}
        """Ids written or removed since the copy began, of the collection that is being rewritten."""

    def open(self, tenants: Sequence[str], deadline: Deadline) -> None:
        if self.lite:
            self._recover(deadline)
        for tenant in tenants:
            for knowledge in (False, True):
                self.catalog.ensure(tenant, knowledge=knowledge, deadline=deadline)
        self.ping(deadline)
        logger.info("vector store %s open, %d collections", self.calls.engine, len(self.catalog.ready()))

    def reload(self, deadline: Deadline) -> None:
        """After the engine died and came back, perhaps in the middle of a rewrite."""
        with self.gate.write(deadline):
            self._recover(deadline)
            self.catalog.reload(deadline)

    def _recover(self, deadline: Deadline) -> None:
        names = [str(name) for name in self.calls("list_collections", deadline=deadline)]
        self._rewriter.recover([n for n in names if n.startswith(f"{self._names.prefix}_")], deadline)

    def ping(self, deadline: Deadline) -> None:
        """One read at the level of all reads: it answers only once what was written before can be seen."""
        ready = self.catalog.ready()
        if not ready:
            self.calls("list_collections", deadline=deadline)
            return
        with self.gate.read(deadline):
            self.catalog.query(
                ready[0], filters.any_of(Column.MEMORY_ID, ["-"]), [Column.MEMORY_ID], deadline
            )

    def changed(self, name: str, memory_ids: Iterable[str]) -> None:
        """Before a change, since one that failed may have been made all the same."""
        self._clean.discard(name)
        meanwhile = self._changed_meanwhile.get(name)
        if meanwhile is not None:
            meanwhile.update(memory_ids)

    def wrote(self, name: str, rows: int, deadline: Deadline) -> None:
        if not self.lite:
            return
        self._unflushed[name] = self._unflushed.get(name, 0) + rows
        if self._unflushed[name] >= _FLUSH_ROWS:
            self.calls("flush", name, deadline=deadline)
            self._unflushed[name] = 0

    def compact(self, name: str, deadline: Deadline) -> None:
        if not self.lite:
            self.calls("flush", name, deadline=deadline)
            self.calls("compact", name, deadline=deadline)
            return
        if not self._rewriting.acquire(timeout=deadline.remaining_seconds()):
            raise StoreUnavailable("the vector store is being rewritten")
        try:
            self._rewrite(name, deadline)
        finally:
            self._changed_meanwhile.pop(name, None)
            self._rewriting.release()

    def _rewrite(self, name: str, deadline: Deadline) -> None:
        with self.gate.write(deadline):
            if name in self._clean:
                return
            self._rewriter.begin(name, deadline)
            self._changed_meanwhile[name] = set()
        self._rewriter.copy(name, deadline)
        with self.gate.write(deadline):
            changed = self._changed_meanwhile.pop(name)
            self._rewriter.finish(name, changed, deadline)
            self._unflushed[name] = 0
            if not changed:
                # What changed meanwhile may have been copied before it did.
                self._clean.add(name)


def _address(uri: str) -> str:
    """Where the engine is, without credentials."""
    if is_path(uri) or uri.startswith("unix:"):
        return uri
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.hostname or '?'}" + (f":{parts.port}" if parts.port else "")
