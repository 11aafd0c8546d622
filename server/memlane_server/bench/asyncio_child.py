"""The process of the generator in Python: reads a load from standard input, prints what came of it as JSON."""

import asyncio
import contextlib
import gc
import json
import os
import random
import sys
import threading
import time
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import uvloop

from memlane import TLS
from memlane.options import ClientOptions
from memlane.v1 import diagnostics_service_pb2, diagnostics_service_pb2_grpc

from .asyncio_sessions import OPENERS, CallFailed, Session, Shared, spelled
from .load import Load, Target

_SET_UP_SECONDS = 20.0
_MAX_MESSAGE_BYTES = 16 << 20
_PERCENTILES = {"p50": 50.0, "p75": 75.0, "p90": 90.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}


class Mix:
    """What to call: one kind, several in turn ("a,b"), or several drawn by weight ("a=90,b=10")."""

    def __init__(self, plan: str) -> None:
        """Raises ValueError."""
        parts = [part.partition("=") for part in plan.split(",")]
        self.names = [name for name, _, _ in parts]
        for name in self.names:
            if name not in OPENERS:
                raise ValueError(f"there is no scenario {name!r}; there are {', '.join(OPENERS)}")
        weights = [float(weight) for _, equals, weight in parts if equals]
        if weights and (len(weights) != len(parts) or min(weights) <= 0):
            raise ValueError(f"in {plan!r} either all scenarios have a weight above 0 or none has one")
        self._weights = weights or None

    def picks(self, seed: int, stream: int) -> Iterator[int]:
        """Numbers of kinds. In turns, the order is drawn anew for each round."""
        draw = random.Random(f"{seed} {stream}")
        kinds = range(len(self.names))
        while True:
            if self._weights is None:
                yield from draw.sample(kinds, len(kinds))
            else:
                yield draw.choices(kinds, self._weights)[0]


class Recorder:
    """The calls of one kind. Latencies are kept whole, in nanoseconds."""

    def __init__(self, window_ns: int) -> None:
        self._window_ns = window_ns
        self._answered = array("q")
        self._failed = array("q")
        self._codes: Counter[str] = Counter()
        self._messages: dict[str, str] = {}
        self._by_second = [0] * -(-window_ns // 10**9)
        self._late = 0

    def answered(self, latency_ns: int, at_ns: int) -> None:
        """A call that ended `at_ns` after the beginning."""
        self._answered.append(latency_ns)
        if at_ns < self._window_ns:
            self._by_second[at_ns // 10**9] += 1
        else:
            self._late += 1

    def failed(self, error: CallFailed, latency_ns: int) -> None:
        self._failed.append(latency_ns)
        self._codes[error.code] += 1
        self._messages[error.code] = str(error)

    def summary(self) -> dict[str, Any]:
        return {
            "calls": len(self._answered) + len(self._failed),
            "ok": len(self._answered),
            "ok_per_s": (len(self._answered) - self._late) * 1e9 / self._window_ns,
            "errors": dict(self._codes),
            "error_messages": self._messages,
            "latency_us": latencies(self._answered),
            "failed_latency_us": latencies(self._failed),
            "ok_by_second": self._by_second,
            "ok_after_the_end": self._late,
        }


def latencies(nanoseconds: "array[int]") -> dict[str, float] | None:
    """Microseconds by percentile, each a latency that occurred; None without a call."""
    if not nanoseconds:
        return None
    values = np.frombuffer(nanoseconds, np.int64) / 1000
    named = np.percentile(values, list(_PERCENTILES.values()), method="inverted_cdf")
    ends = {"mean": values.mean(), "min": values.min(), "max": values.max()}
    return {
        name: round(float(v), 1) for name, v in (ends | dict(zip(_PERCENTILES, named, strict=True))).items()
    }


class Run:
    """One load on connections that are established."""

    def __init__(self, load: Load, mix: Mix, shared: Shared, channels: list[grpc.aio.Channel]) -> None:
        self._load = load
        self._mix = mix
        self._shared = shared
        self._channels = channels
        self._window_ns = 0
        self._recorders: list[Recorder] = []
        self._delays = array("q")
        self._opened: list[list[Session]] = []

    def _begin(self, seconds: float) -> None:
        self._window_ns = round(seconds * 1e9)
        self._recorders = [Recorder(self._window_ns) for _ in self._mix.names]
        self._delays = array("q")

    def _sessions(self) -> list[Session]:
        """One of each kind, on the connection whose turn it is."""
        channel = self._channels[len(self._opened) % len(self._channels)]
        self._opened.append([OPENERS[name](self._shared, channel) for name in self._mix.names])
        return self._opened[-1]

    async def _call(self, sessions: list[Session], which: int, begun: int, due: int) -> None:
        self._delays.append(time.perf_counter_ns() - due)
        try:
            await sessions[which].call()
        except CallFailed as error:
            self._recorders[which].failed(error, time.perf_counter_ns() - due)
        else:
            ended = time.perf_counter_ns()
            self._recorders[which].answered(ended - due, ended - begun)

    async def closed(self, workers: int, seconds: float) -> dict[str, Any]:
        """Each worker makes its next call as soon as its last one was answered."""
        self._begin(seconds)
        begun = time.perf_counter_ns()

        async def work(number: int) -> None:
            sessions, picks = self._sessions(), self._mix.picks(self._load.seed, number)
            while (due := time.perf_counter_ns()) - begun < self._window_ns:
                await self._call(sessions, next(picks), begun, due)

        async with asyncio.TaskGroup() as group:
            for number in range(workers):
                group.create_task(work(number))
        return self._end(not_started=0)

    async def open(self, rate: float, seconds: float) -> dict[str, Any]:
        """Calls begin when they are due, whatever the server does, and their latency counts from then."""
        self._begin(seconds)
        loop = asyncio.get_running_loop()
        picks = self._mix.picks(self._load.seed, -1)
        idle: list[list[Session]] = []
        running: set[asyncio.Task[None]] = set()
        made = not_started = 0
        begun = time.perf_counter_ns()

        async def one(sessions: list[Session], due: int) -> None:
            await self._call(sessions, next(picks), begun, due)
            idle.append(sessions)

        def begin(due: int) -> None:
            nonlocal made, not_started
            if idle:
                sessions = idle.pop()
            elif made < self._load.outstanding:
                made += 1
                sessions = self._sessions()
            else:
                not_started += 1
                return
            task = loop.create_task(one(sessions, due))
            running.add(task)
            task.add_done_callback(running.discard)

        broken_off = threading.Event()

        def pace() -> None:
            # In a thread: the timers of an event loop are whole milliseconds.
            for offset in offsets(rate, self._window_ns, self._load.seed if self._load.poisson else None):
                wait = (begun + offset - time.perf_counter_ns()) / 1e9
                if wait > 0:
                    time.sleep(wait)
                if broken_off.is_set():
                    return
                loop.call_soon_threadsafe(begin, begun + offset)

        try:
            await asyncio.to_thread(pace)
        finally:
            broken_off.set()
        # The last ones are begun by callbacks that stand before this one in the loop's queue.
        await asyncio.sleep(0)
        while running:
            await asyncio.wait(running)
        return self._end(not_started)

    def _end(self, not_started: int) -> dict[str, Any]:
        for sessions in self._opened:
            for session in sessions:
                session.close()
        self._opened.clear()
        series = zip(self._mix.names, self._recorders, strict=True)
        return {
            "series": {name: recorder.summary() for name, recorder in series},
            "start_delay_us": latencies(self._delays),
            "not_started": not_started,
        }


def offsets(rate: float, window_ns: int, seed: int | None) -> Iterator[int]:
    """Nanoseconds after the beginning at which calls are due: evenly, or with the random gaps of independent callers.
    They depend on the rate alone, never on how the server does."""
    draw = random.Random(seed) if seed is not None else None
    number, at = 0, 0.0
    while True:
        if draw is None:
            at = number * 1e9 / rate
            number += 1
        else:
            at += draw.expovariate(rate) * 1e9
        if at >= window_ns:
            return
        yield round(at)


async def connect(target: Target, count: int) -> tuple[list[grpc.aio.Channel], int]:
    """Connections of their own, established, and the dimension of the server's vectors."""
    tls = TLS(target.ca, target.certificate, target.key) if target.ca or target.certificate else None
    options = ClientOptions(
        target=target.address, tls=tls, insecure=None if tls else not target.tls, token=target.token
    )
    credentials = options.credentials()
    arguments = [
        *options.channel_arguments(),
        # Otherwise all of them would share one connection.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_http_proxy", 0),
        # A call that was refused is a figure of its own; trying it again would hide it.
        ("grpc.enable_retries", 0),
        ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ]
    channels, dimension = [], 0
    for _ in range(count):
        channel = (
            grpc.aio.insecure_channel(target.address, arguments)
            if credentials is None
            else grpc.aio.secure_channel(target.address, credentials, arguments)
        )
        channels.append(channel)
        info = await diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel).GetServerInfo(
            diagnostics_service_pb2.GetServerInfoRequest(),
            timeout=_SET_UP_SECONDS,
            metadata=options.call_metadata(),
            wait_for_ready=True,
        )
        dimension = info.embedder.dimension
    return channels, dimension


async def drive(target: Target, load: Load) -> dict[str, Any]:
    channels, dimension = await connect(target, load.connections)
    metadata = (("authorization", f"Bearer {target.token}"),) if target.token else ()
    shared = Shared(load, dimension, f"{time.time_ns():x}", metadata)
    run = Run(load, Mix(load.scenario), shared, channels)
    try:
        if load.warm_up_seconds > 0:
            await run.closed(load.connections, load.warm_up_seconds)
        gc.collect()
        gc.freeze()
        if load.rate is not None:
            return await run.open(load.rate, load.seconds)
        return await run.closed(load.workers or load.connections, load.seconds)
    finally:
        for channel in channels:
            await channel.close()


def main() -> None:
    told = json.load(sys.stdin)
    given = told["target"]
    for name in ("ca", "certificate", "key"):
        given[name] = given[name] and Path(given[name])
    given["token"] = os.environ.get("MEMLANE_TOKEN", "")
    load = told["load"]
    load["users"], load["write_users"] = tuple(load["users"]), tuple(load["write_users"])
    target = Target(**given)
    try:
        result = uvloop.run(drive(target, Load(**load)))
    except grpc.aio.AioRpcError as error:
        sys.exit(f"no memlane server answers at {target.address}: {spelled(error.code())} {error.details()}")
    except (ValueError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted")
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({"generator": told["generator"], **result}), flush=True)


if __name__ == "__main__":
    main()
