"""Rows as 8-bit codes, with what the coding leaves over: what the coded pass of `fused` reads."""

import numpy as np
from numba import float32, float64, int8, int64, njit, types

_ROW_LEVELS = 127


@njit(
    [
        types.void(types.Array(float32, 2, "C", readonly=readonly), int64, int64, int8[:, ::1], float32[:, ::1])
        for readonly in (False, True)
    ],
    cache=True, nogil=True, error_model="numpy", boundscheck=False,
)  # fmt: skip
def code_rows(vectors, first, last, codes, rows):  # type: ignore[no-untyped-def]
    for row in range(first, last):
        largest = 0.0
        square = 0.0
        for j in range(vectors.shape[1]):
            x = float64(vectors[row, j])
            square += x * x
            largest = max(largest, abs(x))
        finite = np.isfinite(square)
        scale = float64(float32(largest / _ROW_LEVELS)) if finite else 0.0
        inverse = 1.0 / scale if scale > 0.0 else 0.0
        left = 0.0
        coded = 0.0
        for j in range(vectors.shape[1]):
            code = 0.0
            if finite:
                code = min(max(np.rint(float64(vectors[row, j]) * inverse), -127.0), 127.0)
                rest = float64(vectors[row, j]) - code * scale
                left += rest * rest
            codes[row, j] = code
            coded += code * code
        # Rounded up, so that they stay bounds as float32. A row that is not finite can be bounded by nothing.
        rows[0, row] = float32(scale)
        rows[1, row] = float32(np.sqrt(left) * (1.0 + 1e-6)) if finite else float32(np.inf)
        rows[2, row] = float32(np.sqrt(coded) * scale * (1.0 + 1e-6))
