"""Latency and memory as one user's memories grow, and as users grow: 10 to 100,000 of each.

    python -m benchmarks.growth [--seconds-per-point 6] [--largest-users 100000]

Every call is a real one over gRPC to a whole server process. What is not real is how the memories got there: they are
put straight into the server's index (see `filled_server`), with vectors of the embedder's dimension and random
directions, because two million rows would take Milvus Lite hours. A warm read never looks at the store, so it cannot
tell; a cold read is measured by `benchmarks.service`.

Memories per user: one server, one user of each size, sizes take turns call by call. Users (20 memories each): a server
with 100 users and one with N stand side by side, and one client asks them in turn for a user drawn at random.

Memory: bytes per memory over the bytes of its vector and text, once by the index's own accounting and once by the
growth of the server's resident memory, in which a single large user's load leaves room behind that the next load uses
again. `growth.bytes_per_row_over_content` is the larger of the two at the largest
number of users. `benchmarks.memory_profile` says which part takes how much.

Keys: growth.memories.n<memories>.<figure>, growth.users.n<users>.<figure>; growth.users is p50 with 100,000 users over
p50 with 100.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import grpc
import numpy as np
from numpy.typing import NDArray

from memlane.v1 import memory_service_pb2, memory_service_pb2_grpc
from memlane_core.adapters.local_embedder import DIMENSION
from tests.support.memlane_server import ServerProcess

from .filled_server import FACTS, Filling, Population
from .report import SEED, merge_results
from .timing import Progress, interleaved, percentiles

SIZES = (10, 100, 1_000, 10_000, 100_000)
BASE_USERS = 100
MEMORIES_EACH = 20
TOP_K = 5

_FILL_SECONDS = 900.0
_BYTES_PER_ROW = 4_000
"""More than a row has been seen to take; what does not fit the machine is refused before it is begun."""
_LEAST_ROWS_FOR_MEMORY = 10_000
"""Below, a process grows for other reasons too."""


class Target:
    """A filled server seen through one channel."""

    def __init__(
        self, server: ServerProcess, channel: grpc.Channel, populations: Sequence[Population]
    ) -> None:
        self._stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self._users = np.random.default_rng(SEED)
        self._vectors = [
            vector.astype("<f4").tobytes() for vector in np.random.default_rng(SEED).random((256, DIMENSION))
        ]
        self.populations = populations
        facts = json.loads((server.data_dir / FACTS).read_text(encoding="utf-8"))
        self.fillings = [Filling(**fact) for fact in facts]

    def search(self, population: Population) -> None:
        """Ask for a random user of it. Raises ValueError when there are too few memories in the answer."""
        user, vector = self._users.integers(0, (population.users, len(self._vectors))).tolist()
        response = self._stub.SearchMemories(
            memory_service_pb2.SearchMemoriesRequest(
                user_id=population.user(user), embedding_f32=self._vectors[vector], top_k=TOP_K
            )
        )
        if len(response.results) != TOP_K:
            raise ValueError(f"{len(response.results)} memories of {population.user(user)}")


@contextmanager
def filled(*populations: Population) -> Iterator[Target]:
    """A server process that holds these users."""
    rows = sum(p.users * p.memories for p in populations)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memlane-bench-"))
        server = ServerProcess(
            Path(folder) / "data",
            {"MEMLANE_INDEX__BUDGET_MIB": str(1024 + rows * _BYTES_PER_ROW // 2**20)},
            command=("-m", "benchmarks.filled_server", *map(str, populations)),
            start_seconds=_FILL_SECONDS,
        )
        stack.callback(server.kill)
        server.start()
        channel = stack.enter_context(grpc.insecure_channel(server.address))
        yield Target(server, channel, populations)


def by_memories(seconds: float, progress: Progress) -> dict[str, float]:
    """One user of each size on one server."""
    progress(f"growth: filling one user each of {', '.join(f'{n:,}' for n in SIZES)} memories")
    populations = [Population(1, size) for size in SIZES]
    with filled(*populations) as target:
        progress("growth: searching them in turn")
        calls: dict[str, Callable[[], object]] = {
            f"growth.memories.n{p.memories}": partial(target.search, p) for p in populations
        }
        taken = interleaved(calls, seconds * len(calls), warm_ups=50)
        figures = _latencies(taken)
        for filling, population in zip(target.fillings, populations, strict=True):
            if filling.rows >= _LEAST_ROWS_FOR_MEMORY:
                figures |= _memory(f"growth.memories.n{population.memories}", filling)
    return figures


def by_users(seconds: float, largest: int, progress: Progress) -> dict[str, float]:
    """A server with 100 users beside one with N, for each N."""
    base = Population(BASE_USERS, MEMORIES_EACH)
    figures: dict[str, float] = {}
    with filled(base) as few:
        for size in SIZES:
            if size > largest:
                continue
            grown = Population(size, MEMORIES_EACH)
            needed = size * MEMORIES_EACH * _BYTES_PER_ROW
            if needed > available_bytes():
                progress(f"growth: {size:,} users are left out: {needed / 2**30:.1f} GiB would be needed")
                continue
            progress(f"growth: filling {size:,} users of {MEMORIES_EACH} memories")
            with filled(grown) as many:
                progress(f"growth: searching {size:,} users beside {BASE_USERS}")
                taken = interleaved(
                    {"few": partial(few.search, base), "many": partial(many.search, grown)},
                    seconds,
                    warm_ups=300,
                )
                name = f"growth.users.n{size}"
                figures |= _latencies({name: taken["many"]})
                few_us, many_us = percentiles(taken["few"]), percentiles(taken["many"])
                for percentile, value in many_us.items():
                    ratio = round(value / few_us[percentile], 3)
                    figures[f"{name}.over_{BASE_USERS}.{percentile}"] = ratio
                if many.fillings[0].rows >= _LEAST_ROWS_FOR_MEMORY:
                    figures |= _memory(name, many.fillings[0])
                if size == SIZES[-1]:
                    figures["growth.users"] = figures[f"{name}.over_{BASE_USERS}.p50"]
                    figures["growth.bytes_per_row_over_content"] = max(
                        figures[f"{name}.resident_over_content"], figures[f"{name}.accounted_over_content"]
                    )
    return figures


def run(*, seconds_per_point: float, progress: Progress, largest_users: int = SIZES[-1]) -> dict[str, float]:
    """All figures, flat. What the machine's memory cannot hold is left out, and `progress` is told."""
    figures = by_memories(seconds_per_point, progress)
    return figures | by_users(seconds_per_point, largest_users, progress)


def available_bytes() -> int:
    """What the system can give without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise OSError("no MemAvailable in /proc/meminfo")


def table(figures: dict[str, float]) -> str:
    """As Markdown."""
    lines = []
    for kind, label in (("memories", "memories of one user"), ("users", "users of 20 memories")):
        lines += [
            f"| {label} | p50 µs | p95 µs | p99 µs | p50 over {BASE_USERS} users | p99 over {BASE_USERS} users "
            "| bytes a memory | resident over content | accounted over content |",
            "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        ]
        for size in SIZES:
            name = f"growth.{kind}.n{size}"
            if f"{name}.p50_us" in figures:
                values = [f"{figures[f'{name}.{p}_us']:,.0f}" for p in ("p50", "p95", "p99")]
                for key, form in (
                    (f"over_{BASE_USERS}.p50", ".2f"),
                    (f"over_{BASE_USERS}.p99", ".2f"),
                    ("resident_bytes_per_memory", ",.0f"),
                    ("resident_over_content", ".2f"),
                    ("accounted_over_content", ".2f"),
                ):
                    value = figures.get(f"{name}.{key}")
                    values.append("" if value is None else format(value, form))
                lines.append(f"| {size:,} | {' | '.join(values)} |")
        lines.append("")
    return "\n".join(lines)


def _latencies(taken: dict[str, NDArray[np.int64]]) -> dict[str, float]:
    return {
        f"{name}.{percentile}_us": round(value, 1)
        for name, values in taken.items()
        for percentile, value in percentiles(values).items()
    }


def _memory(name: str, filling: Filling) -> dict[str, float]:
    return {
        f"{name}.content_bytes_per_memory": round(filling.content_bytes / filling.rows, 1),
        f"{name}.resident_bytes_per_memory": round(filling.resident_bytes / filling.rows, 1),
        f"{name}.accounted_bytes_per_memory": round(filling.accounted_bytes / filling.rows, 1),
        f"{name}.resident_over_content": round(filling.resident_bytes / filling.content_bytes, 3),
        f"{name}.accounted_over_content": round(filling.accounted_bytes / filling.content_bytes, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds-per-point", type=float, default=6.0)
    parser.add_argument("--largest-users", type=int, default=SIZES[-1])
    options = parser.parse_args()
    figures = run(
        seconds_per_point=options.seconds_per_point,
        progress=lambda message: print(message, flush=True),
        largest_users=options.largest_users,
    )
    merge_results("growth", figures)
    print(table(figures))


if __name__ == "__main__":
    main()
