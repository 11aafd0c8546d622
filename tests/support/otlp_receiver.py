"""A small collector of traces: takes OTLP over HTTP on a real socket and keeps the spans that come."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

_WAIT_SECONDS = 30.0


class OtlpReceiver:
    def __init__(self, port: int) -> None:
        self.endpoint = f"http://127.0.0.1:{port}/v1/traces"
        self.headers: dict[str, str] = {}
        """Of the last export, names in lower case."""
        self.bodies: list[bytes] = []
        self._spans: list[Span] = []
        self._changed = threading.Condition()

    def take(self, body: bytes, headers: dict[str, str]) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        with self._changed:
            self.bodies.append(body)
            self.headers = headers
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    self._spans.extend(scope.spans)
            self._changed.notify_all()

    def spans(self) -> list[Span]:
        with self._changed:
            return list(self._spans)

    def wait_for(self, name: str) -> Span:
        """The first span of this name. Raises TimeoutError."""

        def found() -> Span | None:
            return next((span for span in self._spans if span.name == name), None)

        with self._changed:
            if not self._changed.wait_for(lambda: found() is not None, _WAIT_SECONDS):
                raise TimeoutError(f"no span {name!r}, only {sorted({s.name for s in self._spans})}")
            span = found()
        assert span is not None
        return span


def attributes(span: Span) -> dict[str, object]:
    """Attributes as plain values; a list as a tuple."""
    result: dict[str, object] = {}
    for pair in span.attributes:
        kind = pair.value.WhichOneof("value")
        assert kind is not None
        value = getattr(pair.value, kind)
        result[pair.key] = tuple(v.string_value for v in value.values) if kind == "array_value" else value
    return result


@contextmanager
def otlp_receiver() -> Iterator[OtlpReceiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.take(body, {k.lower(): v for k, v in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = OtlpReceiver(server.server_address[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
