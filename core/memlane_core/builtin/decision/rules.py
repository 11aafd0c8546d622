"""The built-in decider: no model, no network, about 2 ms a fact."""

import asyncio
from collections.abc import Sequence

from ...domain.conversation import Fact
from ...domain.decision import Candidate, Decision
from ...domain.memory import Action, DeciderKind
from ...ports.decider import DecisionRequest
from ..text.normalise import fold, is_chinese
from .reasons import explain, reason
from .scorer import Choice, Situation, Weights, built_in_weights, choices, survey

_SAME_TEXT_ENDINGS = " .。!！~"


class RulesDecider:
    """Implements `ports.decider.Decider` by reading and comparing.

    `nomination_threshold` is the embedder's (see `ports.embedder.Embedder`): it tells what its cosines mean.
    """

    def __init__(self, nomination_threshold: float) -> None:
        if not 0 < nomination_threshold < 1:
            raise ValueError(f"nomination_threshold must lie between 0 and 1, not {nomination_threshold}")
        self._nomination_threshold = nomination_threshold
        self._weights = built_in_weights()

    @property
    def kind(self) -> DeciderKind:
        return DeciderKind.RULES

    async def decide(self, request: DecisionRequest) -> tuple[Decision, ...]:
        """Each fact against the candidates given with it. Raises nothing.

        About 2 ms of computing a fact; between facts the event loop gets its turn.
        """
        decisions = []
        for item in request.facts:
            decisions.append(
                decide_fact(
                    item.fact,
                    item.candidates,
                    nomination_threshold=self._nomination_threshold,
                    weights=self._weights,
                )
            )
            await asyncio.sleep(0)
        return tuple(decisions)


def decide_fact(
    fact: Fact,
    candidates: Sequence[Candidate],
    *,
    nomination_threshold: float,
    weights: Weights | None = None,
) -> Decision:
    """One fact against its candidates, which may come in any order.

    A retraction that matches nothing is a NOOP without target. Raises nothing.
    """
    chinese = is_chinese(fact.content)
    if not candidates:
        if fact.retraction:
            return Decision(Action.NOOP, reason=reason("nothing_to_retract", chinese=chinese))
        return Decision(Action.ADD, reason=reason("first", chinese=chinese))
    text = _plain(fact.content)
    for candidate in candidates:
        if _plain(candidate.memory.content) == text:
            return Decision(
                Action.NOOP, candidate.memory.memory_id, reason=reason("same_text", chinese=chinese)
            )
    situation = survey(fact, candidates, nomination_threshold=nomination_threshold)
    choice = _choose(fact, situation, weights or built_in_weights())
    if choice is None:
        return Decision(Action.NOOP, reason=reason("nothing_to_retract", chinese=chinese))
    if choice.index is None:
        nearest = max(
            situation.comparisons, key=lambda c: c.features["cover_fact"] + c.features["similarity"]
        )
        return Decision(Action.ADD, reason=explain(Action.ADD, situation.fact, nearest))
    return Decision(
        choice.action,
        candidates[choice.index].memory.memory_id,
        reason=explain(choice.action, situation.fact, situation.comparisons[choice.index]),
    )


def _choose(fact: Fact, situation: Situation, weights: Weights) -> Choice | None:
    """The most probable choice; a fact marked as retraction deletes what it concerns or does nothing."""
    retraction = fact.retraction or situation.fact.retracts
    ranked = choices(situation, weights, retraction=retraction)
    if not fact.retraction:
        return ranked[0]
    best = next((c for c in ranked if c.action is Action.DELETE), None)
    add = next(c for c in ranked if c.action is Action.ADD)
    return best if best is not None and best.probability > add.probability else None


def _plain(text: str) -> str:
    return fold(text).strip(_SAME_TEXT_ENDINGS)
