"""Twice the load that the server can bear: it must go on answering about as many as before, and refuse the rest."""

from dataclasses import dataclass

from memlane_server.bench.load import Load, Outcome
from tests.support.memlane_server import ServerProcess

from .. import service
from ..loadgen import UNLIMITED, begin, drive
from ..seed import user_of
from .parts import Check, Options, Section, milliseconds

CONNECTIONS = 4
_SHARES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Of what a closed loop gets: the rates among which the greatest sustainable one is looked for."""
_SUSTAINED_SHARE = 0.99
_SUSTAINED_P99_US = 100_000.0
_OVER = 2.0
_TIMEOUT_SECONDS = 1.0
_LEAST_GOODPUT = 0.9
_REFUSED_AT_ONCE_US = 100_000.0
_HEALTH_US = 100_000.0
_HEALTH_PER_S = 20.0


@dataclass(frozen=True, slots=True)
class Point:
    offered_per_s: float
    outcome: Outcome
    slowest_health_us: float

    @property
    def sustained(self) -> bool:
        """Nothing failed, nothing piled up."""
        series = self.outcome.only
        in_time = series.ok_per_s >= _SUSTAINED_SHARE * self.offered_per_s
        return (
            in_time and not series.errors and (series.latency_us or {}).get("p99", 1e9) <= _SUSTAINED_P99_US
        )


def run(options: Options) -> Section:
    options.progress("overload: seeding")
    with service.seeded_server({user_of(service.MEMORIES): service.MEMORIES}, UNLIMITED) as server:
        options.progress("overload: what a closed loop gets")
        closed = drive(server, _load(options, workers=16)).ok_per_s
        points = [measure(server, closed * share, options) for share in _SHARES]
        sustained = max((p.offered_per_s for p in points if p.sustained), default=points[0].offered_per_s)
        over = measure(server, sustained * _OVER, options)
        after = measure(server, points[0].offered_per_s, options)
    return _section(closed, points, sustained, over, after)


def measure(server: ServerProcess, per_s: float, options: Options) -> Point:
    """An open loop of searches, and health checks on a connection of their own."""
    options.progress(f"overload: {per_s:,.0f} searches a second")
    load = Load(
        scenario="health",
        users=("nobody",),
        rate=_HEALTH_PER_S,
        seconds=options.seconds + 0.5,
        warm_up_seconds=0.1,
    )
    health = begin(server, load)
    try:
        outcome = drive(server, _load(options, rate=per_s))
        seen = health.result().only
    finally:
        health.stop()
    # A probe without an answer counts as the slowest.
    slowest = float("inf") if seen.errors else (seen.latency_us or {}).get("max", float("inf"))
    return Point(per_s, outcome, slowest)


def _load(options: Options, *, workers: int | None = None, rate: float | None = None) -> Load:
    return Load(
        scenario="search",
        users=(user_of(service.MEMORIES),),
        seconds=options.seconds,
        connections=CONNECTIONS,
        workers=workers,
        rate=rate,
        timeout_seconds=_TIMEOUT_SECONDS,
    )


def _section(closed: float, points: list[Point], sustained: float, over: Point, after: Point) -> Section:
    peak = max(point.outcome.ok_per_s for point in points)
    goodput = over.outcome.ok_per_s / peak
    errors = over.outcome.only.errors
    refused = over.outcome.only.failed_latency_us or {}
    slowest_health = max(point.slowest_health_us for point in (*points, over))
    drawn = (*points, over)
    return Section(
        title="Overload",
        text=f"Searches of one user with {service.MEMORIES:,} memories on {CONNECTIONS} connections, deadline "
        f"{_TIMEOUT_SECONDS:g} s, open loop. A closed loop of 16 got {closed:,.0f}/s; the greatest rate that was "
        f"sustained (all answered, p99 under {_SUSTAINED_P99_US / 1000:g} ms) is {sustained:,.0f}/s. The generator "
        "runs on the same cores: what it needs at twice the rate, the server does not have.",
        header=(
            "offered/s", "answered/s", "sustained", "failed", "p50 ms", "p99 ms", "failed p50 ms", "slowest health ms",
        ),
        rows=[_row(point) for point in (*points, over, after)],
        checks=[
            Check(
                f"at {_OVER:g} times the sustained rate, goodput is at least {_LEAST_GOODPUT} of the peak",
                f"{goodput:.2f}",
                goodput >= _LEAST_GOODPUT,
            ),
            Check(
                "refused calls get RESOURCE_EXHAUSTED",
                ", ".join(f"{n} {code}" for code, n in errors.items()) or "none refused",
                not errors or set(errors) == {"ResourceExhausted"},
            ),
            Check(
                f"they are told at once (p50 under {_REFUSED_AT_ONCE_US / 1000:g} ms)",
                f"{milliseconds(refused.get('p50', 0.0))} ms",
                refused.get("p50", 0.0) <= _REFUSED_AT_ONCE_US,
            ),
            Check(
                f"health answers within {_HEALTH_US / 1000:g} ms throughout",
                f"slowest {milliseconds(slowest_health)} ms",
                slowest_health <= _HEALTH_US,
            ),
            Check(
                "afterwards it is as before",
                f"{after.outcome.ok_per_s:,.0f}/s of {after.offered_per_s:,.0f}/s",
                after.sustained,
            ),
        ],
        curves={
            "answered": [(p.offered_per_s, p.outcome.ok_per_s) for p in drawn],
            "offered": [(p.offered_per_s, p.offered_per_s) for p in points],
        },
        axes=("offered, searches a second", "answered in time, a second"),
    )  # fmt: skip


def _row(point: Point) -> tuple[str, ...]:
    series = point.outcome.only
    latency, failed = series.latency_us or {}, series.failed_latency_us or {}
    return (
        f"{point.offered_per_s:,.0f}",
        f"{series.ok_per_s:,.0f}",
        "yes" if point.sustained else "no",
        f"{series.calls - series.ok}",
        *(milliseconds(latency.get(p, float("nan"))) for p in ("p50", "p99")),
        milliseconds(failed["p50"]) if failed else "",
        milliseconds(point.slowest_health_us),
    )
