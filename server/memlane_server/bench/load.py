"""A load on a server, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

PERCENTILES = ("p50", "p95", "p99", "p99.9")


class GeneratorFailed(RuntimeError):
    """A load could not be put on the server. The message says why, in words for whoever asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server and the credential to reach it with."""

    address: str
    token: str = field(default="", repr=False)
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    tls: bool = False
    """TLS also without `ca` and `certificate`: with the system's authorities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Calls to make. With `rate` an open loop: calls begin on time whatever the server does, and their latency counts
    from when they were due. Without, a closed loop of `workers`."""

    scenario: str
    """One that memload knows; "a,b" takes turns call by call, "a=90,b=10" draws by weight, "mixed" is
    search=90,remember=10."""
    users: tuple[str, ...]
    """Whose memories are read, in turn."""
    write_users: tuple[str, ...] = ()
    """Whose memories are written, in turn; empty = `users`."""
    seconds: float = 5.0
    warm_up_seconds: float = 0.5
    connections: int = 1
    workers: int | None = None
    """None = one for each connection."""
    rate: float | None = None
    """Calls a second; None = a closed loop."""
    outstanding: int = 10_000
    """Open loop: calls under way at most. What is due beyond that is counted as not started."""
    poisson: bool = False
    timeout_seconds: float = 10.0
    top_k: int = 5
    batch: int = 64
    facts: int = 1
    session_id: str = ""
    knowledge: bool = False
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Series:
    """The calls of one scenario. Latencies are microseconds by percentile ("p50" ... "max"); None without a call."""

    calls: int
    ok: int
    ok_per_s: float
    """Answers within the time of the load; those that came later do not count."""
    errors: Mapping[str, int]
    """Calls that failed, by status: "ResourceExhausted"."""
    error_messages: Mapping[str, str]
    """What one of them was told."""
    latency_us: Mapping[str, float] | None
    failed_latency_us: Mapping[str, float] | None
    ok_by_second: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ServerUse:
    """What a watched server process and its children took."""

    cpu_us_per_call: float
    rss_bytes: tuple[int, ...]
    """A sample a second."""
    open_files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a load."""

    generator: str
    series: Mapping[str, Series]
    start_delay_us: Mapping[str, float] | None
    """How much later than due the generator began calls: its own part in an open loop's latencies."""
    not_started: int
    server: ServerUse | None = None

    @property
    def only(self) -> Series:
        """Of a load of one scenario."""
        (series,) = self.series.values()
        return series

    @property
    def ok_per_s(self) -> float:
        """Of all scenarios together."""
        return sum(series.ok_per_s for series in self.series.values())

    @property
    def failed(self) -> int:
        return sum(series.calls - series.ok for series in self.series.values())

    @classmethod
    def parse(cls, report: Mapping[str, Any]) -> "Outcome":
        """From the JSON that memload prints. Raises KeyError for one of another shape."""
        server = report.get("server")
        return cls(
            generator=report["generator"],
            series={name: _series(series) for name, series in report["series"].items()},
            start_delay_us=report.get("start_delay_us"),
            not_started=report["not_started"],
            server=None
            if server is None
            else ServerUse(
                cpu_us_per_call=server["cpu_us_per_call"],
                rss_bytes=tuple(sample["rss_bytes"] for sample in server["samples"]),
                open_files=tuple(sample["open_files"] for sample in server["samples"]),
            ),
        )


class Generator(Protocol):
    """Puts loads on servers."""

    @property
    def name(self) -> str:
        """For reports: whose cost the figures include."""

    def run(self, target: Target, load: Load, *, server_pid: int | None = None) -> Outcome:
        """Blocks until the load is over. `server_pid` is a process of this machine whose use of CPU, memory and files
        is wanted. Raises GeneratorFailed."""


def _series(report: Mapping[str, Any]) -> Series:
    return Series(
        calls=report["calls"],
        ok=report["ok"],
        ok_per_s=report["ok_per_s"],
        errors=report["errors"],
        error_messages=report["error_messages"],
        latency_us=report.get("latency_us"),
        failed_latency_us=report.get("failed_latency_us"),
        ok_by_second=tuple(report["ok_by_second"]),
    )
