"""The load generator that is always there: asyncio, in a Python process of its own.

It makes the same calls as memload, the one in Go (benchmarks/load), at the same paces, and prints the same report. It
costs more: what Python takes to make a call is in the latencies, and one process makes a few thousand calls a second.
"""

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version

from .load import GeneratorFailed, Load, Outcome, Target
from .memload import Running, longest


@dataclass(frozen=True, slots=True)
class AsyncioGenerator:
    @property
    def name(self) -> str:
        return f"asyncio, Python {platform.python_version()}, grpcio {version('grpcio')}"

    def run(self, target: Target, load: Load, *, server_pid: int | None = None) -> Outcome:
        if server_pid is not None:
            raise GeneratorFailed("the generator in Python watches no process; memload does")
        return self.start(target, load).result()

    def start(self, target: Target, load: Load) -> Running:
        """Begin a load beside others. Raises GeneratorFailed."""
        environment = os.environ.copy()
        # Not in the arguments, which every user of the machine can read.
        environment["MEMLANE_TOKEN"] = target.token
        told = {"target": asdict(replace(target, token="")), "load": asdict(load), "generator": self.name}
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.asyncio_child"],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        except OSError as error:
            raise GeneratorFailed(f"{sys.executable} cannot be run: {error.strerror}") from None
        return Running(process, longest(load), json.dumps(told, default=str), "the generator in Python")
