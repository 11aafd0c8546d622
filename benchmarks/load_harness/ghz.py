"""ghz, the gRPC load tool that many know: installing it at a pinned version, running committed configurations."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlane_server.bench.load import GeneratorFailed

VERSION = "v0.121.0"
_ROOT = Path(__file__).resolve().parents[2]
_TOOLS = _ROOT / "build" / "tools"
_STAMP = _TOOLS / "ghz.version"
_CONFIGS = Path(__file__).parent / "ghz"
_INSTALL_SECONDS = 900.0
_SPARE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Run:
    calls: int
    per_s: float
    errors: int
    p50_us: float
    p95_us: float
    p99_us: float


def install() -> Path:
    """The program, installed on first use into a folder that git ignores. Raises GeneratorFailed."""
    binary = _TOOLS / "ghz"
    if binary.is_file() and _STAMP.is_file() and _STAMP.read_text(encoding="ascii") == VERSION:
        return binary
    go = shutil.which("go")
    if go is None:
        raise GeneratorFailed("ghz is installed with Go, and there is no `go` on the PATH")
    _TOOLS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["env", f"GOBIN={_TOOLS}", go, "install", f"github.com/bojand/ghz/cmd/ghz@{VERSION}"],
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise GeneratorFailed(f"ghz cannot be installed: {done.stderr.strip()}")
    _STAMP.write_text(VERSION, encoding="ascii")
    return binary


@dataclass(frozen=True, slots=True)
class Started:
    process: subprocess.Popen[str]
    seconds: float

    def result(self) -> Run:
        """Waits for the end. Raises GeneratorFailed."""
        try:
            printed, told = self.process.communicate(timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise GeneratorFailed(f"ghz did not end within {self.seconds:g} s") from None
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.communicate()
        if self.process.returncode != 0:
            raise GeneratorFailed(f"ghz: {told.strip()}")
        return parse(json.loads(printed))


def start(config: str, address: str, seconds: float, *, rate: float | None = None) -> Started:
    """Run a configuration of this folder against a server; `rate` calls a second, or as many as it gets."""
    command = [str(install()), "--config", str(_CONFIGS / f"{config}.json"), "--duration", f"{seconds}s"]
    # Calls under way at the end are waited for: cut off, they would count as failed.
    command += ["--duration-stop", "wait", "--format", "json"]
    if rate is not None:
        command += ["--rps", str(max(1, round(rate)))]
    process = subprocess.Popen(
        [*command, address], cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    return Started(process, seconds + _SPARE_SECONDS)


def parse(report: Mapping[str, Any]) -> Run:
    """From ghz's JSON; its latencies are nanoseconds."""
    latencies = {
        entry["percentage"]: entry["latency"] / 1000 for entry in report["latencyDistribution"] or ()
    }
    good = report["statusCodeDistribution"].get("OK", 0)
    nan = float("nan")
    return Run(
        calls=report["count"],
        per_s=report["rps"],
        errors=report["count"] - good,
        p50_us=latencies.get(50, nan),
        p95_us=latencies.get(95, nan),
        p99_us=latencies.get(99, nan),
    )
