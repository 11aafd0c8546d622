"""Who waits for an ingestion is told when its user is forgotten, also where no worker had taken it yet."""

import asyncio
from typing import Any

import pytest

from memlane_core.adapters.clock import SystemClock
from memlane_core.domain.errors import ForgottenMeanwhile
from memlane_core.guards.secrets import SecretPolicy
from memlane_core.ports.ingestion_queue import Ingestion, IngestionState
from memlane_core.services.call import Call
from memlane_core.services.ingestion import IngestionPolicy, IngestionService
from memlane_core.services.offload import Offload


class Waiting:
    """A queue whose one job nobody takes."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def get_ingestion(self, tenant: str, user_id: str, ingestion_id: str) -> Ingestion:
        self._loop.call_soon_threadsafe(self.asked.set)
        return Ingestion(
            ingestion_id, tenant, user_id, "s", IngestionState.PENDING, "{}", "", "a", 0, "", "", 0, 0, 0, 0
        )


async def test_forgetting_a_user_ends_the_wait() -> None:
    queue, offload = Waiting(), Offload(1)
    remember: Any = None  # no job runs
    service = IngestionService(
        queue=queue,  # type: ignore[arg-type]  # only what a wait asks for
        remember=remember,
        offload=offload,
        clock=SystemClock(),
        policy=IngestionPolicy(),
        secrets=SecretPolicy(),
    )
    waits = [
        asyncio.ensure_future(service.wait(Call(tenant, "actor"), user_id, "i-1"))
        for tenant, user_id in (("bank", "客户-1"), ("bank", "客户-2"), ("other", "客户-1"))
    ]
    async with asyncio.timeout(10):
        await queue.asked.wait()
        service.cancel_user("bank", "客户-1")
        with pytest.raises(ForgottenMeanwhile):
            await waits[0]
    assert not waits[1].done() and not waits[2].done(), "other users go on waiting"
    for wait in waits[1:]:
        wait.cancel()
    await asyncio.gather(*waits[1:], return_exceptions=True)
    assert not service._waiting and not service._waiters
    offload.close()
