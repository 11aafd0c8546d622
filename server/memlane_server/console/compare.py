"""What changed between two texts, for a reader."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

# A word or number of a language that parts them by spaces; otherwise one character, as in Chinese.
_TOKENS = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+(?:[.,]\d+)*|\s+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    kind: Literal["same", "removed", "added"]
    text: str


def parts(old: str, new: str) -> list[Part]:
    """Both texts as one: the old one without what was added, the new one without what was removed."""
    a, b = _TOKENS.findall(old), _TOKENS.findall(new)
    return [*_parts(a, b, SequenceMatcher(None, a, b, autojunk=False))]


def _parts(a: list[str], b: list[str], matcher: "SequenceMatcher[str]") -> Iterator[Part]:
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            yield Part("same", "".join(a[a0:a1]))
            continue
        if a1 > a0:
            yield Part("removed", "".join(a[a0:a1]))
        if b1 > b0:
            yield Part("added", "".join(b[b0:b1]))
