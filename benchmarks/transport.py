"""What the transport alone costs: the same null echo from a sync grpc server, grpc.aio on asyncio and on uvloop.

    python -m benchmarks.transport [--seconds 10]

Three servers, each a process of its own, are called in turn over one connection each, so that all see the same
machine. Besides the latency, the CPU time of each server per call. Writes benchmarks/results/transport.json.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import grpc

from .report import RESULTS
from .timing import interleaved, percentiles

METHOD = "/bench.Null/Echo"
_OPTIONS = [("grpc.so_reuseport", 0)]


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]  # untyped base
    """Answers raw bytes with the same."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._handler = grpc.unary_unary_rpc_method_handler(function)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return self._handler


def serve_sync(ready: Connection) -> None:
    server = grpc.server(ThreadPoolExecutor(8), handlers=[Echo(lambda raw, context: raw)], options=_OPTIONS)
    ready.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    ready.recv()


async def _serve_aio(ready: Connection) -> None:
    async def echo(raw: bytes, context: object) -> bytes:
        return raw

    server = grpc.aio.server(handlers=[Echo(echo)], options=_OPTIONS)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    ready.send(port)
    await asyncio.to_thread(ready.recv)
    await server.stop(0)


def serve_asyncio(ready: Connection) -> None:
    asyncio.run(_serve_aio(ready))


def serve_uvloop(ready: Connection) -> None:
    import uvloop

    uvloop.run(_serve_aio(ready))


SERVERS = {"sync": serve_sync, "asyncio": serve_asyncio, "uvloop": serve_uvloop}


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(seconds: float, payload: bytes) -> dict[str, dict[str, float]]:
    spawn = multiprocessing.get_context("spawn")
    pipes, processes, echoes = {}, {}, {}
    for name, serve in SERVERS.items():
        pipes[name], theirs = spawn.Pipe()
        processes[name] = spawn.Process(target=serve, args=(theirs,), daemon=True)
        processes[name].start()
    try:
        for name, pipe in pipes.items():
            if not pipe.poll(60):
                raise TimeoutError(f"the {name} server did not start within a minute")
            echoes[name] = grpc.insecure_channel(f"127.0.0.1:{pipe.recv()}").unary_unary(METHOD)
        contenders = {name: partial(echo, payload) for name, echo in echoes.items()}
        interleaved(contenders, seconds=1.0)
        before = {name: cpu_seconds(p.pid) for name, p in processes.items() if p.pid}
        taken = interleaved(contenders, seconds)
        return {
            name: {
                **{
                    f"{percentile}_us": round(value, 1)
                    for percentile, value in percentiles(taken[name]).items()
                },
                "cpu_us": round((cpu_seconds(p.pid or 0) - before[name]) / len(taken[name]) * 1e6, 1),
            }
            for name, p in processes.items()
        }
    finally:
        for name, process in processes.items():
            pipes[name].send(None)
            process.join(5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    figures = {f"payload_{size}": measure(seconds, bytes(size)) for size in (0, 2048)}
    for payload, servers in figures.items():
        for name, values in servers.items():
            shown = "  ".join(f"{key} {value:8.1f}" for key, value in values.items())
            print(f"{payload:<13} {name:<8} {shown}")
    (RESULTS / "transport.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
