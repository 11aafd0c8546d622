"""Timing that compares: contenders take turns call by call, so that a busy machine slows all of them alike."""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[str], None]
"""Told what is being measured, for whoever waits."""


def silent(message: str) -> None:
    """A Progress for callers without a screen."""


def interleaved(
    calls: Mapping[str, Callable[[], object]],
    seconds: float,
    *,
    least_rounds: int = 5,
    warm_ups: int = 1,
    seed: int = 1,
) -> dict[str, NDArray[np.int64]]:
    """Nanoseconds of each call, shape (rounds,) for each name, for about `seconds` and at least `least_rounds`.

    In a round each contender is called once; the order is drawn anew, so that nobody always finds the caches as the
    same predecessor has left them.
    """
    for _ in range(warm_ups):
        for call in calls.values():
            call()
    taken: dict[str, list[int]] = {name: [] for name in calls}
    order = list(calls.items())
    generator = np.random.default_rng(seed)
    now = time.perf_counter_ns
    until = time.perf_counter() + seconds
    rounds = 0
    with no_collector():
        while rounds < least_rounds or time.perf_counter() < until:
            for place in generator.permutation(len(order)).tolist():
                name, call = order[place]
                started = now()
                call()
                taken[name].append(now() - started)
            rounds += 1
    return {name: np.array(values, np.int64) for name, values in taken.items()}


def medians_us(taken: Mapping[str, NDArray[np.int64]]) -> dict[str, float]:
    """Microseconds: the median of each contender."""
    return {name: float(np.median(values)) / 1000 for name, values in taken.items()}


def percentiles(nanoseconds: list[int] | NDArray[np.int64]) -> dict[str, float]:
    """p50, p95 and p99 in microseconds."""
    p50, p95, p99 = np.percentile(np.asarray(nanoseconds) / 1000, (50, 95, 99))
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99)}


@contextmanager
def no_collector() -> Iterator[None]:
    """The measuring process's own garbage collection is not part of what is measured. May be nested."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
