"""What each part of a warm search costs on the wire: the same call, cut short further and further.

    python -m benchmarks.warm_search_parts [--rounds 8] [--seconds 2]

`benchmarks.profile_search` times the parts one by one in a loop, where all their code and data are in the caches.
Between two calls of one caller a server sleeps, and what runs next runs cold; that shows only from outside. Here one
server answers searches of five users that have as many memories. For four of them it stops early and answers with what
an earlier search found; each takes turns with a null echo on one connection. The last of the parts is the whole search.
Writes benchmarks/results/warm_search_parts.json.
"""

import argparse
import json
import statistics
import sys

from memlane.v1 import memory_service_pb2 as pb
from memlane_core.services.call import Call
from memlane_server import servicers
from memlane_server.cli.main import app
from memlane_server.servicers.memory import MemoryServicer
from memlane_server.services import Services
from memlane_server.translate.plain import PlainSearch

from .loadgen import UNLIMITED, generator
from .report import RESULTS, about
from .service import MEMORIES, Bench, Figures, cpu, latencies, over, seeded_server

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


def measure(rounds: int, seconds: float) -> dict[str, Figures]:
    """Median of the rounds for each part: microseconds at p50, times the echo's beside it, CPU µs of the server."""
    generator()
    taken: dict[str, list[Figures]] = {part: [] for part in PARTS}
    users = {_USER + part: MEMORIES for part in PARTS}
    with seeded_server(users, UNLIMITED, ("-m", __spec__.name, "--serve")) as server:
        bench = Bench(server, seconds, lambda message: print(message, file=sys.stderr, flush=True))
        for round_number in range(rounds):
            bench.progress(f"round {round_number + 1} of {rounds}")
            for part, figures in taken.items():
                user = (_USER + part,)
                beside = bench.run("search,echo", users=user)
                figures.append(
                    {
                        "p50_us": latencies("search", beside.series["search"].latency_us)["search.p50_us"],
                        "p50_over_echo": over("search", beside, "search", "echo")["search.p50"],
                        "cpu_us": cpu(bench.run("search", users=user)),
                    }
                )
    return {
        PARTS[part]: {
            name: round(statistics.median(each[name] for each in figures), 3) for name in figures[0]
        }
        for part, figures in taken.items()
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
