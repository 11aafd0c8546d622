"""Decisions of a model over real HTTP (B08, B01): small numbers, one call, nothing left undecided."""

import logging
from collections.abc import Sequence

import pytest

from memlane_core.adapters.openai import ChatClient, ModelDecider
from memlane_core.domain.conversation import Fact
from memlane_core.domain.decision import Candidate, Decision, FactToDecide
from memlane_core.domain.errors import ModelAnswerUnusable
from memlane_core.domain.memory import Action, DeciderKind, Memory
from memlane_core.ports.decider import DecisionRequest
from memlane_core.prompts import Language, load_prompt

from .model_cases import scripted, unchanged
from .model_server import Says

LIMIT = Memory("m_limit", "u1", "The user's limit is 5,000", created_at=1_700_000_000)
TEA = Memory("m_tea", "u1", "The user drinks tea", created_at=1_700_000_000, updated_at=1_710_000_000)
HOME = Memory("m_home", "u1", "用户住在上海", created_at=1_700_000_000)


class Rules:
    """Stands in for the built-in rules: adds, and remembers what it was asked."""

    kind = DeciderKind.RULES

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def decide(self, request: DecisionRequest) -> tuple[Decision, ...]:
        self.asked.extend(entry.fact.content for entry in request.facts)
        return tuple(Decision(Action.ADD, reason="nothing like it") for _ in request.facts)


def entry(text: str, *memories: Memory, retraction: bool = False) -> FactToDecide:
    return FactToDecide(Fact(text, retraction=retraction), tuple(Candidate(m, 0.9) for m in memories))


def decision(fact: int, action: str, target: object = None, text: object = None) -> dict[str, object]:
    return {"fact": fact, "action": action, "target": target, "text": text, "reason": "so"}


def decisions(*items: object) -> dict[str, object]:
    return {"decisions": list(items)}


async def decide(
    client: ChatClient, facts: Sequence[FactToDecide], rules: Rules | None = None
) -> tuple[Decision, ...]:
    decider = ModelDecider(client, fallback=rules or Rules(), redact=unchanged)
    assert decider.kind is DeciderKind.MODEL
    return await decider.decide(DecisionRequest(tuple(facts), 5.0))


async def test_all_facts_are_decided_in_one_call_under_small_numbers() -> None:
    facts = [
        entry("The user's limit is 50,000", LIMIT, TEA),
        entry("The user drinks tea", TEA),
        entry("New thing"),
    ]
    async with scripted() as (server, client):
        server.will(Says(decisions(decision(0, "UPDATE", 0), decision(1, "NOOP", 1), decision(2, "ADD"))))
        assert await decide(client, facts) == (
            Decision(Action.UPDATE, "m_limit", None, "so"),
            Decision(Action.NOOP, "m_tea", None, "so"),
            Decision(Action.ADD, None, None, "so"),
        )
        [asked] = server.asked
        assert "m_limit" not in str(asked.body) and "u1" not in str(asked.body)
        assert asked.data == [
            {"memory": 0, "text": "The user's limit is 5,000", "recorded": "2023-11-14"},
            {"memory": 1, "text": "The user drinks tea", "recorded": "2024-03-09"},
            {"fact": 0, "text": "The user's limit is 50,000", "retraction": False, "candidates": [0, 1]},
            {"fact": 1, "text": "The user drinks tea", "retraction": False, "candidates": [1]},
            {"fact": 2, "text": "New thing", "retraction": False, "candidates": []},
        ]
        assert asked.system == load_prompt("decision", Language.EN).text


async def test_b08_numbers_never_offered_are_passed_on_to_be_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    facts = [entry(f"Fact {i}", LIMIT, TEA, HOME) for i in range(5)]
    answer = decisions(
        decision(0, "UPDATE", "12"),
        decision(1, "DELETE", "m_of_another_user"),
        decision(2, "UPDATE", 0),
        decision(3, "ADD"),
        decision(4, "DELETE", "The user drinks tea"),
    )
    async with scripted() as (server, client):
        server.will(Says(answer))
        with caplog.at_level(logging.WARNING):
            decided = await decide(client, facts)
        assert [(d.action, d.target_id) for d in decided] == [
            (Action.UPDATE, "12"),
            (Action.DELETE, "m_of_another_user"),
            (Action.UPDATE, "m_limit"),
            (Action.ADD, None),
            (Action.DELETE, "(not an id)"),
        ]
        assert "tea" not in caplog.text
        assert "'12'" in caplog.text and "'m_of_another_user'" in caplog.text


async def test_b08_numbers_as_text_are_accepted_and_real_ids_are_not() -> None:
    clash = Memory("7", "u1", "The user drinks tea")
    async with scripted() as (server, client):
        server.will(
            Says(decisions(decision(0, "NOOP", " 0 "), decision(1, "DELETE", "7"), decision(2, "DELETE", -1)))
        )
        decided = await decide(client, [entry("a", clash), entry("b", clash), entry("c", clash)])
        assert [d.target_id for d in decided] == ["7", "#7", "-1"]


async def test_facts_left_out_are_decided_by_the_rules_and_say_so() -> None:
    rules = Rules()
    facts = [entry("The user drinks tea", TEA), entry("用户住在深圳", HOME), entry("The user has a cat")]
    answer = decisions(
        decision(0, "NOOP", 0), {"fact": 1, "action": "MERGE", "target": 1}, decision(9, "ADD")
    )
    async with scripted() as (server, client):
        server.will(Says(answer))
        decided = await decide(client, facts, rules)
        assert rules.asked == ["用户住在深圳", "The user has a cat"]
        assert decided[0] == Decision(Action.NOOP, "m_tea", None, "so")
        assert decided[1].reason == "模型未给出可用的决定，改由规则决定：nothing like it"
        assert decided[2].reason == "the model gave no usable decision, the rules decided: nothing like it"


async def test_cut_decisions_keep_the_whole_ones() -> None:
    rules = Rules()
    cut = '{"decisions":[{"fact":0,"action":"NOOP","target":0,"reason":"x"},{"fact":1,"action":"DELETE","tar'
    async with scripted() as (server, client):
        server.will(Says(cut, "length"))
        decided = await decide(client, [entry("a", TEA), entry("b", TEA)], rules)
        assert [d.action for d in decided] == [Action.NOOP, Action.ADD] and rules.asked == ["b"]


async def test_b01_delete_and_add_of_one_fact_is_an_update() -> None:
    async with scripted() as (server, client):
        server.will(Says(decisions(decision(0, "DELETE", 0), decision(0, "ADD"))))
        [decided] = await decide(client, [entry("The user can't stand Sichuan food", TEA)])
        assert (decided.action, decided.target_id) == (Action.UPDATE, "m_tea")


async def test_decisions_without_numbers_stand_for_the_facts_in_order() -> None:
    items = [{"event": "none", "id": "0"}, {"event": "add"}]
    async with scripted() as (server, client):
        server.will(Says(decisions(*items)), Says(decisions(items[0])))
        both = [entry("a", TEA), entry("b")]
        assert [d.action for d in await decide(client, both)] == [Action.NOOP, Action.ADD]
        rules = Rules()
        await decide(client, both, rules)
        assert rules.asked == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The user drinks tea, never at night, and takes 2 sugars", True),
        ("The user drinks tea and takes 3 sugars, never at night", False),
        ("The user drinks tea at night and takes 2 sugars", False),
        ("The user drinks tea and coffee, never at night, 2 sugars, 9 cups", False),
        ("The user never takes 2 sugars at night", True),
        ("The user drinks tea, never at night", False),
        ("  ", False),
        (None, False),
    ],
)
async def test_a_merged_text_neither_adds_nor_loses(text: str | None, kept: bool) -> None:
    async with scripted() as (server, client):
        server.will(Says(decisions(decision(0, "UPDATE", 0, text))))
        [decided] = await decide(client, [entry("The user never takes 2 sugars at night", TEA)])
        fact_text = "The user never takes 2 sugars at night"
        assert decided.content == (text if kept and text != fact_text else None)


async def test_an_added_memory_is_the_fact_itself() -> None:
    async with scripted() as (server, client):
        server.will(Says(decisions(decision(0, "ADD", None, "Something else altogether"))))
        assert await decide(client, [entry("The user has a cat")]) == (
            Decision(Action.ADD, None, None, "so"),
        )


async def test_an_unreadable_decision_is_an_error_after_the_repair() -> None:
    async with scripted() as (server, client):
        server.will(Says("I'd update it."))
        with pytest.raises(ModelAnswerUnusable):
            await decide(client, [entry("a", TEA)])
        assert len(server.asked) == 2


async def test_an_empty_list_of_decisions_leaves_all_to_the_rules() -> None:
    rules = Rules()
    async with scripted() as (server, client):
        server.will(Says(decisions()))
        await decide(client, [entry("a", TEA)], rules)
        assert rules.asked == ["a"]
        assert await decide(client, []) == ()
        assert len(server.asked) == 1


async def test_chinese_facts_get_the_chinese_prompt() -> None:
    async with scripted() as (server, client):
        server.will(Says(decisions(decision(0, "UPDATE", 0))))
        await decide(client, [entry("用户上个月搬到深圳", HOME)])
        assert server.asked[0].system == load_prompt("decision", Language.ZH).text


async def test_secrets_are_cut_from_what_is_sent() -> None:
    async with scripted() as (server, client):
        server.will(Says(decisions(decision(0, "ADD"))))
        decider = ModelDecider(client, fallback=Rules(), redact=lambda t: t.replace("9876", "…"))
        await decider.decide(DecisionRequest((entry("PIN 9876", Memory("m", "u", "the PIN was 9876")),)))
        assert "9876" not in str(server.asked[0].body)
