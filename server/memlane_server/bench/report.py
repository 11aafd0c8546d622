"""What `memlane bench` found: as a table, in sentences, as JSON."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.table import Table

from .load import Series
from .sizing import Point, Verdict

FORMAT = 1
"""Of the JSON; rises when a reader would have to change."""
_LEAST_CALLS = {"p50": 1, "p95": 20, "p99": 100, "p99.9": 1_000}
"""With fewer, a percentile is nothing but the slowest call, and the table leaves it out."""
_PACKAGES = ("memlane", "grpcio", "protobuf", "numpy", "uvloop")


def machine() -> dict[str, object]:
    """Where the generator ran."""
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_average": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """Of the generator's side."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def figures(points: Sequence[Point]) -> list[dict[str, Any]]:
    """A row for each kind of call of each measurement. Latencies are milliseconds."""
    return [
        {
            "scenario": point.scenario,
            "call": kind,
            "loop": "closed" if point.rate is None else "open",
            "connections": point.connections,
            "rate_per_s": point.rate,
            "holds": None if point.rate is None else point.holds,
            "against": list(point.against),
            "calls": series.calls,
            "ok": series.ok,
            "ok_per_s": round(series.ok_per_s, 2),
            "not_started": point.outcome.not_started,
            "errors": dict(series.errors),
            "error_messages": dict(series.error_messages),
            "latency_ms": milliseconds(series.latency_us),
            "failed_latency_ms": milliseconds(series.failed_latency_us),
            "start_delay_ms": milliseconds(point.outcome.start_delay_us),
            "ok_by_second": list(series.ok_by_second),
        }
        for point in points
        for kind, series in point.series.items()
    ]


def sustained(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    return [
        {
            "scenario": verdict.scenario,
            "connections": verdict.connections,
            "rate_per_s": verdict.highest.rate if verdict.highest else None,
            "does_not_hold_per_s": verdict.refused.rate if verdict.refused else None,
            "against": list(verdict.refused.against) if verdict.refused else [],
        }
        for verdict in verdicts
    ]


def milliseconds(latency_us: Mapping[str, float] | None) -> dict[str, float] | None:
    return None if latency_us is None else {name: round(us / 1000, 4) for name, us in latency_us.items()}


def table(points: Sequence[Point]) -> Table:
    shown = Table(box=None, padding=(0, 1, 0, 0), header_style="dim")
    for column in ("scenario", "loop"):
        shown.add_column(column, no_wrap=True)
    for column in ("conns", "calls/s", *(f"{name} ms" for name in _LEAST_CALLS)):
        shown.add_column(column, no_wrap=True, justify="right")
    shown.add_column("holds", overflow="fold")
    last = ""
    for point in points:
        for kind, series in point.series.items():
            name = point.scenario if kind == point.scenario else f"{point.scenario} {kind}"
            shown.add_row(
                "" if name == last else name,
                "closed" if point.rate is None else f"open {_short(point.rate)}/s",
                str(point.connections),
                _short(series.ok_per_s),
                *(_cell(series, percentile) for percentile in _LEAST_CALLS),
                _remark(point, series),
            )
            last = name
    return shown


def _cell(series: Series, percentile: str) -> str:
    if series.latency_us is None or series.ok < _LEAST_CALLS[percentile]:
        return "-"
    return _short(series.latency_us[percentile] / 1000)


def _short(value: float) -> str:
    """Three digits are more than a measurement has; at most six characters up to 99,999."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def on(connections: int) -> str:
    return "1 connection" if connections == 1 else f"{connections} connections"


def _remark(point: Point, series: Series) -> str:
    if point.rate is not None:
        return "[green]yes[/]" if point.holds else "[yellow]no[/]"
    errors = ", ".join(f"{count:,} {code}" for code, count in sorted(series.errors.items()))
    return f"[yellow]{errors}[/]" if errors else ""


def line(point: Point) -> str:
    """A measurement in one line, for whoever has no screen to watch."""
    loop = "closed loop" if point.rate is None else f"open loop at {point.rate:,.4g}/s"
    parts = [
        f"{kind} {series.ok_per_s:,.1f}/s"
        + ("" if series.latency_us is None else f", p99 {series.latency_us['p99'] / 1000:,.2f} ms")
        for kind, series in point.series.items()
    ]
    end = "" if point.rate is None else "; holds" if point.holds else f"; {'; '.join(point.against)}"
    return f"{point.scenario}, {on(point.connections)}, {loop}: {'; '.join(parts)}{end}"


def bars(verdicts: Sequence[Verdict], width: int = 40) -> Iterator[str]:
    """The sustained rates as a plot for a terminal, one bar a line."""
    rates = {v.scenario: v.highest.rate or 0.0 for v in verdicts if v.highest is not None}
    if not rates:
        return
    most = max(rates.values())
    longest = max(map(len, rates))
    for name, rate in rates.items():
        eighths = max(1, round(8 * width * rate / most))
        bar = "█" * (eighths // 8) + ("", *"▏▎▍▌▋▊▉")[eighths % 8]
        yield f"{name:<{longest}}  {bar:<{width}} {rate:>9,.4g}/s"


def sentence(verdict: Verdict, batch: int) -> str:
    """What an operator may count on."""
    highest, refused = verdict.highest, verdict.refused
    if highest is None or highest.rate is None:
        assert refused is not None
        return (
            f"{verdict.scenario}: no rate that was tried holds; at the lowest, {refused.rate:,.4g} calls/s, "
            f"{'; '.join(refused.against)}."
        )
    each = f" of {batch} searches" if verdict.scenario == "batch" else ""
    text = (
        f"{verdict.scenario}: sustains {highest.rate:,.4g} calls/s{each} on {on(verdict.connections)} "
        f"({_p99(highest)})"
    )
    if refused is None:
        return f"{text}; no higher rate was tried that fails, so it may be more."
    return f"{text}; at {refused.rate:,.4g} calls/s {'; '.join(refused.against)}."


def _p99(point: Point) -> str:
    of = {name: s.latency_us["p99"] / 1000 for name, s in point.series.items() if s.latency_us is not None}
    calls = sum(series.calls for series in point.series.values())
    named = ", ".join(
        f"p99 {ms:,.1f} ms" if len(of) == 1 else f"p99 of {name} {ms:,.1f} ms" for name, ms in of.items()
    )
    few = "" if calls >= _LEAST_CALLS["p99"] else ", too few for a p99: give more --seconds"
    return f"{named}, {calls:,} calls{few}"


def complaints(points: Sequence[Point]) -> list[str]:
    """One message of the server for each kind of failure."""
    found: dict[tuple[str, str], str] = {}
    for point in points:
        for kind, series in point.series.items():
            for code, message in series.error_messages.items():
                found.setdefault((kind, code), message)
    return [f"{kind}: {code}: {message}" for (kind, code), message in found.items()]


def _cpu() -> str:
    """Model name; the kernel's file knows more than `platform` does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [text.partition(":")[2].strip() for text in lines if text.startswith("model name")]
    return names[0] if names else platform.machine()
