"""The whole service over gRPC: each kind of call beside a null echo, in closed and open loops. Under five minutes.

    python -m benchmarks.service [--seconds-per-point 2.0]

Calls that are compared take turns on one connection, call by call, so that both see the same machine. The generator is
a process of its own, written in Go (benchmarks/load); its cost is a small part of each latency, and the same in both
parts of a ratio. CPU is that of the server and its children over the calls of a run, by /proc/<pid>/stat.
"""

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memlane.v1 import (
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    rule_service_pb2,
    rule_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)
from memlane_core.adapters.local_embedder import DIMENSION
from memlane_server.bench.load import PERCENTILES, Load, Outcome
from tests.support.memlane_server import SERVE, ServerProcess, running_server

from .loadgen import UNLIMITED, drive, generator
from .report import SEED, merge_results
from .seed import put, synthetic_rows, unit_vectors, user_of
from .timing import Progress

MEMORIES = 1000
BATCHES = (8, 64, 256)
CONNECTIONS = (1, 4, 16)
RATE_SHARES = (0.25, 0.5, 0.75)
"""Of what a closed loop of 16 connections got: the rates of the open loop."""
SESSION = "bench"
_ROUNDS = 10
_COLD_USERS = 64
_COLD_MEMORIES = 200
_COLD_INDEX_MIB = 1
"""Room for two of the cold users: with 64 that take turns, none is ever found."""
_CPU_ROUNDS = 2

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Bench:
    """A server that is measured, and how long at each point."""

    server: ServerProcess
    seconds: float
    progress: Progress

    def run(
        self,
        scenario: str,
        *,
        users: tuple[str, ...] = (user_of(MEMORIES),),
        refusals: bool = False,
        **options: object,
    ) -> Outcome:
        """One point. Raises ValueError when calls failed: their times would measure nothing. `refusals`: an open loop
        may ask for more than there is, and then some are refused."""
        load = Load(scenario=scenario, users=users, seconds=self.seconds, seed=SEED, **options)  # type: ignore[arg-type]
        outcome = drive(self.server, load)
        failed = {name: series.errors for name, series in outcome.series.items() if series.errors}
        if failed and not refusals:
            raise ValueError(f"calls of {scenario} failed: {failed}")
        return outcome


def latencies(name: str, latency_us: Mapping[str, float] | None) -> Figures:
    """Raises ValueError when there was no call."""
    if latency_us is None:
        raise ValueError(f"nothing was measured of {name}")
    return {f"{name}.{percentile}_us": round(latency_us[percentile], 1) for percentile in PERCENTILES}


def over(name: str, outcome: Outcome, one: str, other: str) -> Figures:
    """Ratios of two scenarios that took turns."""
    figures = {}
    for percentile in PERCENTILES:
        numerator, denominator = (outcome.series[which].latency_us for which in (one, other))
        assert numerator is not None and denominator is not None
        figures[f"{name}.{percentile}"] = round(numerator[percentile] / denominator[percentile], 3)
    return figures


def cpu(outcome: Outcome) -> float:
    """Microseconds of the server for each call."""
    assert outcome.server is not None
    return outcome.server.cpu_us_per_call


def beside_echo(bench: Bench) -> Figures:
    """Every way of reading, each in turn with an echo on the same connection."""
    figures: Figures = {}
    for scenario, name, batch in (
        ("search", "warm_search", 0),
        ("search_cached_text", "warm_search_text_cached", 0),
        ("search_new_text", "warm_search_text_new", 0),
        ("stream", "stream", 0),
        *(("batch", f"batch{size}", size) for size in BATCHES),
    ):
        bench.progress(f"service: {name} beside echo")
        # The ratio that is promised gets the time that its slowest hundredth needs.
        seconds = bench.seconds * (3 if scenario in ("search", "stream") else 1)
        outcome = Bench(bench.server, seconds, bench.progress).run(f"{scenario},echo", batch=batch or 1)
        figures |= latencies(f"service.{name}", outcome.series[scenario].latency_us)
        ratio = "stream_over_unary_echo" if scenario == "stream" else f"{name}_over_echo"
        figures |= over(f"service.{ratio}", outcome, scenario, "echo")
        if scenario == "search":
            figures |= latencies("service.echo", outcome.series["echo"].latency_us)
        if batch:
            figures[f"service.{name}.per_query.p50_us"] = round(figures[f"service.{name}.p50_us"] / batch, 1)
    return figures


def server_cpu(bench: Bench) -> Figures:
    """What each kind of call costs the server. Runs of a round follow each other closely; rounds are averaged."""
    kinds = {"echo": ("echo", 1), "warm_search": ("search", 1), "stream": ("stream", 1)}
    kinds |= {f"batch{size}": ("batch", size) for size in BATCHES}
    used: dict[str, list[float]] = {name: [] for name in kinds}
    for round_number in range(_CPU_ROUNDS):
        bench.progress(f"service: CPU of the server, round {round_number + 1} of {_CPU_ROUNDS}")
        for name, (scenario, batch) in kinds.items():
            used[name].append(cpu(bench.run(scenario, batch=batch)))
    means = {name: sum(values) / len(values) for name, values in used.items()}
    figures = {f"service.{name}.cpu_us": round(value, 1) for name, value in means.items()}
    for size in BATCHES:
        per_query = means[f"batch{size}"] / size
        figures[f"service.batch{size}.per_query.cpu_us"] = round(per_query, 1)
        figures[f"service.batch{size}_per_query_over_unary.cpu"] = round(per_query / means["warm_search"], 3)
    return figures


def throughput(bench: Bench) -> Figures:
    """Closed loops of one worker a connection, then open loops at parts of what they got."""
    figures: Figures = {}
    for connections in CONNECTIONS:
        for scenario, name in (("echo", "echo"), ("search", "warm_search"), ("stream", "stream")):
            bench.progress(f"service: {name} on {connections} connections")
            outcome = bench.run(scenario, connections=connections)
            key = f"service.closed.{name}.c{connections}"
            figures |= latencies(key, outcome.only.latency_us)
            figures[f"{key}.per_s"] = round(outcome.ok_per_s, 1)
            figures[f"{key}.cpu_us"] = round(cpu(outcome), 1)
    capacity = figures[f"service.closed.warm_search.c{CONNECTIONS[-1]}.per_s"]
    for share in RATE_SHARES:
        for connections in CONNECTIONS:
            rate = max(1.0, round(capacity * share))
            bench.progress(f"service: search at {rate:,.0f} a second on {connections} connections")
            outcome = bench.run("search", connections=connections, rate=rate, refusals=True)
            key = f"service.open.warm_search.load{round(share * 100)}.c{connections}"
            figures |= latencies(key, outcome.only.latency_us)
            figures[f"{key}.offered_per_s"] = rate
            figures[f"{key}.refused"] = outcome.only.calls - outcome.only.ok
            figures[f"{key}.per_s"] = round(outcome.ok_per_s, 1)
            figures[f"{key}.cpu_us"] = round(cpu(outcome), 1)
    return figures


def writing(bench: Bench) -> Figures:
    """Remember with one fact, alone and as a tenth of the calls. The users begin without memories."""
    figures: Figures = {}
    for connections in CONNECTIONS:
        for scenario, name in (("remember", "remember_facts"), ("mixed", "mixed")):
            bench.progress(f"service: {name} on {connections} connections")
            writers = tuple(f"writer-{name}-{connections}-{n}" for n in range(16))
            outcome = bench.run(scenario, connections=connections, write_users=writers)
            key = f"service.closed.{name}.c{connections}"
            for part, series in outcome.series.items():
                figures |= latencies(f"{key}.{part}" if len(outcome.series) > 1 else key, series.latency_us)
            figures[f"{key}.per_s"] = round(outcome.ok_per_s, 1)
            figures[f"{key}.cpu_us"] = round(cpu(outcome), 1)
    rate = max(1.0, round(figures[f"service.closed.mixed.c{CONNECTIONS[1]}.per_s"] / 2))
    bench.progress(f"service: mixed at {rate:,.0f} a second")
    writers = tuple(f"writer-open-{n}" for n in range(16))
    outcome = bench.run("mixed", connections=CONNECTIONS[1], write_users=writers, rate=rate)
    key = f"service.open.mixed.load50.c{CONNECTIONS[1]}"
    for part, series in outcome.series.items():
        figures |= latencies(f"{key}.{part}", series.latency_us)
    figures[f"{key}.offered_per_s"] = rate
    return figures


def contexts(bench: Bench) -> Figures:
    """BuildContext with rules, window and five memories, in turn with the search that is in it."""
    bench.progress("service: context beside search")
    prepare_context(bench.server)
    figures: Figures = {}
    for name, knowledge in (("context", False), ("context.with_knowledge", True)):
        outcome = bench.run("context,search_cached_text", session_id=SESSION, knowledge=knowledge)
        figures |= latencies(f"{name}.build", outcome.series["context"].latency_us)
        figures |= over(f"{name}.over_search", outcome, "context", "search_cached_text")
    return figures


def prepare_context(server: ServerProcess) -> None:
    """Rules, and a session with a full window."""
    with server.channel() as channel:
        rule_service_pb2_grpc.RuleServiceStub(channel).PutRules(
            rule_service_pb2.PutRulesRequest(
                rules=rule_service_pb2.RuleList(
                    rules=[
                        "首次咨询时先确认公司的注册地。",
                        "Name the date on which a fact was recorded.",
                        "不得承诺收益；涉及利率时说明适用日期。",
                    ]
                )
            ),
            timeout=30,
        )
        messages = []
        for n in range(_ROUNDS):
            question = (
                f"第 {n} 次询价：远期合约 FWD-{n} 的价格？" if n % 2 else f"What does forward FWD-{n} cost?"
            )
            messages.append(memory_pb2.Message(role=memory_pb2.ROLE_USER, content=question))
            messages.append(
                memory_pb2.Message(
                    role=memory_pb2.ROLE_ASSISTANT, content=f"FWD-{n}: 6.{n}25, 两年期 / two years."
                )
            )
        session_service_pb2_grpc.SessionServiceStub(channel).AppendMessages(
            session_service_pb2.AppendMessagesRequest(
                user_id=user_of(MEMORIES), session_id=SESSION, messages=messages
            ),
            timeout=30,
        )


def cold(seconds: float, progress: Progress) -> Figures:
    """Searches of users that are not in memory, on a server whose index holds two of them."""
    settings = {
        **UNLIMITED,
        "MEMLANE_INDEX__BUDGET_MIB": str(_COLD_INDEX_MIB),
        "MEMLANE_INDEX__FILL_AT_START": "never",
    }
    users = tuple(f"cold-{n}" for n in range(_COLD_USERS))
    progress(f"service: seeding {_COLD_USERS} cold users")
    with seeded_server(dict.fromkeys(users, _COLD_MEMORIES), settings) as server:
        progress("service: cold search beside echo")
        outcome = Bench(server, seconds, progress).run("search,echo", users=users)
    return latencies("service.cold_search", outcome.series["search"].latency_us) | over(
        "service.cold_search_over_echo", outcome, "search", "echo"
    )


@contextlib.contextmanager
def seeded_server(
    memories: Mapping[str, int], settings: Mapping[str, str], command: Sequence[str] = SERVE
) -> Iterator[ServerProcess]:
    """A server of its own whose users have that many memories each. `command`: see ServerProcess."""
    random, now = np.random.default_rng(SEED), int(time.time())
    with tempfile.TemporaryDirectory(prefix="memlane-service-") as folder:
        data_dir = Path(folder) / "data"
        rows = [
            row
            for user, count in memories.items()
            for row in synthetic_rows(user, unit_vectors(random, count, DIMENSION), now)
        ]
        put(data_dir, rows)
        with running_server(data_dir, settings, command=command) as server:
            yield server


def run(*, seconds_per_point: float, progress: Progress) -> Figures:
    """All figures, flat. Raises GeneratorMissing where the generator cannot be built, ValueError when calls fail."""
    generator()
    parts: tuple[Callable[[Bench], Figures], ...] = (beside_echo, server_cpu, contexts, throughput, writing)
    figures: Figures = {}
    progress("service: seeding")
    with seeded_server({user_of(MEMORIES): MEMORIES}, UNLIMITED) as server:
        check(server)
        bench = Bench(server, seconds_per_point, progress)
        for part in parts:
            figures |= part(bench)
    return figures | cold(seconds_per_point, progress)


def check(server: ServerProcess) -> None:
    """The user must be there, or empty answers would be timed. Raises ValueError."""
    with server.channel() as channel:
        answer = memory_service_pb2_grpc.MemoryServiceStub(channel).SearchMemories(
            memory_service_pb2.SearchMemoriesRequest(user_id=user_of(MEMORIES), query="合同 HT-1 的额度"),
            timeout=30,
        )
    if len(answer.results) != 5:
        raise ValueError(f"{len(answer.results)} memories were found of a user who has {MEMORIES}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds-per-point", type=float, default=2.0)
    options = parser.parse_args()
    figures = run(
        seconds_per_point=options.seconds_per_point, progress=lambda message: print(message, flush=True)
    )
    merge_results("service", figures)
    for name, value in figures.items():
        print(f"{name:60} {value:>12,.3f}".rstrip("0").rstrip("."))


if __name__ == "__main__":
    main()
