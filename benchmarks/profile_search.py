"""Where the microseconds of a warm SearchMemories go, inside the server's process.

    python -m benchmarks.profile_search [--memories 1000] [--functions]

The parts of a call are taken apart and timed one by one, all in turn, each as the median of its times. What the
transport adds is not in here: that is the null echo of `benchmarks.service`. `--functions` prints cProfile's view of
the whole handler instead.
"""

import argparse
import asyncio
import cProfile
import json
import pstats
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from google.protobuf.message import Message

from memlane.v1 import diagnostics_service_pb2, memory_service_pb2
from memlane_core import kernels
from memlane_core.domain.memory import Memory
from memlane_core.index import SearchQuery
from memlane_core.ports.vector_store import StoredRow
from memlane_core.services.call import Call
from memlane_server.app import App
from memlane_server.config import Settings
from memlane_server.health import HealthBoard
from memlane_server.interceptors import Edge, Lane, unary
from memlane_server.servicers.diagnostics import DiagnosticsServicer
from memlane_server.servicers.search import SearchServicer
from memlane_server.services import Services
from memlane_server.translate.search import search_command, search_message

from .report import RESULTS
from .seed import text
from .timing import interleaved, medians_us

USER = "profile"


class LocalContext:
    """As much of a servicer context as the edge uses of a call without credential."""

    def time_remaining(self) -> float:
        return 5.0

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def auth_context(self) -> dict[str, Any]:
        return {}

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"


def fill(app: App, memories: int) -> None:
    generator = np.random.default_rng(1)
    vectors = generator.standard_normal((memories, app.embedder.dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    now = int(app.clock.now())
    rows = [
        StoredRow(
            Memory(
                memory_id=f"m{n}",
                user_id=USER,
                content=text(n),
                created_at=now - n,
                updated_at=now - n,
                expires_at=None,
                position=n + 1,
            ),
            vectors[n],
        )
        for n in range(memories)
    ]
    app.index.put_user(app.settings.tenant, USER, rows, app.positions.seen)


def completed(awaitable: Awaitable[Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        awaitable.__await__().send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waited")


def parts_of(app: App, board: HealthBoard, services: Services) -> dict[str, Callable[[], object]]:
    query = np.random.default_rng(2).standard_normal(app.embedder.dimension).astype("<f4")
    request = memory_service_pb2.SearchMemoriesRequest(user_id=USER, embedding_f32=query.tobytes(), top_k=5)
    raw = request.SerializeToString()
    servicer = SearchServicer(services)
    edge, lane = Edge(board, services.caller), Lane("profile", 1000, 30.0)

    def handler(service: str, method: str, request_type: type[Message], function: Any) -> Any:
        return unary(edge, lane, f"/memlane.v1.{service}/{method}", request_type, function).unary_unary

    search_handler = handler("MemoryService", "SearchMemories", type(request), servicer.SearchMemories)
    echo_handler = handler(
        "DiagnosticsService", "Echo", diagnostics_service_pb2.EchoRequest, DiagnosticsServicer(services).Echo
    )
    echo = diagnostics_service_pb2.EchoRequest().SerializeToString()
    context = LocalContext()
    call = Call(app.settings.tenant, app.settings.actor)
    command = search_command(request, app.embedder.dimension, app.clock.now())
    block = app.index.get(app.settings.tenant, USER)
    embedding = command.embedding
    assert block is not None and embedding is not None
    wanted = SearchQuery(embedding, None, 5, app.clock.now())
    result = completed(services.search.search(call, command))
    token = services.positions.current_token(app.settings.tenant)
    columns = block._columns
    return {
        "handler: whole search": lambda: completed(search_handler(raw, context)),
        "handler: whole echo": lambda: completed(echo_handler(echo, context)),
        "decode the request": lambda: memory_service_pb2.SearchMemoriesRequest.FromString(raw),
        "validate, translate": lambda: search_command(request, app.embedder.dimension, app.clock.now()),
        "service: search": lambda: completed(services.search.search(call, command)),
        "  block: search": lambda: block.search(wanted),
        "    kernel with its facade": lambda: kernels.search(columns, embedding, None, top_k=5, now=0.0),
        "encode the answer": lambda: search_message(request, result, token),
        "servicer: all but edge and decoding": lambda: completed(servicer.SearchMemories(request, call)),
    }


async def profile(args: argparse.Namespace) -> dict[str, float]:
    with TemporaryDirectory() as folder:
        app = App(Settings(data_dir=Path(folder), log={"level": "error"}))
        await asyncio.to_thread(app.open)
        board = HealthBoard()
        try:
            services = app.wire()
            await app.start(lambda ready: board.set_ready())
            fill(app, args.memories)
            parts = parts_of(app, board, services)
            if args.functions:
                profiler = cProfile.Profile()
                whole = parts["handler: whole search"]
                profiler.runcall(lambda: [whole() for _ in range(20_000)])
                pstats.Stats(profiler).sort_stats("tottime").print_stats(25)
                return {}
            interleaved(parts, seconds=0.5)
            taken = medians_us(interleaved(parts, args.seconds))
            return {name: round(value, 2) for name, value in taken.items()}
        finally:
            await app.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--functions", action="store_true", help="cProfile of the handler")
    args = parser.parse_args()
    figures = asyncio.run(profile(args))
    for name, value in figures.items():
        print(f"{name:<40} {value:8.2f} µs")
    if figures:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / "profile.json"
        path.write_text(json.dumps({"memories": args.memories, "microseconds": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
