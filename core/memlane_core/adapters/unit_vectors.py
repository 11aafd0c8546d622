"""Vectors at length 1, whatever an embedder gave."""

import numpy as np
from numpy.typing import NDArray

from ..ports.embedder import Vectors

_SHORTEST = 1e-6


def to_unit(vectors: NDArray[np.float32]) -> Vectors:
    """Rows at length 1, float32, C-contiguous; a row without a direction becomes the first axis, so that no NaN
    ever gets into a store."""
    # In float64: the squares of large finite float32 overflow.
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    degenerate = ~(norms[:, 0] > _SHORTEST)
    units = np.ascontiguousarray(vectors / np.where(degenerate[:, None], 1.0, norms), dtype=np.float32)
    units[degenerate] = 0.0
    units[degenerate, 0] = 1.0
    return units
