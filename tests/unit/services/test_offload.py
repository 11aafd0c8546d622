"""Threads are bounded, shared by turns, and never given back while they are busy."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from memlane_core.services.offload import Offload, work_for


class Gate:
    """Blocking work that waits until it is let through."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.done: list[str] = []

    def __call__(self, name: str) -> str:
        assert self._open.wait(10)
        self.done.append(name)
        return name

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


async def as_tenant(offload: Offload, tenant: str, gate: Gate) -> str:
    work_for(tenant)
    return await offload(gate, tenant)


async def settle() -> None:
    """Let every task come to where it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_tenants_take_turns(gate: Gate) -> None:
    offload = Offload(1)
    tasks = [
        asyncio.create_task(as_tenant(offload, tenant, gate)) for tenant in ("甲", "甲", "甲", "甲", "乙")
    ]
    await settle()
    assert (offload.running, offload.waiting) == (1, 4)
    gate.open()
    await asyncio.gather(*tasks)
    # The one that ran, the first that waited, and then the other tenant before all that had queued up.
    assert gate.done == ["甲", "甲", "乙", "甲", "甲"]
    assert (offload.running, offload.waiting) == (0, 0)
    offload.close()


async def test_one_tenant_does_not_hold_every_thread(gate: Gate) -> None:
    offload = Offload(4, per_tenant=3)
    noisy = [asyncio.create_task(as_tenant(offload, "noisy", gate)) for _ in range(10)]
    await settle()
    assert (offload.running, offload.waiting) == (3, 7)
    work_for("quiet")
    assert await offload(threading.get_ident) != threading.get_ident()
    gate.open()
    await asyncio.gather(*noisy)
    offload.close()


async def test_a_thread_stays_taken_until_its_work_ends(gate: Gate) -> None:
    offload = Offload(1)
    given_up = asyncio.create_task(as_tenant(offload, "a", gate))
    second = asyncio.create_task(as_tenant(offload, "b", gate))
    third = asyncio.create_task(as_tenant(offload, "c", gate))
    await settle()
    given_up.cancel()
    second.cancel()
    await asyncio.gather(given_up, second, return_exceptions=True)
    assert (offload.running, offload.waiting) == (1, 1)
    gate.open()
    assert await third == "c"
    assert gate.done == ["a", "c"], "what had begun went on, what had not did not begin"
    offload.close()


async def test_errors_reach_the_caller_and_free_the_thread() -> None:
    offload = Offload(1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            await offload(lambda: 1 / 0)
    assert offload.running == 0
    offload.close()
