"""Two tenants: one floods, the other must hardly notice."""

import contextlib
import statistics
import tempfile
from pathlib import Path

import grpc

from memlane.v1 import memory_service_pb2, memory_service_pb2_grpc
from memlane_server.auth import issuing
from memlane_server.auth.settings import AuthSettings
from memlane_server.bench.load import Load, Series
from memlane_server.principal import SCOPES, Principal
from tests.support.memlane_server import ServerProcess, running_server

from ..loadgen import begin, drive
from ..seed import text
from .parts import Check, Options, Section, milliseconds

_SECRET = "load-harness-" * 3
_NOISY, _QUIET = "noisy-bank", "quiet-bank"
_USER = "客户-1"
_MEMORIES = 200
_ALLOWED_PER_S = 300
"""What the limits let a tenant have."""
_FLOOD_PER_S = 900.0
_QUIET_PER_S = 50.0
_ROUNDS = 3
_MOST = 1.5
_SETTINGS = {
    "MEMLANE_AUTH__HS256_SECRET": _SECRET,
    "MEMLANE_LIMITS__TENANT__READS__PER_SECOND": str(_ALLOWED_PER_S),
    "MEMLANE_LIMITS__TENANT__READS__BURST": str(_ALLOWED_PER_S // 4),
}


def run(options: Options) -> Section:
    with (
        tempfile.TemporaryDirectory(prefix="memlane-neighbours-") as folder,
        running_server(Path(folder) / "data", _SETTINGS) as server,
    ):
        tokens = {tenant: _token(tenant) for tenant in (_NOISY, _QUIET)}
        for tenant, token in tokens.items():
            options.progress(f"neighbours: memories of {tenant}")
            _write(server, token)
        alone, beside, noisy = [], [], []
        for number in range(_ROUNDS):
            options.progress(f"neighbours: round {number + 1} of {_ROUNDS}")
            alone.append(drive(server, _load(_QUIET_PER_S, options), token=tokens[_QUIET]).only)
            flood = begin(server, _load(_FLOOD_PER_S, options, longer=1.5), token=tokens[_NOISY])
            with contextlib.ExitStack() as running:
                running.callback(flood.stop)
                beside.append(drive(server, _load(_QUIET_PER_S, options), token=tokens[_QUIET]).only)
                noisy.append(flood.result().only)
    return _section(alone, beside, noisy)


def _load(per_s: float, options: Options, longer: float = 0.0) -> Load:
    return Load(
        scenario="search",
        users=(_USER,),
        rate=per_s,
        poisson=True,
        seconds=options.seconds + longer,
        warm_up_seconds=0.2,
        connections=2,
        timeout_seconds=5.0,
    )


def _token(tenant: str) -> str:
    principal = Principal(tenant, "load-harness", None, frozenset(SCOPES))
    return issuing.sign(issuing.claims_of(principal, AuthSettings(), 3600), _SECRET)


def _write(server: ServerProcess, token: str) -> None:
    with grpc.insecure_channel(server.address) as channel:
        stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        for n in range(_MEMORIES):
            request = memory_service_pb2.CreateMemoryRequest(user_id=_USER, content=text(n))
            stub.CreateMemory(request, timeout=30, metadata=(("authorization", f"Bearer {token}"),))


def _section(alone: list[Series], beside: list[Series], noisy: list[Series]) -> Section:
    before, after = _median_p99(alone), _median_p99(beside)
    ratio = after / before
    quiet_failed = sum(series.calls - series.ok for series in beside)
    errors: dict[str, int] = {}
    for series in noisy:
        for code, count in series.errors.items():
            errors[code] = errors.get(code, 0) + count
    let_in = statistics.median(series.ok_per_s for series in noisy)
    return Section(
        title="Noisy neighbour",
        text=f"Each tenant may read {_ALLOWED_PER_S} times a second. One asks {_FLOOD_PER_S:g} times, the other "
        f"{_QUIET_PER_S:g} times, alone and beside the flood in turn, {_ROUNDS} rounds; medians of the rounds' "
        "percentiles.",
        header=("tenant", "offered/s", "answered/s", "failed", "p50 ms", "p99 ms"),
        rows=[
            _row("quiet, alone", _QUIET_PER_S, alone),
            _row("quiet, beside the flood", _QUIET_PER_S, beside),
            _row("noisy", _FLOOD_PER_S, noisy),
        ],
        checks=[
            Check(
                f"p99 of the quiet tenant moves by no more than {_MOST} times",
                f"{ratio:.2f} times",
                ratio <= _MOST,
            ),
            Check("no call of the quiet tenant fails", f"{quiet_failed} failed", quiet_failed == 0),
            Check(
                "the noisy tenant gets what it may have, and RESOURCE_EXHAUSTED for the rest",
                f"{let_in:,.0f}/s; " + ", ".join(f"{n} {code}" for code, n in errors.items()),
                set(errors) == {"ResourceExhausted"}
                and 0.9 * _ALLOWED_PER_S <= let_in <= 1.2 * _ALLOWED_PER_S,
            ),
        ],
    )


def _median_p99(rounds: list[Series]) -> float:
    return statistics.median((series.latency_us or {}).get("p99", float("nan")) for series in rounds)


def _row(name: str, offered: float, rounds: list[Series]) -> tuple[str, ...]:
    percentiles = (
        milliseconds(statistics.median((series.latency_us or {}).get(p, float("nan")) for series in rounds))
        for p in ("p50", "p99")
    )
    answered = statistics.median(series.ok_per_s for series in rounds)
    failed = sum(series.calls - series.ok for series in rounds)
    return name, f"{offered:g}", f"{answered:,.0f}", f"{failed}", *percentiles
