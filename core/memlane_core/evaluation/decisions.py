"""Decisions on labelled cases: each case is a user's memories and one new fact.

A case is `{"id", "existing": [{"id", "content"}], "new_info"}`; a prediction is `{"id", "action", "target_id"}`.
Memories are nominated by the embedder and decided by a decider and the guards, as `Remember` does it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..domain.conversation import Fact
from ..domain.decision import Candidate, FactToDecide
from ..domain.errors import InvalidArgument
from ..domain.memory import Action, Memory
from ..guards import GuardPolicy, guard
from ..ports.decider import Decider, DecisionRequest
from ..ports.embedder import Embedder

CANDIDATES = 5
"""Memories nominated for one fact, as in `Remember`."""
_USER = "evaluation"
_NEARLY_EQUAL = 0.97
"""Cosine from which the naive method takes two texts for one."""

Progress = Callable[[int, int], None]
"""Called with (cases done, cases in all)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled or unlabelled case; labels are not read here."""

    case_id: str
    existing: tuple[Memory, ...]
    new_info: str


@dataclass(frozen=True, slots=True)
class Prediction:
    case_id: str
    action: Action
    target_id: str | None

    def as_row(self) -> dict[str, str | None]:
        """The row that `score.py decisions` reads."""
        return {"id": self.case_id, "action": self.action.value, "target_id": self.target_id}


def load_cases(path: Path) -> list[Case]:
    """Cases of a JSONL file in UTF-8. Raises InvalidArgument naming the line that is no case."""
    cases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            cases.append(case_from_row(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            raise InvalidArgument.of(f"cases, line {number}", "not a decision case") from None
    return cases


def case_from_row(row: Mapping[str, Any]) -> Case:
    """Raises KeyError or TypeError where a field is missing or of another type."""
    existing = tuple(Memory(str(m["id"]), _USER, str(m["content"])) for m in row["existing"])
    return Case(str(row["id"]), existing, str(row["new_info"]))


def write_predictions(predictions: Sequence[Prediction], path: Path) -> None:
    """One JSON object a line."""
    lines = (json.dumps(p.as_row(), ensure_ascii=False) for p in predictions)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


async def nominate(case: Case, embedder: Embedder) -> tuple[Candidate, ...]:
    """The memories of a case nearest to its fact, most similar first, at most `CANDIDATES`.

    Raises what the embedder raises.
    """
    if not case.existing:
        return ()
    vectors = await embedder.embed([case.new_info, *(m.content for m in case.existing)])
    similarities = vectors[1:] @ vectors[0]
    candidates = [Candidate(m, float(s)) for m, s in zip(case.existing, similarities, strict=True)]
    candidates.sort(key=lambda c: -c.similarity)
    return tuple(candidates[:CANDIDATES])


async def evaluate(
    cases: Sequence[Case],
    decider: Decider,
    embedder: Embedder,
    progress: Progress | None = None,
    *,
    policy: GuardPolicy | None = None,
) -> list[Prediction]:
    """Decide every case on its own. A decision that the guards refuse changes nothing: it counts as NOOP.

    Raises what decider and embedder raise.
    """
    predictions = []
    for done, case in enumerate(cases, 1):
        candidates = await nominate(case, embedder)
        fact = Fact(case.new_info)
        (decision,) = await decider.decide(DecisionRequest((FactToDecide(fact, candidates),)))
        guarded = guard(decision, fact, candidates, policy)
        if guarded.rejected:
            predictions.append(Prediction(case.case_id, Action.NOOP, None))
        else:
            predictions.append(Prediction(case.case_id, guarded.decision.action, guarded.decision.target_id))
        if progress:
            progress(done, len(cases))
    return predictions


async def evaluate_naive(
    cases: Sequence[Case], embedder: Embedder, threshold: float, progress: Progress | None = None
) -> list[Prediction]:
    """The method to beat: the nearest memory's cosine alone. From `threshold` on UPDATE, nearly equal NOOP, else ADD.

    Raises what the embedder raises.
    """
    predictions = []
    for done, case in enumerate(cases, 1):
        candidates = await nominate(case, embedder)
        action, target_id = Action.ADD, None
        if candidates and candidates[0].similarity > threshold:
            action = Action.NOOP if candidates[0].similarity > _NEARLY_EQUAL else Action.UPDATE
            target_id = candidates[0].memory.memory_id
        predictions.append(Prediction(case.case_id, action, target_id))
        if progress:
            progress(done, len(cases))
    return predictions
