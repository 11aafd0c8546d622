"""Connections and transactions: one writer at a time, readers beside it, driver errors turned into ours."""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.sql.dml import Insert

from ...domain.errors import InvalidArgument, JournalUnavailable

_ADVISORY_LOCK = 0x6D656D6C616E65
"""Key of PostgreSQL's advisory lock that orders the chain: "memlane" in ASCII."""

_WAL_LIMIT_BYTES = 64 * 1024 * 1024


def require_text(**values: str) -> None:
    """Raises InvalidArgument naming the first value that no database can keep as it is: NUL characters
    (PostgreSQL refuses them, and both adapters answer alike) and lone surrogates (they have no UTF-8
    form)."""
    for name, value in values.items():
        if "\x00" in value:
            raise InvalidArgument.of(name, "must not contain the NUL character")
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InvalidArgument.of(name, "must be valid Unicode: it holds a lone surrogate") from None


class Database:
    """The engines behind a journal.

    `write()` is a transaction that no other write of any process overlaps; `write(durable=False)` the same
    without waiting for the disk; `read()` one consistent snapshot, never blocked by a writer on SQLite's
    WAL.
    """

    def __init__(self, url: str, *, busy_timeout_seconds: float, readers: int) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError:
            raise InvalidArgument.of("journal url", "is not a database URL") from None
        self.dialect = parsed.get_backend_name()
        self._busy_timeout_seconds = busy_timeout_seconds
        self._lock = threading.Lock()
        self._closed = False
        self._upserts: dict[str, Insert] = {}
        with self.translated():
            if self.dialect == "sqlite":
                _prepare_file(parsed)
                self._writer = self._sqlite(parsed, "FULL", "BEGIN IMMEDIATE", pool_size=1)
                self._relaxed = self._sqlite(parsed, "NORMAL", "BEGIN IMMEDIATE", pool_size=1)
                self._reader = self._sqlite(parsed, "FULL", "BEGIN", pool_size=readers, query_only=True)
            elif self.dialect == "postgresql":
                self._writer = self._postgresql(parsed, pool_size=1)
                self._relaxed = self._writer
                self._reader = self._postgresql(parsed, pool_size=readers, isolation_level="REPEATABLE READ")
            else:
                raise InvalidArgument.of("journal url", "must begin with sqlite: or postgresql:")

    def _sqlite(
        self, url: URL, synchronous: str, begin: str, *, pool_size: int, query_only: bool = False
    ) -> Engine:
        engine = create_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=self._busy_timeout_seconds,
            connect_args={"timeout": self._busy_timeout_seconds, "check_same_thread": False},
            hide_parameters=True,
        )

        @event.listens_for(engine, "connect")
        def _on_connect(dbapi_connection: Any, _record: Any) -> None:
            # The driver's own idea of when to begin would leave reads outside of transactions and take the
            # write lock late, where waiting for it can no longer help: we begin ourselves, below.
            dbapi_connection.isolation_level = None
            for pragma in (
                "journal_mode = WAL",
                f"synchronous = {synchronous}",
                "foreign_keys = ON",
                "secure_delete = ON",
                f"journal_size_limit = {_WAL_LIMIT_BYTES}",
                f"query_only = {'ON' if query_only else 'OFF'}",
            ):
                dbapi_connection.execute(f"PRAGMA {pragma}")

        @event.listens_for(engine, "begin")
        def _on_begin(connection: Connection) -> None:
            connection.exec_driver_sql(begin)

        return engine

    def _postgresql(self, url: URL, *, pool_size: int, isolation_level: str = "READ COMMITTED") -> Engine:
        return create_engine(
            url,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=self._busy_timeout_seconds,
            pool_pre_ping=True,
            isolation_level=isolation_level,
            hide_parameters=True,
        )

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Driver errors leave as JournalUnavailable: their texts quote statements and values."""
        try:
            yield
        except UnicodeEncodeError:
            # The driver's own refusal of a lone surrogate, where a read was asked for one.
            raise InvalidArgument.of("text", "must be valid Unicode") from None
        except (SQLAlchemyError, OSError) as error:
            cause = type(getattr(error, "orig", None) or error).__name__
            raise JournalUnavailable(
                "the journal's database does not answer", metadata={"cause": cause}
            ) from None

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=self._busy_timeout_seconds):
            raise JournalUnavailable("the journal is busy with other writes")
        try:
            if self._closed:
                raise JournalUnavailable("the journal is closed")
            yield
        finally:
            self._lock.release()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Connection]:
        """One write transaction; rolled back when the block raises."""
        engine = self._writer if durable else self._relaxed
        with self._exclusive(), self.translated(), engine.begin() as connection:
            if self.dialect == "postgresql":
                milliseconds = int(self._busy_timeout_seconds * 1000)
                connection.execute(text(f"SET LOCAL lock_timeout = {milliseconds}"))
                if not durable:
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One read transaction: everything read in it is of the same moment."""
        if self._closed:
            raise JournalUnavailable("the journal is closed")
        with self.translated(), self._reader.begin() as connection:
            yield connection

    def upsert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write whole rows by primary key."""
        if not rows:
            return
        statement = self._upserts.get(table.name)
        if statement is None:
            keys = [column.name for column in table.primary_key.columns]
            make = postgresql.insert if self.dialect == "postgresql" else sqlite.insert
            insert = make(table)
            statement = self._upserts[table.name] = insert.on_conflict_do_update(
                index_elements=keys,
                set_={c.name: insert.excluded[c.name] for c in table.columns if c.name not in keys},
            )
        connection.execute(statement, list(rows))

    def scrub(self) -> None:
        """Rewrite the database without its free space and empty the write-ahead log. Secure delete alone
        does not do: when SQLite splits a page it leaves stale copies of the cells that moved, which a later
        delete does not find (seen: 39 of 2,858 deleted texts were still in the file before VACUUM, none
        after). Waits for readers; raises JournalUnavailable when they do not make room in time."""
        with self._exclusive(), self.translated():
            if self.dialect == "sqlite":
                pooled = self._writer.raw_connection()
                try:
                    cursor = pooled.cursor()
                    cursor.execute("VACUUM")
                    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    row = cursor.fetchone()
                    cursor.close()
                finally:
                    pooled.close()
                if row is None or row[0] != 0:
                    raise JournalUnavailable(
                        "readers keep the journal's log from being emptied: try again later"
                    )
            else:
                with self._writer.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                    connection.execute(text("VACUUM FULL"))

    def close(self) -> None:
        """Idempotent. Calls that come later raise JournalUnavailable."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for engine in (self._reader, self._relaxed, self._writer):
            engine.dispose()


def _prepare_file(url: URL) -> None:
    """Refuse a database in memory, and make a new file readable by its owner only."""
    name = url.database
    if not name or name == ":memory:" or name.startswith("file:"):
        raise InvalidArgument.of("journal url", "must name a file: a journal in memory is none")
    if not Path(name).exists():
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
