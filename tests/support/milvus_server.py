"""A real Milvus 2.3.5 standalone server for tests: started, frozen, killed and started again by its own pid.

The binary of the PyPI package is run directly: the package's own wrapper moves silently to another port where
one is still in TIME_WAIT. Milvus offers no setting for the address it listens on, so its ports are open on all
interfaces while a test runs; nothing but invented data goes in.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv-milvus"
SETUP = Path(__file__).with_name("setup_milvus_server.sh")

_PORTS = (
    "proxy_port", "etcd_port", "proxy_internal_port", "root_coord_port", "query_coord_port", "query_node_port",
    "index_coord_port", "index_node_port", "data_coord_port", "data_node_port",
)  # fmt: skip
_METRICS_OFFSET = len(_PORTS)
_ETCD_PEER_OFFSET = _METRICS_OFFSET + 1
_FIRST_PORT, _LAST_PORT = 20_000, 32_000
"""Below the range from which Linux picks ports of outgoing connections, so that none sits in the block."""

_TURN = Path(tempfile.gettempdir()) / "memlane-milvus.turn"
"""Locked while a server runs: Milvus keeps its pid in /run/milvus and starts once on a machine."""
_TURN_SECONDS = 600.0
_PR_SET_PDEATHSIG = 1

_UNPACK = "import sys, milvus; milvus._initialize_data_files(sys.argv[1])"
_DATA_DIR = "import os, milvus; print(os.path.join(os.path.dirname(milvus.__file__), 'data'))"

_TUNING = (
    # Strong reads wait for the next tick: 45-100 ms instead of 200-400.
    (r"timeTickInterval: 200", "timeTickInterval: 50"),
    # A killed server's session blocks its successor for this long.
    (r"(session:\n\s*ttl:) 30", r"\1 10"),
    (r"\n  level: info # Only", "\n  level: warn # Only"),
    # The interim index finds less than half of the filtered neighbours in fresh data.
    (r"enableIndex: true", "enableIndex: false"),
    # Without a file of its own the embedded etcd listens on 2379 and 2380, so a second server would not start.
    (r"\n  use:\n    embed: true", "\n  config:\n    path: {etcd}\n  use:\n    embed: true"),
)


class MilvusServer:
    """One server with its data in one directory. Not thread-safe."""

    def __init__(self, directory: Path | None = None) -> None:
        subprocess.run([str(SETUP)], check=True, timeout=600)
        self._python = VENV / "bin" / "python"
        self._owns_directory = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="memlane-milvus-"))
        self._bin = VENV / "milvus-bin"
        self._process: subprocess.Popen[bytes] | None = None
        self._turn: int | None = None
        self._first_port = _free_block(_ETCD_PEER_OFFSET + 1)
        self._unpack()
        self._configure()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._first_port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise RuntimeError("the server is not running")
        return self._process.pid

    def start(self, *, timeout_seconds: float = 90.0) -> float:
        """Start, wait until it reports itself healthy; returns the seconds that took. The port stays the same.

        Waits first while another server runs on this machine.
        """
        if self._turn is None:
            self._turn = _take_turn()
        log = (self.directory / "logs" / "console.log").open("ab")
        began = time.monotonic()
        with log:
            self._process = subprocess.Popen(
                [str(self._bin / "milvus"), "run", "standalone"],
                cwd=self.directory,
                env={
                    "PATH": os.environ.get("PATH", ""),
                    "HOME": str(self.directory),
                    "DEPLOY_MODE": "STANDALONE",
                    "METRICS_PORT": str(self._first_port + _METRICS_OFFSET),
                    "LD_LIBRARY_PATH": str(self._bin),
                    "MILVUSCONF": str(self.directory / "configs"),
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_the_parent,
            )
        while time.monotonic() - began < timeout_seconds:
            if self._process.poll() is not None:
                said = Path(log.name).read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"Milvus ended with {self._process.returncode}: {said[:2000]}")
            if self._healthy():
                return time.monotonic() - began
            time.sleep(0.1)
        self.kill()
        raise TimeoutError(f"Milvus was not healthy within {timeout_seconds:g} s")

    def freeze(self) -> None:
        """Stop it in its tracks: connections stay open and nothing answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """kill -9: SIGTERM can take a minute, and loses nothing either way."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
        self._process.wait(timeout=30)
        self._process = None

    def close(self) -> None:
        self.kill()
        if self._turn is not None:
            os.close(self._turn)
            self._turn = None
        if self._owns_directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> "MilvusServer":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _healthy(self) -> bool:
        url = f"http://127.0.0.1:{self._first_port + _METRICS_OFFSET}/healthz"
        try:
            with urllib.request.urlopen(url, timeout=1.0) as answer:
                return b"OK" in answer.read()
        except (urllib.error.URLError, OSError):
            return False

    def _unpack(self) -> None:
        """Once for all servers: 300 MB, skipped by checksum when it is there."""
        staging = VENV / "milvus-unpacked"
        subprocess.run([str(self._python), "-c", _UNPACK, str(staging)], check=True, timeout=300)
        if not self._bin.exists():
            with contextlib.suppress(FileExistsError):
                self._bin.symlink_to(staging / "bin")

    def _configure(self) -> None:
        found = subprocess.run(
            [str(self._python), "-c", _DATA_DIR], check=True, timeout=60, capture_output=True, text=True
        )
        package_data = Path(found.stdout.strip())
        for name in ("configs", "logs", "data"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        values: dict[str, str] = {name: str(self._first_port + i) for i, name in enumerate(_PORTS)}
        data, logs = self.directory / "data", self.directory / "logs"
        values |= {
            "etcd_log_level": "warn",
            "etcd_log_path": str(logs / "etcd.log"),
            "system_log_path": str(logs),
            "etcd_data_dir": str(data / "etcd.data"),
            "local_storage_dir": str(data),
            "rocksmq_data_dir": str(data / "rocksmq"),
            "server_pem_path": "server.pem",
            "server_key_path": "server.key",
            "ca_pem_path": "ca.pem",
            "authorization_enabled": "false",
            "tls_mode": "0",
        }
        etcd = self.directory / "configs" / "etcd.yaml"
        template = (package_data / "config.yaml.template").read_text(encoding="utf-8")
        text = re.sub(r"\{\{\s*(\w+).*?\}\}", lambda match: values[match.group(1)], template)
        for pattern, replacement in _TUNING:
            text, count = re.subn(pattern, replacement.format(etcd=etcd), text)
            if not count:
                raise RuntimeError(f"the template of the Milvus package has no {pattern!r}")
        (self.directory / "configs" / "milvus.yaml").write_text(text, encoding="utf-8")
        client, peer = (
            f"http://127.0.0.1:{port}" for port in (values["etcd_port"], self._first_port + _ETCD_PEER_OFFSET)
        )
        etcd.write_text(
            f"name: default\nlisten-client-urls: {client}\nadvertise-client-urls: {client}\n"
            f"listen-peer-urls: {peer}\ninitial-advertise-peer-urls: {peer}\ninitial-cluster: default={peer}\n",
            encoding="utf-8",
        )
        shutil.copy(package_data / "glog.conf", self.directory / "configs" / "glog.conf")


def _die_with_the_parent() -> None:
    """Runs in the child: a test run that is killed leaves no server behind. Fires when the thread that started it
    ends, and fixtures are started by the main thread."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _take_turn() -> int:
    """Descriptor that holds the machine's turn; closing it, also by dying, gives it back."""
    descriptor = os.open(_TURN, os.O_CREAT | os.O_RDWR, 0o666)
    end = time.monotonic() + _TURN_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(descriptor)
                raise TimeoutError("another Milvus server keeps running on this machine") from None
            time.sleep(0.5)
        else:
            return descriptor


def _free_block(count: int) -> int:
    """First port of `count` neighbours that nobody uses, on any interface."""
    start = _FIRST_PORT + (os.getpid() * 37) % (_LAST_PORT - _FIRST_PORT)
    candidates: Sequence[int] = [*range(start, _LAST_PORT, count), *range(_FIRST_PORT, start, count)]
    for first in candidates:
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    probe = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                    probe.bind(("0.0.0.0", port))
            except OSError:
                continue
            return first
    raise RuntimeError(f"no block of {count} free ports between {_FIRST_PORT} and {_LAST_PORT}")
