"""Both clients behind one face, so that every test runs over both."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import memlane


class Caller(Protocol):
    """Calls one method of a client and waits for its answer."""

    client: Any

    def call(self, method: str, *args: Any, **arguments: Any) -> Any:
        """Answer of a call."""

    def collect(self, method: str, *args: Any, into: list[Any] | None = None, **arguments: Any) -> list[Any]:
        """All that a stream sends; what came before an error stands in `into`."""

    def walk(self, list_method: str, *args: Any, **arguments: Any) -> list[Any]:
        """All items of a list call."""

    def close(self) -> None:
        """Close the client."""


class SyncCaller:
    def __init__(self, target: str, **options: Any) -> None:
        self.client = memlane.Client(target, **options)

    def call(self, method: str, *args: Any, **arguments: Any) -> Any:
        return getattr(self.client, method)(*args, **arguments)

    def collect(self, method: str, *args: Any, into: list[Any] | None = None, **arguments: Any) -> list[Any]:
        got = [] if into is None else into
        with getattr(self.client, method)(*args, **arguments) as stream:
            for item in stream:
                got.append(item)
        return got

    def walk(self, list_method: str, *args: Any, **arguments: Any) -> list[Any]:
        return list(self.client.iterate(getattr(self.client, list_method), *args, **arguments))

    def close(self) -> None:
        self.client.close()


class AsyncCaller:
    def __init__(self, target: str, **options: Any) -> None:
        self._runner = asyncio.Runner()
        self.client = memlane.AsyncClient(target, **options)

    def call(self, method: str, *args: Any, **arguments: Any) -> Any:
        return self._runner.run(getattr(self.client, method)(*args, **arguments))

    def collect(self, method: str, *args: Any, into: list[Any] | None = None, **arguments: Any) -> list[Any]:
        got = [] if into is None else into

        async def read() -> list[Any]:
            async with getattr(self.client, method)(*args, **arguments) as stream:
                async for item in stream:
                    got.append(item)
            return got

        return self._runner.run(read())

    def walk(self, list_method: str, *args: Any, **arguments: Any) -> list[Any]:
        async def read() -> list[Any]:
            method = getattr(self.client, list_method)
            return [item async for item in self.client.iterate(method, *args, **arguments)]

        return self._runner.run(read())

    def close(self) -> None:
        self._runner.run(self.client.close())
        self._runner.close()


CALLERS: dict[str, Callable[..., Any]] = {"sync": SyncCaller, "async": AsyncCaller}
