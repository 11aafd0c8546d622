"""Collections and columns: how a memory becomes a row and back."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from pymilvus import CollectionSchema, DataType, FieldSchema

from ...domain.errors import DataCorrupt, InvalidArgument
from ...domain.limits import MAX_CONTENT_BYTES, MAX_MEMORY_ID_BYTES, MAX_METADATA_BYTES, MAX_USER_ID_BYTES
from ...domain.memory import Memory, MemoryType
from ...ports.vector_store import StoredRow

SCHEMA_VERSION = "1"
NEVER_EXPIRES = -1

MAX_TYPE_BYTES = 32
METADATA_COLUMN_BYTES = 7 * MAX_METADATA_BYTES
"""Room for metadata within its limit however JSON escapes it (six bytes for a control character): a row that was
journaled must always fit."""

_MAX_NAME_BYTES = 255
"""Of a collection (Milvus), and of the folder that Milvus Lite makes of it."""


class Column(StrEnum):
    """Names are part of the contract: other tools read these collections."""

    MEMORY_ID = "memory_id"
    USER_ID = "user_id"
    MEMORY_TYPE = "memory_type"
    CONTENT = "content"
    EMBEDDING = "embedding"
    CREATED_AT = "created_at"
    TTL = "ttl"
    IS_DELETED = "is_deleted"
    UPDATED_AT = "updated_at"
    REVISION = "revision"
    POSITION = "position"
    METADATA = "metadata"


ALL_COLUMNS = [column.value for column in Column]

_VARCHAR_BYTES = {
    Column.MEMORY_ID: MAX_MEMORY_ID_BYTES,
    Column.USER_ID: MAX_USER_ID_BYTES,
    Column.MEMORY_TYPE: MAX_TYPE_BYTES,
    Column.CONTENT: MAX_CONTENT_BYTES,
    Column.METADATA: METADATA_COLUMN_BYTES,
}


class Property(StrEnum):
    """Collection properties by which a store is recognised."""

    SCHEMA = "memlane.schema"
    EMBEDDER = "memlane.embedder"
    DIMENSION = "memlane.dimension"


@dataclass(frozen=True, slots=True)
class CollectionNames:
    """Names of the collections of one deployment. Reversible, and no two tenants share one."""

    prefix: str

    def of(self, tenant: str, *, knowledge: bool) -> str:
        """Raises InvalidArgument for a tenant that is empty or too long for a name."""
        if not tenant:
            raise InvalidArgument.of("tenant", "is empty")
        name = f"{self.prefix}_{_encode(tenant)}_{'knowledge' if knowledge else 'memories'}"
        if len(name) > _MAX_NAME_BYTES:
            raise InvalidArgument.of("tenant", f"its collection name exceeds {_MAX_NAME_BYTES} bytes")
        return name

    def tenant_of(self, name: str) -> str | None:
        """Tenant of a collection; None for one that is not ours."""
        match = re.fullmatch(rf"{re.escape(self.prefix)}_(.+)_(?:memories|knowledge)", name)
        return _decode(match.group(1)) if match else None


def _encode(tenant: str) -> str:
    """Lower-case letters and digits as they are, every other byte as `_xx`: names must differ on file systems
    that do not tell upper from lower case, too."""
    try:
        raw = tenant.encode()
    except UnicodeEncodeError:
        raise InvalidArgument.of("tenant", "is not valid Unicode") from None
    return "".join(chr(b) if chr(b) in "abcdefghijklmnopqrstuvwxyz0123456789" else f"_{b:02x}" for b in raw)


def _decode(encoded: str) -> str | None:
    if not re.fullmatch(r"(?:[a-z0-9]|_[0-9a-f]{2})+", encoded):
        return None
    raw = re.sub(rb"_([0-9a-f]{2})", lambda m: bytes([int(m.group(1), 16)]), encoded.encode())
    return raw.decode("utf-8", "replace")


def collection_schema(dimension: int) -> CollectionSchema:
    """The same on Milvus Lite and on a server.

    No partition key: on Milvus 2.3.5 an upsert under one puts the row where its own filter no longer finds it.
    """
    integers = (Column.CREATED_AT, Column.TTL, Column.UPDATED_AT, Column.REVISION, Column.POSITION)
    fields = []
    for column in Column:
        if column in _VARCHAR_BYTES:
            fields.append(
                FieldSchema(
                    column.value,
                    DataType.VARCHAR,
                    max_length=_VARCHAR_BYTES[column],
                    is_primary=column is Column.MEMORY_ID,
                )
            )
        elif column is Column.EMBEDDING:
            fields.append(FieldSchema(column.value, DataType.FLOAT_VECTOR, dim=dimension))
        else:
            fields.append(FieldSchema(column.value, DataType.INT64 if column in integers else DataType.BOOL))
    return CollectionSchema(fields, enable_dynamic_field=False)


def row_bytes(dimension: int) -> int:
    """Upper bound of one row on the wire, for sizing pages."""
    return 4 * dimension + MAX_CONTENT_BYTES + MAX_METADATA_BYTES + 512


def to_columns(row: StoredRow, dimension: int) -> dict[str, Any]:
    """The row as Milvus takes it. Raises InvalidArgument naming the field that is too long, not Unicode, or not a
    finite vector of the store's dimension: the last line of defence, nothing has been written yet."""
    memory = row.memory
    embedding = np.ascontiguousarray(row.embedding, dtype=np.float32)
    if embedding.shape != (dimension,):
        raise InvalidArgument.of(
            Column.EMBEDDING, f"has shape {embedding.shape}, the store holds ({dimension},)"
        )
    if not np.isfinite(embedding).all():
        raise InvalidArgument.of(Column.EMBEDDING, "is not finite")
    columns: dict[str, Any] = {
        Column.MEMORY_ID.value: memory.memory_id,
        Column.USER_ID.value: memory.user_id,
        Column.MEMORY_TYPE.value: memory.memory_type.value,
        Column.CONTENT.value: memory.content,
        Column.EMBEDDING.value: embedding,
        Column.CREATED_AT.value: memory.created_at,
        Column.TTL.value: NEVER_EXPIRES if memory.expires_at is None else memory.expires_at,
        Column.IS_DELETED.value: row.is_deleted,
        Column.UPDATED_AT.value: memory.updated_at,
        Column.REVISION.value: memory.revision,
        Column.POSITION.value: memory.position,
        Column.METADATA.value: json.dumps(
            dict(memory.metadata), ensure_ascii=False, separators=(",", ":"), sort_keys=True
        ),
    }
    for column, limit in _VARCHAR_BYTES.items():
        _check_bytes(column, columns[column.value], limit)
    return columns


def _check_bytes(column: Column, text: str, limit: int) -> None:
    # Bytes, as the server counts them: Milvus Lite counts characters and would let more through.
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidArgument.of(column, "is not valid Unicode") from None
    if size > limit:
        raise InvalidArgument.of(column, f"is {size} bytes long, the limit is {limit}")


def from_columns(columns: Mapping[str, Any]) -> StoredRow:
    """A row as Milvus gave it. Raises DataCorrupt when its metadata or type cannot be read."""
    return StoredRow(
        memory=memory_from_columns(columns),
        embedding=np.ascontiguousarray(columns[Column.EMBEDDING], dtype=np.float32),
        is_deleted=bool(columns[Column.IS_DELETED]),
    )


def memory_from_columns(columns: Mapping[str, Any]) -> Memory:
    ttl = int(columns[Column.TTL])
    try:
        metadata = json.loads(columns[Column.METADATA])
        memory_type = MemoryType(columns[Column.MEMORY_TYPE])
    except ValueError:
        raise DataCorrupt(
            "a row of the vector store cannot be read", metadata={"id": str(columns[Column.MEMORY_ID])}
        ) from None
    return Memory(
        memory_id=columns[Column.MEMORY_ID],
        user_id=columns[Column.USER_ID],
        content=columns[Column.CONTENT],
        memory_type=memory_type,
        metadata=metadata,
        created_at=int(columns[Column.CREATED_AT]),
        updated_at=int(columns[Column.UPDATED_AT]),
        expires_at=None if ttl < 0 else ttl,
        revision=int(columns[Column.REVISION]),
        position=int(columns[Column.POSITION]),
    )
