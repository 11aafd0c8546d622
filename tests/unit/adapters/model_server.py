"""A chat-completions server that answers by script, over real HTTP, and remembers what it was asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Asked:
    """One request."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    gone: asyncio.Event
    """Set when the client closed the connection before the answer was complete."""

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def data(self) -> list[dict[str, Any]]:
        """The records between the delimiters of the first user message."""
        lines = str(self.body["messages"][1]["content"]).split("\n")
        return [json.loads(line) for line in lines[1:-1]]


class Answer(Protocol):
    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None: ...


@dataclass(frozen=True)
class Says:
    """A whole answer with this text; anything but a string is sent as JSON."""

    content: object
    finish_reason: str = "stop"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the message, e.g. reasoning_content."""

    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        text = (
            self.content
            if isinstance(self.content, str) or self.content is None
            else json.dumps(self.content)
        )
        message = {"role": "assistant", "content": text, **self.extra}
        await Fails(
            200,
            {
                "id": "c1",
                "object": "chat.completion",
                "created": 1,
                "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
            },
        ).send(asked, writer)


@dataclass(frozen=True)
class Fails:
    """An answer with this status."""

    status: int
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        payload = self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()
        head = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **self.headers}
        lines = [f"HTTP/1.1 {self.status} X", *(f"{k}: {v}" for k, v in head.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
        await writer.drain()


@dataclass(frozen=True)
class Hangs:
    """No answer until the client goes."""

    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asked.gone.wait()


@dataclass(frozen=True)
class Drips:
    """A byte at a time, for ever."""

    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
        gone = asyncio.ensure_future(asked.gone.wait())
        while not gone.done():
            writer.write(b" ")
            await writer.drain()
            await asyncio.wait({gone}, timeout=0.05)


@dataclass(frozen=True)
class Resets:
    """The connection breaks before the answer."""

    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()


@dataclass(frozen=True)
class Streams:
    """Server-sent events, then what `then` says."""

    events: Sequence[object]
    """Chunks as JSON; a string is a delta of content."""
    then: str = "done"
    """"done", "hang" (until the client goes) or "break" (the connection)."""

    async def send(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for event in self.events:
            chunk = delta(event) if isinstance(event, str) else event
            self._event(writer, json.dumps(chunk))
            await writer.drain()
        if self.then == "hang":
            await asked.gone.wait()
        elif self.then == "break":
            writer.transport.abort()
        else:
            self._event(writer, "[DONE]")
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    def _event(self, writer: asyncio.StreamWriter, data: str) -> None:
        payload = f"data: {data}\n\n".encode()
        writer.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")


def delta(text: str | None, *, finish_reason: str | None = None, **extra: object) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted-1",
        "choices": [{"index": 0, "delta": {"content": text, **extra}, "finish_reason": finish_reason}],
    }


class ModelServer:
    """Gives its answers in order; the last one again when they are used up."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.respond: Callable[[Asked], Answer] | None = None
        self.base_url = ""
        self._script: list[Answer] = []

    def will(self, *answers: Answer) -> None:
        self._script = list(answers)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await _read_head(reader)) is not None:
                body = json.loads(await reader.readexactly(int(head.get("content-length", "0"))))
                asked = Asked(body, head, asyncio.Event())
                self.asked.append(asked)
                answer = self.respond(asked) if self.respond else self._next()
                watch = asyncio.ensure_future(_watch(reader, asked))
                try:
                    await answer.send(asked, writer)
                finally:
                    watch.cancel()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _next(self) -> Answer:
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]


async def _read_head(reader: asyncio.StreamReader) -> dict[str, str] | None:
    lines = []
    while (line := (await reader.readline()).strip()) != b"":
        lines.append(line.decode("latin-1"))
    if not lines:
        return None
    pairs = (line.split(":", 1) for line in lines[1:])
    return {name.strip().lower(): value.strip() for name, value in pairs}


async def _watch(reader: asyncio.StreamReader, asked: Asked) -> None:
    """The client sends nothing while it waits: the end of its stream means that it went away."""
    try:
        ended = await reader.read(1) == b""
    except ConnectionError:
        ended = True
    if ended:
        asked.gone.set()


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    script = ModelServer()
    server = await asyncio.start_server(script.handle, "127.0.0.1", 0, limit=1 << 22)
    script.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield script
    finally:
        server.close()
