"""The journal in SQL: SQLite in WAL mode by default, PostgreSQL by URL.

One database holds the hash-chained log, the texts of revisions, the outbox to the vector store, stored
answers, the short-term windows, the ingestion queue and the rules, so that one transaction covers whatever
must change together.
"""

import uuid

from sqlalchemy import select

from ...domain.errors import DataCorrupt, StoreMismatch
from .chain import genesis_hash
from .compliance import ComplianceMixin
from .engine import Database
from .history import HistoryMixin
from .ingestions import IngestionsMixin
from .journal import JournalMixin
from .quotas import TenantCounts
from .rules import RulesMixin
from .schema import SCHEMA_VERSION, chain_head, meta, metadata
from .sessions import SessionsMixin

__all__ = ["SqlJournal"]


class SqlJournal(JournalMixin, HistoryMixin, SessionsMixin, IngestionsMixin, RulesMixin, ComplianceMixin):
    """Journal, History, SessionStore, IngestionQueue, RuleStore and ComplianceStore on one database.

    Safe to share between threads. Every call blocks: keep it off the event loop. It reads no clock: all
    times come with the calls.
    """

    def __init__(self, url: str, *, busy_timeout_seconds: float = 5.0, readers: int = 8) -> None:
        """`url` is an SQLAlchemy URL, as `sqlite:////var/lib/memlane/journal.db` or
        `postgresql+psycopg://...`; the tables are made when missing. `busy_timeout_seconds` is how long a
        call waits for its turn, `readers` how many reads run at once.

        Raises InvalidArgument for a URL of another kind, JournalUnavailable when the database cannot be
        opened, StoreMismatch when its tables are of another version.
        """
        self._tenant_counts = TenantCounts()
        self._db = Database(url, busy_timeout_seconds=busy_timeout_seconds, readers=readers)
        try:
            self._journal_id = self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> str:
        with self._db.write() as connection:
            metadata.create_all(connection)
            kept = {row.key: row.value for row in connection.execute(select(meta))}
            if not kept:
                journal_id = uuid.uuid4().hex
                connection.execute(
                    meta.insert(),
                    [
                        {"key": "journal_id", "value": journal_id},
                        {"key": "schema_version", "value": SCHEMA_VERSION},
                    ],
                )
                first = {"id": 1, "seq": 0, "hash": genesis_hash(journal_id)}
                connection.execute(chain_head.insert(), first)
                return journal_id
        version = kept.get("schema_version")
        if version != SCHEMA_VERSION:
            raise StoreMismatch(
                f"the journal has tables of version {version}; this build needs {SCHEMA_VERSION}"
            )
        if "journal_id" not in kept:
            raise DataCorrupt("the journal has lost its id")
        return str(kept["journal_id"])
