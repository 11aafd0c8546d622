"""Score the built-in extractor: `python -m benchmarks.eval_extraction [CASES.jsonl …] [--wrong]`.

Without files: the public part, our own fresh conversations, and the returning customers.
"""

import argparse
import asyncio
import importlib.util
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.builtin.decision import RulesDecider
from memlane_core.builtin.extraction import RulesExtractor
from memlane_core.evaluation import returning
from memlane_core.evaluation.extraction import Case, evaluate, load_cases

DATA = Path(__file__).parent / "data" / "eval"
OWN = Path(__file__).parent.parent / "tests" / "unit" / "builtin" / "extraction" / "data"


def scorer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", DATA / "score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(scores: Sequence[tuple[Case, dict[str, Any]]]) -> str:
    """Means of every figure: overall, by language, by category."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for case, score in scores:
        for group in ("all", case["lang"], case["category"]):
            groups[group].append(score)
    lines = []
    for group, rows in groups.items():
        figures = "  ".join(f"{name} {sum(float(r[name]) for r in rows) / len(rows):.3f}" for name in rows[0])
        lines.append(f"  {group:20} n {len(rows):3}  {figures}")
    return "\n".join(lines)


async def conversations(path: Path, *, wrong: bool) -> None:
    score = scorer()
    cases = load_cases(path)
    extractor = RulesExtractor()
    await evaluate(cases[:1], extractor)
    started = time.perf_counter()
    predictions = await evaluate(cases, extractor)
    spent = (time.perf_counter() - started) / len(cases) * 1000
    scores = [(c, score.score_extraction(c, p)) for c, p in zip(cases, predictions, strict=True)]
    print(f"{path.name}: {len(cases)} conversations, {spent:.1f} ms each\n{table(scores)}")
    for (case, figures), prediction in zip(scores, predictions, strict=True):
        if wrong and not figures["case"]:
            print(f"  {case['id']}", *(m["content"] for m in prediction["memories"]), sep="\n    ")


async def customers() -> None:
    embedder = LocalEmbedder()
    result = await returning.evaluate(
        returning.load_cases(DATA / "returning_customers.jsonl"),
        RulesExtractor(),
        RulesDecider(embedder.nomination_threshold),
        embedder,
    )
    print(f"rounds saved per customer: {result['rounds_saved']} {result['by_language']}")


async def run(paths: Sequence[Path], *, wrong: bool) -> None:
    for path in paths or (DATA / "extraction_public.jsonl", *sorted(OWN.glob("*.jsonl"))):
        await conversations(path, wrong=wrong)
    if not paths:
        await customers()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--wrong", action="store_true", help="show the cases that are not whole")
    arguments = parser.parse_args()
    asyncio.run(run(arguments.paths, wrong=arguments.wrong))
