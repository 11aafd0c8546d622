"""Hits without a block."""

from dataclasses import dataclass

from memlane_core.domain.memory import Memory
from memlane_core.index import Hit
from memlane_server.translate import MemoryRecords


@dataclass(frozen=True)
class _Held:
    held: Memory

    def memory(self, row: int) -> Memory:
        return self.held


def hit_of(memory: Memory, score: float, cosine: float = 0.0, lexical: float = 0.0) -> Hit:
    return Hit(MemoryRecords().encode(memory), score, cosine, lexical, 0, _Held(memory))
