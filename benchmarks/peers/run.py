"""Loads the contenders, lets them take turns, and keeps what was seen."""

import argparse
import importlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memlane_core.adapters.local_embedder import DIMENSION

from ..report import SEED
from ..timing import no_collector, percentiles
from .corpus import Corpus, Query, make, recall
from .peer import Found, Kind, Peer
from .report import Measured, Missing, Outcome, keep, table

USERS = 200
ROWS_EACH = 500
QUERIES = 400
BURST = 10
"""Calls of one contender in a row, so that nobody is asked only when the others have emptied the caches."""

ADAPTERS = {
    "memlane": "ours:MemlaneService",
    "memlane_index": "ours:MemlaneIndex",
    "postgres": "postgres:Postgres",
    "qdrant_edge": "qdrant:QdrantEdge",
    "lancedb": "lance:LanceDB",
    "faiss_flat": "faiss_flat:FaissFlat",
    "mem0_faiss": "mem0_memory:Mem0Faiss",
    "milvus_lite": "milvus:MilvusLite",
    "milvus_server": "milvus:MilvusDirect",
    "mem0_pgvector": "mem0_memory:Mem0Pgvector",
    "chroma_server": "chroma:ChromaFiltered",
    "chroma_server_split": "chroma:ChromaSplit",
    "mem0_chroma": "mem0_memory:Mem0Chroma",
}
"""Name of each contender, and where its adapter is: imported one by one, so that one that is missing stops no other.
Those that take long to load come last."""
ON_DEMAND = ("mem0_chroma",)
"""Only with --only: it builds the same graph as the Chroma server does, which takes minutes."""
DEFAULT = [name for name in ADAPTERS if name not in ON_DEMAND]

_WARM_UPS = 20
_FIRST_CALLS_SECONDS = 120.0
_SHARE_OF_ONE = 0.55
"""Of the time for loading that one contender may take."""
LOADING_MINUTES = 10.0
"""After so long nothing more is loaded, so that the whole run ends within twenty minutes."""
_BURST_SECONDS = 0.5
"""Where ten calls take longer in the warm-up, there are fewer in a burst, and so fewer in all."""
_SLOWEST_SECONDS = 2.0
"""A call that takes longer in the warm-up is not called in the rounds: it would take the run's whole time."""

Say = Callable[[str], None]


@dataclass
class Asker:
    """One contender's place in the rounds: asks the next query at each call and keeps the answers."""

    name: str
    peer: Peer
    corpus: Corpus
    load_seconds: float
    answers: list[list[Found]] = field(default_factory=list)
    failure: str = ""
    burst: int = BURST
    """Calls in a row in each round."""
    _next: int = 0

    def __call__(self) -> None:
        if self.failure:
            return
        queries = self.corpus.queries
        query = queries[self._next % len(queries)]
        self._next += 1
        try:
            self.answers.append(self.peer.search(query))
        # Whatever a library raises, the others' rounds go on; the report names it.
        except Exception as error:  # noqa: BLE001 - the report names it
            self.failure = f"failed at call {self._next}: {one_line(error)}"

    def begin(self) -> None:
        """From the first query again."""
        self._next = 0
        self.answers.clear()

    def recall(self) -> float:
        """Mean over the answers."""
        queries = self.corpus.queries
        return float(
            np.mean(
                [
                    recall([row for row, _, _ in answer], queries[n % len(queries)].expected)
                    for n, answer in enumerate(self.answers)
                ]
            )
        )


def one_line(error: BaseException) -> str:
    """The kind of an error and the beginning of what it says."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:160]}" if said else type(error).__name__


def adapter(name: str) -> type[Peer]:
    """Raises ImportError where its library is not installed."""
    module, _, attribute = ADAPTERS[name].partition(":")
    found: type[Peer] = getattr(importlib.import_module(f"{__package__}.{module}"), attribute)
    return found


def load(name: str, corpus: Corpus, folder: Path, stack: ExitStack, seconds: int) -> Asker:
    """An asker whose peer is closed with the stack. Raises what the adapter raises."""
    peer = adapter(name)()
    stack.callback(_quietly, peer.close)
    place = folder / name
    place.mkdir()
    started = time.monotonic()
    with at_most(seconds):
        peer.load(corpus, place)
    return Asker(name, peer, corpus, time.monotonic() - started)


def warm_up(asker: Asker) -> float:
    """Asks once for every user, as long as there is time, so that what a contender reads on a user's first call is
    read; then some of the queries. Returns the median seconds of these; NaN where the contender failed."""
    corpus = asker.corpus
    until = time.monotonic() + _FIRST_CALLS_SECONDS
    for user in range(corpus.users):
        if time.monotonic() < until:
            first = corpus.vectors[corpus.rows_of(user)[0]]
            asker.peer.search(Query(user, corpus.user_id(user), first, frozenset()))
    taken: list[float] = []
    while len(taken) < _WARM_UPS and sum(taken) < 5.0 and not asker.failure:
        started = time.perf_counter()
        asker()
        taken.append(time.perf_counter() - started)
    return float(np.median(taken))


def measure(
    names: Sequence[str],
    corpus: Corpus,
    seconds: float,
    say: Say,
    *,
    loading_minutes: float = LOADING_MINUTES,
) -> list[Outcome]:
    """All of them alive together: the services take turns with each other, then the engines."""
    outcomes: list[Outcome] = []
    ready: list[Asker] = []
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True))
        )
        for name in names:
            say(f"{name}: loading {len(corpus):,} rows")
            try:
                if time.monotonic() - began > 60 * loading_minutes:
                    raise TimeoutError(f"its turn to load came after {loading_minutes:g} minutes")
                asker = load(name, corpus, folder, stack, ceil(60 * loading_minutes * _SHARE_OF_ONE))
                median = warm_up(asker)
            # The edge of the program: one that cannot start is named, the others go on.
            except Exception as error:  # noqa: BLE001 - the report names it
                outcomes.append(Missing(name, one_line(error)))
                say(f"{name}: left out: {outcomes[-1]}")
                continue
            if not asker.failure and median > _SLOWEST_SECONDS:
                asker.failure = f"{median:.1f} s a call, too slow to take part in every round"
            if asker.failure:
                outcomes.append(Missing(name, asker.failure))
                say(f"{name}: left out: {asker.failure}")
                continue
            asker.burst = max(1, min(BURST, int(_BURST_SECONDS / median)))
            say(f"{name}: ready after {asker.load_seconds:.0f} s, about {median * 1000:.2f} ms a call")
            ready.append(asker)
        for kinds in (("service",), ("engine", "reference")):
            group = [asker for asker in ready if asker.peer.kind in kinds]
            if group:
                say(f"rounds of {', '.join(asker.name for asker in group)}")
                outcomes += rounds(group, seconds)
    order = list(ADAPTERS)
    return sorted(outcomes, key=lambda outcome: order.index(outcome.name))


def rounds(group: Sequence[Asker], seconds: float) -> list[Outcome]:
    """In each round everyone is asked a burst of queries, in an order drawn anew, for about `seconds` and at least
    until every query was asked once. All begin with the first query; who is slow gets less far."""
    for asker in group:
        asker.begin()
    taken: dict[str, list[int]] = {asker.name: [] for asker in group}
    generator = np.random.default_rng(SEED)
    now = time.perf_counter_ns
    until = time.perf_counter() + seconds
    done, queries = 0, len(group[0].corpus.queries)
    with no_collector():
        while done < queries or time.perf_counter() < until:
            for place in generator.permutation(len(group)).tolist():
                asker = group[place]
                for _ in range(asker.burst):
                    started = now()
                    asker()
                    taken[asker.name].append(now() - started)
            done += BURST
    return [outcome_of(asker, np.array(taken[asker.name], np.int64)) for asker in group]


def outcome_of(asker: Asker, nanoseconds: NDArray[np.int64]) -> Outcome:
    if asker.failure:
        return Missing(asker.name, asker.failure)
    peer = asker.peer
    return Measured(
        name=asker.name,
        title=peer.title,
        kind=peer.kind,
        version=peer.version(),
        settings=peer.settings,
        recall=round(asker.recall(), 4),
        calls=len(nanoseconds),
        load_seconds=round(asker.load_seconds, 1),
        nbytes=peer.nbytes(),
        **{f"{name}_us": round(value, 1) for name, value in percentiles(nanoseconds).items()},
    )


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raises TimeoutError in the main thread when the block takes longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _quietly(close: Callable[[], None]) -> None:
    """What cannot be closed any more must not keep the others from being closed."""
    with suppress(Exception):
        close()


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(names) - set(ADAPTERS)):
        raise argparse.ArgumentTypeError(f"no {', '.join(unknown)}; there are {', '.join(ADAPTERS)}")
    return [name for name in ADAPTERS if name in names]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(description: str | None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        type=_names,
        default=DEFAULT,
        help=f"some of {', '.join(ADAPTERS)}, parted by commas; default: all but {', '.join(ON_DEMAND)}",
    )
    parser.add_argument("--users", type=_positive, default=USERS, help=f"default {USERS}")
    parser.add_argument(
        "--rows", type=_positive, default=ROWS_EACH, help=f"of each user, default {ROWS_EACH}"
    )
    parser.add_argument(
        "--queries", type=_positive, default=QUERIES, help=f"different ones, default {QUERIES}"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="at least, for each of the two groups")
    parser.add_argument(
        "--loading-minutes",
        type=float,
        default=LOADING_MINUTES,
        help=f"after so long nothing more is loaded; default {LOADING_MINUTES:g}, more for a busy machine",
    )
    options = parser.parse_args()
    # So that what was started is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()

    def say(message: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        print(f"[{minutes:02}:{seconds:02}] {message}", file=sys.stderr, flush=True)

    try:
        corpus = make(
            users=options.users,
            rows_each=options.rows,
            dimension=DIMENSION,
            queries=options.queries,
            seed=SEED,
        )
    except ValueError as error:
        parser.error(str(error))
    say(f"corpus: {options.users} users x {options.rows} rows x {DIMENSION}, seed {SEED}")
    outcomes = measure(options.only, corpus, options.seconds, say, loading_minutes=options.loading_minutes)
    print(table(outcomes))
    whole = (options.users, options.rows, options.only) == (USERS, ROWS_EACH, DEFAULT)
    if whole:
        say(f"written: {', '.join(str(path) for path in keep(outcomes, corpus, burst=BURST))}")
    else:
        say("a part or another size: nothing is kept")
    if missing := [outcome.name for outcome in outcomes if isinstance(outcome, Missing)]:
        sys.exit(f"not measured: {', '.join(missing)}")


__all__ = ["ADAPTERS", "Asker", "Kind", "adapter", "load", "main", "measure"]
