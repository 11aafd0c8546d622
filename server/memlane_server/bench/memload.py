"""The load generator in Go (benchmarks/load): finding it, building it, running it."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .load import GeneratorFailed, Load, Outcome, Target

BINARY_VARIABLE = "MEMLANE_MEMLOAD"
_ROOT = Path(__file__).resolve().parents[3]
_SOURCE = _ROOT / "benchmarks" / "load"
_BUILT = _ROOT / "build" / "memload"
_BUILD_SECONDS = 600.0
_SPARE_SECONDS = 60.0
"""Beyond the time of a load: connecting, late answers, printing."""


class GeneratorMissing(GeneratorFailed):
    """There is no memload, and none can be built here."""


@dataclass(frozen=True, slots=True)
class Memload:
    binary: Path

    @property
    def name(self) -> str:
        return "memload"

    def run(self, target: Target, load: Load, *, server_pid: int | None = None) -> Outcome:
        return self.start(target, load, server_pid=server_pid).result()

    def start(self, target: Target, load: Load, *, server_pid: int | None = None) -> "Running":
        """Begin a load beside others. Raises GeneratorFailed."""
        environment = os.environ.copy()
        # Not among the arguments, which every user of the machine can read.
        environment["MEMLANE_TOKEN"] = target.token
        try:
            process = subprocess.Popen(
                [str(self.binary), *_arguments(target, load, server_pid)],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise GeneratorFailed(f"{self.binary} cannot be run: {error.strerror}") from None
        return Running(process, longest(load))


def longest(load: Load) -> float:
    """Seconds after which a load that has not ended never will."""
    return load.seconds + load.warm_up_seconds + 2 * load.timeout_seconds + _SPARE_SECONDS


@dataclass(frozen=True, slots=True)
class Running:
    """A load that is under way in a process of its own, which prints what came of it as memload does."""

    process: subprocess.Popen[str]
    seconds: float
    told: str | None = None
    """What the process reads from its standard input."""
    name: str = "memload"

    def result(self) -> Outcome:
        """Waits for the end. Raises GeneratorFailed."""
        try:
            printed, complaint = self.process.communicate(self.told, timeout=self.seconds)
        except subprocess.TimeoutExpired:
            raise GeneratorFailed(f"{self.name} did not end within {self.seconds:g} s") from None
        finally:
            self.stop()
        if self.process.returncode != 0:
            lines = complaint.strip().splitlines()
            raise GeneratorFailed(lines[-1] if lines else f"{self.name} failed")
        report: dict[str, Any] = json.loads(printed)
        return Outcome.parse(report)

    def stop(self) -> None:
        """End it now; what it measured is lost. After its end this does nothing."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def find() -> Memload:
    """The one that MEMLANE_MEMLOAD names, or on the PATH, or built from the source tree that this file stands in.

    Raises GeneratorMissing.
    """
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise GeneratorMissing(f"{BINARY_VARIABLE} names {named}, which cannot be run")
        return Memload(Path(named))
    if (_SOURCE / "go.mod").is_file():
        return Memload(_build())
    found = shutil.which("memload")
    if found is None:
        raise GeneratorMissing(
            f"there is no memload on the PATH, and no source tree of memlane to build it from; {BINARY_VARIABLE} may "
            "name one"
        )
    return Memload(Path(found))


def _build() -> Path:
    """Go's own cache makes this quick when nothing has changed."""
    go = shutil.which("go")
    if go is None:
        if _BUILT.is_file():
            return _BUILT
        raise GeneratorMissing(
            "the load generator is written in Go, and there is no `go` on the PATH to build it with"
        )
    _BUILT.parent.mkdir(exist_ok=True)
    # Built aside and moved: others may be running the one that is there.
    aside = _BUILT.with_name(f"memload.{os.getpid()}")
    try:
        done = subprocess.run(
            [go, "build", "-o", str(aside), "./memload"],
            cwd=_SOURCE,
            capture_output=True,
            text=True,
            timeout=_BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GeneratorMissing(f"building memload took more than {_BUILD_SECONDS:g} s") from None
    if done.returncode != 0:
        raise GeneratorMissing(f"memload does not build:\n{done.stderr.strip()}")
    aside.replace(_BUILT)
    return _BUILT


def _arguments(target: Target, load: Load, server_pid: int | None) -> list[str]:
    given: dict[str, object | None] = {
        "address": target.address,
        "ca": target.ca,
        "cert": target.certificate,
        "key": target.key,
        "scenario": load.scenario,
        "users": ",".join(load.users),
        "write-users": ",".join(load.write_users) or None,
        "duration": f"{load.seconds}s",
        "warm-up": f"{load.warm_up_seconds}s",
        "timeout": f"{load.timeout_seconds}s",
        "connections": load.connections,
        "workers": load.workers,
        "rate": load.rate,
        "outstanding": load.outstanding,
        "top-k": load.top_k,
        "batch": load.batch,
        "facts": load.facts,
        "session": load.session_id or None,
        "seed": load.seed,
        "server-pid": server_pid,
    }
    flags = {"tls": target.tls, "poisson": load.poisson, "knowledge": load.knowledge}
    return [
        *(f"--{name}={value}" for name, value in given.items() if value is not None),
        *(f"--{name}" for name, wanted in flags.items() if wanted),
    ]
