"""What must hold of the measured figures, and whether it does."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Bound:
    key: str
    relation: Literal["<=", ">="]
    limit: float
    meaning: str

    def holds(self, value: float) -> bool:
        """NaN holds nothing."""
        return value <= self.limit if self.relation == "<=" else value >= self.limit


BOUNDS = (
    Bound("service.warm_search_over_echo.p50", "<=", 1.15, "warm search over a null echo of the same server"),
    Bound("service.warm_search_over_echo.p99", "<=", 1.3, "the same among the slowest hundredth"),
    Bound("service.stream_over_unary_echo.p50", "<=", 0.8, "search over a stream, over a unary echo"),
    Bound(
        "service.batch64_per_query_over_unary.cpu",
        "<=",
        0.10,
        "server CPU a query in batches of 64, over unary",
    ),
    Bound("context.over_search.p50", "<=", 1.5, "a whole context over the search in it"),
    Bound("kernel.over_faiss_flat.n1000_d512", "<=", 0.6, "one query over faiss flat, in cache"),
    Bound("kernel.over_faiss_flat.n50000_d1536", "<=", 0.6, "one query over faiss flat, out of cache"),
    Bound("kernel.bandwidth_share", ">=", 0.85, "float32 pass over what the machine can read"),
    Bound("growth.users", "<=", 1.15, "p50 with 100,000 users over p50 with 100"),
    Bound("growth.bytes_per_row_over_content", "<=", 1.25, "memory a row over vector and text"),
    Bound(
        "peers.best_service_over_memlane.p50",
        ">=",
        5.0,
        "fastest other service of recall 1.0, over memlane's whole call",
    ),
    Bound(
        "peers.best_engine_over_index.p50",
        ">=",
        4.0,
        "fastest other engine in the process, over the user index",
    ),
)


def limit_of(key: str) -> float:
    """Raises KeyError for a figure that has no bound."""
    return {bound.key: bound.limit for bound in BOUNDS}[key]


@dataclass(frozen=True, slots=True)
class Verdict:
    bound: Bound
    value: float | None
    """None = not measured."""

    @property
    def word(self) -> str:
        if self.value is None:
            return "not measured"
        return "pass" if self.bound.holds(self.value) else "FAIL"


def verdicts(figures: Mapping[str, float]) -> list[Verdict]:
    return [Verdict(bound, figures.get(bound.key)) for bound in BOUNDS]


def table(figures: Mapping[str, float]) -> str:
    """As Markdown."""
    lines = ["| it holds when | bound | measured | |", "|---|---:|---:|---|"]
    for verdict in verdicts(figures):
        bound = verdict.bound
        value = "" if verdict.value is None else f"{verdict.value:.3f}"
        relation = "≤" if bound.relation == "<=" else "≥"
        lines.append(
            f"| {bound.meaning} (`{bound.key}`) | {relation} {bound.limit:g} | {value} | {verdict.word} |"
        )
    return "\n".join(lines)
