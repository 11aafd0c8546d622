"""The collections of one engine: created, recognised, loaded, read in pages."""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from ...domain.errors import StoreMismatch, StoreUnavailable
from . import filters
from .calls import Deadline, MilvusCalls
from .schema import (
    ALL_COLUMNS,
    SCHEMA_VERSION,
    CollectionNames,
    Column,
    Property,
    collection_schema,
    row_bytes,
)

T = TypeVar("T")

_PAGE_BYTES = 24 * 1024 * 1024
"""Of one answer: a server refuses messages over 64 MiB."""
_MAX_PAGE_ROWS = 4096
"""A server refuses limits over 16,384."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the collections are made of."""

    dimension: int
    embedder_model: str
    index_type: str
    index_params: dict[str, Any]
    consistency: str
    """Level of every read: Strong, Session, Bounded or Eventually."""


class Catalog:
    """Thread-safe."""

    def __init__(self, calls: MilvusCalls, names: CollectionNames, settings: Settings) -> None:
        self._calls = calls
        self._names = names
        self._settings = settings
        self._ready: frozenset[str] = frozenset()
        """Replaced, never changed: read without the lock."""
        self._lock = threading.Lock()
        self.row_bytes = row_bytes(settings.dimension)
        self.page_rows = max(1, min(_MAX_PAGE_ROWS, _PAGE_BYTES // self.row_bytes))

    def ready(self) -> list[str]:
        """Names of the collections that are loaded and checked."""
        return sorted(self._ready)

    def existing(self, tenant: str, *, knowledge: bool, deadline: Deadline) -> str | None:
        """Name of the tenant's collection, loaded and checked; None when there is none yet."""
        name = self._names.of(tenant, knowledge=knowledge)
        if name in self._ready:
            return name
        with self._turn(deadline):
            if name not in self._ready:
                if not self._calls("has_collection", name, deadline=deadline):
                    return None
                self.check(name, deadline)
                self.load(name, deadline)
                self._ready |= {name}
        return name

    def ensure(self, tenant: str, *, knowledge: bool, deadline: Deadline) -> str:
        """Name of the tenant's collection, created when missing. Raises StoreMismatch, StoreUnavailable."""
        existing = self.existing(tenant, knowledge=knowledge, deadline=deadline)
        if existing is not None:
            return existing
        name = self._names.of(tenant, knowledge=knowledge)
        with self._turn(deadline):
            # Creating what exists with the same schema is no error on either engine, so a race with another
            # process ends well.
            self.create(name, deadline)
            self.check(name, deadline)
            self.load(name, deadline)
            self._ready |= {name}
        return name

    @contextmanager
    def _turn(self, deadline: Deadline) -> Iterator[None]:
        """One thread at a time; none waits for another one's call beyond its own time."""
        if not self._lock.acquire(timeout=deadline.remaining_seconds()):
            raise StoreUnavailable("the vector store did not answer in time")
        try:
            yield
        finally:
            self._lock.release()

    def _index(self) -> Any:
        return self._calls.index_params(
            Column.EMBEDDING.value, self._settings.index_type, "COSINE", self._settings.index_params
        )

    def create(self, name: str, deadline: Deadline) -> None:
        self._calls(
            "create_collection",
            name,
            schema=collection_schema(self._settings.dimension),
            consistency_level=self._settings.consistency,
            properties={
                Property.SCHEMA.value: SCHEMA_VERSION,
                Property.EMBEDDER.value: self._settings.embedder_model,
                Property.DIMENSION.value: str(self._settings.dimension),
            },
            deadline=deadline,
        )

    def check(self, name: str, deadline: Deadline) -> None:
        """Whether we may use this collection. Raises StoreMismatch naming both sides."""
        found = self._calls("describe_collection", name, deadline=deadline)
        properties = {str(key): _plain(value) for key, value in dict(found.get("properties") or {}).items()}
        dimension = next(
            (f["params"].get("dim") for f in found["fields"] if f["name"] == Column.EMBEDDING.value), None
        )
        for what, stored, ours in (
            ("schema", properties.get(Property.SCHEMA), SCHEMA_VERSION),
            ("embedder", properties.get(Property.EMBEDDER), self._settings.embedder_model),
            ("dimension", str(dimension), str(self._settings.dimension)),
        ):
            if stored != ours:
                raise StoreMismatch(
                    f"collection {name} was made with {what} {stored or 'unknown'}, this process has {ours}",
                    metadata={"collection": name, "stored": stored or "", "configured": ours},
                )

    def load(self, name: str, deadline: Deadline) -> None:
        """After a restart of the engine collections are released: nothing can be read until they are loaded."""
        # The first time; also after somebody who died between creating the collection and this. It has no rows, so
        # there is nothing to wait for: the driver would look once, sleep half a second and look again.
        if not self._calls("list_indexes", name, deadline=deadline):
            self._calls("create_index", name, self._index(), sync=False, deadline=deadline)
        self._calls("load_collection", name, deadline=deadline)

    def reload(self, deadline: Deadline) -> None:
        """Load everything again, after the engine came back."""
        for name in self.ready():
            self.load(name, deadline)

    def query(
        self, name: str, expression: str, columns: Sequence[str], deadline: Deadline, limit: int | None = None
    ) -> list[dict[str, Any]]:
        options: dict[str, Any] = {} if limit is None else {"limit": limit}
        answer: list[dict[str, Any]] = self._calls.read(
            "query",
            name,
            filter=expression,
            output_fields=list(columns),
            consistency_level=self._settings.consistency,
            strict_float32=True,
            deadline=deadline,
            **options,
        )
        return answer

    def rows(self, name: str, expression: str, deadline: Deadline) -> list[dict[str, Any]]:
        """Whole rows that match. With more than a page of them, rows written meanwhile may or may not be there."""
        first = self.query(name, expression, ALL_COLUMNS, deadline, limit=self.page_rows)
        if len(first) < self.page_rows:
            return first
        # Limit and offset do not reach beyond 16,384 rows, and no engine sorts by id. So list the ids, which are
        # small, and read the rows by them.
        return self.by_ids(name, self.ids(name, expression, deadline), deadline)

    def ids(self, name: str, expression: str, deadline: Deadline) -> list[str]:
        """Ids of the rows that match, sorted."""
        found = self.query(name, expression, [Column.MEMORY_ID.value], deadline)
        return sorted({row[Column.MEMORY_ID.value] for row in found})

    def by_ids(self, name: str, ids: Sequence[str], deadline: Deadline) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for batch in batches(dict.fromkeys(ids), self.page_rows):
            rows.extend(self.query(name, filters.any_of(Column.MEMORY_ID, batch), ALL_COLUMNS, deadline))
        return rows


def batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    batch: list[T] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _plain(value: object) -> str:
    """Milvus Lite gives a property back as JSON where it can be read as such: "512" comes as 512."""
    return value if isinstance(value, str) else json.dumps(value)
