"""A real memlane server process on a free port and a data directory of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol

import grpc

_START_SECONDS = 60.0
SERVE = ("-m", "memlane_server", "serve")
"""The interpreter's arguments for `memlane serve`."""


class Running(Protocol):
    """What is asked of a started process; subprocess.Popen is one."""

    @property
    def pid(self) -> int: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...


class ServerProcess:
    """`memlane serve` as users run it. `address` is host:port once `start` returned. `command` are the interpreter's
    arguments, for another program that ends in the same service."""

    def __init__(
        self,
        data_dir: Path,
        settings: Mapping[str, str] | None = None,
        *,
        command: Sequence[str] = SERVE,
        start_seconds: float = _START_SECONDS,
    ) -> None:
        self.data_dir = data_dir
        self.log = data_dir.with_name(data_dir.name + ".log")
        self._settings = dict(settings or {})
        self._command = command
        self._start_seconds = start_seconds
        self._process: Running | None = None
        self.address = ""
        self.console = ""
        """Address of the operator's page, where it is switched on."""

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> "ServerProcess":
        self.spawn()
        self.wait_until_serving()
        return self

    def spawn(self) -> None:
        """Start the process without waiting for it."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMLANE_")}
        environment |= {
            "MEMLANE_DATA_DIR": str(self.data_dir),
            "MEMLANE_SERVER__PORT": "0",
            "MEMLANE_INDEX__BUDGET_MIB": "512",
            **self._settings,
        }
        self._process = self.launch(environment)

    def launch(self, environment: Mapping[str, str]) -> Running:
        """Start the process with standard output in a pipe and standard error in the log."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *self._command],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def wait_until_serving(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        text = b""
        deadline = time.monotonic() + self._start_seconds
        while time.monotonic() < deadline:
            text += self._process.stdout.read() or b""
            for line in text.decode().splitlines():
                if line.startswith("memlane console is on "):
                    self.console = line.rsplit(" ", 1)[1]
                if line.startswith("memlane is serving on "):
                    self.address = line.rsplit(" ", 1)[1]
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        self.kill()
        raise AssertionError(f"the server did not start:\n{self.log.read_text(errors='replace')[-4000:]}")

    def wait(self, timeout_seconds: float = 30.0) -> int:
        """Exit code, once the process has ended."""
        assert self._process is not None
        return self._process.wait(timeout_seconds)

    def terminate(self) -> int:
        """SIGTERM, as an orchestrator stops it; returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(self.address)


@contextlib.contextmanager
def running_server(
    data_dir: Path, settings: Mapping[str, str] | None = None, *, command: Sequence[str] = SERVE
) -> Iterator[ServerProcess]:
    server = ServerProcess(data_dir, settings, command=command)
    try:
        yield server.start()
    finally:
        server.kill()
