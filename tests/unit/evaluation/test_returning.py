"""Returning customers: what counts as known, and what has to be asked."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from memlane_core.builtin.decision import RulesDecider
from memlane_core.builtin.extraction import RulesExtractor
from memlane_core.domain.memory import Memory
from memlane_core.evaluation import returning
from memlane_core.ports.embedder import Vectors
from memlane_core.ports.vector_store import StoredRow

CASE = {
    "user_id": "u1",
    "lang": "en",
    "first_session": ["I can save SGD 1,500 a month", "I have no life cover whatsoever"],
    "required_slots": [
        {
            "slot": "saving",
            "question": "How much can you save?",
            "answer_keywords": ["1,500|1500"],
            "memory": "m",
        },
        {
            "slot": "spread",
            "question": "Saving and cover?",
            "answer_keywords": ["1500", "life cover"],
            "memory": "m",
        },
        {"slot": "debts", "question": "Any debts?", "answer_keywords": [], "memory": None},
    ],
}


class Letters:
    """An embedder of character pairs: enough to tell sentences apart, and the same every time."""

    model = "letters"
    dimension = 64
    nomination_threshold = 0.9

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for a, b in pairwise(text):
                row[(ord(a) * 31 + ord(b)) % self.dimension] += 1.0
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


async def play(search: returning.Search | None = None) -> dict[str, object]:
    embedder = Letters()
    result = await returning.evaluate(
        [CASE], RulesExtractor(), RulesDecider(embedder.nomination_threshold), embedder, search=search
    )
    [customer] = result["customers"]
    assert result["rounds_saved"] == customer["rounds_saved"]
    return dict(customer)


async def test_slot_is_known_only_when_one_memory_holds_the_whole_answer() -> None:
    customer = await play()
    assert customer["known"] == ["saving"]
    assert customer["asked"] == ["spread", "debts"]
    assert customer["rounds_without_memory"] == 3
    assert customer["rounds_with_memory"] == 2
    assert customer["memories"] == ["User can save SGD 1,500 a month", "User has no life cover whatsoever"]


async def test_search_can_be_plugged_in_and_is_asked_the_assistants_question() -> None:
    asked: list[str] = []

    async def blind(rows: Sequence[StoredRow], question: str, top_k: int) -> Sequence[Memory]:
        asked.append(question)
        assert (len(rows), top_k) == (2, returning.TOP_K)
        return ()

    customer = await play(blind)
    assert customer["rounds_saved"] == 0
    assert asked == ["How much can you save?", "Saving and cover?"]


@pytest.mark.parametrize(
    ("text", "keywords", "held"),
    [
        ("User can save SGD 1,500", ["1500"], True),
        ("用户每年能拿出１２０００元", ["12,000|12000"], True),
        ("User would rather not offer the house", ["house|home", "rather not"], True),
        ("User offers the house", ["house", "rather not"], False),
    ],
)
def test_keywords_are_compared_as_the_scorer_does(text: str, keywords: list[str], held: bool) -> None:
    assert returning.holds(text, keywords) is held
