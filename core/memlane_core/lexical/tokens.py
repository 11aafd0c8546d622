"""Texts to hashed tokens, for Chinese, Japanese and English alike.

English words are stemmed; numbers and codes stay whole, and their parts are tokens too; runs of Han and kana give
character bigrams (a run of one gives that character). Amounts get one more token in plain digits, and words that the
concept table knows one for the concept, so that another wording, or the other language, still meets.
"""

import re
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import concepts
from .numbers import amounts
from .recency import asks_for_the_present
from .stem import stem

CONCEPT_BIT = 1 << 31
"""Set in the id of a concept, clear in the id of a word: the kernel lets a concept count less."""

MAX_TOKENS = 512
"""Distinct tokens kept of one text."""

_RUNS = re.compile(
    r"[0-9a-z\u00c0-\u024f\u0370-\u04ff]+(?:[-_./&'][0-9a-z\u00c0-\u024f\u0370-\u04ff]+)*%?"
    r"|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff々\U00020000-\U0003ffff]+"
    r"|[\uac00-\ud7af]+"
    r"|[^\W_a-z0-9]+"
)
_PARTS = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\W\d_]+")
_WORDS = re.compile(r"(?<![a-z0-9_])[a-z]+(?![a-z0-9_]|-[0-9])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_JOINTS = str.maketrans("", "", "-_/&'")

# Words that say nothing about what a sentence is about; idf alone is weak in a few dozen rows.
_STOP = frozenset(
    "a an the and or but if of to in on at for from by with as is are was were be been being am do does did has have "
    "had it its this that these those i me my we us our you your he him his she her they them their user users what "
    "which who whom whose when where why how much many there here not no so than then too very can could will would "
    "shall should may might must about into over under s t any some".split()
)
_STOP_HAN = frozenset(
    "用户 我的 你的 他的 她的 我们 你们 他们 什么 怎么 哪些 哪个 多少 几个 是不 不是 的是 是什 么时 时候 有没 没有 "
    "一个 现在 目前 请问 的吗 吗我 是多 是哪 的时 有什 有哪 哪里 在哪 为什 如何".split()
)


@dataclass(frozen=True, slots=True)
class RowTokens:
    """Tokens of a stored text, sorted by id."""

    ids: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    """How often each occurs; a concept counts once however often it is named."""
    length: float
    """Words in all, repetitions counted, concepts not."""


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """Distinct tokens of a query, sorted by id."""

    ids: NDArray[np.uint32]
    recent: bool = False
    """The query asks how things stand now."""


def tokenize(text: str) -> Iterator[str]:
    """Tokens of a text, repetitions included; those of concepts begin with `concepts.MARK`."""
    return _tokens(_fold(text))


def _tokens(folded: str) -> Iterator[str]:
    for match in _RUNS.finditer(folded):
        run = match.group()
        if run[0] >= "\u3040":
            yield from _bigrams(run)
            yield from concepts.of_characters(run)
        else:
            yield from _words(run)
    yield from concepts.of_stems([stem(word) for word in _WORDS.findall(folded)])
    yield from amounts(folded)


def _fold(text: str) -> str:
    return _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _bigrams(run: str) -> Iterator[str]:
    if len(run) == 1:
        yield run
    for i in range(len(run) - 1):
        bigram = run[i : i + 2]
        if bigram not in _STOP_HAN:
            yield bigram


def _words(run: str) -> Iterator[str]:
    run = run.removesuffix("'s")
    if run.isalpha():
        if run not in _STOP:
            yield stem(run)
        return
    # FWD-2231, FWD/2231 and FWD2231 are one code; so are its parts, wherever they stand alone.
    yield run.translate(_JOINTS)
    parts = _PARTS.findall(run)
    if len(parts) > 1 or parts != [run]:
        yield from (stem(part) for part in parts if part not in _STOP)


def _id(token: str) -> int:
    if token[0] == concepts.MARK:
        return zlib.crc32(token.encode("utf-8")) | CONCEPT_BIT
    return zlib.crc32(token.encode("utf-8", "surrogatepass")) & ~CONCEPT_BIT


def row_tokens(text: str) -> RowTokens:
    counts: dict[int, float] = {}
    length = 0
    for token in tokenize(text):
        token_id = _id(token)
        if token_id & CONCEPT_BIT:
            counts[token_id] = 1.0
        else:
            counts[token_id] = counts.get(token_id, 0.0) + 1.0
            length += 1
    ids = sorted(counts)[:MAX_TOKENS]
    return RowTokens(np.array(ids, np.uint32), np.array([counts[i] for i in ids], np.float32), float(length))


def query_tokens(text: str) -> QueryTokens:
    """Empty for a text without any word."""
    folded = _fold(text)
    ids = sorted(set(map(_id, _tokens(folded))))[:MAX_TOKENS]
    return QueryTokens(np.array(ids, np.uint32), asks_for_the_present(folded))
