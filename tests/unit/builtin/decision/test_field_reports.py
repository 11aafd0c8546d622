"""Field reports (cases B01-B08) at the level of decider and guards, with the similarities of the local embedder."""

import pytest

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.builtin.decision import decide_fact
from memlane_core.domain.conversation import Fact
from memlane_core.domain.decision import Candidate, Decision
from memlane_core.domain.memory import Action, Memory
from memlane_core.guards import Guarded, GuardName, guard


class Lane:
    """One user's memories, to which facts are told one after the other, as Remember applies them."""

    def __init__(self, embedder: LocalEmbedder, *, similarity: float | None = None) -> None:
        self._embedder = embedder
        self._similarity = similarity
        self.memories: dict[str, str] = {}

    def candidates(self, text: str) -> list[Candidate]:
        if not self.memories:
            return []
        vectors = self._embedder.encode([text, *self.memories.values()])
        found = [
            Candidate(Memory(i, "u", t), self._similarity or float(vectors[0] @ v))
            for (i, t), v in zip(self.memories.items(), vectors[1:], strict=True)
        ]
        return sorted(found, key=lambda c: -c.similarity)[:5]

    def tell(self, text: str, *, retraction: bool = False, decision: Decision | None = None) -> Guarded:
        fact = Fact(text, retraction=retraction)
        candidates = self.candidates(text)
        proposal = decision or decide_fact(
            fact, candidates, nomination_threshold=self._embedder.nomination_threshold
        )
        guarded = guard(proposal, fact, candidates)
        final = guarded.decision
        if guarded.rejected:
            return guarded
        if final.action is Action.ADD:
            self.memories[f"m{len(self.memories) + 1}"] = final.content or text
        elif final.action is Action.UPDATE and final.target_id:
            self.memories[final.target_id] = final.content or text
        elif final.action is Action.DELETE and final.target_id:
            del self.memories[final.target_id]
        return guarded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I love Sichuan food", "I can't stand Sichuan food"),
        ("我喜欢川菜", "我受不了川菜"),
        ("用户喜欢川菜", "用户讨厌川菜"),
    ],
)
def test_b01_reversed_preference_leaves_the_new_one(embedder: LocalEmbedder, old: str, new: str) -> None:
    lane = Lane(embedder)
    lane.tell(old)
    assert lane.tell(new).decision.action is Action.UPDATE
    assert lane.memories == {"m1": new}


def test_b01_a_model_that_only_deletes_does_not_lose_the_fact(embedder: LocalEmbedder) -> None:
    lane = Lane(embedder)
    lane.tell("I love Sichuan food")
    guarded = lane.tell("I can't stand Sichuan food", decision=Decision(Action.DELETE, "m1"))
    assert guarded.interventions == (GuardName.DELETE_LOSES_FACT,)
    assert lane.memories == {"m1": "I can't stand Sichuan food"}


@pytest.mark.parametrize(
    ("old", "new"),
    [("User loves Sichuan food", "Forget what I said about food"), ("用户喜欢川菜", "忘掉我喜欢川菜这件事")],
)
def test_b01_a_plain_retraction_may_delete(embedder: LocalEmbedder, old: str, new: str) -> None:
    lane = Lane(embedder)
    lane.tell(old)
    assert lane.tell(new, retraction=True).decision.action is Action.DELETE
    assert lane.memories == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I like coffee", "I've gone off coffee, I drink tea now"),
        ("我喜欢喝咖啡", "我现在不喝咖啡了，改喝茶"),
        ("我不喜欢这位歌手", "我现在喜欢这位歌手了"),
        ("I don't like this singer", "I like this singer now"),
    ],
)
def test_b02_a_changed_liking_leaves_one_row(embedder: LocalEmbedder, old: str, new: str) -> None:
    lane = Lane(embedder)
    lane.tell(old)
    assert lane.tell(new).decision.action is Action.UPDATE
    assert lane.memories == {"m1": new}


@pytest.mark.parametrize(
    ("old", "new"),
    [("我住在上海", "我上个月搬到深圳了"), ("I live in Shanghai", "I moved to Shenzhen last month")],
)
def test_b03_a_move_is_an_update_of_the_same_memory(embedder: LocalEmbedder, old: str, new: str) -> None:
    lane = Lane(embedder)
    lane.tell("用户喜欢喝茶")
    lane.tell(old)
    assert lane.tell(new).decision == Decision(Action.UPDATE, "m2", None, lane_reason(new))
    assert lane.memories == {"m1": "用户喜欢喝茶", "m2": new}


def lane_reason(text: str) -> str:
    return "same matter, it has changed" if text.isascii() else "同一事项，情况已变"


@pytest.mark.parametrize("text", ["我的房贷每月还4500元", "My mortgage payment is GBP 900 a month"])
def test_b04_the_same_fact_five_times_is_one_row(embedder: LocalEmbedder, text: str) -> None:
    lane = Lane(embedder)
    actions = [lane.tell(text).decision.action for _ in range(5)]
    assert actions == [Action.ADD, *[Action.NOOP] * 4]
    assert lane.memories == {"m1": text}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("payment due on the 15th", "payment due on the 16th"),
        ("limit 5,000", "limit 50,000"),
        ("月供三千", "月供三万"),
        ("额度５０万", "额度80万"),
    ],
)
@pytest.mark.parametrize("forced", [Action.NOOP, None], ids=["model says NOOP", "rules"])
def test_b06_another_number_of_the_same_thing_replaces_it(
    embedder: LocalEmbedder, old: str, new: str, forced: Action | None
) -> None:
    lane = Lane(embedder, similarity=0.99)
    lane.tell(old)
    lane.tell(new, decision=Decision(forced, "m1") if forced else None)
    assert lane.memories == {"m1": new}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("card ending 1234 is for travel", "card ending 5678 is for travel"),
        ("尾号1234的卡用于旅行", "尾号5678的卡用于旅行"),
    ],
)
@pytest.mark.parametrize("forced", [Action.NOOP, None], ids=["model says NOOP", "rules"])
def test_b06_two_cards_are_both_kept(
    embedder: LocalEmbedder, old: str, new: str, forced: Action | None
) -> None:
    lane = Lane(embedder, similarity=0.99)
    lane.tell(old)
    lane.tell(new, decision=Decision(forced, "m1") if forced else None)
    assert sorted(lane.memories.values()) == sorted([old, new])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Overseas transfers are allowed on my account", "Overseas transfers are not allowed on my account"),
        ("境外转账已开通", "境外转账未开通"),
    ],
)
@pytest.mark.parametrize("forced", [Action.NOOP, None], ids=["model says NOOP", "rules"])
def test_b07_a_negated_correction_is_the_only_live_row(
    embedder: LocalEmbedder, old: str, new: str, forced: Action | None
) -> None:
    lane = Lane(embedder, similarity=0.97)
    lane.tell(old)
    lane.tell(new, decision=Decision(forced, "m1") if forced else None)
    assert lane.memories == {"m1": new}


def test_b08_an_id_never_offered_changes_nothing_and_is_named(embedder: LocalEmbedder) -> None:
    lane = Lane(embedder)
    for text in ("用户住在北京", "用户喜欢喝茶", "用户有两个孩子"):
        lane.tell(text)
    before = dict(lane.memories)
    for bad in (Decision(Action.UPDATE, "12"), Decision(Action.DELETE, "m_of_another_user")):
        guarded = lane.tell("用户在银行工作", decision=bad)
        assert guarded.rejected is not None
        assert repr(bad.target_id) in guarded.rejected
        assert guarded.interventions == (GuardName.UNKNOWN_TARGET,)
    assert lane.memories == before
    assert lane.tell("用户在银行工作", decision=Decision(Action.ADD)).rejected is None
    assert len(lane.memories) == 4
