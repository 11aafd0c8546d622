"""The hash chain over the audit log.

An event's hash is SHA-256 over a canonical encoding of its columns, which include the hash of the event
before it; the first one follows a genesis hash made of the journal's id. Changing, removing, inserting or
reordering rows breaks it; a tail cut off shows against the recorded head. Who can rewrite the whole
database can also forge a whole chain: hashes handed out in receipts are the anchors against that.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from ...domain.errors import DataCorrupt
from ...ports.compliance_store import AuditEvent, ChainCheck
from .engine import Database
from .schema import chain_head, events, revision_texts

_BATCH_ROWS = 2000
_SALT_BYTES = 16

_HASHED = tuple(column.name for column in events.columns if column.name != "hash")

_READ_HEAD = select(chain_head.c.seq, chain_head.c.hash)
_WRITE_HEAD = update(chain_head).values(seq=bindparam("new_seq"), hash=bindparam("new_hash"))
_INSERT_EVENT = insert(events)
_BATCH = (
    select(events, revision_texts.c.content, revision_texts.c.salt)
    .join(revision_texts, revision_texts.c.position == events.c.seq, isouter=True)
    .where(events.c.seq >= bindparam("from_seq"), events.c.seq <= bindparam("until_seq"))
    .order_by(events.c.seq)
    .limit(_BATCH_ROWS)
)


def genesis_hash(journal_id: str) -> str:
    """The hash that the first event follows."""
    return hashlib.sha256(b"memlane journal 1\n" + journal_id.encode()).hexdigest()


def event_hash(row: dict[str, Any]) -> str:
    """SHA-256 over the columns in schema order, each as its byte length, a colon and its UTF-8 text."""
    digest = hashlib.sha256(b"memlane event 1\n")
    for name in _HASHED:
        value = str(row[name]).encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(value))
        digest.update(value)
    return digest.hexdigest()


def new_salt() -> bytes:
    return secrets.token_bytes(_SALT_BYTES)


def commitment(salt: bytes, content: str) -> str:
    """Digest of a text that proves it while the salt is kept and says nothing once the salt is erased."""
    return hashlib.sha256(salt + content.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event before it has its place in the chain."""

    time_us: int
    tenant: str
    user_id: str
    actor: str
    operation: str
    action: str
    memory_id: str = ""
    revision: int = 0
    count: int = 0
    reason_code: str = ""
    detail: str = ""
    commitment: str = ""


class ChainWriter:
    """Appends events inside one write transaction. `flush` writes them and the new head."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        row = connection.execute(_READ_HEAD).first()
        if row is None:
            raise DataCorrupt("the journal has lost the head of its chain")
        self.seq: int = row.seq
        self.hash: str = row.hash
        self._rows: list[dict[str, Any]] = []

    def add(self, new: NewEvent) -> int:
        """Returns the event's seq."""
        self.seq += 1
        row: dict[str, Any] = {
            "seq": self.seq, "time_us": new.time_us, "tenant": new.tenant, "user_id": new.user_id,
            "actor": new.actor, "operation": new.operation, "action": new.action, "memory_id": new.memory_id,
            "revision": new.revision, "count": new.count, "reason_code": new.reason_code,
            "detail": new.detail, "commitment": new.commitment, "prev_hash": self.hash,
        }  # fmt: skip
        self.hash = row["hash"] = event_hash(row)
        self._rows.append(row)
        return self.seq

    def flush(self) -> None:
        if self._rows:
            self._connection.execute(_INSERT_EVENT, self._rows)
            self._connection.execute(_WRITE_HEAD, {"new_seq": self.seq, "new_hash": self.hash})
            self._rows = []


def audit_event(row: Any) -> AuditEvent:
    """An AuditEvent of a row of `events`."""
    return AuditEvent(
        seq=row.seq, time_us=row.time_us, tenant=row.tenant, user_id=row.user_id, actor=row.actor,
        operation=row.operation, action=row.action, memory_id=row.memory_id, revision=row.revision,
        count=row._mapping["count"], reason_code=row.reason_code, detail=row.detail,
        commitment=row.commitment, prev_hash=row.prev_hash, hash=row.hash,
    )  # fmt: skip


def _batches(database: Database, from_seq: int, until_seq: int) -> Iterator[list[dict[str, Any]]]:
    """Rows in short transactions, so that a long check does not keep the write-ahead log from being
    reused."""
    while from_seq <= until_seq:
        with database.read() as connection:
            rows = connection.execute(_BATCH, {"from_seq": from_seq, "until_seq": until_seq}).mappings().all()
        if not rows:
            return
        yield [dict(row) for row in rows]
        from_seq = rows[-1]["seq"] + 1


def _problem(row: dict[str, Any], expected_seq: int, prev_hash: str) -> str:
    if row["seq"] != expected_seq:
        return "events are missing"
    if row["prev_hash"] != prev_hash:
        return "does not follow the event before it"
    if event_hash(row) != row["hash"]:
        return "was changed"
    if row["content"] is not None and commitment(row["salt"], row["content"]) != row["commitment"]:
        return "the text kept for it was changed"
    return ""


def verify(database: Database, journal_id: str, from_seq: int, anchors: Mapping[int, str]) -> ChainCheck:
    """Check the chain from `from_seq` to the head recorded when the check began, and what texts are still
    kept. An event that an anchor names must have the anchor's hash."""
    with database.read() as connection:
        head = connection.execute(_READ_HEAD).first()
        before = connection.execute(select(events.c.hash).where(events.c.seq == from_seq - 1)).scalar()
        beyond = connection.execute(select(func.max(events.c.seq))).scalar() or 0
    if head is None:
        return ChainCheck(False, 0, 0, "", 1, "the recorded head is missing")
    head_seq, head_hash = int(head.seq), str(head.hash)

    checked = 0

    def bad(seq: int, problem: str) -> ChainCheck:
        return ChainCheck(False, checked, head_seq, head_hash, seq, problem)

    prev_hash = genesis_hash(journal_id) if from_seq <= 1 else before
    if prev_hash is None:
        return bad(from_seq - 1, "the event before the first one to check is missing")
    expected = max(from_seq, 1)
    for rows in _batches(database, expected, head_seq):
        for row in rows:
            problem = _problem(row, expected, prev_hash)
            if problem:
                return bad(expected, problem)
            prev_hash = row["hash"]
            if anchors.get(expected, prev_hash) != prev_hash:
                return bad(expected, "it is not the event that the anchor names")
            expected += 1
            checked += 1
    if expected <= head_seq:
        return bad(expected, "the end of the log is missing")
    if prev_hash != head_hash:
        return bad(head_seq, "the recorded head is not the hash of the last event")
    if beyond > head_seq:
        return bad(head_seq + 1, "events stand beyond the recorded head")
    if missing := [seq for seq in anchors if seq > head_seq]:
        return bad(min(missing), "the event that an anchor names is missing")
    return ChainCheck(True, checked, head_seq, head_hash)
