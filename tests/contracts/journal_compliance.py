"""What every adapter of the ComplianceStore port must do: the chain, erasure, hold and purge."""

import hashlib
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from memlane_core.domain.conversation import Message, Role
from memlane_core.domain.errors import ForgottenMeanwhile
from memlane_core.domain.memory import Action
from memlane_core.ports.compliance_store import AuditQuery, ForgetCommand, Forgotten, PurgeItem
from memlane_core.ports.ingestion_queue import IngestionState, NewIngestion
from memlane_core.ports.journal import (
    AppliedRow,
    Commit,
    LostRace,
    MemoryPage,
    RequestStamp,
    RevisionQuery,
)
from memlane_core.ports.session_store import AppendMessages

from .journal_builders import (
    ALICE,
    CHINESE,
    DIMENSION,
    ENGLISH,
    NOON_US,
    SECOND_US,
    TENANT,
    ZHANG,
    AllPorts,
    RawSql,
    add,
    change,
    commit,
    delete,
    memory,
    stamp,
)

DAY_US = 86_400 * SECOND_US


def forget(
    journal: AllPorts,
    user_id: str = ALICE,
    *,
    time_us: int = NOON_US,
    request: RequestStamp | None = None,
) -> Forgotten:
    return journal.forget_user(
        ForgetCommand(TENANT, user_id, "合规员", "客户来函", time_us, time_us + DAY_US, request)
    )


def fill(journal: AllPorts, user_id: str = ALICE) -> None:
    """Two live memories (one of them updated), a deleted one, a window, a job and stored answers."""
    add(journal, memory(f"{user_id}-1", user_id, "旧的: " + CHINESE))
    newer = memory(f"{user_id}-1", user_id, CHINESE, revision=2)
    journal.append(
        Commit(
            TENANT, user_id, "teller", "Remember", NOON_US,
            (change(Action.UPDATE, newer, previous="旧的: " + CHINESE),),
            request=stamp("r1"), respond=lambda _: json.dumps([CHINESE, ENGLISH], ensure_ascii=False),
        )
    )  # fmt: skip
    add(journal, memory(f"{user_id}-2", user_id, ENGLISH, metadata={"note": CHINESE}))
    gone = memory(f"{user_id}-3", user_id, "已删: " + CHINESE)
    add(journal, gone)
    delete(journal, gone, time_us=NOON_US)
    journal.append_messages(
        AppendMessages(
            TENANT, user_id, "s1",
            (Message(Role.USER, CHINESE), Message(Role.ASSISTANT, ENGLISH)), NOON_US, stamp("r2"),
        )
    )  # fmt: skip
    journal.enqueue(
        NewIngestion(f"{user_id}-i", TENANT, user_id, "s1", ENGLISH, "teller", NOON_US, stamp("r3")),
        max_backlog=99,
        max_backlog_per_user=99,
    )


def purge_all(journal: AllPorts, *, now_us: int, retention_us: int = 0) -> tuple[int, int]:
    """Purge what is due; returns how many items and how many a hold keeps back."""
    items, held = journal.due_for_purge(TENANT, now_us=now_us, retention_us=retention_us, limit=1000)
    journal.record_purge(items, actor="sweeper", time_us=now_us)
    return len(items), held


def visible_text(journal: AllPorts, user_id: str = ALICE) -> str:
    """Everything that any read of the port gives about a user."""
    parts: list[object] = [
        journal.memories(MemoryPage(TENANT, user_id)),
        journal.memories(MemoryPage(TENANT, user_id, as_of_us=NOON_US)),
        journal.revisions(RevisionQuery(TENANT, user_id)),
        journal.window(TENANT, user_id, "s1", max_rounds=100),
        journal.list_ingestions(TENANT, user_id, state=None, before_us=None, limit=100),
        journal.pending(tenant=TENANT, user_id=user_id),
        list(journal.export(TENANT, user_id)),
        journal.audit_events(AuditQuery(TENANT, user_id)),
    ]
    return repr(parts)


class AuditContract:
    def test_one_event_per_change_without_text(self, journal: AllPorts) -> None:
        fill(journal)
        events = journal.audit_events(AuditQuery(TENANT))
        assert [e.seq for e in events] == list(range(1, len(events) + 1))
        assert [e.action for e in events] == ["ADD", "UPDATE", "ADD", "ADD", "DELETE"]
        assert all(e.actor and e.operation and e.time_us and e.reason_code for e in events)
        assert CHINESE not in repr(events)
        assert ENGLISH not in repr(events)
        assert all(b.prev_hash == a.hash for a, b in itertools.pairwise(events))

    def test_filters_and_pages(self, journal: AllPorts) -> None:
        for index in range(4):
            add(journal, memory(user_id=(ALICE, ZHANG)[index % 2]), time_us=NOON_US + index)
        add(journal, memory(), tenant="other")
        delete_state = memory("d")
        add(journal, delete_state, time_us=NOON_US + 5)
        delete(journal, delete_state, time_us=NOON_US + 6)

        def seqs(query: AuditQuery) -> list[int]:
            return [e.seq for e in journal.audit_events(query)]

        assert seqs(AuditQuery(TENANT)) == [1, 2, 3, 4, 6, 7]
        assert seqs(AuditQuery(TENANT, user_id=ZHANG)) == [2, 4]
        assert seqs(AuditQuery(TENANT, actions=("DELETE",))) == [7]
        assert seqs(AuditQuery(TENANT, from_us=NOON_US + 1, until_us=NOON_US + 3)) == [2, 3]
        assert seqs(AuditQuery(TENANT, after_seq=2, limit=2)) == [3, 4]

    def test_events_that_change_no_memory(self, journal: AllPorts) -> None:
        seq = journal.record_event(
            tenant=TENANT, user_id=ALICE, actor="合规员", operation="ExportUser", action="EXPORT",
            count=3, reason_code="REQUESTED", detail="客户要求", time_us=NOON_US,
        )  # fmt: skip
        (event,) = journal.audit_events(AuditQuery(TENANT))
        assert (event.seq, event.action, event.count, event.detail) == (seq, "EXPORT", 3, "客户要求")
        assert journal.user_state(TENANT, ALICE).head == 0
        assert journal.verify_chain().valid

    def test_the_commitment_proves_the_text_while_its_salt_is_kept(self, journal: AllPorts) -> None:
        add(journal, memory(content=CHINESE))
        add(journal, memory(content=CHINESE))
        first, second = journal.audit_events(AuditQuery(TENANT))
        assert first.commitment != second.commitment
        exported = [
            json.loads(record) for kind, record in journal.export(TENANT, ALICE) if kind == "revision"
        ]
        for event, record in zip((first, second), exported, strict=True):
            digest = hashlib.sha256(bytes.fromhex(record["salt"]) + record["content"].encode())
            assert digest.hexdigest() == event.commitment

    def test_an_empty_log_is_valid(self, journal: AllPorts) -> None:
        check = journal.verify_chain()
        assert (check.valid, check.events, check.head_seq) == (True, 0, 0)

    def test_the_chain_may_be_checked_from_any_seq(self, journal: AllPorts) -> None:
        for _ in range(5):
            add(journal, memory())
        whole, part = journal.verify_chain(), journal.verify_chain(from_seq=4)
        assert (whole.events, part.events) == (5, 2)
        assert (part.valid, part.head_hash) == (True, whole.head_hash)
        assert journal.verify_chain(from_seq=6).valid

    @pytest.mark.parametrize(
        ("script", "first_bad_seq"),
        [
            ("UPDATE events SET actor = 'nobody' WHERE seq = 3", 3),
            ("UPDATE events SET time_us = time_us + 1 WHERE seq = 1", 1),
            ("UPDATE events SET action = 'DELETE', memory_id = 'x' WHERE seq = 6", 6),
            ("DELETE FROM events WHERE seq = 3", 3),
            ("DELETE FROM events WHERE seq = 1", 1),
            ("DELETE FROM events WHERE seq = 6", 6),
            ("DELETE FROM events WHERE seq >= 4", 4),
            ("DELETE FROM events", 1),
            (
                "UPDATE events SET seq = 99 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3;"
                "UPDATE events SET seq = 3 WHERE seq = 99",
                2,
            ),
            (
                "INSERT INTO events SELECT 7, time_us, tenant, user_id, actor, operation, action, memory_id,"
                " revision, count, reason_code, detail, commitment, hash, hash FROM events WHERE seq = 6",
                7,
            ),
            ("UPDATE chain_head SET hash = (SELECT prev_hash FROM events WHERE seq = 6)", 6),
            ("UPDATE chain_head SET seq = 5", 5),
            ("DELETE FROM chain_head", 1),
            ("UPDATE revision_texts SET content = content || '!' WHERE position = 4", 4),
        ],
    )
    def test_tampering_shows(
        self, journal: AllPorts, raw_sql: RawSql, script: str, first_bad_seq: int
    ) -> None:
        for index in range(6):
            add(journal, memory(content=f"第 {index} 条"))
        assert journal.verify_chain().valid
        raw_sql(script)
        check = journal.verify_chain()
        assert not check.valid
        assert check.first_bad_seq == first_bad_seq
        assert check.problem


class ErasureContract:
    def test_forget_empties_everything_of_one_user(self, journal: AllPorts) -> None:
        fill(journal)
        fill(journal, ZHANG)
        others = visible_text(journal, ZHANG)
        forgotten = forget(journal)
        assert forgotten.memory_ids == ("alice-1", "alice-2")
        assert (forgotten.revisions, forgotten.messages, forgotten.sessions) == (5, 2, 1)
        assert (forgotten.ingestions, forgotten.requests) == (1, 3)
        assert (forgotten.epoch, forgotten.legal_hold, forgotten.replay) == (1, False, None)
        assert forgotten.last_seq - forgotten.first_seq == 2
        check = journal.verify_chain()
        assert (check.valid, check.head_hash) == (True, forgotten.head_hash)
        text = visible_text(journal)
        assert CHINESE not in text
        assert ENGLISH not in text
        assert visible_text(journal, ZHANG) == others
        state = journal.user_state(TENANT, ALICE)
        assert (state.head, state.epoch) == (forgotten.last_seq, 1)

    def test_history_keeps_its_shape_without_texts(self, journal: AllPorts) -> None:
        fill(journal)
        forget(journal)
        story = journal.revisions(RevisionQuery(TENANT, ALICE, memory_id="alice-1"))
        assert [r.action for r in story] == [Action.ADD, Action.UPDATE, Action.FORGET]
        assert [r.revision for r in story] == [1, 2, 3]
        assert all(r.content is None and r.previous_content is None and r.reason == "" for r in story)
        assert all(r.actor and r.time_us for r in story)
        assert [r.valid_until_us is None for r in story] == [False, False, True]

    def test_the_event_keeps_who_when_why_and_how_many(self, journal: AllPorts) -> None:
        fill(journal)
        forgotten = forget(journal, time_us=NOON_US + 7)
        *each, whole = journal.audit_events(AuditQuery(TENANT, ALICE, actions=("FORGET",)))
        assert [e.memory_id for e in each] == ["alice-1", "alice-2"]
        assert (whole.seq, whole.count, whole.actor, whole.detail, whole.time_us) == (
            forgotten.last_seq, 2, "合规员", "客户来函", NOON_US + 7,
        )  # fmt: skip

    def test_the_vector_store_is_told_to_blank_all_rows(self, journal: AllPorts) -> None:
        fill(journal)
        applied = [AppliedRow(TENANT, p.row.memory.memory_id, p.position) for p in journal.pending()]
        journal.mark_applied(applied)
        forget(journal)
        rows = journal.pending(tenant=TENANT, user_id=ALICE)
        assert {p.row.memory.memory_id for p in rows} == {"alice-1", "alice-2", "alice-3"}
        blank = np.eye(1, DIMENSION, dtype=np.float32)[0]
        for p in rows:
            assert (p.row.memory.content, dict(p.row.memory.metadata), p.row.is_deleted) == ("", {}, True)
            np.testing.assert_array_equal(p.row.embedding, blank)
        journal.mark_applied(applied)
        assert len(journal.pending(tenant=TENANT, user_id=ALICE)) == 3

    def test_work_in_flight_writes_nothing_afterwards(self, journal: AllPorts) -> None:
        fill(journal)
        epoch = journal.user_state(TENANT, ALICE).epoch
        head = journal.user_state(TENANT, ALICE).head
        forget(journal)
        with pytest.raises(ForgottenMeanwhile):
            journal.append(commit(change(Action.ADD, memory()), expected_epoch=epoch))
        with pytest.raises(LostRace):
            journal.append(commit(change(Action.ADD, memory()), expected_head=head))
        with pytest.raises(ForgottenMeanwhile):
            journal.append(commit(change(Action.ADD, memory()), ingestion_id="alice-i"))
        assert journal.get_ingestion(TENANT, ALICE, "alice-i").state is IngestionState.CANCELLED
        assert journal.retry(TENANT, ALICE, "alice-i", time_us=NOON_US).state is IngestionState.CANCELLED
        assert journal.claim(now_us=2 * NOON_US, lease_us=1, limit=9) == []
        assert journal.memories(MemoryPage(TENANT, ALICE)) == []

    def test_an_old_request_does_not_grow_back(self, journal: AllPorts) -> None:
        fill(journal)
        forget(journal)
        with pytest.raises(ForgottenMeanwhile):
            journal.append(commit(change(Action.ADD, memory()), request=stamp("r1")))
        with pytest.raises(ForgottenMeanwhile):
            journal.find_replay(TENANT, ALICE, stamp("r1"))
        said = AppendMessages(TENANT, ALICE, "s1", (Message(Role.USER, CHINESE),), NOON_US, stamp("r2"))
        with pytest.raises(ForgottenMeanwhile):
            journal.append_messages(said)

    def test_afterwards_the_user_begins_anew(self, journal: AllPorts) -> None:
        fill(journal)
        forget(journal)
        add(journal, memory(content=ENGLISH))
        journal.append_messages(
            AppendMessages(TENANT, ALICE, "s1", (Message(Role.USER, "新的一天"),), NOON_US)
        )
        window = journal.window(TENANT, ALICE, "s1", max_rounds=9)
        assert [stored.message.content for stored in window.messages] == ["新的一天"]
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE))] == [ENGLISH]
        items, _ = journal.due_for_purge(TENANT, now_us=2 * NOON_US, retention_us=0, limit=9)
        assert {i.memory_id for i in items} == {"alice-1", "alice-2", "alice-3"}

    def test_unknown_and_repeated(self, journal: AllPorts) -> None:
        fill(journal)
        forget(journal)
        for user_id in ("nobody", ALICE):
            again = forget(journal, user_id)
            counts = (again.revisions, again.messages, again.sessions, again.ingestions, again.requests)
            assert (again.memory_ids, counts) == ((), (0, 0, 0, 0, 0))
            assert again.first_seq == again.last_seq
        assert journal.user_state(TENANT, ALICE).epoch == 2
        assert journal.user_state(TENANT, "nobody").epoch == 1
        assert journal.verify_chain().valid

    def test_replay_returns_the_stored_receipt(self, journal: AllPorts) -> None:
        fill(journal)
        request = stamp("f", method="ForgetUser")
        first = forget(journal, request=request)
        assert forget(journal, request=request) == first
        journal.save_receipt(TENANT, ALICE, "receipt-1", '{"回执":1}', request=request)
        add(journal, memory(content=ENGLISH))
        forget(journal)
        assert forget(journal, request=request) == replace(first, replay='{"回执":1}')


class PurgeContract:
    def test_retention_counts_from_the_deletion(self, journal: AllPorts) -> None:
        for memory_id, time_us in (("a", NOON_US), ("b", NOON_US + 10)):
            add(journal, memory(memory_id))
            delete(journal, memory(memory_id), time_us=time_us)
        add(journal, memory("c"))

        def due(now_us: int, user_id: str | None = None) -> list[str]:
            items, _ = journal.due_for_purge(
                TENANT, now_us=now_us, retention_us=100, limit=9, user_id=user_id
            )
            return [item.memory_id for item in items]

        assert due(NOON_US + 99) == []
        assert due(NOON_US + 100) == ["a"]
        assert due(NOON_US + 110) == ["a", "b"]
        assert due(NOON_US + 110, ZHANG) == []
        assert due(NOON_US + 110, ALICE) == ["a", "b"]

    def test_a_forgotten_user_has_a_time_of_its_own(self, journal: AllPorts) -> None:
        fill(journal)
        forget(journal, time_us=NOON_US)
        assert purge_all(journal, now_us=NOON_US + DAY_US - 1) == (0, 0)
        assert purge_all(journal, now_us=NOON_US + DAY_US, retention_us=99 * DAY_US) == (3, 0)
        assert purge_all(journal, now_us=NOON_US + DAY_US) == (0, 0)

    def test_purge_removes_texts_answers_and_pending_rows(self, journal: AllPorts) -> None:
        state = memory("m", content=CHINESE)
        journal.enqueue(
            NewIngestion("i", TENANT, ALICE, "", "{}", "teller", NOON_US),
            max_backlog=9, max_backlog_per_user=9,
        )  # fmt: skip
        journal.append(
            commit(change(Action.ADD, state), request=stamp("r"), respond=lambda _: CHINESE, ingestion_id="i")
        )
        kept = memory("kept", content=ENGLISH)
        delete(journal, state, time_us=NOON_US + 1)
        journal.append(
            commit(
                change(Action.ADD, kept),
                request=stamp("later"),
                respond=lambda _: "后来",
                time_us=NOON_US + 2,
            )
        )
        journal.mark_applied([AppliedRow(TENANT, "kept", 3)])
        items, _ = journal.due_for_purge(TENANT, now_us=NOON_US + 3, retention_us=0, limit=9)
        assert items == [PurgeItem(TENANT, ALICE, "m", False)]
        assert journal.record_purge(items, actor="sweeper", time_us=NOON_US + 3) == (4, 4)
        assert CHINESE not in visible_text(journal)
        with pytest.raises(ForgottenMeanwhile):
            journal.find_replay(TENANT, ALICE, stamp("r"))
        later = journal.find_replay(TENANT, ALICE, stamp("later"))
        assert later is not None
        assert later.response == "后来"
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE))] == [ENGLISH]
        (row,) = journal.pending()
        assert (row.row.memory.memory_id, row.row.memory.content, row.physical_delete) == ("m", "", True)
        (event,) = journal.audit_events(AuditQuery(TENANT, actions=("PURGE",)))
        assert (event.seq, event.count, event.user_id, event.actor) == (4, 1, ALICE, "sweeper")
        assert journal.record_purge(items, actor="sweeper", time_us=NOON_US) == (0, 0)
        assert journal.record_purge([], actor="sweeper", time_us=NOON_US) == (0, 0)
        assert journal.verify_chain().valid

    def test_one_event_per_user(self, journal: AllPorts) -> None:
        for memory_id, user_id in (("a", ALICE), ("b", ALICE), ("z", ZHANG)):
            state = memory(memory_id, user_id)
            add(journal, state)
            delete(journal, state, time_us=NOON_US)
        assert purge_all(journal, now_us=NOON_US) == (3, 0)
        events = journal.audit_events(AuditQuery(TENANT, actions=("PURGE",)))
        assert sorted((e.user_id, e.count) for e in events) == [(ALICE, 2), (ZHANG, 1)]

    def test_what_was_restored_or_held_meanwhile_is_passed_over(self, journal: AllPorts) -> None:
        for memory_id, user_id in (("a", ALICE), ("z", ZHANG)):
            state = memory(memory_id, user_id)
            add(journal, state)
            delete(journal, state, time_us=NOON_US)
        items, _ = journal.due_for_purge(TENANT, now_us=NOON_US, retention_us=0, limit=9)
        add(journal, memory("a", content=ENGLISH, revision=3))
        journal.set_legal_hold(TENANT, ZHANG, hold=True, actor="法务", detail="诉讼", time_us=NOON_US)
        assert journal.record_purge(items, actor="sweeper", time_us=NOON_US) == (0, 0)
        assert [m.content for m in journal.memories(MemoryPage(TENANT, ALICE))] == [ENGLISH]
        assert journal.revisions(RevisionQuery(TENANT, ZHANG))[0].content == CHINESE

    def test_expired_memories_are_found_and_lapse(self, journal: AllPorts) -> None:
        add(journal, memory("late", expires_at=200))
        add(journal, memory("early", ZHANG, expires_at=100))
        add(journal, memory("never"))
        assert journal.expired(TENANT, now_seconds=99, limit=9) == []
        assert journal.expired(TENANT, now_seconds=100, limit=9) == [(ZHANG, ("early",))]
        assert journal.expired(TENANT, now_seconds=200, limit=9) == [(ZHANG, ("early",)), (ALICE, ("late",))]
        assert journal.expired(TENANT, now_seconds=200, limit=1) == [(ZHANG, ("early",))]
        delete(journal, memory("early", ZHANG), time_us=NOON_US, action=Action.EXPIRE)
        assert journal.expired(TENANT, now_seconds=100, limit=9) == []
        assert journal.last_revision(TENANT, ZHANG, "early") == 2
        assert journal.last_revision(TENANT, ALICE, "early") == 0


class LegalHoldContract:
    def hold(self, journal: AllPorts, *, hold: bool) -> int:
        return journal.set_legal_hold(
            TENANT, ALICE, hold=hold, actor="法务", detail="诉讼保全", time_us=NOON_US
        )

    def test_hold_and_release_are_audited(self, journal: AllPorts) -> None:
        seqs = [self.hold(journal, hold=True), self.hold(journal, hold=False)]
        events = journal.audit_events(AuditQuery(TENANT, ALICE))
        assert [(e.seq, e.action, e.actor, e.detail) for e in events] == [
            (seqs[0], "HOLD", "法务", "诉讼保全"), (seqs[1], "RELEASE", "法务", "诉讼保全"),
        ]  # fmt: skip
        assert not journal.user_state(TENANT, ALICE).legal_hold

    def test_purge_is_kept_back_and_counted(self, journal: AllPorts) -> None:
        fill(journal)
        self.hold(journal, hold=True)
        assert journal.user_state(TENANT, ALICE).legal_hold
        assert purge_all(journal, now_us=2 * NOON_US) == (0, 1)
        self.hold(journal, hold=False)
        assert purge_all(journal, now_us=2 * NOON_US) == (1, 0)

    def test_forget_under_hold_hides_everything(self, journal: AllPorts) -> None:
        fill(journal)
        self.hold(journal, hold=True)
        forgotten = forget(journal)
        assert forgotten.legal_hold
        assert forgotten.memory_ids == ("alice-1", "alice-2")
        text = visible_text(journal)
        assert CHINESE not in text
        assert ENGLISH not in text
        assert purge_all(journal, now_us=2 * NOON_US) == (0, 3)
        assert journal.verify_chain().valid

    def test_release_then_purge_leaves_nothing(self, journal: AllPorts) -> None:
        fill(journal)
        self.hold(journal, hold=True)
        forget(journal)
        self.hold(journal, hold=False)
        *_, release = journal.audit_events(AuditQuery(TENANT, ALICE, actions=("RELEASE",)))
        assert release.count > 0
        assert purge_all(journal, now_us=NOON_US + DAY_US) == (3, 0)
        assert all(p.physical_delete for p in journal.pending(tenant=TENANT, user_id=ALICE))


class ExportContract:
    def test_export_gives_everything_in_order(self, journal: AllPorts) -> None:
        fill(journal)
        fill(journal, ZHANG)
        records = [(kind, json.loads(record)) for kind, record in journal.export(TENANT, ALICE)]
        kinds = [kind for kind, _ in records]
        assert kinds == ["revision"] * 5 + ["message"] * 2 + ["ingestion"] + ["event"] * 5
        assert {record["user_id"] for _, record in records} == {ALICE}
        assert records[1][1]["content"] == CHINESE
        assert records[2][1]["metadata"] == {"note": CHINESE}
        assert [r["content"] for k, r in records if k == "message"] == [CHINESE, ENGLISH]
        assert list(journal.export(TENANT, "nobody")) == []

    def test_export_is_of_one_moment(self, journal: AllPorts) -> None:
        fill(journal)
        records = journal.export(TENANT, ALICE)
        first = next(records)
        forget(journal)
        assert CHINESE in "".join(record for _, record in [first, *records])
        assert CHINESE not in "".join(record for _, record in journal.export(TENANT, ALICE))
