"""Start a server of its own, run the scenes, show them, write the report."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import grpc
from rich.console import Console

from memlane.v1 import diagnostics_service_pb2, diagnostics_service_pb2_grpc

from .console import show
from .record import Scene
from .report import write
from .scenes import Demo

_START_SECONDS = 90.0
_SERVING = "memlane is serving on "


class DemoServer:
    """A memlane server process in a folder that goes with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.clock_file = folder / "clock"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> str:
        """Returns its address. Raises RuntimeError with the end of its log when it does not start."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MEMLANE_")}
        environment |= {
            "MEMLANE_DATA_DIR": str(self._folder / "data"),
            "MEMLANE_SERVER__PORT": "0",
            "MEMLANE_CLOCK_OFFSET_FILE": str(self.clock_file),
        }
        log = self._folder / "server.log"
        with log.open("w") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "memlane_server", "serve"],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(_SERVING):
                return line.removeprefix(_SERVING).strip()
        raise RuntimeError(f"the server did not start:\n{log.read_text()[-2000:]}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()


def run(report: Path, console: Console) -> bool:
    """Whether every check of every scene held."""
    with tempfile.TemporaryDirectory(prefix="memlane-demo-") as folder:
        server = DemoServer(Path(folder))
        try:
            started = time.perf_counter()
            with console.status("starting a memlane server on Milvus Lite and SQLite ..."):
                address = server.start()
            console.print(
                f"[green]✓[/] server on {address}, ready after {time.perf_counter() - started:.1f} s"
            )
            with grpc.insecure_channel(address) as channel:
                return _play(channel, server.clock_file, report, console)
        finally:
            server.stop()


def _play(channel: grpc.Channel, clock_file: Path, report: Path, console: Console) -> bool:
    info = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel).GetServerInfo(
        diagnostics_service_pb2.GetServerInfoRequest()
    )
    scenes: list[Scene] = []
    for scene in Demo(channel, clock_file).run():
        show(console, scene)
        scenes.append(scene)
    facts = [
        ("memlane", info.version),
        ("embedder", info.embedder.model),
        ("store", info.vector_store_engine),
        ("journal", info.journal_engine),
    ]
    write(report, scenes, facts)
    failed = [s for s in scenes if s.failed]
    console.print()
    for scene in failed:
        console.print(f"[bold red]✗[/] scene {scene.number} ({scene.user_id}) did not go as it should")
    console.print(f"report: [link=file://{report.resolve()}]{report}[/]")
    return not failed
