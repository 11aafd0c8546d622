"""A process in which the imports are done, the kernels and the embedder are loaded, and which forks memlane servers.

`python -m tests.support.fork_server <socket>`, one for all workers of pytest. A client connects, sends one request with
the descriptor that becomes the server's standard output, and is told the process id and, later, the exit code. A server
lives no longer than its connection, and all of them no longer than this process' standard input is open.
"""

import atexit
import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

ADDRESS = "TESTS_FORK_SERVER"
"""Environment variable with the socket of the one that runs already."""

_MAX_REQUEST_BYTES = 128 * 1024


def start() -> None:
    """Start one for this process and for all that it starts from now on. It ends with this process."""
    directory = tempfile.mkdtemp(prefix="tests-fork-")
    path = f"{directory}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.fork_server", path],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stdout.readline(), "the fork server did not start"
    os.environ[ADDRESS] = path
    atexit.register(server.communicate)


class ForkedProcess:
    """`memlane serve` with this environment, as a subprocess.Popen with standard output in a pipe."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        if ADDRESS not in os.environ:
            start()
        request = json.dumps({"environment": dict(environment), "log": str(log)}).encode()
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(os.environ[ADDRESS])
        reader, writer = os.pipe()
        socket.send_fds(self._connection, [request], [writer])
        os.close(writer)
        self.stdout = os.fdopen(reader, "rb")
        self.pid = int(self._connection.recv(64))
        self._code: int | None = None

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Raises subprocess.TimeoutExpired."""
        if self._code is None:
            self._connection.settimeout(timeout)
            try:
                self._code = int(self._connection.recv(64))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("memlane serve", timeout or 0.0) from None
            self._connection.close()
        return self._code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def keep_only(stdin: int, stdout: int, stderr: int = 2) -> None:
    """In a forked process: make these the standard descriptors and close all others, since locks and ends of pipes
    that it was born with would outlive who holds them."""
    for number, descriptor in enumerate((stdin, stdout, stderr)):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


class _ForkServer:
    def __init__(self, listener: socket.socket, path: Path, serve: Callable[[], None]) -> None:
        self._path = path
        self._serve = serve
        self._selector = selectors.DefaultSelector()
        self._watch(listener, lambda: self._fork(listener))
        self._watch(sys.stdin.fileno(), self._end)
        self._children: set[int] = set()

    def run(self) -> NoReturn:
        while True:
            for key, _ in self._selector.select():
                # One that was answered before it may have ended this watch, and begun another on its number.
                if self._selector.get_map().get(key.fd) == key:
                    key.data()

    def _watch(self, what: socket.socket | int, then: Callable[[], None]) -> None:
        self._selector.register(what, selectors.EVENT_READ, then)

    def _fork(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        message, descriptors, _, _ = socket.recv_fds(connection, _MAX_REQUEST_BYTES, 1)
        if not message:  # A client that died between two steps; the other servers live on.
            connection.close()
            return
        request, (stdout,) = json.loads(message), descriptors
        pid = os.fork()
        if not pid:
            self._become_server(request["environment"], stdout, request["log"])
        os.close(stdout)
        self._children.add(pid)
        connection.send(str(pid).encode())
        ended = os.pidfd_open(pid)

        def reap() -> None:
            _, status = os.waitpid(pid, 0)
            self._children.discard(pid)
            for watched in (ended, connection):
                self._selector.unregister(watched)
            os.close(ended)
            with connection, contextlib.suppress(OSError):
                connection.send(str(os.waitstatus_to_exitcode(status)).encode())

        def client_went() -> None:
            os.kill(pid, signal.SIGKILL)
            reap()

        self._watch(ended, reap)
        self._watch(connection, client_went)

    def _become_server(self, environment: Mapping[str, str], stdout: int, log: str) -> NoReturn:
        """In the forked process."""
        code = 1
        try:
            error = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            keep_only(os.open(os.devnull, os.O_RDONLY), stdout, error)
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = ["memlane", "serve"]
            self._serve()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception:  # noqa: BLE001 - the last handler of a process: as the interpreter would
            traceback.print_exc()
        finally:
            _leave(code)

    def _end(self) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self._path.parent, ignore_errors=True)
        _leave(0)


def _leave(code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main(path: str) -> NoReturn:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(64)
    # Clients may connect from now on; they are answered when everything is loaded.
    print("listening", flush=True)

    from tests.support import forked_server_imports

    _ForkServer(listener, Path(path), forked_server_imports.serve).run()


if __name__ == "__main__":
    main(sys.argv[1])
