"""An estimate of how many tokens a text costs, without a model's own tokenizer.

Deliberately a little high: a context that is estimated to fit must fit. One token per Chinese, Japanese or Korean
character and per three other bytes is above what the tokenizers of current chat models count for running text.
"""

import re

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 4
"""What role and delimiters of one chat message cost."""


def message_tokens(content: str) -> int:
    """Of one message of the window."""
    return estimate_tokens(content) + TOKENS_PER_MESSAGE


def estimate_tokens(text: str) -> int:
    if text.isascii():
        return -(-len(text) // _BYTES_PER_TOKEN)
    wide = len(_WIDE.findall(text))
    narrow_bytes = len(text.encode("utf-8", "replace")) - 3 * wide
    return wide + -(-narrow_bytes // _BYTES_PER_TOKEN)
