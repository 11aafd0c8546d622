"""Each guard in Chinese and English: what it changes, and what it leaves alone."""

import pytest

from memlane_core.domain.conversation import Fact
from memlane_core.domain.decision import Candidate, Decision
from memlane_core.domain.limits import MAX_CONTENT_BYTES
from memlane_core.domain.memory import Action, Memory
from memlane_core.guards import GUARD_NAMES, Guarded, GuardName, GuardPolicy, guard
from memlane_core.guards.checks import CHECKS


def run(
    decision: Decision,
    fact: str,
    *existing: str,
    retraction: bool = False,
    policy: GuardPolicy | None = None,
    deletions: int = 0,
) -> Guarded:
    candidates = [Candidate(Memory(f"m{i}", "u", text), 0.99 - i / 10) for i, text in enumerate(existing)]
    return guard(decision, Fact(fact, retraction=retraction), candidates, policy, deletions=deletions)


def noop(target_id: str | None = "m0") -> Decision:
    return Decision(Action.NOOP, target_id)


def outcome(guarded: Guarded) -> tuple[Action, str | None]:
    assert guarded.rejected is None
    return guarded.decision.action, guarded.decision.target_id


def test_every_check_has_a_name_and_every_name_a_check() -> None:
    assert [name.value for name, _ in CHECKS] != []
    assert sorted(name.value for name, _ in CHECKS) == sorted(GUARD_NAMES)


@pytest.mark.parametrize(
    ("decision", "fact", "existing"),
    [
        (Decision(Action.ADD), "用户喜欢川菜", "用户住在北京"),
        (Decision(Action.UPDATE, "m0", "用户住在深圳"), "用户搬到深圳了", "用户住在上海"),
        (noop(), "用户太太的职业是儿科医生", "用户的妻子是儿科医生"),
        (noop(), "公司的额度是500,000元", "公司额度为５０万元"),
        (noop(), "User plans to buy a boat", "User plans to buy a boat for EUR 90,000 in May 2027"),
        (Decision(Action.DELETE, "m0"), "User cancelled the trip to Rome", "User plans a trip to Rome"),
        (Decision(Action.DELETE, "m0"), "用户取消了去罗马的旅行", "用户计划去罗马旅行"),
    ],
)
def test_a_safe_decision_passes_unchanged(decision: Decision, fact: str, existing: str) -> None:
    assert run(decision, fact, existing) == Guarded(decision)


@pytest.mark.parametrize("action", [Action.UPDATE, Action.DELETE, Action.NOOP])
@pytest.mark.parametrize("target_id", ["12", "m_of_another_user", ""])
def test_an_id_not_offered_is_refused_and_named(action: Action, target_id: str) -> None:
    guarded = run(Decision(action, target_id), "用户喜欢川菜", "用户住在北京")
    assert guarded.rejected is not None
    assert repr(target_id) in guarded.rejected
    assert "北京" not in guarded.rejected
    assert guarded.interventions == (GuardName.UNKNOWN_TARGET,)


def test_an_add_keeps_its_text_and_loses_a_target() -> None:
    assert outcome(run(Decision(Action.ADD, "12"), "用户喜欢川菜", "用户住在北京")) == (Action.ADD, None)
    assert outcome(run(Decision(Action.ADD, "m0"), "用户喜欢川菜", "用户住在北京")) == (Action.ADD, None)


def test_a_missing_target() -> None:
    assert outcome(run(Decision(Action.UPDATE), "用户喜欢川菜", "用户住在北京")) == (Action.ADD, None)
    assert outcome(run(noop(None), "User likes tea", "User likes tea")) == (Action.NOOP, "m0")
    assert outcome(run(noop(None), "User likes tea")) == (Action.ADD, None)
    assert outcome(run(noop(None), "Forget about tea", retraction=True)) == (Action.NOOP, None)
    assert (
        run(Decision(Action.DELETE), "User likes tea", "User likes tea").rejected
        == "a DELETE names no memory"
    )


def test_an_action_that_is_no_decision_is_refused() -> None:
    assert run(Decision(Action.PURGE, "m0"), "User likes tea", "User likes tea").rejected is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("月供三千", "月供三万"),
        ("额度５０万", "额度80万"),
        ("payment due on the 15th", "payment due on the 16th"),
        ("limit 5,000", "limit 50,000"),
        ("用户的房租每月4200元", "用户的房租每月4800元"),
    ],
)
def test_a_noop_with_another_number_of_the_same_thing_is_an_update(old: str, new: str) -> None:
    guarded = run(noop(), new, old)
    assert outcome(guarded) == (Action.UPDATE, "m0")
    assert guarded.decision.content is None
    assert guarded.interventions == (GuardName.NUMBER_DIFFERS,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("尾号1234的卡用于旅行", "尾号5678的卡用于旅行"),
        ("card ending 1234 is for travel", "card ending 5678 is for travel"),
        ("用户的父亲今年71岁", "用户的岳父今年68岁"),
        ("User's wife is 41", "User's sister is 38"),
        ("澄海工厂的保额为6000万元", "揭阳仓库的保额为2200万元"),
    ],
)
def test_a_noop_with_another_number_of_another_thing_is_an_add(old: str, new: str) -> None:
    assert outcome(run(noop(), new, old)) == (Action.ADD, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("境外转账已开通", "境外转账未开通"),
        ("Overseas transfers are allowed", "Overseas transfers are not allowed"),
        ("用户不喜欢这位歌手", "用户现在喜欢这位歌手了"),
        ("User refuses phone calls", "User accepts phone calls"),
    ],
)
def test_a_noop_that_says_the_opposite_is_an_update(old: str, new: str) -> None:
    guarded = run(noop(), new, old)
    assert outcome(guarded) == (Action.UPDATE, "m0")
    assert guarded.interventions == (GuardName.NEGATION_DIFFERS,)


def test_a_retraction_may_do_nothing_although_it_denies() -> None:
    decision = noop()
    assert run(decision, "别记我住在3号楼", "用户住在北京", retraction=True) == Guarded(decision)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("我喜欢川菜", "我受不了川菜"),
        ("I love Sichuan food", "I can't stand Sichuan food"),
        ("User lives in Leeds", "User lives in York"),
        ("用户订阅了周报", "用户取消了周报，改为每月15号收月报"),
    ],
)
def test_a_delete_of_a_stated_fact_is_an_update_with_its_text(old: str, new: str) -> None:
    guarded = run(Decision(Action.DELETE, "m0"), new, old)
    assert guarded.decision == Decision(Action.UPDATE, "m0")
    assert guarded.interventions == (GuardName.DELETE_LOSES_FACT,)


@pytest.mark.parametrize(
    ("fact", "stored"), [("用户的卡是ABC", "用户的卡是ＡＢＣ"), ("User likes tea", "User likes tea")]
)
@pytest.mark.parametrize("action", [Action.ADD, Action.UPDATE, Action.DELETE])
def test_a_fact_stored_word_for_word_changes_nothing(action: Action, fact: str, stored: str) -> None:
    guarded = run(Decision(action, None if action is Action.ADD else "m1"), fact, "用户住在北京", stored)
    assert outcome(guarded) == (Action.NOOP, "m1")
    assert guarded.interventions == (GuardName.ALREADY_STORED,)


def test_a_fact_stored_already_may_still_replace_what_contradicts_it() -> None:
    decision = Decision(Action.UPDATE, "m1")
    assert run(decision, "User likes tea", "User likes tea", "User dislikes tea") == Guarded(decision)


def test_a_retraction_in_the_words_of_a_memory_may_delete_it() -> None:
    decision = Decision(Action.DELETE, "m0")
    assert run(decision, "User likes tea", "User likes tea", retraction=True) == Guarded(decision)


def test_a_marked_retraction_may_delete() -> None:
    decision = Decision(Action.DELETE, "m0")
    assert run(decision, "不想让你们知道我住哪", "用户住在北京", retraction=True) == Guarded(decision)


@pytest.mark.parametrize(
    ("fact", "content"),
    [
        ("用户的额度是50万元", "用户的额度很高"),
        ("用户的额度是50万元", "用户的额度是500万元"),
        ("The limit is GBP 5,000", "The limit is GBP 50,000"),
        ("User has two children", "User has children"),
    ],
)
@pytest.mark.parametrize("action", [Action.ADD, Action.UPDATE])
def test_a_text_that_lost_or_invented_a_number_falls_back_to_the_fact(
    action: Action, fact: str, content: str
) -> None:
    guarded = run(Decision(action, "m0" if action is Action.UPDATE else None, content), fact, "用户是老客户")
    assert guarded.decision.content is None
    assert guarded.interventions == (GuardName.CONTENT_LOST_NUMBER,)


def test_a_merged_text_may_keep_the_target_s_numbers() -> None:
    merged = Decision(Action.UPDATE, "m0", "用户有2个孩子，住在120平方米的房子里")
    assert run(merged, "用户住在120平方米的房子里", "用户有两个孩子") == Guarded(merged)


@pytest.mark.parametrize(
    ("fact", "content"),
    [
        ("境外转账未开通", "境外转账已开通"),
        ("User does not want calls", "User wants calls"),
        ("用户喜欢川菜", "用户不喜欢川菜"),
        ("User likes tea", "User dislikes tea"),
    ],
)
def test_a_text_that_lost_or_invented_a_negation_falls_back_to_the_fact(fact: str, content: str) -> None:
    guarded = run(Decision(Action.UPDATE, "m0", content), fact, "用户是老客户")
    assert guarded.decision.content is None
    assert guarded.interventions == (GuardName.CONTENT_LOST_NEGATION,)


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", "\u3000"])
def test_blank_text_falls_back_to_the_fact_and_a_blank_fact_is_refused(blank: str) -> None:
    guarded = run(Decision(Action.ADD, None, blank), "用户喜欢川菜")
    assert guarded.decision == Decision(Action.ADD)
    assert guarded.interventions == (GuardName.CONTENT_EMPTY,)
    refused = run(Decision(Action.ADD), blank)
    assert refused.rejected == "content: must not be empty"


@pytest.mark.parametrize("unit", ["a", "川", "🙂", "ü"])
def test_text_is_measured_in_utf8_bytes(unit: str) -> None:
    size = len(unit.encode())
    fits = unit * (MAX_CONTENT_BYTES // size)
    assert run(Decision(Action.ADD), fits).rejected is None
    refused = run(Decision(Action.ADD), fits + unit)
    assert refused.interventions == (GuardName.CONTENT_TOO_LONG,)
    assert refused.rejected is not None
    assert refused.rejected.startswith("content: ")
    assert str(MAX_CONTENT_BYTES) in refused.rejected


def test_a_model_s_text_that_is_too_long_falls_back_to_a_fact_that_fits() -> None:
    guarded = run(Decision(Action.ADD, None, "川" * MAX_CONTENT_BYTES), "用户喜欢川菜")
    assert guarded.decision == Decision(Action.ADD)


def test_one_call_deletes_no_more_than_allowed() -> None:
    delete = Decision(Action.DELETE, "m0")
    policy = GuardPolicy(max_deletions=2)
    assert (
        run(delete, "User cancelled the trip", "User plans a trip", policy=policy, deletions=1).rejected
        is None
    )
    refused = run(delete, "User cancelled the trip", "User plans a trip", policy=policy, deletions=2)
    assert refused.interventions == (GuardName.TOO_MANY_DELETIONS,)
    assert refused.rejected is not None
    assert "'m0'" in refused.rejected


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("target_id", [None, "m0", "m9"])
@pytest.mark.parametrize("content", [None, "", "别的内容 7", "\ud800"])
@pytest.mark.parametrize("fact", ["用户有3个孩子", "", "\ud800", "忘掉这条", "不" * 900])
def test_guards_never_raise_and_only_name_offered_memories(
    action: Action, target_id: str | None, content: str | None, fact: str
) -> None:
    guarded = run(Decision(action, target_id, content), fact, "用户有两个孩子")
    if guarded.rejected is None:
        assert guarded.decision.action in (Action.ADD, Action.UPDATE, Action.DELETE, Action.NOOP)
        assert guarded.decision.target_id in (None, "m0")
