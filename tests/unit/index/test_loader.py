"""Single flight: one load for all who wait."""

import asyncio
import gc

import pytest

from memlane_core.index import Block, SingleFlightLoader

from .rows import DIMENSION, RECORDS, row


class Source:
    """Loads that end when the test says so."""

    def __init__(self) -> None:
        self.started: list[tuple[str, str]] = []
        self.gate = asyncio.Event()
        self.error: Exception | None = None

    async def load(self, tenant: str, user_id: str) -> Block:
        self.started.append((tenant, user_id))
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return Block.build(DIMENSION, [row("a")], len(self.started), RECORDS)


async def test_many_readers_of_a_cold_user_cause_one_load() -> None:
    source = Source()
    loader = SingleFlightLoader(source.load)
    waiting = [asyncio.create_task(loader.load("t", "u")) for _ in range(50)]
    other = asyncio.create_task(loader.load("t", "v"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    source.gate.set()
    blocks = await asyncio.gather(*waiting)
    assert len({id(b) for b in blocks}) == 1
    assert await other is not blocks[0]
    assert sorted(source.started) == [("t", "u"), ("t", "v")]


async def test_a_later_reader_loads_anew() -> None:
    source = Source()
    source.gate.set()
    loader = SingleFlightLoader(source.load)
    first = await loader.load("t", "u")
    assert await loader.load("t", "u") is not first
    assert len(source.started) == 2


async def test_a_reader_that_goes_away_does_not_cancel_the_load() -> None:
    source = Source()
    loader = SingleFlightLoader(source.load)
    impatient = asyncio.create_task(loader.load("t", "u"))
    patient = asyncio.create_task(loader.load("t", "u"))
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    source.gate.set()
    assert len(await patient) == 1
    assert len(source.started) == 1


async def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    source = Source()
    source.error = OSError("store down")
    loader = SingleFlightLoader(source.load)
    waiting = [asyncio.create_task(loader.load("t", "u")) for _ in range(3)]
    await asyncio.sleep(0)
    source.gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(r) for r in results] == ["store down"] * 3
    source.error = None
    assert len(await loader.load("t", "u")) == 1


async def test_an_error_nobody_waits_for_any_more_is_no_noise() -> None:
    source = Source()
    source.error = OSError("store down")
    loader = SingleFlightLoader(source.load)
    loop = asyncio.get_running_loop()
    noise: list[object] = []
    loop.set_exception_handler(lambda _, context: noise.append(context))
    lonely = asyncio.create_task(loader.load("t", "u"))
    await asyncio.sleep(0)
    lonely.cancel()
    with pytest.raises(asyncio.CancelledError):
        await lonely
    source.gate.set()
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    assert noise == []
