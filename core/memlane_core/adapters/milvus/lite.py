"""Milvus Lite as a child process: started, watched, started again, stopped."""

import contextlib
import logging
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from ...domain.errors import FailedPrecondition, StoreUnavailable
from .. import milvus_lite
from ..milvus_lite import IN_USE, READY
from .calls import Deadline

logger = logging.getLogger(__name__)

_IN_USE_PATIENCE_SECONDS = 5.0
"""A predecessor that was killed needs a moment to let go of the data."""
_RETRY_SECONDS = 0.2
_RESTART_DELAYS_SECONDS = (0.0, 0.5, 1.0, 2.0, 5.0)
_STOP_SECONDS = 20.0


def launch(data_dir: Path, socket: Path) -> "subprocess.Popen[str]":
    """A new engine process; `adapters.milvus_lite` says what it and its parent tell each other."""
    return subprocess.Popen(
        [sys.executable, "-m", milvus_lite.__name__, str(data_dir), str(socket)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


class LiteProcess:
    """The engine's process for one data directory.

    In a process of its own the engine, which is pure Python, does not take the interpreter lock from the searches
    that run beside it (`benchmarks/milvus_lite_placement.py`).
    """

    def __init__(self, data_dir: Path, *, on_restart: Callable[[], None]) -> None:
        """`on_restart` runs in a thread of its own after the engine died and came back: its collections need
        loading again."""
        self._data_dir = data_dir
        self._on_restart = on_restart
        self._socket_dir: Path | None = None
        self._process: subprocess.Popen[str] | None = None
        self._stopping = threading.Event()
        self._spawning = threading.Lock()
        """Held while the watcher starts a process, so that a stop in between does not miss it."""

    def start(self, deadline: Deadline) -> str:
        """Address for the client. Raises FailedPrecondition when another process has the data open, and
        StoreUnavailable when the engine does not come up."""
        self._data_dir.parent.mkdir(parents=True, exist_ok=True)
        patience = Deadline.after(_IN_USE_PATIENCE_SECONDS)
        self._socket_dir = Path(tempfile.mkdtemp(prefix="memlane-lite-"))
        while not self._spawn(deadline):
            if time.monotonic() + _RETRY_SECONDS >= min(patience.ends_at, deadline.ends_at):
                self._remove_socket_dir()
                raise FailedPrecondition(
                    f"data file in use: another process has {self._data_dir} open; Milvus Lite belongs to one "
                    "process, several need a Milvus server",
                    metadata={"path": str(self._data_dir)},
                )
            time.sleep(_RETRY_SECONDS)
        threading.Thread(target=self._watch, name="milvus-lite-watch", daemon=True).start()
        return f"unix:{self._socket}"

    @property
    def pid(self) -> int:
        """Of the engine now running."""
        if self._process is None:
            raise StoreUnavailable("the embedded vector store is not running")
        return self._process.pid

    def stop(self) -> None:
        """Orderly: what is in memory is written to data files first."""
        self._stopping.set()
        with self._spawning:
            process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                process.stdin.write("stop\n")
                process.stdin.flush()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                logger.warning("the embedded vector store did not stop in %.0f s: killed", _STOP_SECONDS)
                process.kill()
                process.wait()
            _close_pipes(process)
        self._remove_socket_dir()

    @property
    def _socket(self) -> Path:
        if self._socket_dir is None:
            raise StoreUnavailable("the embedded vector store is not running")
        return self._socket_dir / "milvus.sock"

    def _spawn(self, deadline: Deadline) -> bool:
        """Start the engine once; False when the data is in use. Raises StoreUnavailable."""
        self._socket.unlink(missing_ok=True)
        process = launch(self._data_dir, self._socket)
        assert process.stdout is not None
        timer = threading.Timer(deadline.remaining_seconds(), process.kill)
        timer.start()
        try:
            answer = process.stdout.readline().strip()
        finally:
            timer.cancel()
        if answer == READY:
            self._process = process
            return True
        process.kill()
        process.wait()
        _close_pipes(process)
        if answer == IN_USE:
            return False
        raise StoreUnavailable(f"the embedded vector store did not start (exit code {process.returncode})")

    def _watch(self) -> None:
        """Bring the engine back whenever it dies (killed for memory, say)."""
        while True:
            process = self._process
            if process is None:
                return
            process.wait()
            if self._stopping.is_set():
                return
            logger.error(
                "the embedded vector store ended with code %s: starting it again", process.returncode
            )
            _close_pipes(process)
            self._respawn()
            self._restore()

    def _respawn(self) -> None:
        attempt = 0
        while True:
            delay = _RESTART_DELAYS_SECONDS[min(attempt, len(_RESTART_DELAYS_SECONDS) - 1)]
            attempt += 1
            if self._stopping.wait(delay):
                return
            try:
                with self._spawning:
                    if self._stopping.is_set() or self._spawn(Deadline.after(_STOP_SECONDS)):
                        return
            except StoreUnavailable as error:
                logger.error("the embedded vector store is still down: %s", error)

    def _restore(self) -> None:
        """Tried until it works: the client's connection takes a while to notice that its peer is back."""
        while not self._stopping.is_set():
            process = self._process
            if process is None or process.poll() is not None:
                return
            try:
                self._on_restart()
            except StoreUnavailable:
                self._stopping.wait(_RETRY_SECONDS)
            else:
                logger.info("the embedded vector store is back")
                return

    def _remove_socket_dir(self) -> None:
        if self._socket_dir is not None:
            shutil.rmtree(self._socket_dir, ignore_errors=True)


def _close_pipes(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
