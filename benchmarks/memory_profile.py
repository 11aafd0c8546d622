"""What a block of the index keeps in memory, part by part.

    python -m benchmarks.memory_profile [--memories 20]

Walks from a block to everything it owns and adds up arrays by their bytes and Python objects by sys.getsizeof; what
several parts share is counted where it is met first. An array counts whole, rows that are not used yet included.
"""

import argparse
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from memlane_core.adapters.local_embedder import DIMENSION
from memlane_core.index import Block, UserIndex
from memlane_server.translate import MemoryRecords

from .report import SEED
from .seed import synthetic_rows, unit_vectors

_SHARED = (type, types.ModuleType, types.FunctionType, types.MethodType)


def bytes_by_part(block: Block) -> dict[str, int]:
    """Bytes by name of the attribute that leads to them; attributes of what a block is made of stand one level down."""
    seen: set[int] = set()
    parts: dict[str, int] = {}
    for name, value in _attributes(block):
        inner = dict(_attributes(value)) if not isinstance(value, np.ndarray) else {}
        if inner:
            for inner_name, inner_value in inner.items():
                parts[f"{name.strip('_')}.{inner_name.strip('_')}"] = _deep_bytes(inner_value, seen)
        else:
            parts[name.strip("_")] = _deep_bytes(value, seen)
    return {name: size for name, size in sorted(parts.items(), key=lambda part: -part[1]) if size}


def _deep_bytes(root: object, seen: set[int]) -> int:
    total = 0
    waiting = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
        # Small integers, short strings and None are the interpreter's own.
        if id(value) in seen or value is None or isinstance(value, (bool, *_SHARED)):
            continue
        seen.add(id(value))
        total += sys.getsizeof(value)
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += list(value)
        elif not isinstance(value, (np.ndarray, str, bytes, int, float)):
            waiting += [inner for _, inner in _attributes(value)]
    return total


def _attributes(value: object) -> Iterator[tuple[str, Any]]:
    """Of an object with slots or a __dict__."""
    for kind in type(value).__mro__:
        for name in kind.__dict__.get("__slots__", ()):
            if hasattr(value, name):
                yield name, getattr(value, name)
    yield from getattr(value, "__dict__", {}).items()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=20)
    options = parser.parse_args()
    vectors = unit_vectors(np.random.default_rng(SEED), options.memories, DIMENSION)
    rows = synthetic_rows("user", vectors, 1_700_000_000)
    block = UserIndex(DIMENSION, 1 << 40, MemoryRecords()).put_user("tenant", "user", rows, 0)
    content = vectors.nbytes + sum(len(row.memory.content.encode()) for row in rows)
    parts = bytes_by_part(block)
    for name, size in parts.items():
        print(f"{name:<30} {size / options.memories:10.1f} bytes a memory")
    whole = sum(parts.values())
    print(f"{'all':<30} {whole / options.memories:10.1f}, {whole / content:.2f} times vector and content")
    print(
        f"{'by the index itself':<30} {block.nbytes / options.memories:10.1f}, {block.nbytes / content:.2f} times"
    )


if __name__ == "__main__":
    main()
