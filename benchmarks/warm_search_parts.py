"""What each part of a warm search costs on the wire: the same call, cut short further and further.

    python -m benchmarks.warm_search_parts [--rounds 8] [--seconds 2]

`benchmarks.profile_search` times the parts one by one in a loop, where all their code and data are in the caches.
Between two calls of one caller a server sleeps, and what runs next runs cold; that shows only from outside. Here one
server answers searches of five users that have the same memories. For four of them it stops early and answers with what
an earlier search found; each takes turns with a null echo on one connection. The last of the parts is the whole search.
Writes benchmarks/results/warm_search_parts.json.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from memlane.v1 import memory_service_pb2 as pb
from memlane_core.adapters.local_embedder import DIMENSION
from memlane_core.services.call import Call
from memlane_server import servicers
from memlane_server.bench.load import Load
from memlane_server.cli.main import app
from memlane_server.servicers.memory import MemoryServicer
from memlane_server.services import Services
from memlane_server.translate.plain import PlainSearch
from tests.support.memlane_server import ServerProcess

from .loadgen import UNLIMITED, drive, generator
from .report import RESULTS, SEED, about
from .seed import put, synthetic_rows, unit_vectors

MEMORIES = 1000
_USER = "parts-"
_RECEIVED, _ANSWERED, _READ, _SCORED, _WHOLE = "abcde"
PARTS = {
    _RECEIVED: "request of a search, empty answer",
    _ANSWERED: "+ answer as long as a search's",
    _READ: "+ request read",
    _SCORED: "+ block found and scored",
    _WHOLE: "+ answer put together: the whole search",
}
"""What is done for the user of each letter, beyond what is done for the one before."""
_LETTER_AT = 2 + len(_USER)
"""In the bytes of a request: behind tag and length of the user_id, which comes first."""


class PartsServicer(MemoryServicer):
    """Answers searches as far as the user's letter says."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._read = self.readers["SearchMemories"]
        self.readers = {**self.readers, "SearchMemories": self._read_or_not}
        self._unread: dict[int, PlainSearch] = {}
        self._answer = b""

    def _read_or_not(self, raw: bytes) -> PlainSearch | None:
        known = self._unread.get(raw[_LETTER_AT])
        return self._read(raw) if known is None else known

    async def SearchMemories(self, request: pb.SearchMemoriesRequest | PlainSearch, call: Call) -> bytes:
        part = request.user_id[-1]
        if part == _WHOLE or not isinstance(request, PlainSearch):
            return await super().SearchMemories(request, call)
        if not self._answer:
            self._answer = await super().SearchMemories(request, call)
        if part in (_RECEIVED, _ANSWERED):
            self._unread[ord(part)] = request
        elif part == _SCORED:
            self._services.search.search_raw(call.tenant, request)
        return b"" if part == _RECEIVED else self._answer


def serve() -> None:
    """`memlane serve` with these searches."""
    servicers.MemoryServicer = PartsServicer  # type: ignore[misc]  # for this process alone
    sys.argv = ["memlane", "serve"]
    app()


def measure(rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """Median of the rounds for each part: microseconds at p50, times the echo's beside it, CPU µs of the server."""
    generator()
    random, now = np.random.default_rng(SEED), int(time.time())
    vectors = unit_vectors(random, MEMORIES, DIMENSION)
    taken: dict[str, dict[str, list[float]]] = {part: {} for part in PARTS}
    with tempfile.TemporaryDirectory(prefix="memlane-parts-") as folder:
        data_dir = Path(folder) / "data"
        put(data_dir, [row for part in PARTS for row in synthetic_rows(_USER + part, vectors, now)])
        server = ServerProcess(data_dir, UNLIMITED, command=("-m", __spec__.name, "--serve"))
        try:
            server.start()
            for round_number in range(rounds):
                print(f"round {round_number + 1} of {rounds}", file=sys.stderr, flush=True)
                for part, values in taken.items():
                    users = (_USER + part,)
                    beside = drive(
                        server, Load(scenario="search,echo", users=users, seconds=seconds, seed=SEED)
                    )
                    alone = drive(server, Load(scenario="search", users=users, seconds=seconds, seed=SEED))
                    search, echo = (beside.series[name] for name in ("search", "echo"))
                    assert search.latency_us and echo.latency_us and alone.server
                    assert not (search.errors or echo.errors or alone.only.errors)
                    values.setdefault("p50_us", []).append(search.latency_us["p50"])
                    values.setdefault("p50_over_echo", []).append(
                        search.latency_us["p50"] / echo.latency_us["p50"]
                    )
                    values.setdefault("cpu_us", []).append(alone.server.cpu_us_per_call)
        finally:
            server.kill()
    return {
        PARTS[part]: {name: round(statistics.median(each), 3) for name, each in values.items()}
        for part, values in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--serve", action="store_true", help="be the server that is measured")
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    figures = measure(options.rounds, options.seconds)
    for name, values in figures.items():
        print(f"{name:<42}" + "  ".join(f"{key} {value:8.3f}" for key, value in values.items()))
    document = {**about(), "memories": MEMORIES, "parts": figures}
    (RESULTS / "warm_search_parts.json").write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
