"""Recalled memories inside a message: some back ends put them into the user's turn, above what the user
wrote."""

import re
from collections.abc import Sequence

from ...builtin.text.normalise import fold

_BULLET = re.compile(r"^\s*(?:[-*•·]|\d{1,3}[.)、])\s*")
_RECORDED = re.compile(
    r"\s*[（(\[]\s*(?:记录于|recorded)[^）)\]]*[）)\]]\s*|^\s*\[?\d{4}-\d\d-\d\d\]?[:：]?\s*", re.IGNORECASE
)
_HEADING = re.compile(r"^\s*【用户历史信息】|^\s*\[?user history\]?\s*:?\s*$", re.IGNORECASE)


def without_recalled(content: str, recalled: Sequence[str]) -> str:
    """The message without the lines that are a recalled memory word for word, and without the block's
    heading.

    Whole lines only: "I don't think I like tea any more" holds a memory's words and is news.
    """
    if not recalled:
        return content
    known = {_bare(text) for text in recalled}
    return "\n".join(
        line
        for line in content.split("\n")
        if not _HEADING.match(line) and (not line.strip() or _bare(line) not in known)
    )


def _bare(line: str) -> str:
    return fold(_RECORDED.sub(" ", _BULLET.sub("", line))).rstrip("。. ")
