"""Where Milvus Lite should run: in a thread of the serving process, or in a child process.

A warm search is imitated in the main thread once a millisecond (a scan of 1,000 × 512 floats and the best five of
it) while another thread writes single rows, loads users or reads the whole collection. Reported is how long after
its planned moment each search was done: the tail is what a caller would feel.

    python benchmarks/milvus_lite_placement.py [--rows 20000] [--seconds 8]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from memlane_core.adapters.milvus import MilvusStore
from memlane_core.adapters.milvus_lite.host import LiteHost
from memlane_core.domain.memory import Memory
from memlane_core.ports.vector_store import StoredRow

TENANT = "bench"
DIMENSION = 512
ROWS_PER_USER = 1000
PERIOD_SECONDS = 0.001


@contextmanager
def child_process(directory: Path) -> Iterator[str]:
    yield str(directory / "child.db")


@contextmanager
def thread(directory: Path) -> Iterator[str]:
    host = LiteHost(directory / "thread.db", directory / "thread.sock")
    try:
        yield f"unix:{directory / 'thread.sock'}"
    finally:
        host.close()


def row(number: int, random: np.random.Generator) -> StoredRow:
    vector = random.standard_normal(DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    user = f"user-{number // ROWS_PER_USER}"
    return StoredRow(Memory(f"m{number}", user, f"第 {number} 条记忆: prefers text messages"), vector)


def measure(work: Callable[[], None] | None, seconds: float) -> tuple[list[float], list[float]]:
    """Lateness of each search and duration of each unit of work, in milliseconds."""
    random = np.random.default_rng(7)
    block = random.standard_normal((1000, DIMENSION)).astype(np.float32)
    query = random.standard_normal(DIMENSION).astype(np.float32)
    done = threading.Event()
    work_ms: list[float] = []

    def background() -> None:
        while work is not None and not done.is_set():
            began = time.perf_counter()
            work()
            work_ms.append(1e3 * (time.perf_counter() - began))

    worker = threading.Thread(target=background)
    worker.start()
    late_ms: list[float] = []
    planned = time.perf_counter()
    end = planned + seconds
    while planned < end:
        planned += PERIOD_SECONDS
        ahead = planned - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        np.argpartition(block @ query, -5)
        late_ms.append(1e3 * (time.perf_counter() - planned))
    done.set()
    worker.join()
    return late_ms, work_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    options = parser.parse_args()
    print(f"{options.rows} rows of {DIMENSION}; searches every {1e3 * PERIOD_SECONDS:g} ms; milliseconds")
    print(
        f"{'placement':<14}{'beside':<12}{'p50':>8}{'p99':>8}{'p99.9':>8}{'max':>8}{'work p50':>10}{'works':>7}"
    )
    for placement in (thread, child_process):
        with tempfile.TemporaryDirectory() as name, placement(Path(name)) as uri:
            store = MilvusStore(uri, dimension=DIMENSION, embedder_model="bench")
            store.open([TENANT])
            random = np.random.default_rng(1)
            rows = [row(number, random) for number in range(options.rows)]
            for first in range(0, len(rows), 5000):
                store.upsert(TENANT, rows[first : first + 5000], timeout_seconds=60)
            for what, work in works(store, rows, random).items():
                late, took = measure(work, options.seconds)
                p50, p99, p999, worst = np.percentile(late, [50, 99, 99.9, 100])
                typical = f"{np.median(took):>10.1f}" if took else f"{'-':>10}"
                print(
                    f"{placement.__name__:<14}{what:<12}{p50:>8.2f}{p99:>8.2f}{p999:>8.2f}{worst:>8.2f}"
                    f"{typical}{len(took):>7}"
                )
            store.close()


def works(
    store: MilvusStore, rows: list[StoredRow], random: np.random.Generator
) -> dict[str, Callable[[], None] | None]:
    def write() -> None:
        store.upsert(TENANT, [rows[int(random.integers(len(rows)))]], timeout_seconds=10)

    def load() -> None:
        user = f"user-{int(random.integers(len(rows) // ROWS_PER_USER))}"
        store.load_user(TENANT, user, timeout_seconds=10)

    def scan() -> None:
        for _ in store.scan(TENANT, batch_rows=2000, timeout_seconds=60):
            pass

    return {"nothing": None, "writes": write, "user loads": load, "full scan": scan}


if __name__ == "__main__":
    main()
