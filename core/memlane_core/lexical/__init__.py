"""Words as a second signal beside meaning: product codes, numbers and names that vectors blur."""

from .tokens import QueryTokens, RowTokens, query_tokens, row_tokens, tokenize

__all__ = ["QueryTokens", "RowTokens", "query_tokens", "row_tokens", "tokenize"]
