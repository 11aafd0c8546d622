"""What every adapter of the SessionStore, IngestionQueue and RuleStore ports must do."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memlane_core.domain.conversation import Message, Role
from memlane_core.domain.errors import (
    BacklogFull,
    NotFound,
    RequestIdReused,
    RevisionMismatch,
)
from memlane_core.ports.compliance_store import AuditQuery
from memlane_core.ports.ingestion_queue import IngestionState, NewIngestion
from memlane_core.ports.journal import RequestStamp
from memlane_core.ports.rule_store import RuleSet
from memlane_core.ports.session_store import AppendMessages, Window

from .journal_builders import (
    ALICE,
    AWKWARD_IDS,
    CHINESE,
    ENGLISH,
    NOON_US,
    TENANT,
    ZHANG,
    AllPorts,
    OpenJournal,
    stamp,
)

BEIJING = timezone(timedelta(hours=8))


def say(
    journal: AllPorts,
    *contents: str,
    role: Role = Role.USER,
    session_id: str = "s1",
    user_id: str = ALICE,
    request: RequestStamp | None = None,
) -> list[int]:
    """Append messages of one role; returns their seqs."""
    messages = tuple(Message(role, content) for content in contents)
    command = AppendMessages(TENANT, user_id, session_id, messages, NOON_US, request)
    return [stored.seq for stored in journal.append_messages(command)]


def end(journal: AllPorts, ingestion_id: str, session_id: str = "s1") -> tuple[int, bool, str]:
    """End a session: messages returned, already ended, ingestion offered to."""
    ended = journal.end_session(
        TENANT, ALICE, session_id, ingestion_id=ingestion_id, actor="teller", time_us=NOON_US
    )
    return len(ended.messages), ended.already_ended, ended.ingestion_id


class SessionContract:
    def test_messages_come_back_as_they_were_said(self, journal: AllPorts, open_journal: OpenJournal) -> None:
        said = (
            Message(Role.USER, CHINESE, datetime(2023, 5, 24, 0, 30, 0, 123456, tzinfo=BEIJING)),
            Message(Role.ASSISTANT, "\n" + ENGLISH + ' "\\ 👍\t', datetime(2023, 5, 24, tzinfo=UTC)),
            Message(Role.TOOL, "{}"),
        )
        journal.append_messages(AppendMessages(TENANT, ALICE, "s1", said, NOON_US))
        journal.close()
        window = open_journal().window(TENANT, ALICE, "s1", max_rounds=10)
        assert tuple(stored.message for stored in window.messages) == said
        assert [(stored.seq, stored.time_us) for stored in window.messages] == [
            (seq, NOON_US) for seq in (1, 2, 3)
        ]
        told = window.messages[0].message.create_time
        assert told is not None
        assert told.utcoffset() == timedelta(hours=8)

    def test_window_holds_the_last_rounds_whole(self, journal: AllPorts) -> None:
        say(journal, "system", role=Role.SYSTEM)
        for turn in range(4):
            say(journal, f"问{turn}")
            say(journal, f"answer {turn}a", f"answer {turn}b", role=Role.ASSISTANT)

        def texts(max_rounds: int) -> list[str]:
            window = journal.window(TENANT, ALICE, "s1", max_rounds=max_rounds)
            assert window.total_messages == 13
            return [stored.message.content for stored in window.messages]

        assert texts(1) == ["问3", "answer 3a", "answer 3b"]
        assert texts(2)[0] == "问2"
        assert texts(4)[0] == "问0"
        assert texts(5)[0] == "system"
        assert texts(0) == []

    def test_an_unknown_session_is_an_empty_window(self, journal: AllPorts) -> None:
        say(journal, "hi")
        empty = Window(messages=(), total_messages=0, ended=False)
        assert journal.window(TENANT, ALICE, "s2", max_rounds=10) == empty
        assert journal.window(TENANT, ZHANG, "s1", max_rounds=10) == empty
        assert journal.window("other", ALICE, "s1", max_rounds=10) == empty

    def test_awkward_session_ids_stay_apart(self, journal: AllPorts) -> None:
        for awkward in AWKWARD_IDS:
            say(journal, awkward, session_id=awkward)
        for awkward in AWKWARD_IDS:
            window = journal.window(TENANT, ALICE, awkward, max_rounds=9)
            assert [stored.message.content for stored in window.messages] == [awkward]

    def test_a_replayed_append_returns_the_first_answer(self, journal: AllPorts) -> None:
        assert say(journal, "one", "二", request=stamp("r")) == [1, 2]
        say(journal, "three")
        assert say(journal, "one", "二", request=stamp("r")) == [1, 2]
        assert journal.window(TENANT, ALICE, "s1", max_rounds=9).total_messages == 3
        with pytest.raises(RequestIdReused):
            say(journal, "other", request=stamp("r", "f2"))

    def test_end_offers_once_what_was_not_offered(self, journal: AllPorts) -> None:
        say(journal, CHINESE, ENGLISH)
        assert end(journal, "i1") == (2, False, "i1")
        assert end(journal, "i2") == (0, True, "i1")
        assert journal.window(TENANT, ALICE, "s1", max_rounds=9).ended
        say(journal, "还有一件事")
        assert not journal.window(TENANT, ALICE, "s1", max_rounds=9).ended
        assert end(journal, "i3") == (3, False, "i3")
        offered = [json.loads(journal.get_ingestion(TENANT, ALICE, i).payload) for i in ("i1", "i3")]
        assert [m["content"] for m in offered[0]["messages"]] == [CHINESE, ENGLISH]
        assert offered[1] == {
            "session_id": "s1",
            "messages": [{"role": "user", "content": "还有一件事", "create_time": None}],
        }

    def test_the_caller_may_make_the_payload(self, journal: AllPorts) -> None:
        say(journal, CHINESE)
        journal.end_session(
            TENANT, ALICE, "s1", ingestion_id="i1", actor="teller", time_us=NOON_US,
            payload=lambda offered: f"{len(offered)} 条",
        )  # fmt: skip
        job = journal.get_ingestion(TENANT, ALICE, "i1")
        assert (job.payload, job.session_id, job.state) == ("1 条", "s1", IngestionState.PENDING)

    def test_ending_nothing_queues_nothing(self, journal: AllPorts) -> None:
        assert end(journal, "i1") == (0, False, "")
        assert journal.backlog() == (0, None)

    def test_sixteen_ends_at_once_queue_one(self, journal: AllPorts) -> None:
        say(journal, CHINESE)
        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(lambda i: end(journal, f"i{i}"), range(16)))
        assert sum(not already for _, already, _ in results) == 1
        assert len({ingestion_id for _, _, ingestion_id in results}) == 1
        assert journal.backlog()[0] == 1

    def test_sixteen_appends_at_once_keep_every_message(self, journal: AllPorts) -> None:
        with ThreadPoolExecutor(16) as pool:
            seqs = list(pool.map(lambda i: say(journal, f"{i}", f"{i}"), range(16)))
        assert sorted(seq for pair in seqs for seq in pair) == list(range(1, 33))
        assert all(second == first + 1 for first, second in seqs)


def queue(
    journal: AllPorts,
    ingestion_id: str,
    user_id: str = ALICE,
    *,
    time_us: int = NOON_US,
    request: RequestStamp | None = None,
    max_backlog: int = 100,
    max_backlog_per_user: int = 100,
) -> str:
    new = NewIngestion(
        ingestion_id, TENANT, user_id, "s1", f'{{"话":"{CHINESE}"}}', "teller", time_us, request
    )
    return journal.enqueue(new, max_backlog=max_backlog, max_backlog_per_user=max_backlog_per_user)


def claim(journal: AllPorts, now_us: int = NOON_US, limit: int = 10) -> list[str]:
    return [i.ingestion_id for i in journal.claim(now_us=now_us, lease_us=100, limit=limit)]


class IngestionContract:
    def test_enqueued_is_there_and_only_its_users(self, journal: AllPorts) -> None:
        assert queue(journal, "i1") == "i1"
        job = journal.get_ingestion(TENANT, ALICE, "i1")
        assert (job.state, job.attempts, job.epoch, job.created_us) == (
            IngestionState.PENDING, 0, 0, NOON_US,
        )  # fmt: skip
        assert json.loads(job.payload) == {"话": CHINESE}
        for tenant, user_id, ingestion_id in (
            (TENANT, ZHANG, "i1"), ("other", ALICE, "i1"), (TENANT, ALICE, "i2"),
        ):  # fmt: skip
            with pytest.raises(NotFound):
                journal.get_ingestion(tenant, user_id, ingestion_id)

    def test_replay_returns_the_first_id_even_when_full(self, journal: AllPorts) -> None:
        queue(journal, "i1", request=stamp("r"))
        assert queue(journal, "i2", request=stamp("r"), max_backlog=1) == "i1"
        with pytest.raises(RequestIdReused):
            queue(journal, "i3", request=stamp("r", "f2"))
        assert journal.backlog()[0] == 1

    def test_backlog_is_bounded_for_all_and_for_each(self, journal: AllPorts) -> None:
        queue(journal, "i1", time_us=NOON_US + 5)
        queue(journal, "i2", time_us=NOON_US + 6)
        with pytest.raises(BacklogFull):
            queue(journal, "i3", max_backlog_per_user=2)
        with pytest.raises(BacklogFull):
            queue(journal, "i3", ZHANG, max_backlog=2)
        assert queue(journal, "i3", ZHANG, max_backlog=3, max_backlog_per_user=1) == "i3"
        assert journal.backlog() == (3, NOON_US)

    def test_backlog_is_bounded_for_each_tenant(self, journal: AllPorts) -> None:
        def of(tenant: str, ingestion_id: str) -> str:
            new = NewIngestion(ingestion_id, tenant, ALICE, "", "{}", "teller", NOON_US)
            return journal.enqueue(new, max_backlog=9, max_backlog_per_user=9, max_backlog_per_tenant=2)

        of("甲", "a1")
        of("甲", "a2")
        with pytest.raises(BacklogFull):
            of("甲", "a3")
        assert of("乙", "b1") == "b1"
        claimed = journal.claim(now_us=NOON_US, lease_us=100, limit=1, except_tenants=["甲"])
        assert [job.ingestion_id for job in claimed] == ["b1"]
        assert journal.claim(now_us=NOON_US, lease_us=100, limit=1, except_tenants=["甲", "乙"]) == []

    def test_claim_is_oldest_first_one_per_user_and_exclusive(self, journal: AllPorts) -> None:
        for ingestion_id, user_id in (("a1", ALICE), ("a2", ALICE), ("z1", ZHANG), ("l1", "李四")):
            queue(journal, ingestion_id, user_id)
        assert claim(journal, limit=2) == ["a1", "z1"]
        assert claim(journal) == ["l1"]
        assert claim(journal) == []
        running = journal.get_ingestion(TENANT, ALICE, "a1")
        assert (running.state, running.attempts) == (IngestionState.RUNNING, 1)

    def test_a_job_never_overtakes_an_older_one_of_its_user(self, journal: AllPorts) -> None:
        queue(journal, "a1")
        queue(journal, "a2")
        assert claim(journal) == ["a1"]
        journal.fail(
            "a1", reason="MODEL_UNAVAILABLE", message="m", next_attempt_us=NOON_US + 50, time_us=NOON_US
        )
        assert claim(journal, NOON_US + 49) == []
        assert claim(journal, NOON_US + 50) == ["a1"]
        journal.fail(
            "a1", reason="MODEL_UNAVAILABLE", message="m", next_attempt_us=None, time_us=NOON_US + 60
        )
        assert claim(journal, NOON_US + 60) == ["a2"]

    def test_an_expired_lease_is_claimed_anew(self, journal: AllPorts) -> None:
        queue(journal, "a1")
        assert claim(journal) == ["a1"]
        assert claim(journal, NOON_US + 99) == []
        assert claim(journal, NOON_US + 100) == ["a1"]
        assert journal.get_ingestion(TENANT, ALICE, "a1").attempts == 2

    def test_sixteen_workers_never_share_a_job(self, journal: AllPorts) -> None:
        for index in range(40):
            queue(journal, f"i{index}", f"u{index}")
        with ThreadPoolExecutor(16) as pool:
            claimed = list(pool.map(lambda _: claim(journal, limit=3), range(16)))
        flat = [ingestion_id for ids in claimed for ingestion_id in ids]
        assert sorted(flat) == sorted(f"i{index}" for index in range(40))

    def test_fail_cancel_and_retry(self, journal: AllPorts) -> None:
        queue(journal, "a1")
        claim(journal)
        journal.fail(
            "a1", reason="MODEL_ANSWER_UNUSABLE", message="why", next_attempt_us=None, time_us=NOON_US
        )
        failed = journal.get_ingestion(TENANT, ALICE, "a1")
        assert (failed.state, failed.error_reason, failed.error_message) == (
            IngestionState.FAILED, "MODEL_ANSWER_UNUSABLE", "why",
        )  # fmt: skip
        with pytest.raises(NotFound):
            journal.retry(TENANT, ZHANG, "a1", time_us=NOON_US)
        again = journal.retry(TENANT, ALICE, "a1", time_us=NOON_US + 1)
        assert (again.state, again.attempts, again.error_reason) == (IngestionState.PENDING, 0, "")
        assert again.payload == failed.payload
        assert journal.retry(TENANT, ALICE, "a1", time_us=NOON_US + 2) == again
        journal.cancel("a1", time_us=NOON_US + 3)
        cancelled = journal.get_ingestion(TENANT, ALICE, "a1")
        assert (cancelled.state, cancelled.payload) == (IngestionState.CANCELLED, "")
        assert journal.retry(TENANT, ALICE, "a1", time_us=NOON_US + 4) == cancelled
        journal.fail("a1", reason="X", message="", next_attempt_us=NOON_US, time_us=NOON_US)
        assert journal.get_ingestion(TENANT, ALICE, "a1") == cancelled

    def test_release_leases_and_listing(self, journal: AllPorts) -> None:
        queue(journal, "a1", time_us=NOON_US)
        queue(journal, "a2", time_us=NOON_US + 1)
        claim(journal)
        assert journal.release_leases() == 1
        assert journal.release_leases() == 0
        assert claim(journal) == ["a1"]

        def listed(state: IngestionState | None, before_us: int | None, limit: int = 9) -> list[str]:
            found = journal.list_ingestions(TENANT, ALICE, state=state, before_us=before_us, limit=limit)
            return [job.ingestion_id for job in found]

        assert listed(None, None) == ["a2", "a1"]
        assert listed(None, None, limit=1) == ["a2"]
        assert listed(IngestionState.RUNNING, None) == ["a1"]
        assert listed(None, NOON_US + 1) == ["a1"]
        assert journal.list_ingestions(TENANT, ZHANG, state=None, before_us=None, limit=9) == []


def put(
    journal: AllPorts,
    *rules: str,
    expected: int | None = None,
    request: RequestStamp | None = None,
    tenant: str = TENANT,
) -> RuleSet:
    return journal.put_rules(
        tenant, rules, expected_version=expected, actor="管理员", time_us=NOON_US, request=request
    )


class RuleContract:
    def test_every_tenant_begins_with_the_empty_set(self, journal: AllPorts) -> None:
        empty = RuleSet(version=0, rules=(), actor="", time_us=0)
        assert journal.get_rules(TENANT) == journal.get_rules(TENANT, 0) == empty
        assert journal.list_rules(TENANT, before_version=None, limit=9) == []
        with pytest.raises(NotFound):
            journal.get_rules(TENANT, 1)

    def test_versions_rise_and_stay_readable(self, journal: AllPorts) -> None:
        first = put(journal, "先确认公司注册地", "Never quote a rate without its date")
        second = put(journal, "新规则", expected=1)
        assert (first.version, second.version) == (1, 2)
        assert journal.get_rules(TENANT) == second
        assert journal.get_rules(TENANT, 1) == first
        assert journal.get_rules("other").version == 0
        assert journal.list_rules(TENANT, before_version=None, limit=9) == [second, first]
        assert journal.list_rules(TENANT, before_version=2, limit=9) == [first]
        with pytest.raises(RevisionMismatch) as stale:
            put(journal, "late", expected=1)
        assert stale.value.metadata == {"current": "2"}
        events = journal.audit_events(AuditQuery(TENANT, actions=("PUT_RULES",)))
        assert [(e.revision, e.count, e.actor, e.seq) for e in events] == [
            (1, 2, "管理员", first.position), (2, 1, "管理员", second.position),
        ]  # fmt: skip
        assert journal.verify_chain().valid

    def test_replay_returns_the_first_set(self, journal: AllPorts) -> None:
        first = put(journal, "一", expected=0, request=stamp("r"))
        put(journal, "二")
        assert put(journal, "一", expected=0, request=stamp("r")) == first
        with pytest.raises(RequestIdReused):
            put(journal, "三", request=stamp("r", "f2"))
        assert journal.get_rules(TENANT).version == 2

    def test_one_of_sixteen_wins_a_version(self, journal: AllPorts) -> None:
        def work(index: int) -> bool:
            try:
                put(journal, f"{index}", expected=0)
            except RevisionMismatch:
                return False
            return True

        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(work, range(16))) == 1
        assert journal.get_rules(TENANT).version == 1
