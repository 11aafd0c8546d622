"""The share of decisions that are right, on the public cases and on own ones that no weight was fitted to.

The floors lie below what was measured, so that a change of a word list that costs a case or two may pass and a loss
of a whole kind may not.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.builtin.decision import RulesDecider
from memlane_core.evaluation.decisions import (
    case_from_row,
    evaluate,
    evaluate_naive,
    load_cases,
    write_predictions,
)

DATA = Path(__file__).parents[4] / "benchmarks" / "data"
PUBLIC = DATA / "eval" / "decisions_public.jsonl"
HELD_OUT = DATA / "decisions_own_heldout.jsonl"


def right(row: dict[str, Any], action: str, target_id: str | None) -> bool:
    want = row["expected"]
    aimed = want["action"] in ("UPDATE", "DELETE")
    return bool(action == want["action"] and (not aimed or target_id == want["target_id"]))


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def shares(path: Path, embedder: LocalEmbedder) -> dict[str, float]:
    rows = load(path)
    decider = RulesDecider(embedder.nomination_threshold)
    predictions = await evaluate([case_from_row(r) for r in rows], decider, embedder)
    groups: dict[str, list[bool]] = defaultdict(list)
    for row, prediction in zip(rows, predictions, strict=True):
        for group in ("all", row["lang"], row["category"]):
            groups[group].append(right(row, prediction.action.value, prediction.target_id))
    return {group: sum(v) / len(v) for group, v in groups.items()}


@pytest.mark.parametrize(("path", "floor"), [(PUBLIC, 0.90), (HELD_OUT, 0.87)], ids=["public", "held-out"])
async def test_decisions_are_right(path: Path, floor: float, embedder: LocalEmbedder) -> None:
    found = await shares(path, embedder)
    assert found["all"] >= floor
    assert abs(found["zh"] - found["en"]) <= 0.08
    assert min(found.values()) >= 0.5, found


async def test_the_naive_method_is_far_behind(embedder: LocalEmbedder) -> None:
    rows = load(PUBLIC)
    predictions = await evaluate_naive([case_from_row(r) for r in rows], embedder, 0.85)
    verdicts = [right(r, p.action.value, p.target_id) for r, p in zip(rows, predictions, strict=True)]
    assert 0.2 < sum(verdicts) / len(verdicts) < 0.35


async def test_predictions_are_written_as_the_scorer_reads_them(
    tmp_path: Path, embedder: LocalEmbedder
) -> None:
    cases = load_cases(PUBLIC)[:3]
    seen: list[tuple[int, int]] = []
    decider = RulesDecider(embedder.nomination_threshold)
    predictions = await evaluate(cases, decider, embedder, lambda done, total: seen.append((done, total)))
    write_predictions(predictions, tmp_path / "out.jsonl")
    rows = load(tmp_path / "out.jsonl")
    assert [set(row) for row in rows] == [{"id", "action", "target_id"}] * 3
    assert [row["id"] for row in rows] == [c.case_id for c in cases]
    assert seen == [(1, 3), (2, 3), (3, 3)]
