"""First figures, under two minutes: a warm search beside a null echo of the same server, in one run.

    python -m benchmarks.quick [--seconds-per-point 1.5]

Server and client are two processes. Echo and search alternate call by call on one connection, so that both see the
same machine. Writes benchmarks/results/quick.json (flat keys) and quick.md.
"""

import argparse
import json
import platform
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import grpc
import numpy as np

from memlane.v1 import (
    diagnostics_service_pb2,
    diagnostics_service_pb2_grpc,
    memory_service_pb2,
    memory_service_pb2_grpc,
)
from tests.support.memlane_server import running_server

from .report import RESULTS, commit
from .seed import seed, text, user_of
from .timing import interleaved, no_collector, percentiles

SIZES = (100, 1000, 10_000)
TOP_KS = (3, 5, 8)
DIMENSION = 512


def alternate(
    one: Callable[[], object], other: Callable[[], object], seconds: float
) -> tuple[list[int], list[int]]:
    """Nanoseconds of each call of the two, in turn, for about `seconds`."""
    taken = interleaved({"one": one, "other": other}, seconds, warm_ups=100)
    return taken["one"].tolist(), taken["other"].tolist()


def measure(channel: grpc.Channel, seconds: float) -> dict[str, float]:
    echo_stub = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel)
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    empty = diagnostics_service_pb2.EchoRequest()
    generator = np.random.default_rng(2)
    vectors = [generator.standard_normal(DIMENSION).astype("<f4").tobytes() for _ in range(256)]
    figures: dict[str, float] = {}
    echoes: list[int] = []

    def record(key: str, search: list[int], echo: list[int]) -> None:
        echoes.extend(echo)
        for name, value in percentiles(search).items():
            figures[f"{key}.{name}_us"] = round(value, 1)
        for name, value in percentiles(echo).items():
            figures[f"{key}.over_echo.{name}"] = round(percentiles(search)[name] / value, 3)

    counter = iter(range(1 << 30))
    for size in SIZES:
        for top_k in TOP_KS:
            given = [
                memory_service_pb2.SearchMemoriesRequest(user_id=user_of(size), embedding_f32=v, top_k=top_k)
                for v in vectors
            ]
            search, echo = alternate(
                lambda given=given: stub.SearchMemories(given[next(counter) % len(given)]),
                lambda: echo_stub.Echo(empty),
                seconds,
            )
            record(f"service.warm_search.n{size}.top{top_k}", search, echo)
            cached = [
                memory_service_pb2.SearchMemoriesRequest(
                    user_id=user_of(size), query=text(n * 7), top_k=top_k
                )
                for n in range(32)
            ]
            search, echo = alternate(
                lambda cached=cached: stub.SearchMemories(cached[next(counter) % len(cached)]),
                lambda: echo_stub.Echo(empty),
                seconds / 2,
            )
            record(f"service.warm_search_text_cached.n{size}.top{top_k}", search, echo)
            search, echo = alternate(
                lambda size=size, top_k=top_k: stub.SearchMemories(
                    memory_service_pb2.SearchMemoriesRequest(
                        user_id=user_of(size), query=f"合同 HT-{next(counter)} 的额度", top_k=top_k
                    )
                ),
                lambda: echo_stub.Echo(empty),
                seconds / 2,
            )
            record(f"service.warm_search_text_new.n{size}.top{top_k}", search, echo)
    for name, value in percentiles(echoes).items():
        figures[f"service.echo.{name}_us"] = round(value, 1)
    for name in ("p50", "p95", "p99"):
        figures[f"service.warm_search_over_echo.{name}"] = figures[
            f"service.warm_search.n1000.top5.over_echo.{name}"
        ]
    return figures


def table(figures: dict[str, float]) -> str:
    lines = [
        "| call | memories | top_k | p50 µs | p95 µs | p99 µs | p50 over echo |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]

    def row(label: str, size: str, top_k: str, key: str, over: str) -> str:
        values = " | ".join(f"{figures[f'{key}.{p}_us']:,.0f}" for p in ("p50", "p95", "p99"))
        return f"| {label} | {size} | {top_k} | {values} | {over} |"

    lines.append(row("Echo (null)", "", "", "service.echo", "1.00"))
    for key, label in (
        ("warm_search", "SearchMemories, embedding given"),
        ("warm_search_text_cached", "SearchMemories, text seen before"),
        ("warm_search_text_new", "SearchMemories, new text"),
    ):
        for size in SIZES:
            for top_k in TOP_KS:
                name = f"service.{key}.n{size}.top{top_k}"
                over = f"{figures[f'{name}.over_echo.p50']:.2f}"
                lines.append(row(label, f"{size:,}", str(top_k), name, over))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds-per-point", type=float, default=1.5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memlane-bench-") as folder:
        data_dir = Path(folder) / "data"
        print("seeding ...", flush=True)
        seed(data_dir, SIZES)
        with (
            running_server(data_dir) as server,
            grpc.insecure_channel(server.address) as channel,
            no_collector(),
        ):
            print("measuring ...", flush=True)
            figures = measure(channel, arguments.seconds_per_point)
    about = {
        "commit": commit(),
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "grpcio": version("grpcio"),
        "seed": 1,
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "quick.json").write_text(json.dumps({**about, **figures}, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "quick.md").write_text(table(figures) + "\n", encoding="utf-8")
    print(table(figures))
    print(f"\nwarm search over echo, p50: {figures['service.warm_search_over_echo.p50']}")


if __name__ == "__main__":
    main()
