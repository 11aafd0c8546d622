"""Questions about how things stand now, for which of two statements the later one is wanted."""

import re

_NOW = re.compile(
    r"现在|目前|最新|最近|眼下|如今|当前|现今|近来|今の|現在|最近の"
    r"|还[^，。？！]{0,8}吗"
    r"|\b(?:current|currently|now|nowadays|latest|newest|most recent|recently|at present|at the moment|these days"
    r"|today|still|any ?more|so far|up to date)\b"
)


def asks_for_the_present(folded: str) -> bool:
    """`folded` is in NFKC and lower case."""
    return _NOW.search(folded) is not None
