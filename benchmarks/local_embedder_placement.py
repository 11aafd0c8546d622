"""Where the local embedder should run: on the event loop, or in a thread beside it.

A task that wants to run each millisecond, as warm searches do, is watched while a short text is embedded 50 times a
second. Reported is how late its turns were, and how long the embedding took.

    python benchmarks/local_embedder_placement.py [--texts 200]
"""

import argparse
import asyncio
import time

import numpy as np

from memlane_core.adapters.local_embedder import LocalEmbedder

PERIOD_SECONDS = 0.001
PAUSE_SECONDS = 0.02


async def measure(embedder: LocalEmbedder, placement: str, texts: int) -> tuple[list[float], list[float]]:
    """Lateness of the turns and duration of the embeddings, in milliseconds."""
    late_ms: list[float] = []
    took_ms: list[float] = []

    async def turns() -> None:
        planned = time.perf_counter()
        while True:
            planned += PERIOD_SECONDS
            await asyncio.sleep(max(0.0, planned - time.perf_counter()))
            late_ms.append(1e3 * (time.perf_counter() - planned))

    watch = asyncio.create_task(turns())
    for number in range(texts):
        await asyncio.sleep(PAUSE_SECONDS)
        began = time.perf_counter()
        text = f"我上个月搬到深圳了，门牌号是 {number}"
        if placement == "thread":
            await embedder.embed([text])
        elif placement == "event loop":
            embedder.encode([text])
        took_ms.append(1e3 * (time.perf_counter() - began))
    watch.cancel()
    return late_ms, took_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=200)
    options = parser.parse_args()
    embedder = LocalEmbedder()
    print(
        f"{'placement':<12}{'late p50':>10}{'p99':>8}{'p99.9':>8}{'max':>8}{'embed p50':>11}{'p99':>8}   ms"
    )
    for placement in ("nothing", "event loop", "thread") * 2:
        late, took = asyncio.run(measure(embedder, placement, options.texts))
        late_at = np.percentile(late, [50, 99, 99.9, 100])
        took_at = np.percentile(took, [50, 99])
        print(
            f"{placement:<12}{late_at[0]:>10.2f}" + "".join(f"{value:>8.2f}" for value in late_at[1:]), end=""
        )
        print(f"{took_at[0]:>11.2f}{took_at[1]:>8.2f}")
    embedder.close()


if __name__ == "__main__":
    main()
