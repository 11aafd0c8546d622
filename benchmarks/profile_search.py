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
from typing import Any, NamedTuple

import numpy as np

from memlane.v1 import diagnostics_service_pb2, memory_service_pb2
from memlane_core import kernels
from memlane_core.domain.memory import Memory
from memlane_core.ports.vector_store import StoredRow
from memlane_core.services.call import Call
from memlane_server.app import App
from memlane_server.config import Settings
from memlane_server.grpc_server import GrpcServer
from memlane_server.health import HealthBoard
from memlane_server.servicers.search import SearchServicer
from memlane_server.services import Services
from memlane_server.translate import wire
from memlane_server.translate.plain import PlainReader
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


class Details(NamedTuple):
    """What grpc asks a server's handlers with."""

    method: str
    invocation_metadata: tuple[()] = ()


def handlers(app: App, board: HealthBoard, services: Services) -> Callable[[str], Any]:
    """The functions that answer unary calls, by path: those of `memlane serve`, limits and metrics included."""
    telemetry = app.telemetry
    server = GrpcServer(app.settings, services, board, telemetry.ended, telemetry.traced)

    def handler(path: str) -> Any:
        found = (generic.service(Details(path)) for generic in server.handlers)
        return next(one for one in found if one is not None).unary_unary

    return handler


def parts_of(app: App, board: HealthBoard, services: Services) -> dict[str, Callable[[], object]]:
    tenant = app.settings.tenant
    query = np.random.default_rng(2).standard_normal(app.embedder.dimension).astype("<f4")
    raw = memory_service_pb2.SearchMemoriesRequest(
        user_id=USER, embedding_f32=query.tobytes(), top_k=5
    ).SerializeToString()
    # A filter that lets everything through: such a request takes the long way.
    long_request = memory_service_pb2.SearchMemoriesRequest.FromString(raw)
    long_request.created_after.seconds = 1
    long_raw = long_request.SerializeToString()
    handler = handlers(app, board, services)
    search_handler = handler("/memlane.v1.MemoryService/SearchMemories")
    echo_handler = handler("/memlane.v1.DiagnosticsService/Echo")
    echo = diagnostics_service_pb2.EchoRequest().SerializeToString()
    context = LocalContext()
    call = Call(tenant, app.settings.actor)
    servicer = SearchServicer(services)
    read = PlainReader(app.embedder.dimension).search
    plain = read(raw)
    block = app.index.get(tenant, USER)
    assert block is not None and plain is not None
    found = services.search.search_raw(tenant, plain)
    assert found is not None
    read_at = wire.read_at(services.positions.current_token(tenant))
    columns, now = block._columns, app.clock.now()
    command = search_command(long_request, app.embedder.dimension, now)
    result = completed(services.search.search(call, command))
    token = services.positions.current_token(tenant)
    return {
        "handler: whole search": lambda: completed(search_handler(raw, context)),
        "handler: whole echo": lambda: completed(echo_handler(echo, context)),
        "read the request": lambda: read(raw),
        "service: search": lambda: services.search.search_raw(tenant, plain),
        "  block: search": lambda: block.search_raw(raw, plain.offset, 5, now),
        "    kernel with its facade": lambda: kernels.search_raw(
            columns, raw, plain.offset, top_k=5, now=now
        ),
        "encode the answer": lambda: wire.plain_response(found, read_at),
        "servicer: all but edge and reading": lambda: completed(servicer.SearchMemories(plain, call)),
        "long way, handler: whole search": lambda: completed(search_handler(long_raw, context)),
        "long way: decode the request": lambda: memory_service_pb2.SearchMemoriesRequest.FromString(long_raw),
        "long way: validate, translate": lambda: search_command(long_request, app.embedder.dimension, now),
        "long way, service: search": lambda: completed(services.search.search(call, command)),
        "long way: encode the answer": lambda: search_message(long_request, result, token),
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
