"""Score the built-in decider on decision cases: `python -m benchmarks.eval_decisions [CASES.jsonl …] [--wrong]`.

Without files: the public part, our own held-out cases and the naive baseline on the public part.
"""

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.builtin.decision import RulesDecider
from memlane_core.evaluation.decisions import Prediction, case_from_row, evaluate, evaluate_naive

DATA = Path(__file__).parent / "data"
PUBLIC = DATA / "eval" / "decisions_public.jsonl"
TRAIN = DATA / "decisions_own_train.jsonl"
HELD_OUT = DATA / "decisions_own_heldout.jsonl"

Row = Mapping[str, Any]


def load(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def right(row: Row, action: str, target_id: str | None) -> bool:
    """The rule of `data/eval/score.py`: the target counts for UPDATE and DELETE."""
    want = row["expected"]
    aimed = want["action"] in ("UPDATE", "DELETE")
    return bool(action == want["action"] and (not aimed or target_id == want["target_id"]))


def table(rows: Sequence[Row], verdicts: Sequence[bool]) -> str:
    """Shares of right ones: overall, by language, by category."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for row, verdict in zip(rows, verdicts, strict=True):
        for group in ("all", row["lang"], row["category"]):
            groups[group].append(verdict)
    return "\n".join(f"  {g:34} {sum(v):3}/{len(v):3}  {sum(v) / len(v):.3f}" for g, v in groups.items())


def report(rows: Sequence[Row], predictions: Sequence[Prediction], *, wrong: bool) -> None:
    verdicts = [right(r, p.action.value, p.target_id) for r, p in zip(rows, predictions, strict=True)]
    print(table(rows, verdicts))
    if wrong:
        for row, prediction, verdict in zip(rows, predictions, verdicts, strict=True):
            if not verdict:
                want = row["expected"]
                print(f"  {row['id']}: {want['action']} {want['target_id']} expected,", prediction.as_row())


async def run(paths: Sequence[Path], *, wrong: bool) -> None:
    embedder = LocalEmbedder()
    decider = RulesDecider(embedder.nomination_threshold)
    for path in paths or (PUBLIC, HELD_OUT):
        rows = load(path)
        started = time.perf_counter()
        predictions = await evaluate([case_from_row(r) for r in rows], decider, embedder)
        seconds = time.perf_counter() - started
        print(f"{path.name}: {len(rows)} cases, {seconds / len(rows) * 1000:.1f} ms each, embedding included")
        report(rows, predictions, wrong=wrong)
    if not paths:
        rows = load(PUBLIC)
        cases = [case_from_row(r) for r in rows]
        for threshold in (0.85, embedder.nomination_threshold):
            print(f"naive baseline, threshold {threshold}:")
            report(rows, await evaluate_naive(cases, embedder, threshold), wrong=False)
    embedder.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", type=Path)
    parser.add_argument("--wrong", action="store_true", help="list the cases decided wrongly")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.cases, wrong=arguments.wrong))


if __name__ == "__main__":
    main()
