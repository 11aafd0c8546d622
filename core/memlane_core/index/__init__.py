"""The user index: each resident user's memories as one block, ready to be scored."""

from .block import Block, ScoredRecords, search_many, search_raw_many
from .loader import SingleFlightLoader
from .query import Hit, SearchQuery
from .records import JsonRecords, Records
from .user_index import IndexStats, UserIndex, UserLoad

__all__ = [
    "Block",
    "Hit",
    "IndexStats",
    "JsonRecords",
    "Records",
    "ScoredRecords",
    "SearchQuery",
    "SingleFlightLoader",
    "UserIndex",
    "UserLoad",
    "search_many",
    "search_raw_many",
]
