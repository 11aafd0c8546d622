"""One load for all who wait for the same cold user."""

import asyncio
from collections.abc import Awaitable, Callable

from .block import Block

Load = Callable[[str, str], Awaitable[Block]]


class SingleFlightLoader:
    """Concurrent readers of a cold user cause one load. A waiter that is cancelled does not cancel it for the others;
    an error reaches all who wait and is not kept."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._flights: dict[tuple[str, str], asyncio.Task[Block]] = {}

    async def load(self, tenant: str, user_id: str) -> Block:
        key = (tenant, user_id)
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.create_task(self._run(key))
            flight.add_done_callback(_retrieve)
        return await asyncio.shield(flight)

    async def _run(self, key: tuple[str, str]) -> Block:
        try:
            return await self._load(*key)
        finally:
            del self._flights[key]


def _retrieve(flight: asyncio.Task[Block]) -> None:
    """Look at the error even when all who waited have gone; asyncio would report it as never looked at."""
    if not flight.cancelled():
        flight.exception()
