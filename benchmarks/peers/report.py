"""What was seen, as figures and as tables."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .. import bounds
from ..report import BENCH, RESULTS, about, merge_results
from .corpus import DELETED_SHARE, TOP_K, Corpus
from .peer import Kind

OURS: Mapping[Kind, str] = {"service": "memlane", "engine": "memlane_index", "reference": "memlane_index"}
"""Whom the others of a kind are compared with."""
RATIOS: Mapping[Kind, str] = {
    "service": "peers.best_service_over_memlane",
    "engine": "peers.best_engine_over_index",
}
_HEADINGS: Mapping[Kind, str] = {
    "service": "Services: reached over a socket",
    "engine": "Engines: inside the calling process",
    "reference": "For reference: not the same work",
}
_PERCENTILES = ("p50", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Measured:
    """One contender's figures. Times in microseconds."""

    name: str
    title: str
    kind: Kind
    version: str
    settings: str
    recall: float
    """Mean share of the five right rows that were among those found."""
    calls: int
    load_seconds: float
    nbytes: int
    """What it keeps for the corpus: on disk, or in memory where nothing is on disk."""
    p50_us: float
    p95_us: float
    p99_us: float

    @property
    def exact(self) -> bool:
        return self.recall == 1.0


@dataclass(frozen=True, slots=True)
class Missing:
    """One that could not be measured."""

    name: str
    reason: str

    def __str__(self) -> str:
        return self.reason


Outcome = Measured | Missing


def measured(outcomes: Sequence[Outcome], kind: Kind | None = None) -> list[Measured]:
    return [o for o in outcomes if isinstance(o, Measured) and kind in (None, o.kind)]


def rivals(outcomes: Sequence[Outcome], kind: Kind) -> list[Measured]:
    """Others than ours with recall 1.0, the one of the lowest p50 first."""
    others = [o for o in measured(outcomes, kind) if o.name != OURS[kind] and o.exact]
    return sorted(others, key=lambda o: o.p50_us)


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Flat, with the prefix `peers.`; a ratio is left out where one of its two sides was not measured."""
    flat: dict[str, float] = {}
    for o in measured(outcomes):
        flat |= {f"peers.{o.name}.{p}_us": getattr(o, f"{p}_us") for p in _PERCENTILES}
        flat |= {f"peers.{o.name}.recall": o.recall, f"peers.{o.name}.bytes": o.nbytes}
    for kind, key in RATIOS.items():
        ours = ours_of(outcomes, kind)
        others = rivals(outcomes, kind)
        if ours is not None and others:
            flat |= {
                f"{key}.{p}": round(getattr(others[0], f"{p}_us") / getattr(ours, f"{p}_us"), 3)
                for p in _PERCENTILES
            }
    return flat


def ours_of(outcomes: Sequence[Outcome], kind: Kind) -> Measured | None:
    return next((o for o in measured(outcomes) if o.name == OURS[kind]), None)


def table(outcomes: Sequence[Outcome]) -> str:
    """As Markdown: a table for each kind, how each is set up, and who is missing."""
    lines: list[str] = []
    for kind, heading in _HEADINGS.items():
        group = sorted(measured(outcomes, kind), key=lambda o: o.p50_us)
        if not group:
            continue
        ours = ours_of(outcomes, kind)
        against = "" if ours is None else f" p50 over {ours.title} |"
        lines += [
            f"## {heading}",
            "",
            f"| | recall@{TOP_K} | p50 ms | p95 ms | p99 ms |{against} MB kept | loaded in s | calls |",
            "|---|---:|---:|---:|---:|" + "---:|" * (bool(against) + 3),
        ]
        for o in group:
            times = " | ".join(milliseconds(getattr(o, f"{p}_us")) for p in _PERCENTILES)
            ratio = "" if ours is None else f" {o.p50_us / ours.p50_us:.2f} |"
            kept = f"{o.nbytes / 1e6:,.0f} | {o.load_seconds:,.0f} | {o.calls}"
            lines.append(f"| {o.title} | {o.recall:.3f} | {times} |{ratio} {kept} |")
        lines.append("")
    lines += ["## Versions and settings", "", "| | version | how it is set up |", "|---|---|---|"]
    lines += [f"| {o.title} | {o.version} | {o.settings} |" for o in measured(outcomes)]
    if missing := [o for o in outcomes if isinstance(o, Missing)]:
        lines += ["", "## Not measured", "", *(f"- {o.name}: {o.reason}" for o in missing)]
    return "\n".join(lines)


def verdicts(outcomes: Sequence[Outcome]) -> str:
    """As Markdown: the bounds of this part, and whom they were held against."""
    seen = figures(outcomes)
    lines = ["| it holds when | bound | measured | against | |", "|---|---:|---:|---|---|"]
    for kind, key in RATIOS.items():
        for verdict in bounds.verdicts(seen):
            if verdict.bound.key == f"{key}.p50":
                best = rivals(outcomes, kind)
                value = "" if verdict.value is None else f"{verdict.value:.2f}"
                lines.append(
                    f"| {verdict.bound.meaning} (`{verdict.bound.key}`) | ≥ {verdict.bound.limit:g} | {value} | "
                    f"{best[0].title if best else ''} | {verdict.word} |"
                )
    return "\n".join(lines)


def document(outcomes: Sequence[Outcome], corpus: Corpus, facts: Mapping[str, object], *, burst: int) -> str:
    """peers.md."""
    return "\n".join(
        [
            "# memlane beside its neighbours",
            "",
            f"`make bench-peers`: {corpus.users} users x {corpus.rows_each} memories x {corpus.dimension} "
            f"dimensions, {DELETED_SHARE:.0%} of them deleted, {len(corpus.queries)} queries, seed {corpus.seed}. "
            f"Asked: the {TOP_K} nearest memories of one user that are not deleted, with id, score and text; the "
            "query's vector is given, so no embedder is in any figure. Every contender runs on this machine and is "
            f"called by one Python thread, in bursts of {burst} (fewer where they take longer than half a second), in "
            "turn with the others of its group, after a call for every user. Recall is against an exact search by "
            "NumPy. Take the ratios: callers and servers share the cores.",
            "",
            *(
                f"- {key}: {facts[key]}"
                for key in ("commit", "date", "machine.cpu", "machine.cores", "load_average_at_start")
            ),
            "",
            verdicts(outcomes),
            "",
            "![Median time of a call](peers.png)",
            "",
            table(outcomes),
            "",
        ]
    )


def keep(
    outcomes: Sequence[Outcome], corpus: Corpus, *, burst: int, folder: Path = RESULTS, bench: Path = BENCH
) -> list[Path]:
    """Write peers.json, peers.md, peers.png and the part of bench.json; returns what was written."""
    facts = about()
    kept = {
        **facts,
        "corpus": {
            "users": corpus.users,
            "rows_each": corpus.rows_each,
            "dimension": corpus.dimension,
            "deleted": int(corpus.deleted.sum()),
            "queries": len(corpus.queries),
            "burst": burst,
            "seed": corpus.seed,
        },
        "figures": figures(outcomes),
        "measured": [asdict(o) for o in measured(outcomes)],
        "missing": {o.name: o.reason for o in outcomes if isinstance(o, Missing)},
    }
    paths = [folder / f"peers.{kind}" for kind in ("json", "md", "png")]
    paths[0].write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    paths[1].write_text(document(outcomes, corpus, facts, burst=burst), encoding="utf-8")
    # Only here: the figures are of use without the library that draws them.
    from .plot import plot

    plot(measured(outcomes), paths[2])
    # This environment's versions are not those that the other parts were measured with.
    merge_results("peers", figures(outcomes), bench, facts={})
    return [*paths, bench]


def milliseconds(microseconds: float) -> str:
    """Three digits that count, more or less."""
    value = microseconds / 1000
    return f"{value:,.3f}" if value < 1 else f"{value:,.2f}" if value < 10 else f"{value:,.1f}"
