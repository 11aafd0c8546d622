"""Texts to unit vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors. Two embedders with the same `model` give the same vectors."""

    @property
    def model(self) -> str:
        """Name and version; recorded in the store and checked at start."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def nomination_threshold(self) -> float:
        """Raw cosine of this model that corresponds to the customary 0.85: from here on, two facts may concern the
        same thing."""
        ...

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        """Unit vectors, float32, C-contiguous, shape (len(texts), dimension), in the order of `texts`.

        All or nothing. Raises ModelUnavailable, ModelThrottled or DeadlineExceeded.
        """
        ...
