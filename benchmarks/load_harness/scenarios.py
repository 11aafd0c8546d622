"""Search, remember, both mixed, streams: by ghz. A connection for each call: by memload, since ghz keeps its own."""

from memlane_server.bench.load import Load
from tests.support.memlane_server import ServerProcess

from .. import service
from ..loadgen import UNLIMITED, drive
from ..seed import user_of
from . import ghz
from .parts import Check, Options, Section, milliseconds

_STREAM_CALLS = 50
"""Searches of one stream, as ghz/stream.json says."""
_MIXED_SEARCHES_PER_S = 180.0
_MIXED_REMEMBERS_PER_S = 20.0


def run(options: Options) -> Section:
    options.progress("scenarios: seeding")
    with service.seeded_server({user_of(service.MEMORIES): service.MEMORIES}, UNLIMITED) as server:
        rows = [*_by_ghz(server, options), _churn(server, options)]
    failed = sum(int(row[3]) for row in rows)
    return Section(
        title="Scenarios",
        text=f"A user of {service.MEMORIES:,} memories. ghz {ghz.VERSION} with the configurations in "
        f"`benchmarks/load_harness/ghz`; a call of `stream` is a stream of {_STREAM_CALLS} searches. The mixed load "
        "is two of ghz side by side at fixed rates, nine searches to one Remember.",
        header=("scenario", "calls", "calls/s", "failed", "p50 ms", "p95 ms", "p99 ms"),
        rows=rows,
        checks=[Check("no call fails", f"{failed} failed", failed == 0)],
    )


def _by_ghz(server: ServerProcess, options: Options) -> list[tuple[str, ...]]:
    rows = []
    for name in ("search", "remember", "stream"):
        options.progress(f"scenarios: {name}")
        rows.append(_row(name, ghz.start(name, server.address, options.seconds).result()))
    options.progress("scenarios: mixed")
    reads = ghz.start("search", server.address, options.seconds, rate=_MIXED_SEARCHES_PER_S)
    writes = ghz.start("remember", server.address, options.seconds, rate=_MIXED_REMEMBERS_PER_S)
    rows.append(_row("mixed: search", reads.result()))
    rows.append(_row("mixed: remember", writes.result()))
    return rows


def _row(name: str, run: ghz.Run) -> tuple[str, ...]:
    latencies = (milliseconds(value) for value in (run.p50_us, run.p95_us, run.p99_us))
    return name, f"{run.calls}", f"{run.per_s:,.0f}", f"{run.errors}", *latencies


def _churn(server: ServerProcess, options: Options) -> tuple[str, ...]:
    options.progress("scenarios: a connection for each call")
    load = Load(scenario="churn", users=(user_of(service.MEMORIES),), seconds=options.seconds, workers=8)
    series = drive(server, load).only
    latency = series.latency_us or {}
    latencies = (milliseconds(latency.get(p, float("nan"))) for p in ("p50", "p95", "p99"))
    failed = series.calls - series.ok
    return "churn (memload)", f"{series.calls}", f"{series.ok_per_s:,.0f}", f"{failed}", *latencies
