"""The whole benchmark: kernels, prompt budget, service, growth. Under twenty minutes on two cores.

    python -m benchmarks.suite [--only kernels,growth] [--pace 1.0] [--report-only]

Writes benchmarks/results/bench.json (flat keys; machine, versions, commit, date, load average), bench.md and a plot
for each part. `--only` measures some parts anew and keeps the others' figures; each part's commit and date stand in
the file. A part that fails is reported and does not take the others' figures with it; the exit code is then 1.
"""

import argparse
import importlib
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memlane_server.bench.load import GeneratorFailed

from . import bounds
from .report import PREFIXES, RESULTS, Results, load_results, merge_results
from .timing import Progress


@dataclass(frozen=True, slots=True)
class Part:
    """A module of this package with `run(..., progress) -> figures`, and `table(figures)` if it has one."""

    name: str
    title: str
    seconds: Mapping[str, float]
    """Arguments of `run` that say how long is measured; they grow with --pace."""
    command: str = ""
    """What measures it, where it has an environment of its own: then it is only shown here."""

    def run(self, pace: float, progress: Progress) -> dict[str, float]:
        module = importlib.import_module(f"{__package__}.{self.name}")
        seconds = {name: value * pace for name, value in self.seconds.items()}
        figures: dict[str, float] = module.run(**seconds, progress=progress)
        return figures


PARTS = (
    Part("kernels", "Kernels", {"seconds_per_size": 4.0}),
    Part("prompt_budget", "Prompt budget", {"seconds": 60.0}),
    Part("service", "Service", {"seconds_per_point": 2.0}),
    Part("growth", "Growth", {"seconds_per_point": 6.0}),
    Part("peers", "Peers", {}, command="make bench-peers"),
)
MEASURED_HERE = tuple(part.name for part in PARTS if not part.command)


class Clock:
    """Says what is being done, and when."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def say(self, *said: object) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        print(f"[{minutes:02}:{seconds:02}]", *said, file=sys.stderr, flush=True)


def measure(names: list[str], pace: float, clock: Clock) -> list[str]:
    """Run parts and keep their figures as soon as they are there; returns those that failed."""
    failed = []
    for part in PARTS:
        if part.name not in names:
            continue
        try:
            figures = part.run(pace, clock.say)
        # The edge of the program: what the other parts measured must not be lost.
        except Exception as error:  # noqa: BLE001 - the other parts go on, and the run fails in the end
            hint = ": `make bench` installs what it needs" if isinstance(error, ImportError) else ""
            if not isinstance(error, ImportError | GeneratorFailed):
                traceback.print_exc()
            clock.say(f"{part.name} could not be measured: {error}{hint}")
            failed.append(part.name)
            continue
        merge_results(part.name, figures)
        clock.say(f"{part.name}: {len(figures)} figures")
    return failed


def figures_of(results: Results) -> dict[str, float]:
    """The measured figures alone."""
    prefixes = tuple(prefix for owned in PREFIXES.values() for prefix in owned)
    return {k: v for k, v in results.items() if k.startswith(prefixes) and not isinstance(v, str)}


def markdown(results: Results) -> str:
    figures = figures_of(results)
    about = {k: v for k, v in results.items() if k not in figures and not k.startswith("version.")}
    versions = ", ".join(
        f"{k.removeprefix('version.')} {v}" for k, v in results.items() if k.startswith("version.")
    )
    lines = ["# Benchmarks", "", *(f"- {key}: {value}" for key, value in about.items())]
    lines += [f"- versions: {versions}", "", bounds.table(figures), ""]
    for part in PARTS:
        if f"measured.{part.name}" not in results:
            continue
        lines += [f"## {part.title}", "", f"![{part.title}]({part.name}.png)", ""]
        if part.command:
            lines += [f"`{part.command}`: [tables, versions and settings]({part.name}.md)", ""]
        else:
            module = importlib.import_module(f"{__package__}.{part.name}")
            table: Callable[[dict[str, float]], str] = getattr(module, "table", _plain_table(part.name))
            lines += [table(figures), ""]
    return "\n".join(lines)


def write_reports(results: Results, clock: Clock) -> None:
    """bench.md and the plots of all parts that were ever measured."""
    (RESULTS / "bench.md").write_text(markdown(results), encoding="utf-8")
    plots = importlib.import_module(f"{__package__}.plots")
    for part in PARTS:
        if part.name in MEASURED_HERE and f"measured.{part.name}" in results:
            getattr(plots, part.name)(figures_of(results), RESULTS / f"{part.name}.png")
    clock.say(f"written: {RESULTS / 'bench.json'}, bench.md and plots beside it")


def _plain_table(name: str) -> Callable[[dict[str, float]], str]:
    def table(figures: dict[str, float]) -> str:
        rows = [f"| {k} | {v:g} |" for k, v in figures.items() if k.startswith(PREFIXES[name])]
        return "\n".join(["| figure | |", "|---|---:|", *rows])

    return table


def _parts(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(MEASURED_HERE)):
        raise argparse.ArgumentTypeError(
            f"no part {', '.join(unknown)}; there are {', '.join(MEASURED_HERE)}"
        )
    return names


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_parts, default=list(MEASURED_HERE), help="parts, parted by commas")
    parser.add_argument("--pace", type=float, default=1.0, help="factor on the time measured at each point")
    parser.add_argument("--report-only", action="store_true", help="measure nothing, write the reports anew")
    options = parser.parse_args()
    clock = Clock()
    failed = [] if options.report_only else measure(options.only, options.pace, clock)
    results = load_results()
    write_reports(results, clock)
    print(bounds.table(figures_of(results)))
    if failed:
        sys.exit(f"not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
