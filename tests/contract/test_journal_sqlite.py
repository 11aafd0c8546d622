"""The journal on SQLite: the contract of its ports, and what is SQLite's own."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memlane_core.adapters.sql import SqlJournal
from memlane_core.domain.errors import InvalidArgument, JournalUnavailable, StoreMismatch
from memlane_core.ports.journal import MemoryPage
from tests.contracts.journal import HistoryContract, JournalConcurrencyContract, JournalContract
from tests.contracts.journal_builders import (
    ALICE,
    CHINESE,
    ENGLISH,
    NOON_US,
    TENANT,
    ZHANG,
    OpenJournal,
    RawSql,
    add,
    memory,
)
from tests.contracts.journal_compliance import (
    DAY_US,
    AuditContract,
    ErasureContract,
    ExportContract,
    LegalHoldContract,
    PurgeContract,
    fill,
    forget,
    purge_all,
)
from tests.contracts.journal_queues import IngestionContract, RuleContract, SessionContract
from tests.contracts.journal_quotas import QuotaContract


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def open_journal(path: Path) -> Iterator[OpenJournal]:
    opened: list[SqlJournal] = []

    def open_one() -> SqlJournal:
        opened.append(SqlJournal(f"sqlite:///{path}"))
        return opened[-1]

    yield open_one
    for journal in opened:
        journal.close()


@pytest.fixture
def journal(open_journal: OpenJournal) -> SqlJournal:
    opened = open_journal()
    assert isinstance(opened, SqlJournal)
    return opened


@pytest.fixture
def raw_sql(path: Path) -> RawSql:
    """Someone with write access to the database, past the journal."""

    def run(script: str) -> None:
        with sqlite3.connect(path) as connection:
            connection.executescript(script)
        connection.close()

    return run


class TestJournal(JournalContract):
    pass


class TestConcurrency(JournalConcurrencyContract):
    pass


class TestHistory(HistoryContract):
    pass


class TestSessions(SessionContract):
    pass


class TestIngestions(IngestionContract):
    pass


class TestQuotas(QuotaContract):
    pass


class TestRules(RuleContract):
    pass


class TestAudit(AuditContract):
    pass


class TestErasure(ErasureContract):
    pass


class TestPurge(PurgeContract):
    pass


class TestLegalHold(LegalHoldContract):
    pass


class TestExport(ExportContract):
    pass


class TestSqlite:
    """What is SQLite's own: files, pragmas, locks."""

    def test_every_connection_is_set_up(self, journal: SqlJournal) -> None:
        expected = {
            "writer": {"synchronous": 2, "query_only": 0},
            "relaxed": {"synchronous": 1, "query_only": 0},
            "reader": {"synchronous": 2, "query_only": 1},
        }
        common = {"journal_mode": "wal", "foreign_keys": 1, "secure_delete": 1, "busy_timeout": 5000}
        database = journal._db
        for name, special in expected.items():
            with getattr(database, f"_{name}").connect() as connection:
                for pragma, value in {**common, **special}.items():
                    got = connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()
                    assert (name, pragma, got) == (name, pragma, value)

    def test_files_are_the_owners_alone(self, journal: SqlJournal, path: Path) -> None:
        add(journal, memory())
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name

    def test_only_file_databases(self) -> None:
        for url in ("sqlite://", "sqlite:///:memory:", "mysql://host/db", "nonsense"):
            with pytest.raises(InvalidArgument):
                SqlJournal(url)

    def test_a_place_that_cannot_be_opened(self, tmp_path: Path) -> None:
        with pytest.raises(JournalUnavailable):
            SqlJournal(f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}")
        text = tmp_path / "text.db"
        text.write_text("this is no database, " * 100)
        with pytest.raises(JournalUnavailable):
            SqlJournal(f"sqlite:///{text}")

    def test_tables_of_another_version_are_refused(
        self, journal: SqlJournal, path: Path, raw_sql: RawSql
    ) -> None:
        journal.close()
        raw_sql("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
        with pytest.raises(StoreMismatch):
            SqlJournal(f"sqlite:///{path}")

    def test_a_write_lock_held_elsewhere_is_unavailable_and_reads_go_on(self, path: Path) -> None:
        journal = SqlJournal(f"sqlite:///{path}", busy_timeout_seconds=0.05)
        add(journal, memory(content=CHINESE))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalUnavailable) as caught:
            add(journal, memory(content=CHINESE))
        assert "locked" not in str(caught.value)
        assert CHINESE not in repr(caught.value) + repr(caught.value.metadata)
        assert journal.head() == 1
        journal.ping()
        other.execute("ROLLBACK")
        other.close()
        assert add(journal, memory()) == 2
        journal.close()

    def test_the_driver_never_speaks_to_callers(self, journal: SqlJournal, raw_sql: RawSql) -> None:
        raw_sql("DROP TABLE tombstones; DROP TABLE requests")
        with pytest.raises(JournalUnavailable) as caught:
            journal.due_for_purge(TENANT, now_us=0, retention_us=0, limit=1)
        assert "tombstones" not in str(caught.value)
        assert caught.value.__cause__ is None

    def test_closed_is_unavailable(self, journal: SqlJournal) -> None:
        journal.close()
        journal.close()
        for call in (journal.ping, journal.head, journal.scrub, lambda: add(journal, memory())):
            with pytest.raises(JournalUnavailable):
                call()

    def test_a_second_process_may_read(self, journal: SqlJournal, open_journal: OpenJournal) -> None:
        reader = open_journal()
        add(journal, memory(content=CHINESE))
        assert reader.journal_id == journal.journal_id
        assert [m.content for m in reader.memories(MemoryPage(TENANT, ALICE))] == [CHINESE]


def _content(path: Path) -> str:
    """All bytes of the database's files, the write-ahead log and its index included."""
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in path.parent.iterdir())


class TestErasedFromTheFiles:
    """Erased text is in none of the database's files."""

    def test_forget_purge_scrub(self, journal: SqlJournal, path: Path) -> None:
        fill(journal)
        fill(journal, ZHANG)
        # Interleaved rows of a user who stays: erasing the others one after the other makes SQLite merge
        # pages and so copy rows that are erased later. Secure delete does not reach the stale copies; scrub
        # must.
        secrets: list[str] = []
        for index in range(300):
            secrets += [f"秘密{index:04d}", f"secret{index:04d}"]
            for user_id in (ALICE, ZHANG, "王五"):
                kept = user_id == "王五"
                text = f"{index}" if kept else f"{secrets[-2]}{user_id} {secrets[-1]}{user_id} "
                add(journal, memory(user_id=user_id, content=text + "x" * (index * 37 % 900)))
        assert CHINESE in _content(path)
        assert secrets[0] + ALICE in _content(path)
        forget(journal)
        forget(journal, ZHANG)
        while purge_all(journal, now_us=NOON_US + DAY_US)[0]:
            pass
        journal.scrub()
        content = _content(path)
        assert [text for text in (CHINESE, ENGLISH, *secrets) if text in content] == []
        assert len(journal.memories(MemoryPage(TENANT, "王五", limit=1000))) == 300
        assert journal.verify_chain().valid

    def test_held_texts_stay_until_the_release(self, journal: SqlJournal, path: Path) -> None:
        fill(journal)
        before = [(k, r) for k, r in journal.export(TENANT, ALICE) if k != "event"]
        journal.set_legal_hold(TENANT, ALICE, hold=True, actor="法务", detail="诉讼", time_us=NOON_US)
        forget(journal)
        purge_all(journal, now_us=2 * NOON_US)
        journal.scrub()
        assert list(journal.export_held(TENANT, ALICE)) == before
        assert CHINESE in _content(path)
        journal.set_legal_hold(TENANT, ALICE, hold=False, actor="法务", detail="结案", time_us=NOON_US)
        purge_all(journal, now_us=NOON_US + DAY_US)
        journal.scrub()
        assert list(journal.export_held(TENANT, ALICE)) == []
        assert CHINESE not in _content(path)
        assert ENGLISH not in _content(path)

    def test_scrub_beside_readers_and_writers(self, journal: SqlJournal) -> None:
        fill(journal)
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                journal.memories(MemoryPage(TENANT, ALICE))

        reader = threading.Thread(target=read)
        reader.start()
        for _ in range(5):
            journal.scrub()
            add(journal, memory())
        stop.set()
        reader.join(timeout=10)
        assert journal.verify_chain().valid

    def test_a_reader_that_stays_makes_scrub_unavailable(self, path: Path) -> None:
        journal = SqlJournal(f"sqlite:///{path}", busy_timeout_seconds=0.05)
        fill(journal)
        export = journal.export(TENANT, ALICE)
        next(export)
        with pytest.raises(JournalUnavailable):
            journal.scrub()
        export.close()
        journal.scrub()
        journal.close()
