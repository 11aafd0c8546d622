"""Tables of the journal.

Texts stand apart from the rows that describe them (`revision_texts`, the payloads, the stored answers), so
that an erasure empties them while the chain of events and the shape of the history stay whole.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    and_,
)

SCHEMA_VERSION = "1"

metadata = MetaData()

# SQLite makes only an "INTEGER PRIMARY KEY" the row's own address; PostgreSQL needs eight bytes asked for.
_Position = BigInteger().with_variant(Integer, "sqlite")


def _id(name: str, *, primary_key: bool = False, default: str | None = None) -> Column[str]:
    return Column(name, String, primary_key=primary_key, nullable=False, server_default=default)


def _int(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean(create_constraint=False), nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


meta = Table("meta", metadata, _id("key", primary_key=True), _text("value"))

chain_head = Table(
    "chain_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    _int("seq"),
    _id("hash"),
)
"""One row: where the log ends. A tail cut off the log shows against it."""

events = Table(
    "events",
    metadata,
    Column("seq", _Position, primary_key=True, autoincrement=False),
    _int("time_us"),
    _id("tenant"),
    _id("user_id"),
    _id("actor"),
    _id("operation"),
    _id("action"),
    _id("memory_id"),
    _int("revision"),
    _int("count"),
    _id("reason_code"),
    _text("detail"),
    _id("commitment"),
    _id("prev_hash"),
    _id("hash"),
)
Index("ix_events_tenant", events.c.tenant, events.c.seq)
Index("ix_events_user", events.c.tenant, events.c.user_id, events.c.seq)
Index("ix_events_action", events.c.tenant, events.c.action, events.c.seq)

users = Table(
    "users",
    metadata,
    _id("tenant", primary_key=True),
    _id("user_id", primary_key=True),
    _int("head"),
    _int("epoch"),
    _flag("legal_hold"),
    sqlite_with_rowid=False,
)

revisions = Table(
    "revisions",
    metadata,
    Column("position", _Position, ForeignKey(events.c.seq), primary_key=True, autoincrement=False),
    _id("tenant"),
    _id("user_id"),
    _id("memory_id"),
    _flag("knowledge"),
    _int("revision"),
    _id("action"),
    _flag("is_deleted"),
    _id("decider"),
    _id("memory_type"),
    _int("created_at"),
    _int("updated_at"),
    _int("expires_at", nullable=True),
    _int("valid_from_us"),
    _int("valid_until_us", nullable=True),
    Column("live", SmallInteger, nullable=True),
    Column("dimension", Integer, nullable=False),
)
"""`live` is 1 on the last revision of a memory that is not deleted and NULL on every other row, so that the
index of what a user has now holds exactly that."""
Index(
    "ix_revisions_memory",
    revisions.c.tenant, revisions.c.user_id, revisions.c.memory_id, revisions.c.position,
)  # fmt: skip
Index("ix_revisions_user", revisions.c.tenant, revisions.c.user_id, revisions.c.position)
Index(
    "ix_revisions_live",
    revisions.c.tenant, revisions.c.user_id, revisions.c.created_at, revisions.c.position,
    sqlite_where=revisions.c.live.is_not(None), postgresql_where=revisions.c.live.is_not(None),
)  # fmt: skip
_EXPIRING = and_(revisions.c.live.is_not(None), revisions.c.expires_at.is_not(None))
Index(
    "ix_revisions_expiring",
    revisions.c.tenant, revisions.c.expires_at,
    sqlite_where=_EXPIRING, postgresql_where=_EXPIRING,
)  # fmt: skip

revision_texts = Table(
    "revision_texts",
    metadata,
    Column("position", _Position, ForeignKey(revisions.c.position), primary_key=True, autoincrement=False),
    _text("content"),
    Column("previous_content", Text, nullable=True),
    _text("reason"),
    _text("metadata"),
    _id("session_id"),
    Column("salt", LargeBinary, nullable=False),
)
"""What an erasure removes. The salt goes with the text: the commitment in the log is meaningless without
it."""

tombstones = Table(
    "tombstones",
    metadata,
    _id("tenant", primary_key=True),
    _id("user_id", primary_key=True),
    _id("memory_id", primary_key=True),
    _flag("knowledge"),
    Column("position", _Position, nullable=False),
    _int("deleted_us"),
    _int("purge_after_us", nullable=True),
)
"""Memories soft-deleted and not yet purged; `purge_after_us` is set by ForgetUser alone."""
Index("ix_tombstones_deleted", tombstones.c.tenant, tombstones.c.deleted_us)
Index(
    "ix_tombstones_purge",
    tombstones.c.tenant, tombstones.c.purge_after_us,
    sqlite_where=tombstones.c.purge_after_us.is_not(None),
    postgresql_where=tombstones.c.purge_after_us.is_not(None),
)  # fmt: skip

pending = Table(
    "pending",
    metadata,
    _id("tenant", primary_key=True),
    Column("knowledge", Boolean(create_constraint=False), primary_key=True, nullable=False),
    _id("memory_id", primary_key=True),
    _id("user_id"),
    Column("position", _Position, nullable=False),
    Column("revision_position", _Position, ForeignKey(revisions.c.position), nullable=False),
    _flag("is_deleted"),
    _flag("physical_delete"),
    Column("embedding", LargeBinary, nullable=False),
)
"""The outbox: latest state of each memory that the vector store has not acknowledged. `revision_position`
is where its text stands; empty `embedding` means the constant unit vector of a row without text."""
Index("ix_pending_position", pending.c.position)
Index("ix_pending_user", pending.c.tenant, pending.c.user_id, pending.c.position)

requests = Table(
    "requests",
    metadata,
    _id("tenant", primary_key=True),
    _id("user_id", primary_key=True),
    _id("method", primary_key=True),
    _id("request_id", primary_key=True),
    _id("kind"),
    _text("fingerprint"),
    _text("response"),
    _int("position"),
    _int("time_us"),
)
"""Answers kept for replays. An empty fingerprint marks one that was erased: its request is refused from
then on."""
Index("ix_requests_time", requests.c.time_us)

sessions = Table(
    "sessions",
    metadata,
    _id("tenant", primary_key=True),
    _id("user_id", primary_key=True),
    _id("session_id", primary_key=True),
    _int("last_seq"),
    _int("offered_seq"),
    _flag("ended"),
    _id("ingestion_id"),
    sqlite_with_rowid=False,
)

messages = Table(
    "messages",
    metadata,
    _id("tenant", primary_key=True),
    _id("user_id", primary_key=True),
    _id("session_id", primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    _id("role"),
    _text("content"),
    Column("create_time", String, nullable=True),
    _int("time_us"),
)

ingestions = Table(
    "ingestions",
    metadata,
    Column("serial", _Position, primary_key=True, autoincrement=True),
    Column("ingestion_id", String, nullable=False, unique=True),
    _id("tenant"),
    _id("user_id"),
    _id("session_id"),
    _id("state"),
    Column("unfinished", SmallInteger, nullable=True),
    _text("payload"),
    _text("result"),
    _id("actor"),
    Column("attempts", Integer, nullable=False),
    _id("error_reason"),
    _text("error_message"),
    _int("epoch"),
    _int("created_us"),
    _int("updated_us"),
    _int("next_attempt_us"),
    Column("position", _Position, nullable=False),
)
"""`next_attempt_us` of a RUNNING job is the end of its lease. `unfinished` is 1 while PENDING or RUNNING,
else NULL."""
Index("ix_ingestions_user", ingestions.c.tenant, ingestions.c.user_id, ingestions.c.serial)
Index(
    "ix_ingestions_unfinished",
    ingestions.c.tenant, ingestions.c.user_id, ingestions.c.serial,
    sqlite_where=ingestions.c.unfinished.is_not(None),
    postgresql_where=ingestions.c.unfinished.is_not(None),
)  # fmt: skip

rules = Table(
    "rules",
    metadata,
    _id("tenant", primary_key=True),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    _text("rules"),
    _id("actor"),
    _int("time_us"),
    Column("position", _Position, nullable=False),
    Column("salt", LargeBinary, nullable=False),
)

receipts = Table(
    "receipts",
    metadata,
    _id("tenant", primary_key=True),
    _id("user_id", primary_key=True),
    _id("receipt_id", primary_key=True),
    _id("method"),
    _id("request_id"),
    _text("receipt"),
)

held_texts = Table(
    "held_texts",
    metadata,
    Column("id", _Position, primary_key=True, autoincrement=True),
    _id("tenant"),
    _id("user_id"),
    _id("kind"),
    _text("record"),
)
"""Where the texts of a user forgotten under legal hold go: out of reach of every read, until the hold is
released."""
Index("ix_held_texts_user", held_texts.c.tenant, held_texts.c.user_id, held_texts.c.id)
