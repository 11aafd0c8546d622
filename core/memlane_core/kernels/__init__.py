"""Compiled scoring over blocks of unit vectors."""

from .fused import (
    CONCEPT_BIT,
    CONCEPT_WEIGHT,
    MAX_TOKENS,
    NEVER,
    TOMBSTONE,
    Columns,
    code_rows,
    search,
    warm_up,
)

__all__ = [
    "CONCEPT_BIT",
    "CONCEPT_WEIGHT",
    "MAX_TOKENS",
    "NEVER",
    "TOMBSTONE",
    "Columns",
    "code_rows",
    "search",
    "warm_up",
]
