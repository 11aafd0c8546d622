"""/metrics, /livez and /readyz over HTTP, in threads of their own: a busy event loop does not keep them waiting."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

Probe = Callable[[], str]
"""Why not; "" = yes."""

_TEXT = "text/plain; charset=utf-8"
_READ_SECONDS = 10.0


class ProbeServer:
    """The pages of one process. `stop` must follow."""

    def __init__(self, registry: CollectorRegistry, *, live: Probe, ready: Probe) -> None:
        self._registry = registry
        self._probes = {"/livez": live, "/readyz": ready}
        self._server: ThreadingHTTPServer | None = None

    def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError when it is taken."""
        pages = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _READ_SECONDS
            server_version = "memlane"
            sys_version = ""

            def do_GET(self) -> None:
                status, content_type, body = pages.answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nothing: a line for each probe would be all that the log holds."""

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="memlane-probes", daemon=True).start()
        bound: int = self._server.server_address[1]
        return bound

    def stop(self) -> None:
        """Blocks until no page is being answered any more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body of a page."""
        if path == "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest(self._registry)
        probe = self._probes.get(path)
        if probe is None:
            return 404, _TEXT, b"there are /metrics, /livez and /readyz\n"
        why_not = probe()
        return (503 if why_not else 200), _TEXT, f"{why_not or 'ok'}\n".encode()
