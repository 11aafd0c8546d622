"""The journal on SQLite: the contract of its ports, and what is SQLite's own."""

import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memlane_core.adapters.sql import SqlJournal
from memlane_core.domain.errors import InvalidArgument, JournalUnavailable, StoreMismatch
from tests.contracts.journal import HistoryContract, JournalConcurrencyContract, JournalContract
from tests.contracts.journal_builders import OpenJournal, RawSql, add, memory


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
