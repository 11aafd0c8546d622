"""kill -9 of a process that appends: nothing acknowledged is lost, nothing is half there."""

import itertools
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memlane_core.adapters.sql import SqlJournal
from memlane_core.ports.journal import MemoryPage, RequestStamp, RevisionQuery
from tests.crash.journal_writer import TENANT, USERS, text_of, vector_of

WRITER = Path(__file__).with_name("journal_writer.py")
ROUNDS = 4


def write_and_kill(database: Path, round_name: str, *, kill_after: int) -> list[tuple[str, str, str]]:
    """Let a child append until it has acknowledged `kill_after` commits, kill it in the midst of its work,
    and return all that it acknowledged: request_id, last position, answer."""
    child = subprocess.Popen(
        [sys.executable, str(WRITER), str(database), round_name], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    try:
        lines = list(itertools.islice(child.stdout, kill_after))
    finally:
        child.send_signal(signal.SIGKILL)
    # What it still said before it died counts as acknowledged too; a last line cut short does not.
    rest = child.stdout.read()
    lines += rest[: rest.rfind("\n") + 1].splitlines()
    child.stdout.close()
    assert child.wait(timeout=10) == -signal.SIGKILL
    acknowledged = []
    for line in lines:
        request_id, position, answer = line.rstrip("\n").split("\t")
        acknowledged.append((request_id, position, answer))
    assert len(acknowledged) >= kill_after
    return acknowledged


def check_whole(journal: SqlJournal) -> None:
    """Chain, history, present state and outbox agree with each other to the last row."""
    check = journal.verify_chain()
    assert (check.valid, check.problem) == (True, "")
    assert check.events == check.head_seq == journal.head()
    told = []
    for index in range(USERS):
        user_id = f"用户{index}"
        story = journal.revisions(RevisionQuery(TENANT, user_id, limit=1_000_000))
        live = journal.memories(MemoryPage(TENANT, user_id, limit=1_000_000))
        assert {r.memory_id for r in story} == {m.memory_id for m in live}
        assert all(r.content == text_of(r.memory_id) for r in story)
        assert journal.user_state(TENANT, user_id).head == max((r.position for r in story), default=0)
        told += [r.position for r in story]
    assert sorted(told) == list(range(1, check.head_seq + 1))
    for pending in journal.pending(limit=1_000_000):
        name = pending.row.memory.memory_id
        assert pending.row.memory.content == text_of(name)
        np.testing.assert_array_equal(pending.row.embedding, vector_of(name))


@pytest.mark.timeout(120)
def test_killed_while_appending(tmp_path: Path) -> None:
    database = tmp_path / "journal.db"
    acknowledged: list[tuple[str, str, str]] = []
    for turn in range(ROUNDS):
        acknowledged += write_and_kill(database, f"r{turn}", kill_after=30 + 17 * turn)
        journal = SqlJournal(f"sqlite:///{database}")
        check_whole(journal)
        for request_id, position, answer in acknowledged:
            index = int(request_id.split("-")[1])
            stamp = RequestStamp("Remember", request_id, "fingerprint")
            replay = journal.find_replay(TENANT, f"用户{index % USERS}", stamp)
            assert replay is not None
            assert (replay.response, str(replay.position)) == (answer, position)
        # A commit that was made and not acknowledged is allowed, one at most: the child works one by one.
        last = int(acknowledged[-1][1])
        assert journal.head() - last <= 3
        pending = {row.row.memory.memory_id for row in journal.pending(limit=1_000_000)}
        applied_at_most = {
            request_id for request_id, _, _ in acknowledged if int(request_id.split("-")[1]) % 4 == 3
        }
        assert {request_id for request_id, _, _ in acknowledged} - applied_at_most <= pending
        journal.close()
