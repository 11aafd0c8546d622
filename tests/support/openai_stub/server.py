"""The stub's HTTP side: one thread per connection, requests recorded, replies taken from the queues."""

import json
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .replies import After, Drip, Embeddings, Hang, Rendered, Reply, Reset, Status, render

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    json: Mapping[str, Any]
    at: float
    """Monotonic seconds of its arrival."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the client left before its answer was complete."""
    connection: socket.socket | None = field(default=None, repr=False, compare=False)

    def left(self) -> bool:
        """Whether the client has hung up, asked while a reply is still being made up."""
        assert self.connection is not None
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)


class Endpoint:
    """Queue of replies and record of requests of one path. Thread-safe."""

    def __init__(self, default: Reply) -> None:
        self.default = default
        """Answers once the queue is empty."""
        self._queue: deque[Reply] = deque()
        self._requests: list[Request] = []
        self._changed = threading.Condition()

    def will(self, *replies: Reply) -> None:
        """Queue these, one per request."""
        with self._changed:
            self._queue.extend(replies)

    @property
    def requests(self) -> list[Request]:
        """All so far, in order of arrival."""
        with self._changed:
            return list(self._requests)

    @property
    def left(self) -> int:
        """Replies still queued."""
        with self._changed:
            return len(self._queue)

    def wait_for_requests(self, count: int, *, timeout_seconds: float = 10.0) -> list[Request]:
        """Returns when this many have arrived; raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._requests) >= count, timeout_seconds):
                raise TimeoutError(f"{len(self._requests)} of {count} requests came")
            return list(self._requests)

    def clear(self) -> None:
        with self._changed:
            self._queue.clear()
            self._requests.clear()

    def take(self, request: Request) -> Reply:
        """Record a request; the reply that is due. For the server."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
            return self._queue.popleft() if self._queue else self.default


class OpenAIStub:
    """A server on a free port of the loopback interface."""

    def __init__(self, *, dimension: int = 8) -> None:
        self.dimension = dimension
        """Of made-up embeddings, unless the request asks for another."""
        self.chat = Endpoint(Status(500, "nothing is scripted for this chat request"))
        self.embeddings = Endpoint(Embeddings())
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def endpoint(self, path: str) -> Endpoint | None:
        return {"/v1/chat/completions": self.chat, "/v1/embeddings": self.embeddings}.get(path)

    def start(self) -> "OpenAIStub":
        self._thread.start()
        return self

    def close(self) -> None:
        """Also lets go of clients that hang."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> "OpenAIStub":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    stub: OpenAIStub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are part of the game; what they left is on record."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(
            self.path, headers, json.loads(body or b"{}"), time.monotonic(), connection=self.connection
        )
        endpoint = self.server.stub.endpoint(self.path)
        if endpoint is None:
            reply: Reply = Status(404, f"no such path {self.path}")
        else:
            reply = endpoint.take(request)
        try:
            self._answer(reply, request, seconds_per_byte=0.0)
        except OSError:
            request.gone.set()
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing: requests are on record."""

    def _answer(self, reply: Reply, request: Request, *, seconds_per_byte: float) -> None:
        match reply:
            case After():
                if self._wait(reply.seconds, request):
                    self._answer(reply.reply, request, seconds_per_byte=seconds_per_byte)
            case Drip():
                self._answer(reply.reply, request, seconds_per_byte=reply.seconds_per_byte)
            case Hang():
                self._wait(None, request)
                self.close_connection = True
            case Reset():
                # With this linger setting the kernel sends RST instead of FIN.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
            case _ if callable(reply):
                self._answer(reply(request), request, seconds_per_byte=seconds_per_byte)
            case _:
                rendered = render(reply, request.json, self.server.stub.dimension)
                self._send(rendered, request, seconds_per_byte)

    def _send(self, rendered: Rendered, request: Request, seconds_per_byte: float) -> None:
        self.send_response(rendered.status)
        for name, value in rendered.headers.items():
            self.send_header(name, value)
        if rendered.streamed:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(sum(map(len, rendered.pieces))))
        self.end_headers()
        for piece in rendered.pieces:
            framed = b"%x\r\n%s\r\n" % (len(piece), piece) if rendered.streamed else piece
            if not seconds_per_byte:
                self.wfile.write(framed)
                continue
            for byte in framed:
                if not self._wait(seconds_per_byte, request):
                    return
                self.wfile.write(bytes((byte,)))
        if rendered.streamed and rendered.complete:
            self.wfile.write(b"0\r\n\r\n")
        if not rendered.complete:
            self.close_connection = True

    def _wait(self, seconds: float | None, request: Request) -> bool:
        """Wait, for ever with None; False as soon as the client has left or the stub is being closed."""
        end = None if seconds is None else time.monotonic() + seconds
        while end is None or time.monotonic() < end:
            if self.server.stub.closing.is_set():
                self.close_connection = True
                return False
            left = _POLL_SECONDS if end is None else min(_POLL_SECONDS, max(0.0, end - time.monotonic()))
            readable, _, _ = select.select([self.connection], [], [], left)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                request.gone.set()
                self.close_connection = True
                return False
        return True
