"""A memlane server whose index was filled with made-up users, without the hours that storing them would take.

    python -m benchmarks.filled_server USERSxMEMORIES [...]     for example 100000x20

The whole service, `memlane serve` but for one thing: before it reports SERVING, users are put straight into the index,
as a load from the store would put them. Reads of these users never touch the store, so nothing else differs. What each
group of users took is written to filled.json in the data directory.
"""

import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import uvloop

from memlane_server.app import App
from memlane_server.cli.serve import serve
from memlane_server.config import Settings, load

from .report import SEED
from .seed import synthetic_rows, unit_vectors

FACTS = "filled.json"


@dataclass(frozen=True, slots=True)
class Population:
    """Users that have equally many memories each."""

    users: int
    memories: int

    @classmethod
    def parse(cls, text: str) -> "Population":
        """From USERSxMEMORIES; raises ValueError."""
        users, _, memories = text.partition("x")
        return cls(int(users), int(memories))

    def __str__(self) -> str:
        return f"{self.users}x{self.memories}"

    def user(self, n: int) -> str:
        return f"bench-{self}-{n}"


@dataclass(frozen=True, slots=True)
class Filling:
    """What a population took."""

    population: str
    rows: int
    content_bytes: int
    """float32 vectors and UTF-8 texts: what is there to keep at least."""
    accounted_bytes: int
    """By the index's own reckoning."""
    resident_bytes: int
    """By which the process grew."""


class FilledApp(App):
    """An app whose index holds the populations once it has started."""

    def __init__(self, settings: Settings, populations: Sequence[Population]) -> None:
        super().__init__(settings)
        self._populations = populations

    async def _fill_index(self) -> None:
        await super()._fill_index()
        fillings = await self.offload(self._fill)
        path = self.settings.data_dir / FACTS
        path.write_text(json.dumps([asdict(filling) for filling in fillings]), encoding="utf-8")

    def _fill(self) -> list[Filling]:
        generator = np.random.default_rng(SEED)
        fillings = []
        for population in self._populations:
            gc.collect()
            # Each collection in between would walk all that was loaded before.
            gc.disable()
            resident, accounted, content = resident_bytes(), self.index.stats().bytes, 0
            for n in range(population.users):
                content += self._fill_user(generator, population, n)
            gc.enable()
            gc.collect()
            fillings.append(
                Filling(
                    population=str(population),
                    rows=population.users * population.memories,
                    content_bytes=content,
                    accounted_bytes=self.index.stats().bytes - accounted,
                    resident_bytes=resident_bytes() - resident,
                )
            )
        return fillings

    def _fill_user(self, generator: np.random.Generator, population: Population, n: int) -> int:
        """Bytes of content."""
        vectors = unit_vectors(generator, population.memories, self.embedder.dimension)
        rows = synthetic_rows(population.user(n), vectors, int(self.clock.now()))
        self.index.put_user(self.settings.tenant, population.user(n), rows, self.positions.seen)
        return vectors.nbytes + sum(len(row.memory.content.encode()) for row in rows)


def resident_bytes() -> int:
    """Of this process, now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("no VmRSS in /proc/self/status")


def main() -> None:
    settings = load()
    uvloop.run(serve(settings, FilledApp(settings, [Population.parse(text) for text in sys.argv[1:]])))


if __name__ == "__main__":
    main()
