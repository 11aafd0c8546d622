"""Compiled scoring over blocks of unit vectors."""

from .facade import Columns, Request, code_rows, search, search_many, squared_norm, warm_up
from .fused import CODED_MIN_ELEMENTS, CONCEPT_BIT, MAX_TOKENS, NEVER, TOMBSTONE

__all__ = [
    "CODED_MIN_ELEMENTS",
    "CONCEPT_BIT",
    "MAX_TOKENS",
    "NEVER",
    "TOMBSTONE",
    "Columns",
    "Request",
    "code_rows",
    "search",
    "search_many",
    "squared_norm",
    "warm_up",
]
