"""Every kernel beside NumPy/BLAS, faiss flat, usearch exact and SimSIMD, one thread each, in one run.

    python -m benchmarks.kernels [--seconds-per-size 2] [--largest 100000]

Contenders take turns call by call and the medians count. Three tasks, each at all sizes: one query over one block;
many queries over one block; many pairs of a query and a block of its own, which for the others is a loop. All figures
are microseconds a query. The others give the nearest rows; ours leaves out deleted and expired ones besides, and ranks
by words too where it says so.

The machine's read bandwidth is measured in the same rounds, by adding up an array of the same size. The float32 pass
must read every vector once, so bandwidth_share is how much of what the machine can read it does read.

Keys: kernel.<contender>.n<rows>_d<dimension>_us and kernel.[<task>_]over_<other>.n<rows>_d<dimension>.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import faiss
import numpy as np
import simsimd
from numba import float32, njit
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from usearch.compiled import MetricKind
from usearch.index import search as usearch_search

from memlane_core import kernels
from memlane_core.domain.memory import Memory
from memlane_core.index import Block, JsonRecords, SearchQuery, search_many
from memlane_core.lexical import QueryTokens, query_tokens
from memlane_core.ports.vector_store import StoredRow

from .report import merge_results
from .timing import Progress, interleaved, medians_us

ROWS = (100, 1_000, 10_000, 50_000, 100_000)
DIMENSIONS = (384, 512, 1536)
TOP_K = 5
RIVALS = ("faiss_flat", "numpy", "usearch", "simsimd")
BANDWIDTH_SIZE = (50_000, 1536)

_BATCH_ELEMENTS = 1 << 29
"""Multiplications that a batch may cost a round."""
_PAIR_ELEMENTS = 1 << 24
"""Numbers in the blocks of all pairs together."""
_WORDS = [f"word{i}" for i in range(4_000)]
_QUESTION = "word3 word40 word200 word700 word1500 word3000"

Vectors = NDArray[np.float32]
Task = dict[str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Case:
    """What is searched at one size."""

    blocks: Sequence[Block]
    vectors: Sequence[Vectors]
    """Of each block, shape (rows, dimension)."""
    flats: Sequence[faiss.IndexFlatIP]
    queries: Vectors
    """Shape (queries, dimension): one for each block, and more for the batch."""
    tokens: QueryTokens


@njit(fastmath=True, nogil=True)
def _read(flat: Vectors) -> float:
    """Touches every number once and does next to nothing with it: the rate at which memory can be read."""
    total = float32(0.0)
    for i in range(flat.shape[0]):
        total += flat[i]
    return float(total)


def counts(rows: int, dimension: int) -> tuple[int, int]:
    """How many queries a batch has and how many pairs, so that a round stays short at every size."""
    queries = min(64, max(4, _BATCH_ELEMENTS // (rows * dimension)))
    pairs = min(64, max(2, _PAIR_ELEMENTS // (rows * dimension)))
    return queries, pairs


def case(rows: int, dimension: int) -> Case:
    """Random unit vectors, twenty words a row of the frequencies of natural language."""
    rng = np.random.default_rng(rows + dimension)
    shares = 1 / np.arange(20, len(_WORDS) + 20)
    queries, pairs = counts(rows, dimension)
    blocks, arrays, flats = [], [], []
    for _ in range(pairs):
        vectors = rng.standard_normal((rows, dimension), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        words = rng.choice(_WORDS, (rows, 20), p=shares / shares.sum())
        stored = [
            StoredRow(Memory(str(i), "user", " ".join(words[i]), created_at=i, position=i), vectors[i])
            for i in range(rows)
        ]
        blocks.append(Block.build(dimension, stored, rows, JsonRecords()))
        flats.append(faiss.IndexFlatIP(dimension))
        flats[-1].add(vectors)
        arrays.append(vectors)
    near = arrays[0][rng.integers(0, rows, max(queries, pairs))]
    asked = near + 0.8 / dimension**0.5 * rng.standard_normal(near.shape)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    return Case(blocks, arrays, flats, np.ascontiguousarray(asked, np.float32), query_tokens(_QUESTION))


def best(scores: Vectors) -> NDArray[np.int64]:
    """Rows of the highest scores, best first, along the last axis."""
    top = np.argpartition(scores, -TOP_K, axis=-1)[..., -TOP_K:]
    order = np.argsort(-np.take_along_axis(scores, top, -1), axis=-1)
    return np.take_along_axis(top, order, -1)


def coded_columns(columns: kernels.Columns) -> kernels.Columns:
    """The same with codes, which small blocks do not keep because the float32 pass is the faster one there."""
    if len(columns.codes):
        return columns
    codes, rows = np.empty(columns.vectors.shape, np.int8), columns.rows.copy()
    kernels.code_rows(columns.vectors, 0, columns.n, codes, rows)
    return replace(columns, codes=codes, rows=rows)


def one_query(c: Case) -> Task:
    block, vectors, flat, query = c.blocks[0], c.vectors[0], c.flats[0], c.queries[0]
    columns, ids = block._columns, c.tokens.ids
    with_codes = coded_columns(columns)

    def scan(coded: bool | None, tokens: NDArray[np.uint32] | None = None) -> Callable[[], object]:
        of = with_codes if coded else columns
        return lambda: kernels.search(of, query, tokens, top_k=TOP_K, now=0.0, coded=coded)

    return {
        "search": scan(None),
        "search_words": scan(None, ids),
        "float32": scan(False),
        "float32_words": scan(False, ids),
        "coded": scan(True),
        "coded_words": scan(True, ids),
        "block": lambda: block.search(SearchQuery(query, None, TOP_K, 0.0)),
        "block_words": lambda: block.search(SearchQuery(query, c.tokens, TOP_K, 0.0)),
        "faiss_flat": lambda: flat.search(query[None], TOP_K),
        "numpy": lambda: best(vectors @ query),
        "usearch": lambda: usearch_search(vectors, query, TOP_K, MetricKind.IP, exact=True, threads=1),
        "simsimd": lambda: best(np.asarray(simsimd.inner(query, vectors))),
        "read": lambda: _read(vectors.reshape(-1)),
    }


def many_queries(c: Case, number: int) -> Task:
    block, vectors, flat, queries = c.blocks[0], c.vectors[0], c.flats[0], c.queries[:number]
    plain = [(block, SearchQuery(query, None, TOP_K, 0.0)) for query in queries]
    worded = [(block, SearchQuery(query, c.tokens, TOP_K, 0.0)) for query in queries]
    return {
        "many_queries": lambda: search_many(plain),
        "many_queries_words": lambda: search_many(worded),
        "many_queries_faiss_flat": lambda: flat.search(queries, TOP_K),
        "many_queries_numpy": lambda: best(queries @ vectors.T),
        "many_queries_usearch": lambda: usearch_search(
            vectors, queries, TOP_K, MetricKind.IP, exact=True, threads=1
        ),
        "many_queries_simsimd": lambda: best(
            np.asarray(simsimd.cdist(queries, vectors, metric="inner", threads=1))
        ),
    }


def many_pairs(c: Case) -> Task:
    pairs = list(zip(c.blocks, c.vectors, c.flats, c.queries, strict=False))
    plain = [(block, SearchQuery(query, None, TOP_K, 0.0)) for block, _, _, query in pairs]
    worded = [(block, SearchQuery(query, c.tokens, TOP_K, 0.0)) for block, _, _, query in pairs]
    return {
        "many_pairs": lambda: search_many(plain),
        "many_pairs_words": lambda: search_many(worded),
        "many_pairs_faiss_flat": lambda: [flat.search(query[None], TOP_K) for _, _, flat, query in pairs],
        "many_pairs_numpy": lambda: [best(vectors @ query) for _, vectors, _, query in pairs],
        "many_pairs_usearch": lambda: [
            usearch_search(vectors, query, TOP_K, MetricKind.IP, exact=True, threads=1)
            for _, vectors, _, query in pairs
        ],
        "many_pairs_simsimd": lambda: [
            best(np.asarray(simsimd.inner(query, vectors))) for _, vectors, _, query in pairs
        ],
    }


def check(c: Case) -> None:
    """All contenders must give the same rows, or their times compare nothing. Raises ValueError."""
    block, vectors, flat, query = c.blocks[0], c.vectors[0], c.flats[0], c.queries[0]
    found = usearch_search(vectors, query, TOP_K, MetricKind.IP, exact=True, threads=1)
    answers = {
        "block": [int(h.memory.memory_id) for h in block.search(SearchQuery(query, None, TOP_K, 0.0))],
        "faiss_flat": flat.search(query[None], TOP_K)[1][0].tolist(),
        "numpy": best(vectors @ query).tolist(),
        "usearch": np.asarray(found.keys).tolist(),
        "simsimd": best(np.asarray(simsimd.inner(query, vectors))).tolist(),
    }
    if any(answer != answers["block"] for answer in answers.values()):
        raise ValueError(f"the answers differ at {vectors.shape}: {answers}")


def measure(rows: int, dimension: int, seconds: float) -> dict[str, float]:
    """Figures of one size, in about `seconds` beyond what building takes."""
    c = case(rows, dimension)
    check(c)
    queries, _ = counts(rows, dimension)
    size = f"n{rows}_d{dimension}"
    times = medians_us(interleaved(one_query(c), seconds / 2))
    for task, number in ((many_queries(c, queries), queries), (many_pairs(c), len(c.blocks))):
        taken = medians_us(interleaved(task, seconds / 4, least_rounds=3))
        times |= {name: value / number for name, value in taken.items()}
    figures = {f"kernel.{name}.{size}_us": round(value, 2) for name, value in times.items()}
    for rival in RIVALS:
        figures[f"kernel.over_{rival}.{size}"] = round(times["search"] / times[rival], 3)
        figures[f"kernel.words_over_{rival}.{size}"] = round(times["search_words"] / times[rival], 3)
        for task_name in ("many_queries", "many_pairs"):
            ratio = times[task_name] / times[f"{task_name}_{rival}"]
            figures[f"kernel.{task_name}_over_{rival}.{size}"] = round(ratio, 3)
    if (rows, dimension) == BANDWIDTH_SIZE:
        gigabytes = c.vectors[0].nbytes / 1e9
        figures["kernel.read_bandwidth_gb_per_s"] = round(gigabytes / times["read"] * 1e6, 2)
        figures["kernel.float32_gb_per_s"] = round(gigabytes / times["float32"] * 1e6, 2)
        figures["kernel.bandwidth_share"] = round(times["read"] / times["float32"], 3)
    return figures


def run(*, seconds_per_size: float, progress: Progress, largest: int = ROWS[-1]) -> dict[str, float]:
    """All figures, flat; sizes of more than `largest` rows are left out."""
    kernels.warm_up()
    figures: dict[str, float] = {}
    with threadpool_limits(1):
        for rows in ROWS:
            for dimension in DIMENSIONS:
                if rows <= largest:
                    progress(f"kernels: {rows:,} x {dimension}")
                    figures |= measure(rows, dimension, seconds_per_size)
    return figures


def table(figures: dict[str, float]) -> str:
    """Microseconds a query by size, as Markdown."""
    names = ("search", "search_words", "float32", "coded", *RIVALS)
    lines = [
        "| memories | dimension | " + " | ".join(n.replace("_", " ") for n in names) + " | over faiss flat |",
        "|" + "---:|" * (len(names) + 3),
    ]
    for rows in ROWS:
        for dimension in DIMENSIONS:
            size = f"n{rows}_d{dimension}"
            if f"kernel.search.{size}_us" in figures:
                values = " | ".join(f"{figures[f'kernel.{name}.{size}_us']:,.1f}" for name in names)
                over = figures[f"kernel.over_faiss_flat.{size}"]
                lines.append(f"| {rows:,} | {dimension} | {values} | {over:.2f} |")
    lines += [
        "",
        "| memories | dimension | task | "
        + " | ".join(("ours", "ours, words", *(r.replace("_", " ") for r in RIVALS)))
        + " |",
        "|---:|---:|---|" + "---:|" * (len(RIVALS) + 2),
    ]
    for rows in ROWS:
        for dimension in DIMENSIONS:
            size = f"n{rows}_d{dimension}"
            for task in ("many_queries", "many_pairs"):
                if f"kernel.{task}.{size}_us" in figures:
                    columns = (task, f"{task}_words", *(f"{task}_{r}" for r in RIVALS))
                    values = " | ".join(f"{figures[f'kernel.{name}.{size}_us']:,.1f}" for name in columns)
                    lines.append(f"| {rows:,} | {dimension} | {task.replace('_', ' ')} | {values} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds-per-size", type=float, default=2.0)
    parser.add_argument("--largest", type=int, default=ROWS[-1], help="rows")
    options = parser.parse_args()
    figures = run(
        seconds_per_size=options.seconds_per_size,
        progress=lambda message: print(message, flush=True),
        largest=options.largest,
    )
    merge_results("kernels", figures)
    print(table(figures))
    print(f"float32 pass over read bandwidth: {figures.get('kernel.bandwidth_share', 'not measured')}")


if __name__ == "__main__":
    main()
