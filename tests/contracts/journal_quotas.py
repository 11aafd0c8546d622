"""What every journal keeps of quotas: no more memories than allowed, whoever writes at the same time."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from memlane_core.domain.errors import QuotaReached
from memlane_core.domain.memory import Action, Memory
from memlane_core.ports.journal import Committed, Journal, Quota

from .journal_builders import (
    ALICE,
    NOON_US,
    SECOND_US,
    TENANT,
    ZHANG,
    add,
    change,
    commit,
    delete,
    memory,
    stamp,
)

NOON = NOON_US // SECOND_US


def keep(journal: Journal, state: Memory, quota: Quota, *, request_id: str = "") -> Committed:
    one = commit(
        change(Action.ADD, state),
        user_id=state.user_id,
        request=stamp(request_id) if request_id else None,
        respond=lambda positions: "{}",
    )
    return journal.append(replace(one, quota=quota))


def left(journal: Journal, user_id: str, quota: Quota, now: int = NOON) -> int:
    return journal.room(TENANT, user_id, quota, now_seconds=now).left


class QuotaContract:
    def test_a_user_keeps_no_more_than_the_quota(self, journal: Journal) -> None:
        quota = Quota(per_user=2)
        kept = [memory(user_id=ZHANG) for _ in range(2)]
        for state in kept:
            keep(journal, state, quota)
        with pytest.raises(QuotaReached) as caught:
            keep(journal, memory(user_id=ZHANG), quota)
        assert caught.value.metadata == {"quota": "memories per user", "limit": "2"}
        assert left(journal, ZHANG, quota) == 0
        keep(journal, memory(user_id=ALICE), quota)
        delete(journal, kept[0], time_us=NOON_US)
        assert left(journal, ZHANG, quota) == 1
        keep(journal, memory(user_id=ZHANG), quota)

    def test_a_full_user_may_change_delete_and_replace(self, journal: Journal) -> None:
        quota = Quota(per_user=1)
        state = memory()
        keep(journal, state, quota)
        newer = replace(state, content="新的 newer", revision=2)
        journal.append(replace(commit(change(Action.UPDATE, newer, previous=state.content)), quota=quota))
        gone = replace(newer, revision=3)
        journal.append(
            replace(
                commit(change(Action.DELETE, gone, previous=newer.content), change(Action.ADD, memory())),
                quota=quota,
            )
        )
        assert left(journal, ALICE, quota) == 0

    def test_what_is_over_refuses_the_commit_as_a_whole(self, journal: Journal) -> None:
        three = commit(*(change(Action.ADD, memory()) for _ in range(3)))
        with pytest.raises(QuotaReached):
            journal.append(replace(three, quota=Quota(per_user=2)))
        assert journal.user_state(TENANT, ALICE).head == 0
        assert left(journal, ALICE, Quota(per_user=2)) == 2

    def test_the_expired_take_no_place(self, journal: Journal) -> None:
        quota = Quota(per_user=1)
        add(journal, memory(expires_at=NOON))
        assert left(journal, ALICE, quota, NOON - 1) == 0
        assert left(journal, ALICE, quota, NOON) == 1
        keep(journal, memory(), quota)

    def test_a_replay_is_answered_at_the_quota(self, journal: Journal) -> None:
        quota = Quota(per_user=1)
        state = memory()
        keep(journal, state, quota, request_id="r")
        assert keep(journal, state, quota, request_id="r").replay == "{}"

    def test_a_tenant_keeps_no_more_than_the_quota(self, journal: Journal) -> None:
        quota = Quota(per_tenant=2)
        keep(journal, memory(user_id=ALICE), quota)
        keep(journal, memory(user_id=ZHANG), quota)
        with pytest.raises(QuotaReached) as caught:
            keep(journal, memory(user_id="李四"), quota)
        assert caught.value.metadata["quota"] == "memories per tenant"
        add(journal, memory(), tenant="other")
        knowledge = commit(change(Action.ADD, memory(user_id="global")), user_id="global", knowledge=True)
        journal.append(knowledge)

    def test_the_tightest_quota_is_named(self, journal: Journal) -> None:
        keep(journal, memory(), Quota())
        room = journal.room(TENANT, ALICE, Quota(per_user=5, per_tenant=2), now_seconds=NOON)
        assert (room.left, room.name, room.limit) == (1, "memories per tenant", 2)

    @pytest.mark.parametrize("quota", [Quota(per_user=5), Quota(per_tenant=5)])
    def test_sixteen_at_once_do_not_exceed_it(self, journal: Journal, quota: Quota) -> None:
        def attempt(_: int) -> bool:
            try:
                keep(journal, memory(), quota)
            except QuotaReached:
                return False
            return True

        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(attempt, range(16))) == 5
