"""Weighs the features of each candidate: a log-linear choice among ADD and (candidate, action).

P(choice) is proportional to exp(weights · features). The weights are data (`weights.json`), fitted by
`python -m benchmarks.train_decider` on the development cases under benchmarks/data.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ...domain.conversation import Fact
from ...domain.decision import Candidate
from ...domain.memory import Action
from .comparison import Comparison, compare, word_weights
from .reading import Reading, read

CUSTOMARY_THRESHOLD = 0.85
"""The threshold that `nomination_threshold` of an embedder stands for."""
TARGETED = (Action.UPDATE, Action.DELETE, Action.NOOP)

Weights = Mapping[str, Mapping[str, float]]
"""Action name → feature name → weight."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A fact with its candidates, read and compared."""

    fact: Reading
    candidates: tuple[Reading, ...]
    comparisons: tuple[Comparison, ...]
    add_features: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible decision with its probability among all."""

    action: Action
    index: int | None
    """Which candidate; None for ADD."""
    probability: float


def scaled_similarity(similarity: float, nomination_threshold: float) -> float:
    """The cosine on the scale on which this embedder's threshold is the customary 0.85: 0..1."""
    if similarity >= nomination_threshold:
        share = (similarity - nomination_threshold) / max(1e-6, 1 - nomination_threshold)
        return CUSTOMARY_THRESHOLD + (1 - CUSTOMARY_THRESHOLD) * min(1.0, share)
    return max(0.0, CUSTOMARY_THRESHOLD * similarity / nomination_threshold)


def survey(fact: Fact, candidates: Sequence[Candidate], *, nomination_threshold: float) -> Situation:
    """Read and compare everything once."""
    reading = read(fact.content)
    others = tuple(read(c.memory.content) for c in candidates)
    weights = word_weights(others)
    similarities = [scaled_similarity(c.similarity, nomination_threshold) for c in candidates]
    comparisons = tuple(compare(reading, o, s, weights) for o, s in zip(others, similarities, strict=True))
    best = max(similarities, default=0.0)
    add_features = {
        "bias": 1.0,
        "similarity": best,
        "adds": float(reading.adds),
        "becomes": float(reading.becomes),
        "now": float(reading.tells_now),
        "retracts": float(reading.retracts),
        "cover_fact": max((c.features["cover_fact"] for c in comparisons), default=0.0),
    }
    return Situation(reading, others, comparisons, add_features)


def options(
    situation: Situation, *, retraction: bool
) -> Iterator[tuple[Action, int | None, Mapping[str, float]]]:
    """Every decision that is possible at all, with its features.

    DELETE needs a retraction that names no other number, NOOP that the fact says nothing else than the candidate;
    another person's memory is no target.
    """
    yield Action.ADD, None, situation.add_features
    for i, comparison in enumerate(situation.comparisons):
        if not comparison.may_concern:
            continue
        yield Action.UPDATE, i, comparison.features
        if retraction and not comparison.number_swap:
            yield Action.DELETE, i, comparison.features
        if comparison.may_repeat:
            yield Action.NOOP, i, comparison.features


def choices(situation: Situation, weights: Weights, *, retraction: bool) -> list[Choice]:
    """All choices, most probable first."""
    scored = [
        (action, i, dot(weights[action.value], features))
        for action, i, features in options(situation, retraction=retraction)
    ]
    top = max(score for _, _, score in scored)
    mass = [math.exp(score - top) for _, _, score in scored]
    total = sum(mass)
    ranked = [Choice(a, i, m / total) for (a, i, _), m in zip(scored, mass, strict=True)]
    ranked.sort(key=lambda c: -c.probability)
    return ranked


def dot(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in features.items())


@cache
def built_in_weights() -> Weights:
    """The weights that ship with the package."""
    text = resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, float]] = json.loads(text)["weights"]
    return loaded
