"""What every adapter of the Journal and History ports must do.

The adapter's own test gives the fixtures `journal` and `open_journal`.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from memlane_core.domain.errors import ForgottenMeanwhile, InvalidArgument, NotFound, RequestIdReused
from memlane_core.domain.limits import GLOBAL_USER_ID
from memlane_core.domain.memory import Action
from memlane_core.ports.ingestion_queue import IngestionState, NewIngestion
from memlane_core.ports.journal import (
    AppliedRow,
    Committed,
    LostRace,
    MemoryPage,
    RevisionQuery,
    UserState,
)

from .journal_builders import (
    ALICE,
    AWKWARD_IDS,
    ENGLISH,
    NOON_US,
    SECOND_US,
    TENANT,
    ZHANG,
    AllPorts,
    OpenJournal,
    add,
    change,
    commit,
    delete,
    memory,
    stamp,
    vector,
)


def in_threads(count: int, work: Callable[[int], Committed]) -> list[Committed | Exception]:
    """Run `work(0..count-1)` at the same moment; what each returned or raised."""
    barrier = threading.Barrier(count)

    def run(index: int) -> Committed | Exception:
        barrier.wait(timeout=10)
        try:
            return work(index)
        except (LostRace, RequestIdReused, ForgottenMeanwhile) as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


class JournalContract:
    """Append, replays, order, the outbox."""

    def test_append_gives_rising_positions_and_the_users_head(self, journal: AllPorts) -> None:
        assert journal.head() == 0
        assert journal.user_state(TENANT, ALICE) == UserState(head=0, epoch=0, legal_hold=False)
        first = journal.append(
            commit(change(Action.ADD, memory()), change(Action.ADD, memory(content=ENGLISH)))
        )
        assert first == Committed(positions=(1, 2), head=2, first=True)
        assert journal.append(commit(change(Action.ADD, memory()))).first is False
        assert add(journal, memory(user_id=ZHANG)) == 4
        assert journal.user_state(TENANT, ALICE).head == 3
        assert journal.user_state(TENANT, ZHANG).head == 4
        assert journal.head() == 4

    def test_a_failed_append_leaves_no_gap(self, journal: AllPorts) -> None:
        add(journal, memory())
        with pytest.raises(LostRace):
            journal.append(commit(change(Action.ADD, memory()), expected_head=99))

        def refuse(positions: tuple[int, ...]) -> str:
            raise RuntimeError("the answer could not be made")

        with pytest.raises(RuntimeError):
            journal.append(commit(change(Action.ADD, memory("lost")), request=stamp("r"), respond=refuse))
        assert journal.head() == 1
        assert journal.revisions(RevisionQuery(TENANT, ALICE, memory_id="lost")) == []
        assert add(journal, memory()) == 2
        assert journal.verify_chain().valid

    def test_it_is_all_there_after_reopening(self, journal: AllPorts, open_journal: OpenJournal) -> None:
        state = memory(content=ENGLISH, metadata={"渠道": "网点", "note": '"\\\n👍'})
        add(journal, state)
        journal_id = journal.journal_id
        journal.close()
        again = open_journal()
        assert again.journal_id == journal_id
        (kept,) = again.memories(MemoryPage(TENANT, ALICE))
        assert (kept.content, kept.metadata, kept.position) == (ENGLISH, state.metadata, 1)
        assert again.verify_chain().valid

    def test_replay_returns_the_first_answer_and_writes_nothing(self, journal: AllPorts) -> None:
        def answer(positions: tuple[int, ...]) -> str:
            return f'{{"位置":{list(positions)}}}'

        one = commit(change(Action.ADD, memory("m")), request=stamp("r1"), respond=answer)
        assert journal.append(one).replay is None
        again = journal.append(one)
        assert (again.positions, again.head, again.replay) == ((), 1, '{"位置":[1]}')
        assert journal.head() == 1
        found = journal.find_replay(TENANT, ALICE, stamp("r1"))
        assert found is not None
        assert (found.response, found.position) == ('{"位置":[1]}', 1)

    def test_replay_is_bound_to_body_method_user_and_tenant(self, journal: AllPorts) -> None:
        journal.append(commit(change(Action.ADD, memory()), request=stamp("r1")))
        with pytest.raises(RequestIdReused):
            journal.append(commit(change(Action.ADD, memory()), request=stamp("r1", "other")))
        with pytest.raises(RequestIdReused):
            journal.find_replay(TENANT, ALICE, stamp("r1", "other"))
        assert journal.find_replay(TENANT, ZHANG, stamp("r1")) is None
        assert journal.find_replay("other", ALICE, stamp("r1")) is None
        assert journal.find_replay(TENANT, ALICE, stamp("r1", method="CreateMemory")) is None
        assert journal.find_replay(TENANT, ALICE, stamp("r2")) is None
        assert journal.head() == 1

    def test_a_commit_without_changes_keeps_its_answer_and_leaves_no_event(self, journal: AllPorts) -> None:
        add(journal, memory())
        done = journal.append(commit(request=stamp("r"), respond=lambda positions: f"{positions}"))
        assert done == Committed(positions=(), head=1)
        assert journal.append(commit(request=stamp("r"))).replay == "()"
        assert journal.head() == 1

    def test_expire_requests_drops_only_older_answers(self, journal: AllPorts) -> None:
        for index in range(3):
            journal.append(
                commit(change(Action.ADD, memory()), request=stamp(f"r{index}"), time_us=NOON_US + index)
            )
        assert journal.expire_requests(before_us=NOON_US + 2) == 2
        assert journal.find_replay(TENANT, ALICE, stamp("r1")) is None
        assert journal.find_replay(TENANT, ALICE, stamp("r2")) is not None

    def test_a_change_of_what_is_not_there_is_a_lost_race(self, journal: AllPorts) -> None:
        state = memory("m")
        with pytest.raises(LostRace):
            journal.append(commit(change(Action.UPDATE, memory("m", revision=2))))
        add(journal, state)
        with pytest.raises(LostRace):
            add(journal, state)
        with pytest.raises(LostRace):
            journal.append(commit(change(Action.UPDATE, memory("m", revision=5))))
        delete(journal, state, time_us=NOON_US)
        with pytest.raises(LostRace):
            delete(journal, memory("m", revision=2), time_us=NOON_US)
        assert journal.head() == 2

    def test_old_epoch_is_refused(self, journal: AllPorts) -> None:
        journal.append(commit(change(Action.ADD, memory()), expected_epoch=0))
        with pytest.raises(ForgottenMeanwhile):
            journal.append(commit(change(Action.ADD, memory()), expected_epoch=1))

    def test_commit_completes_its_ingestion(self, journal: AllPorts) -> None:
        new = NewIngestion("i1", TENANT, ALICE, "s1", '{"话":"我喜欢茶"}', "teller", NOON_US)
        journal.enqueue(new, max_backlog=9, max_backlog_per_user=9)
        one = commit(change(Action.ADD, memory()), ingestion_id="i1", respond=lambda p: f'{{"at":{p[0]}}}')
        assert journal.append(one).replay is None
        done = journal.get_ingestion(TENANT, ALICE, "i1")
        assert (done.state, done.result, done.payload) == (IngestionState.DONE, '{"at":1}', "")
        assert journal.append(one).replay == '{"at":1}'
        assert journal.head() == 1
        assert journal.backlog() == (0, None)

    def test_commit_for_a_cancelled_or_unknown_ingestion_writes_nothing(self, journal: AllPorts) -> None:
        new = NewIngestion("i1", TENANT, ALICE, "s1", "{}", "teller", NOON_US)
        journal.enqueue(new, max_backlog=9, max_backlog_per_user=9)
        journal.cancel("i1", time_us=NOON_US)
        with pytest.raises(ForgottenMeanwhile):
            journal.append(commit(change(Action.ADD, memory()), ingestion_id="i1"))
        with pytest.raises(NotFound):
            journal.append(commit(change(Action.ADD, memory()), ingestion_id="i2"))
        assert journal.head() == 0

    def test_pending_is_the_latest_state_with_text_and_vector(self, journal: AllPorts) -> None:
        state = memory("m", metadata={"k": "值"}, expires_at=NOON_US)
        add(journal, state)
        newer = memory("m", content=ENGLISH, revision=2)
        journal.append(commit(change(Action.UPDATE, newer, previous=state.content)))
        (row,) = journal.pending()
        assert (row.tenant, row.knowledge, row.position, row.physical_delete) == (TENANT, False, 2, False)
        assert row.row.memory == replace(newer, position=2)
        assert not row.row.is_deleted
        np.testing.assert_array_equal(row.row.embedding, vector(len(ENGLISH)))

    def test_pending_filters_and_orders_by_position(self, journal: AllPorts) -> None:
        add(journal, memory("a"))
        add(journal, memory("b", ZHANG))
        add(journal, memory("c"), tenant="other")
        delete(journal, memory("a"), time_us=NOON_US)
        assert [row.row.memory.memory_id for row in journal.pending()] == ["b", "c", "a"]
        assert [row.row.memory.memory_id for row in journal.pending(limit=1)] == ["b"]
        (of_alice,) = journal.pending(tenant=TENANT, user_id=ALICE)
        assert (of_alice.row.memory.memory_id, of_alice.row.is_deleted) == ("a", True)
        assert journal.pending(tenant="other", user_id=ZHANG) == []
        assert journal.tenants() == sorted(["other", TENANT])

    def test_mark_applied_forgets_up_to_the_position(self, journal: AllPorts) -> None:
        add(journal, memory("m"))
        journal.append(commit(change(Action.UPDATE, memory("m", revision=2))))
        journal.mark_applied([AppliedRow(TENANT, "m", 1), AppliedRow(TENANT, "unknown", 9)])
        assert [row.position for row in journal.pending()] == [2]
        journal.mark_applied([AppliedRow("other", "m", 2), AppliedRow(TENANT, "m", 2, knowledge=True)])
        assert len(journal.pending()) == 1
        for _ in range(2):
            journal.mark_applied([AppliedRow(TENANT, "m", 2)])
        assert journal.pending() == []
        journal.mark_applied([])

    def test_knowledge_has_rows_of_its_own(self, journal: AllPorts) -> None:
        rate = memory("same-id", GLOBAL_USER_ID, "活期利率 0.2%")
        journal.append(commit(change(Action.ADD, rate), user_id=GLOBAL_USER_ID, knowledge=True))
        add(journal, memory("same-id"))
        assert [(row.knowledge, row.row.memory.user_id) for row in journal.pending()] == [
            (True, GLOBAL_USER_ID),
            (False, ALICE),
        ]
        assert [m.content for m in journal.memories(MemoryPage(TENANT, GLOBAL_USER_ID))] == [rate.content]

    def test_awkward_ids_are_exact_and_apart(self, journal: AllPorts) -> None:
        for index, awkward in enumerate(AWKWARD_IDS):
            state = memory(awkward, awkward, f"{awkward} 的记忆", metadata={awkward: awkward})
            journal.append(
                commit(change(Action.ADD, state), user_id=awkward, request=stamp(awkward, f"{index}"))
            )
        for index, awkward in enumerate(AWKWARD_IDS):
            (kept,) = journal.memories(MemoryPage(TENANT, awkward))
            assert (kept.memory_id, kept.content) == (awkward, f"{awkward} 的记忆")
            assert kept.metadata == {awkward: awkward}
            assert len(journal.revisions(RevisionQuery(TENANT, awkward, memory_id=awkward))) == 1
            assert journal.find_replay(TENANT, awkward, stamp(awkward, f"{index}")) is not None
            assert len(journal.pending(tenant=TENANT, user_id=awkward)) == 1
        assert journal.memories(MemoryPage(TENANT, ALICE)) == []
        assert journal.verify_chain().valid

    @pytest.mark.parametrize("bad", ["a\x00b", "a\ud800b"])
    def test_what_no_database_keeps_as_it_is_is_refused(self, journal: AllPorts, bad: str) -> None:
        for state in (memory(bad), memory(content=bad), memory(metadata={"k": bad}), memory(user_id=bad)):
            with pytest.raises(InvalidArgument):
                add(journal, state)
        with pytest.raises(InvalidArgument):
            journal.append(commit(change(Action.ADD, memory()), request=stamp(bad)))
        with pytest.raises(InvalidArgument):
            journal.memories(MemoryPage(TENANT, "a\ud800b"))
        assert journal.head() == 0


class JournalConcurrencyContract:
    """Sixteen writers at once, beside readers."""

    def test_different_users_in_parallel(self, journal: AllPorts) -> None:
        def work(index: int) -> Committed:
            done = Committed((), 0)
            for turn in range(10):
                user_id = f"用户{index}"
                done = journal.append(
                    commit(
                        change(Action.ADD, memory(f"m{index}-{turn}", user_id)),
                        user_id=user_id,
                        expected_head=done.head,
                    )
                )
            return done

        results = in_threads(16, work)
        assert all(isinstance(result, Committed) for result in results)
        assert journal.head() == 160
        check = journal.verify_chain()
        assert (check.valid, check.events) == (True, 160)

    def test_one_user_compare_and_set(self, journal: AllPorts) -> None:
        results = in_threads(
            16, lambda i: journal.append(commit(change(Action.ADD, memory()), expected_head=0))
        )
        assert sum(isinstance(result, Committed) for result in results) == 1
        assert sum(isinstance(result, LostRace) for result in results) == 15
        assert journal.head() == 1

    def test_the_same_request_commits_once(self, journal: AllPorts) -> None:
        def work(index: int) -> Committed:
            return journal.append(
                commit(
                    change(Action.ADD, memory()),
                    request=stamp("r", fingerprint="same"),
                    respond=lambda positions: f"{index}",
                )
            )

        results = [result for result in in_threads(16, work) if isinstance(result, Committed)]
        winners = [result for result in results if result.replay is None]
        assert (len(results), len(winners), journal.head()) == (16, 1, 1)
        assert len({result.replay for result in results if result.replay is not None}) == 1

    def test_a_reader_sees_whole_commits_only(self, journal: AllPorts) -> None:
        stop = threading.Event()
        torn: list[int] = []

        def watch() -> None:
            while not stop.is_set():
                count = len(journal.memories(MemoryPage(TENANT, ALICE, limit=1000)))
                if count % 5:
                    torn.append(count)

        watcher = threading.Thread(target=watch)
        watcher.start()
        for _ in range(40):
            journal.append(commit(*(change(Action.ADD, memory()) for _ in range(5))))
        stop.set()
        watcher.join(timeout=10)
        assert torn == []
        assert len(journal.memories(MemoryPage(TENANT, ALICE, limit=1000))) == 200

    def test_two_journals_on_one_database_keep_one_chain(
        self, journal: AllPorts, open_journal: OpenJournal
    ) -> None:
        both = [journal, open_journal()]
        with ThreadPoolExecutor(8) as pool:
            positions = list(pool.map(lambda i: add(both[i % 2], memory(user_id=f"u{i}")), range(40)))
        assert sorted(positions) == list(range(1, 41))
        assert both[1].verify_chain().valid


class HistoryContract:
    """Revisions, and memories now and then."""

    def test_revisions_tell_the_whole_story(self, journal: AllPorts) -> None:
        add(journal, memory("m", content="住在上海"), time_us=NOON_US)
        moved = memory("m", content="住在深圳", revision=2)
        journal.append(
            commit(
                change(Action.UPDATE, moved, previous="住在上海", reason="搬家"),
                time_us=NOON_US + SECOND_US,
            )
        )
        delete(journal, moved, time_us=NOON_US + 2 * SECOND_US)
        first, second, third = journal.revisions(RevisionQuery(TENANT, ALICE, memory_id="m"))
        assert [r.action for r in (first, second, third)] == [Action.ADD, Action.UPDATE, Action.DELETE]
        assert (second.content, second.previous_content, second.reason) == ("住在深圳", "住在上海", "搬家")
        assert (second.actor, second.revision, second.position) == ("teller-7", 2, 2)
        assert (second.valid_from_us, second.valid_until_us) == (NOON_US + SECOND_US, third.valid_from_us)
        assert third.valid_until_us is None
        assert second.time_us == NOON_US + SECOND_US
        assert journal.revisions(RevisionQuery(TENANT, ZHANG, memory_id="m")) == []
        assert journal.revisions(RevisionQuery("other", ALICE, memory_id="m")) == []

    def test_revisions_page_by_position(self, journal: AllPorts) -> None:
        for index in range(5):
            add(journal, memory(f"m{index}"))
        page = journal.revisions(RevisionQuery(TENANT, ALICE, after_position=2, limit=2))
        assert [r.position for r in page] == [3, 4]

    def test_two_changes_of_one_memory_in_one_commit(self, journal: AllPorts) -> None:
        once, twice = memory("m"), memory("m", content=ENGLISH, revision=2)
        done = journal.append(
            commit(change(Action.ADD, once), change(Action.UPDATE, twice, previous=once.content))
        )
        assert done.positions == (1, 2)
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE))] == [ENGLISH]
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE, as_of_us=NOON_US))] == [ENGLISH]
        assert [row.position for row in journal.pending()] == [2]

    def test_memories_as_of_a_moment(self, journal: AllPorts) -> None:
        add(journal, memory("m", content="住在上海"), time_us=NOON_US)
        moved = memory("m", content="住在深圳", revision=2)
        journal.append(commit(change(Action.UPDATE, moved), time_us=NOON_US + 10))
        delete(journal, moved, time_us=NOON_US + 20)

        def as_of(time_us: int | None) -> list[str]:
            return [m.content for m in journal.memories(MemoryPage(TENANT, ALICE, as_of_us=time_us))]

        assert as_of(NOON_US - 1) == []
        assert as_of(NOON_US) == as_of(NOON_US + 9) == ["住在上海"]
        assert as_of(NOON_US + 10) == as_of(NOON_US + 19) == ["住在深圳"]
        assert as_of(NOON_US + 20) == as_of(None) == []

    def test_a_clock_that_goes_back_keeps_the_order(self, journal: AllPorts) -> None:
        add(journal, memory("m", content="旧"), time_us=NOON_US + 100)
        journal.append(commit(change(Action.UPDATE, memory("m", content="新", revision=2)), time_us=NOON_US))
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE))] == ["新"]
        later = MemoryPage(TENANT, ALICE, as_of_us=NOON_US + 100)
        assert [m.content for m in journal.memories(later)] == ["新"]

    def test_a_deleted_memory_stated_anew_is_live_again(self, journal: AllPorts) -> None:
        add(journal, memory("m"))
        delete(journal, memory("m"), time_us=NOON_US)
        add(journal, memory("m", content=ENGLISH, revision=3))
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE))] == [ENGLISH]
        due, _ = journal.due_for_purge(TENANT, now_us=2 * NOON_US, retention_us=0, limit=9)
        assert due == []

    @pytest.mark.parametrize("descending", [True, False])
    @pytest.mark.parametrize("as_of_us", [None, NOON_US])
    def test_pages_hold_each_memory_once_in_order(
        self, journal: AllPorts, descending: bool, as_of_us: int | None
    ) -> None:
        for index in range(23):
            add(journal, memory(f"m{index}", created_at=1000 + index // 4))
        seen: list[tuple[int, int]] = []
        key: tuple[int, int] | None = None
        while True:
            page = journal.memories(
                MemoryPage(TENANT, ALICE, as_of_us=as_of_us, descending=descending, after_key=key, limit=5)
            )
            if not page:
                break
            seen += [(m.created_at, m.position) for m in page]
            key = seen[-1]
        assert len(seen) == 23
        assert seen == sorted(seen, reverse=descending)

    def test_only_the_memories_asked_for(self, journal: AllPorts) -> None:
        for memory_id in "abc":
            add(journal, memory(memory_id))
        add(journal, memory("d", ZHANG))
        delete(journal, memory("c"), time_us=NOON_US)
        page = MemoryPage(TENANT, ALICE, memory_ids=("a", "c", "d", "unknown"))
        assert [m.memory_id for m in journal.memories(page)] == ["a"]
