"""Figures of the built-in rules and the local embedder on the public sets, by category and language, beside the naive
rule (cosine over 0.85 = UPDATE).

    python -m benchmarks.evaluate [--locomo PATH]

Writes benchmarks/results/eval.json and prints tables. LoCoMo is measured when its file is given.
"""

import argparse
import asyncio
import importlib.util
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.builtin.decision import RulesDecider
from memlane_core.builtin.extraction import RulesExtractor
from memlane_core.evaluation import decisions, extraction, locomo, retrieval, returning

DATA = Path(__file__).parent / "data" / "eval"
RESULTS = Path(__file__).parent / "results"
NAIVE_THRESHOLD = 0.85

Figures = dict[str, dict[str, float]]


def _scorer() -> Any:
    spec = importlib.util.spec_from_file_location("score", DATA / "score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCORE = _scorer()


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = SCORE.load(DATA / name)
    return rows


def figures(
    cases: Sequence[Mapping[str, Any]], predictions: Sequence[Mapping[str, Any]], score: Any
) -> Figures:
    """Means of each figure: overall, by language, by category."""
    by_id = {p["id"]: p for p in predictions}
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        for name, value in score(case, by_id.get(case["id"])).items():
            for group in ("all", case["lang"], case["category"]):
                groups[group][name].append(float(value))
    return {
        group: {"n": len(next(iter(values.values())))}
        | {name: round(sum(v) / len(v), 4) for name, v in values.items()}
        for group, values in groups.items()
    }


def show(console: Console, title: str, result: Figures) -> None:
    names = list(next(iter(result.values())))
    table = Table("", *names, title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for group, values in result.items():
        table.add_row(group, *(f"{values[n]:g}" if n == "n" else f"{values[n]:.3f}" for n in names))
    console.print(table)
    console.print()


async def measure(progress: Progress, locomo_path: Path | None) -> dict[str, Any]:
    embedder = LocalEmbedder()
    decider, extractor = RulesDecider(embedder.nomination_threshold), RulesExtractor()
    task = progress.add_task("measuring", total=5 + bool(locomo_path))
    results: dict[str, Any] = {}
    rows = _rows("decisions_public.jsonl")
    cases = [decisions.case_from_row(r) for r in rows]
    decided = await decisions.evaluate(cases, decider, embedder)
    results["decisions"] = figures(rows, [p.as_row() for p in decided], SCORE.score_decision)
    progress.advance(task)
    naive = await decisions.evaluate_naive(cases, embedder, NAIVE_THRESHOLD)
    results["decisions_naive"] = figures(rows, [p.as_row() for p in naive], SCORE.score_decision)
    progress.advance(task)
    rows = _rows("extraction_public.jsonl")
    extracted = await extraction.evaluate(extraction.load_cases(DATA / "extraction_public.jsonl"), extractor)
    results["extraction"] = figures(rows, extracted, SCORE.score_extraction)
    progress.advance(task)
    users = _rows("retrieval_public.jsonl")
    queries = [dict(q, lang=u["lang"], category=q["kind"]) for u in users for q in u["queries"]]
    ranked = await retrieval.evaluate(users, embedder)
    results["retrieval"] = figures(queries, ranked, SCORE.score_retrieval)
    progress.advance(task)
    results["returning"] = await returning.evaluate(
        returning.load_cases(DATA / "returning_customers.jsonl"), extractor, decider, embedder
    )
    progress.advance(task)
    if locomo_path is not None:
        results["locomo"] = await locomo.evaluate(locomo.load(locomo_path), embedder)
        progress.advance(task)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locomo", type=Path, help="the LoCoMo file, which is not shipped")
    arguments = parser.parse_args()
    console = Console()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        results = asyncio.run(measure(progress, arguments.locomo))
    show(console, "decisions: built-in rules", results["decisions"])
    show(console, f"decisions: naive, cosine over {NAIVE_THRESHOLD} = UPDATE", results["decisions_naive"])
    show(console, "extraction: built-in rules", results["extraction"])
    show(console, "retrieval: local embedder and words", results["retrieval"])
    console.print(
        f"returning customers: {results['returning']['rounds_saved']:.2f} rounds saved per customer "
        f"({results['returning']['by_language']})"
    )
    if "locomo" in results:
        console.print(f"LoCoMo evidence recall: {json.dumps(results['locomo'])}")
    RESULTS.mkdir(exist_ok=True)
    del results["returning"]["customers"]
    (RESULTS / "eval.json").write_text(
        json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
