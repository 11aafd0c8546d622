"""Compiled scoring over blocks of unit vectors."""

from .facade import (
    Best,
    Columns,
    RawRequest,
    Request,
    code_rows,
    search,
    search_many,
    search_raw,
    search_raw_many,
    squared_norm,
    warm_up,
)
from .fused import (
    CODED_MIN_ELEMENTS,
    CONCEPT_BIT,
    MAX_TOKENS,
    NEVER,
    SAFE_SQUARED_NORMS,
    TOMBSTONE,
    UNIT_TOLERANCE,
)

__all__ = [
    "CODED_MIN_ELEMENTS",
    "CONCEPT_BIT",
    "MAX_TOKENS",
    "NEVER",
    "SAFE_SQUARED_NORMS",
    "TOMBSTONE",
    "UNIT_TOLERANCE",
    "Best",
    "Columns",
    "RawRequest",
    "Request",
    "code_rows",
    "search",
    "search_many",
    "search_raw",
    "search_raw_many",
    "squared_norm",
    "warm_up",
]
