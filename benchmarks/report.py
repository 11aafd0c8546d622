"""What a figure needs to be worth something: where it was measured, on what, when; and the file that keeps it."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
BENCH = RESULTS / "bench.json"
SEED = 1

PREFIXES = {
    "kernels": ("kernel.",),
    "prompt_budget": ("prompt_budget.",),
    "service": ("service.", "context."),
    "growth": ("growth.",),
    "peers": ("peers.",),
}
"""Which keys a part owns: measuring it again replaces all of them."""

_PACKAGES = (
    "memlane",
    "numpy",
    "numba",
    "grpcio",
    "protobuf",
    "pymilvus",
    "milvus-lite",
    "faiss-cpu",
    "usearch",
    "simsimd",
)

Value = float | str
Results = dict[str, Value]


def load_results(path: Path = BENCH) -> Results:
    """What was measured so far; empty when nothing was."""
    if not path.exists():
        return {}
    results: Results = json.loads(path.read_text(encoding="utf-8"))
    return results


def merge_results(
    part: str, figures: Mapping[str, float], path: Path = BENCH, *, facts: Results | None = None
) -> Results:
    """Replace a part's figures in the file by these, say when and where they were measured, and return all.

    `facts`: what is to be said of the machine and the versions in place of `about()`; empty leaves what stands there.

    Raises ValueError for a key that belongs to no part or to another one.
    """
    owned = PREFIXES[part]
    strangers = [key for key in figures if not key.startswith(owned)]
    if strangers:
        raise ValueError(f"keys that the part {part} does not own: {strangers[:5]}")
    kept = {key: value for key, value in load_results(path).items() if not key.startswith(owned)}
    merged: Results = {
        **kept,
        **(about() if facts is None else facts),
        f"measured.{part}": f"{commit()} {_now()}",
        **figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = dict(sorted(merged.items(), key=lambda entry: (_is_figure(entry[0]), entry[0])))
    path.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return merged


def about() -> Results:
    """Commit, machine, versions, seed, date and load average, flat."""
    facts: Results = {
        "commit": commit(),
        "date": _now(),
        "seed": SEED,
        "machine.cpu": _cpu(),
        "machine.cores": os.cpu_count() or 0,
        "machine.memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "machine.system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load_average_at_start": _LOAD_AT_START,
        "version.python": platform.python_version(),
    }
    return facts | {f"version.{name}": found for name in _PACKAGES if (found := _version(name))}


def commit() -> str:
    """Short hash, with + when files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parent, timeout=30
    )
    return done.stdout.strip() or "unknown"


def _is_figure(key: str) -> bool:
    return key.startswith(tuple(prefix for prefixes in PREFIXES.values() for prefix in prefixes))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _cpu() -> str:
    """Model name; the kernel's file knows more than `platform` does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


_LOAD_AT_START = round(os.getloadavg()[0], 2)
"""Of the minute before this process began, so not its own doing."""
