"""What the built-in decider decides, shown on sentences a reader can judge. Similarities are given by hand: they are
what the local embedder says of such pairs, give or take."""

import pytest

from memlane_core.builtin.decision import RulesDecider, decide_fact
from memlane_core.domain.conversation import Fact
from memlane_core.domain.decision import Candidate, Decision, FactToDecide
from memlane_core.domain.memory import Action, DeciderKind, Memory
from memlane_core.ports.decider import DecisionRequest

THRESHOLD = 0.55


def decide(new: str, *existing: tuple[str, float], retraction: bool = False) -> Decision:
    candidates = [Candidate(Memory(f"m{i}", "u", text), s) for i, (text, s) in enumerate(existing)]
    return decide_fact(Fact(new, retraction=retraction), candidates, nomination_threshold=THRESHOLD)


def outcome(decision: Decision) -> tuple[Action, str | None]:
    return decision.action, decision.target_id


def test_without_candidates_a_fact_is_added_and_a_retraction_does_nothing() -> None:
    assert outcome(decide("用户喜欢川菜")) == (Action.ADD, None)
    assert outcome(decide("Forget what I said about food", retraction=True)) == (Action.NOOP, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("用户在香港有一家全资子公司", "用戶在香港有一家全資子公司。"),
        ("User lives in Leeds.", "user lives in leeds"),
        ("ＡＢＣ１２３卡是工资卡", "ABC123卡是工资卡"),
    ],
)
def test_the_same_text_is_known_whatever_its_similarity(old: str, new: str) -> None:
    assert outcome(decide(new, (old, 0.1))) == (Action.NOOP, "m0")


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("用户每月房租4200元", "用户每月房租涨到4800元", 0.9),
        ("The overdraft limit is GBP 20,000", "The overdraft limit has been raised to GBP 35,000", 0.88),
        ("用户的客户经理是程予", "用户的客户经理换成了梁嘉蔚", 0.7),
        ("User lives in Bristol", "User has moved and lives in Cardiff now", 0.65),
        ("用户喜欢纸质对账单", "用户改为只要电子对账单，不想再收纸质的", 0.75),
        ("User likes phone calls", "User does not want phone calls any more", 0.8),
        ("公司具有进出口经营权", "公司没有进出口经营权", 0.92),
        ("User has no pension", "User has a pension", 0.9),
        ("公司准备扩建厂房", "公司准备明年投资2000万元扩建厂房", 0.75),
    ],
)
def test_same_slot_other_value_is_an_update(old: str, new: str, similarity: float) -> None:
    assert outcome(decide(new, (old, similarity), ("用户有两个孩子", 0.1))) == (Action.UPDATE, "m0")


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("用户尾号1234的卡用于旅行", "用户尾号5678的卡用于旅行", 0.8),
        ("Card ending 1234 is for travel", "Card ending 5678 is for travel", 0.8),
        ("用户的父亲今年71岁", "用户的岳父今年68岁", 0.85),
        ("User's wife works at a school", "User's sister works at a hospital", 0.7),
        ("公司的厂房抵押贷款利率为3.9%", "公司的订单贷利率为4.6%", 0.75),
        ("用户对青霉素过敏", "用户也对芒果过敏", 0.7),
        ("The company imports wine from Chile", "The company also imports oil from Greece", 0.65),
        ("用户的女儿学钢琴", "用户的公司要付一笔土地尾款", 0.1),
    ],
)
def test_another_thing_or_one_more_is_added(old: str, new: str, similarity: float) -> None:
    assert outcome(decide(new, (old, similarity))) == (Action.ADD, None)


@pytest.mark.parametrize(
    ("old", "new", "similarity"),
    [
        ("用户的妻子是儿科医生", "用户太太的职业是儿科医生", 0.9),
        ("公司信用贷额度为50万元", "公司的信用贷额度是500,000元", 0.9),
        ("Lockyer Films employs a dozen people", "Lockyer Films has 12 employees", 0.8),
        (
            "User plans to buy a bottling line from an Italian maker in October 2026 for EUR 900,000",
            "User plans to buy a bottling line",
            0.75,
        ),
    ],
)
def test_what_is_stated_already_is_a_noop(old: str, new: str, similarity: float) -> None:
    assert outcome(decide(new, (old, similarity))) == (Action.NOOP, "m0")


def test_a_retraction_deletes_what_it_concerns_and_nothing_else() -> None:
    trip = ("用户计划8月带家人去瑞士旅游", 0.75)
    assert outcome(decide("用户取消了8月去瑞士的旅行", ("用户的公司有瑞士法郎付款", 0.5), trip)) == (
        Action.DELETE,
        "m1",
    )
    assert decide("User cancelled the trip to Rome", ("User works at a hospital", 0.1)).action is Action.ADD
    assert outcome(decide("忘掉我的退休计划", ("用户住在北京", 0.05), retraction=True)) == (Action.NOOP, None)


def test_a_number_that_differs_is_never_known_even_at_full_similarity() -> None:
    assert decide("月供三万", ("月供三千", 1.0)).action is not Action.NOOP
    assert (
        decide("The payment is due on the 16th", ("The payment is due on the 15th", 1.0)).action
        is not Action.NOOP
    )


def test_the_order_of_candidates_does_not_matter() -> None:
    existing = [("用户的父母住在宁波", 0.7), ("用户常住宁波", 0.7), ("用户喜欢喝茶", 0.1)]
    chosen = []
    for order in (existing, existing[::-1]):
        decision = decide("用户已经搬到杭州常住", *order)
        chosen.append((decision.action, order[int((decision.target_id or "m9")[1:])][0]))
    assert chosen == [(Action.UPDATE, "用户常住宁波")] * 2


def test_the_reason_is_in_the_language_of_the_fact() -> None:
    assert decide("用户每月房租4800元", ("用户每月房租4200元", 0.9)).reason == "同一事项，数值已变"
    assert (
        decide("The rent is EUR 900", ("The rent is EUR 800", 0.9)).reason
        == "same matter, the number has changed"
    )


async def test_each_fact_of_a_request_is_decided_against_its_own_candidates() -> None:
    decider = RulesDecider(THRESHOLD)
    memory = Memory("m1", "u", "用户住在上海")
    decisions = await decider.decide(
        DecisionRequest(
            (
                FactToDecide(Fact("用户住在上海"), (Candidate(memory, 1.0),)),
                FactToDecide(Fact("用户住在上海"), ()),
            )
        )
    )
    assert decider.kind is DeciderKind.RULES
    assert [d.action for d in decisions] == [Action.NOOP, Action.ADD]


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.2, 1.5])
def test_a_threshold_that_is_no_cosine_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="nomination_threshold"):
        RulesDecider(threshold)


@pytest.mark.parametrize(
    "text", ["", "   ", "。", "123", "\ud800", "🙂🙂", "a" * 3000, "不" * 700, "1" * 2000]
)
def test_odd_texts_are_decided_too(text: str) -> None:
    decision = decide(text, ("用户喜欢川菜", 0.2), (text or "x", 0.9))
    assert decision.action in (Action.ADD, Action.NOOP, Action.UPDATE)
