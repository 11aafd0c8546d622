"""A long even load of every kind; the server's memory and open files must not creep."""

import contextlib
import statistics
from collections.abc import Sequence

from memlane_server.bench.load import Load, Outcome

from .. import service
from ..loadgen import UNLIMITED, begin
from ..seed import user_of
from .parts import Check, Options, Section, milliseconds

_RATES = {
    "mixed": 100.0,
    "search_new_text": 10.0,
    "stream": 50.0,
    "batch": 5.0,
    "context": 20.0,
    "churn": 10.0,
}
"""Calls a second: well below what the server bears, since this is about time, not about load."""
_WRITE_USERS = tuple(f"soak-{n}" for n in range(64))
_MIB = 2**20
_CREEP_BYTES = 32 * _MIB
"""What the allocator may take and keep."""
_BYTES_PER_WRITE = 16 * 1024
"""Of an added memory with its vector, words, history and audit event."""
_CREEP_FILES = 8


def run(options: Options) -> Section:
    options.progress("soak: seeding")
    with service.seeded_server({user_of(service.MEMORIES): service.MEMORIES}, UNLIMITED) as server:
        service.prepare_context(server)
        options.progress(f"soak: {options.soak_seconds:g} s of every kind of call")
        with contextlib.ExitStack() as running:
            loads = {}
            for scenario, rate in _RATES.items():
                load = Load(
                    scenario=scenario,
                    users=(user_of(service.MEMORIES),),
                    write_users=_WRITE_USERS,
                    rate=rate,
                    poisson=True,
                    connections=2,
                    seconds=options.soak_seconds,
                    session_id=service.SESSION,
                    batch=32,
                )
                loads[scenario] = begin(server, load)
                running.callback(loads[scenario].stop)
            outcomes = {scenario: load.result() for scenario, load in loads.items()}
    return _section(outcomes, options.soak_seconds)


def _section(outcomes: dict[str, Outcome], seconds: float) -> Section:
    watched = outcomes["mixed"].server
    assert watched is not None
    writes = outcomes["mixed"].series["remember"].ok
    memory, files = watched.rss_bytes, watched.open_files
    growth, allowed = _growth(memory), _CREEP_BYTES + writes * _BYTES_PER_WRITE
    more_files = _growth(files)
    failed = sum(outcome.failed for outcome in outcomes.values())
    rows = [
        (
            name,
            f"{series.calls}",
            f"{series.calls - series.ok}",
            *(milliseconds((series.latency_us or {}).get(p, float("nan"))) for p in ("p50", "p99", "max")),
        )
        for outcome in outcomes.values()
        for name, series in outcome.series.items()
    ]
    return Section(
        title="Soak",
        text=f"{seconds:g} s, {writes} of the calls writes. Growth is from the second quarter of the time to the last, "
        "by medians.",
        header=("scenario", "calls", "failed", "p50 ms", "p99 ms", "max ms"),
        rows=rows,
        checks=[
            Check("no call fails", f"{failed} failed", failed == 0),
            Check(
                f"memory grows by no more than {allowed / _MIB:.0f} MiB ({writes} writes)",
                f"{growth / _MIB:+.1f} MiB, to {memory[-1] / _MIB:.0f} MiB",
                growth <= allowed,
            ),
            Check(
                f"open files grow by no more than {_CREEP_FILES}",
                f"{more_files:+g}, to {files[-1]}",
                more_files <= _CREEP_FILES,
            ),
        ],
        curves={"resident memory, MiB": [(float(n), value / _MIB) for n, value in enumerate(memory)]},
        axes=("seconds", "MiB"),
    )


def _growth(samples: Sequence[int]) -> float:
    """From the second quarter, when caches are filled, to the last."""
    quarter = max(len(samples) // 4, 1)
    return statistics.median(samples[-quarter:]) - statistics.median(
        samples[quarter : 2 * quarter] or samples[:1]
    )
