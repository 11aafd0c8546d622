"""The fused kernel beside faiss flat and NumPy, in one run on one thread.

    python -m benchmarks.kernels [--rounds 40] [--largest 50000]

Contenders take turns in short slices and the fastest slice of each counts, so a busy machine slows them alike. Prints
a table, and writes benchmarks/results/kernels.json.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numba import float32, njit
from numpy.typing import NDArray

from memlane_core import kernels
from memlane_core.domain.memory import Memory
from memlane_core.index import Block, SearchQuery
from memlane_core.lexical import query_tokens
from memlane_core.ports.vector_store import StoredRow

SIZES = ((5, 512), (100, 512), (1_000, 384), (1_000, 512), (1_000, 1536), (10_000, 1536), (50_000, 1536))
TOP_K = 5
RESULTS = Path(__file__).parent / "results"
_SLICE_SECONDS = 0.004
_WORDS = [f"word{i}" for i in range(4_000)]


@njit(fastmath=True, nogil=True)
def _read(flat: NDArray[np.float32]) -> float:
    """Touches every number once and does next to nothing with it: the rate at which memory can be read."""
    total = float32(0.0)
    for i in range(flat.shape[0]):
        total += flat[i]
    return float(total)


def fastest(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Microseconds a call."""
    repeats = {}
    for name, call in contenders.items():
        call()
        started = time.perf_counter()
        call()
        repeats[name] = max(1, int(_SLICE_SECONDS / (time.perf_counter() - started)))
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, call in contenders.items():
            started = time.perf_counter()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (time.perf_counter() - started) / repeats[name] * 1e6)
    return best


def block_of(rng: np.random.Generator, n: int, d: int) -> tuple[Block, NDArray[np.float32]]:
    """Random unit vectors, twenty words a row of the frequencies of natural language."""
    vectors = rng.standard_normal((n, d), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shares = 1 / np.arange(20, len(_WORDS) + 20)
    words = rng.choice(_WORDS, (n, 20), p=shares / shares.sum())
    rows = [
        StoredRow(Memory(str(i), "user", " ".join(words[i]), created_at=i, position=i), vectors[i])
        for i in range(n)
    ]
    return Block.build(d, rows, n, lambda memory: None), vectors


def measure(n: int, d: int, rounds: int) -> dict[str, Any]:
    rng = np.random.default_rng(n + d)
    block, vectors = block_of(rng, n, d)
    query = vectors[n // 2] + 0.8 / d**0.5 * rng.standard_normal(d)
    query = np.ascontiguousarray(query / np.linalg.norm(query), dtype=np.float32)
    flat = faiss.IndexFlatIP(d)
    flat.add(vectors)
    tokens = query_tokens("word3 word40 word200 word700 word1500 word3000")
    columns = block._columns

    def scan(coded: bool, ids: NDArray[np.uint32] | None = None) -> Callable[[], object]:
        return lambda: kernels.search(columns, query, ids, top_k=TOP_K, now=0.0, coded=coded)

    def numpy_search() -> object:
        scores = vectors @ query
        best = np.argpartition(scores, -min(TOP_K, n))[-TOP_K:]
        return best[np.argsort(-scores[best])]

    times = fastest(
        {
            "block_search": lambda: block.search(SearchQuery(query, None, TOP_K, 0.0)),
            "block_search_words": lambda: block.search(SearchQuery(query, tokens, TOP_K, 0.0)),
            "kernel_float32": scan(False),
            "kernel_coded": scan(True),
            "kernel_coded_words": scan(True, tokens.ids),
            "faiss_flat": lambda: flat.search(query[None], TOP_K),
            "numpy": numpy_search,
            "read": lambda: _read(vectors.reshape(-1)),
        },
        rounds,
    )
    ours = [int(h.memory.memory_id) for h in block.search(SearchQuery(query, None, TOP_K, 0.0))]
    assert ours == flat.search(query[None], TOP_K)[1][0][: len(ours)].tolist(), "the answers differ"
    return {
        "rows": n,
        "dimension": d,
        "microseconds": {name: round(value, 2) for name, value in times.items()},
        "over_faiss": round(times["block_search"] / times["faiss_flat"], 3),
        "over_faiss_with_words": round(times["block_search_words"] / times["faiss_flat"], 3),
        "over_numpy": round(times["block_search"] / times["numpy"], 3),
        "float32_share_of_read_bandwidth": round(times["read"] / times["kernel_float32"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--largest", type=int, default=50_000)
    options = parser.parse_args()
    faiss.omp_set_num_threads(1)
    kernels.warm_up()
    results = []
    for n, d in SIZES:
        if n <= options.largest:
            results.append(measure(n, d, options.rounds))
            times = " ".join(f"{name} {value:.1f}" for name, value in results[-1]["microseconds"].items())
            print(
                f"{n} x {d}: {times} us | over faiss {results[-1]['over_faiss']}, with words "
                f"{results[-1]['over_faiss_with_words']}, over NumPy {results[-1]['over_numpy']}, float32 pass at "
                f"{results[-1]['float32_share_of_read_bandwidth']} of read bandwidth",
                flush=True,
            )
    RESULTS.mkdir(exist_ok=True)
    report = {"machine": platform.processor() or platform.machine(), "top_k": TOP_K, "sizes": results}
    (RESULTS / "kernels.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
