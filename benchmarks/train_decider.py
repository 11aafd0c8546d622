"""Fit the weights of the built-in decider: `python -m benchmarks.train_decider [--check]`.

Cases: the public part and our own training cases, each also without its target; the held-out cases are never
fitted. The model is the log-linear choice of `memlane_core.builtin.decision.scorer`: penalised maximum likelihood,
where each action's weights are a common part (how much a candidate is what the fact is about) plus a part of their
own. `--check` only cross-validates. The result is deterministic and is written to
`core/memlane_core/builtin/decision/weights.json`.
"""

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.builtin.decision.scorer import TARGETED, options, survey
from memlane_core.domain.conversation import Fact
from memlane_core.domain.memory import Action
from memlane_core.evaluation.decisions import case_from_row, nominate

from .eval_decisions import PUBLIC, TRAIN, Row, load, right, table

PENALTY = 0.002
TWIN_IMPORTANCE = 0.1
"""Weight of a case without its target against one of a labelled case."""
DELETE_TWIN_IMPORTANCE = 0.6
"""The same where the fact takes something back: there a wrong choice deletes a memory."""
FOLDS = 8
_STEPS = 600
_RATE = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """One case as choices: a row of features for each, and which is right (-1: none can be)."""

    row: Row
    choices: tuple[tuple[str, str | None], ...]
    features: Floats
    """Shape (choices, width)."""
    answer: int
    case: int
    """Number of the case; a case and its twin without target are never on two sides of a fold."""
    twin: bool
    importance: float


@dataclass(frozen=True)
class Layout:
    """Where each feature stands in the long vector: ADD's, the common part, then one part for each action."""

    add: tuple[str, ...]
    pair: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.add) + (1 + len(TARGETED)) * len(self.pair)

    def part(self, index: int) -> slice:
        start = len(self.add) + index * len(self.pair)
        return slice(start, start + len(self.pair))

    def weights(self, vector: Floats) -> dict[str, dict[str, float]]:
        """As the scorer reads them: the common part is folded into each action's."""
        named = {Action.ADD.value: _named(self.add, vector[: len(self.add)])}
        for i, action in enumerate(TARGETED, 1):
            named[action.value] = _named(self.pair, vector[self.part(0)] + vector[self.part(i)])
        return named


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in zip(names, values, strict=True)}


def without_target(row: Row) -> Row | None:
    """The case as it would be had the target never been recorded: its fact is new then. None where nothing would be
    left to compare. What remains was chosen to mislead, which teaches when to leave a memory alone."""
    target_id = row["expected"]["target_id"]
    rest = [m for m in row["existing"] if m["id"] != target_id]
    if target_id is None or not rest:
        return None
    return {**row, "existing": rest, "expected": {"action": "ADD", "target_id": None}}


async def examples(rows: Sequence[Row], embedder: LocalEmbedder) -> tuple[list[Example], Layout]:
    situations = []
    for number, row in enumerate(rows):
        for variant, twin in ((row, False), (without_target(row), True)):
            if variant is None:
                continue
            candidates = await nominate(case_from_row(variant), embedder)
            situation = survey(
                Fact(row["new_info"]), candidates, nomination_threshold=embedder.nomination_threshold
            )
            situations.append((variant, candidates, situation, number, twin))
    first = situations[0][2]
    layout = Layout(tuple(first.add_features), tuple(first.comparisons[0].features))
    made = []
    for row, candidates, situation, number, twin in situations:
        choices: list[tuple[str, str | None]] = []
        vectors = []
        for action, index, features in options(situation, retraction=situation.fact.retracts):
            vector = np.zeros(layout.width)
            if index is None:
                vector[: len(layout.add)] = [features[name] for name in layout.add]
            else:
                values = [features[name] for name in layout.pair]
                vector[layout.part(0)] = values
                vector[layout.part(1 + TARGETED.index(action))] = values
            vectors.append(vector)
            choices.append((action.value, None if index is None else candidates[index].memory.memory_id))
        want = (row["expected"]["action"], row["expected"]["target_id"])
        answer = choices.index(want) if want in choices else -1
        importance = 1.0
        if twin:
            importance = DELETE_TWIN_IMPORTANCE if situation.fact.retracts else TWIN_IMPORTANCE
        made.append(Example(row, tuple(choices), np.array(vectors), answer, number, twin, importance))
    return made, layout


def fit(training: Sequence[Example], width: int) -> Floats:
    """Penalised maximum likelihood by Adam on the full gradient."""
    usable = [e for e in training if e.answer >= 0]
    rows = np.concatenate([e.features for e in usable])
    counts = np.array([len(e.choices) for e in usable])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    owner = np.repeat(np.arange(len(usable)), counts)
    answers = starts + np.array([e.answer for e in usable])
    importance = np.array([e.importance for e in usable])
    weights, momentum, scale = np.zeros(width), np.zeros(width), np.zeros(width)
    for step in range(1, _STEPS + 1):
        scores = rows @ weights
        mass = np.exp(scores - np.maximum.reduceat(scores, starts)[owner])
        probability = mass / np.add.reduceat(mass, starts)[owner]
        probability[answers] -= 1.0
        gradient = rows.T @ (probability * importance[owner]) / importance.sum() + PENALTY * weights
        momentum = 0.9 * momentum + 0.1 * gradient
        scale = 0.999 * scale + 0.001 * gradient**2
        weights = weights - _RATE * (momentum / (1 - 0.9**step)) / (np.sqrt(scale / (1 - 0.999**step)) + 1e-8)
    return weights


def correct(example: Example, weights: Floats) -> bool:
    action, target_id = example.choices[int(np.argmax(example.features @ weights))]
    return right(example.row, action, target_id)


def cross_validate(data: Sequence[Example], width: int, *, cases: int, seed: int) -> dict[bool, list[bool]]:
    """Each case (False) and each twin (True) judged by weights that were fitted without its fold."""
    fold_of = np.random.default_rng(seed).permutation(cases) % FOLDS
    verdicts = [False] * len(data)
    for fold in range(FOLDS):
        weights = fit([e for e in data if fold_of[e.case] != fold], width)
        for i, example in enumerate(data):
            if fold_of[example.case] == fold:
                verdicts[i] = correct(example, weights)
    judged: dict[bool, list[bool]] = {False: [], True: []}
    for example, verdict in zip(data, verdicts, strict=True):
        judged[example.twin].append(verdict)
    return judged


async def run(*, check_only: bool) -> None:
    embedder = LocalEmbedder()
    rows = [*load(PUBLIC), *load(TRAIN)]
    public = len(load(PUBLIC))
    data, layout = await examples(rows, embedder)
    embedder.close()
    for seed in range(3):
        verdicts = cross_validate(data, layout.width, cases=len(rows), seed=seed)
        own = verdicts[False]
        print(
            f"cross-validated, seed {seed}: {np.mean(own):.3f}, of these public {np.mean(own[:public]):.3f};"
            f" without their targets {np.mean(verdicts[True]):.3f}"
        )
    print(table(rows[:public], own[:public]))
    if check_only:
        return
    weights = fit(data, layout.width)
    print(f"fitted cases decided right: {np.mean([correct(e, weights) for e in data]):.3f}")
    target = Path(str(files("memlane_core.builtin.decision"))) / "weights.json"
    content = {
        "about": "Fitted by python -m benchmarks.train_decider; do not edit by hand.",
        "weights": layout.weights(weights),
    }
    target.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"written: {target.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only cross-validate, write nothing")
    asyncio.run(run(check_only=parser.parse_args().check))


if __name__ == "__main__":
    main()
