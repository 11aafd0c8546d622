"""`memlane eval`: how well extraction, decisions and retrieval do, on files of cases.

Kernels and language models are imported where they are used: every `memlane` command imports this module.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memlane_core.domain.errors import MemlaneError

from .connection import console, errors, fail
from .operate import Config, load_or_fail

if TYPE_CHECKING:
    from ..models import Minds

app = typer.Typer(help="Measure on files of cases (JSONL).", no_args_is_help=True)


class Decider(StrEnum):
    RULES = "rules"
    MODEL = "model"


Cases = Annotated[Path, typer.Argument(help="File of cases", exists=True, dir_okay=False, show_default=False)]
Out = Annotated[Path, typer.Option("--out", "-o", help="Where to write the predictions", show_default=False)]
WhoDecides = Annotated[Decider, typer.Option("--decider", help="The built-in rules or the configured model")]
Report = Callable[[int, int], None]


@app.command(name="decisions")
def decide(cases: Cases, out: Out, decider: WhoDecides = Decider.RULES, config: Config = None) -> None:
    """Decide each case's new fact; rows {"id", "action", "target_id"}."""
    from memlane_core.evaluation import decisions

    async def run(mind: "Minds", report: Report) -> None:
        predictions = await decisions.evaluate(
            decisions.load_cases(cases), mind.decider, mind.embedder, report
        )
        decisions.write_predictions(predictions, out)

    _measure(run, decider, config, out)


@app.command(name="extraction")
def extract(cases: Cases, out: Out, decider: WhoDecides = Decider.RULES, config: Config = None) -> None:
    """Extract each conversation's facts; rows {"id", "memories": [{"content", "ttl_days"}]}."""
    from memlane_core.evaluation import extraction

    async def run(mind: "Minds", report: Report) -> None:
        rows = await extraction.evaluate(extraction.load_cases(cases), mind.extractor, report)
        extraction.write_predictions(rows, out)

    _measure(run, decider, config, out)


@app.command(name="retrieval")
def retrieve(cases: Cases, out: Out, decider: WhoDecides = Decider.RULES, config: Config = None) -> None:
    """Search each user's memories for each query; rows {"id", "ids"}."""
    from memlane_core.evaluation import extraction, retrieval

    async def run(mind: "Minds", report: Report) -> None:
        rows = await retrieval.evaluate(retrieval.load_cases(cases), mind.embedder, report)
        extraction.write_predictions(rows, out)

    _measure(run, decider, config, out)


@app.command(name="returning")
def replay(cases: Cases, out: Out, decider: WhoDecides = Decider.RULES, config: Config = None) -> None:
    """Replay returning customers without memory and with it; JSON with `rounds_saved` per customer."""
    from memlane_core.evaluation import returning

    async def run(mind: "Minds", report: Report) -> None:
        result = await returning.evaluate(
            returning.load_cases(cases), mind.extractor, mind.decider, mind.embedder, report
        )
        _write(out, result)
        console.print(f"rounds saved per customer: [bold]{result['rounds_saved']:.2f}[/]")

    _measure(run, decider, config, out)


@app.command(name="locomo")
def long_conversations(
    path: Cases,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the figures")] = None,
    decider: WhoDecides = Decider.RULES,
    config: Config = None,
) -> None:
    """Evidence recall on LoCoMo, whose file you bring yourself (its licence is non-commercial)."""
    from memlane_core.evaluation import locomo

    async def run(mind: "Minds", report: Report) -> None:
        result = await locomo.evaluate(locomo.load(path), mind.embedder, report)
        if out is not None:
            _write(out, result)
        console.print_json(json.dumps(result))

    _measure(run, decider, config, out)


def _measure(
    run: Callable[["Minds", Report], Coroutine[Any, Any, None]],
    decider: Decider,
    config: Path | None,
    out: Path | None,
) -> None:
    from ..models import minds

    settings = load_or_fail(config)
    settings.memory.decider = decider.value
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    try:
        with Progress(*columns, console=errors, transient=True) as progress:
            task = progress.add_task("cases", total=None)
            asyncio.run(
                run(minds(settings), lambda done, total: progress.update(task, completed=done, total=total))
            )
    except MemlaneError as error:
        fail(error.message)
    except ValueError as error:
        fail(str(error), 2)
    if out is not None:
        console.print(f"written: {out}")


def _write(out: Path, result: dict[str, Any]) -> None:
    out.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
