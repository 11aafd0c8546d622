"""Compiled scoring over blocks of unit vectors."""

from .fused import NEVER, TOMBSTONE, Lexicon, search, warm_up

__all__ = ["NEVER", "TOMBSTONE", "Lexicon", "search", "warm_up"]
