"""Texts to hashed tokens, for Chinese, Japanese and English alike.

English words are stemmed; numbers and codes stay whole, and their parts are tokens too; runs of Han and kana give
character bigrams (a run of one gives that character). Amounts get one more token in plain digits, and words that the
concept table knows one for the concept, so that another wording, or the other language, still meets.
"""

import re
import unicodedata
import zlib
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import concepts
from .concepts import CONCEPT_BIT
from .numbers import amounts
from .recency import asks_for_the_present
from .stem import stem

MAX_TOKENS = 512
"""Distinct tokens kept of one text."""

_WORD_BITS = CONCEPT_BIT - 1

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


def tokenize(text: str) -> tuple[list[str], list[str]]:
    """Words of a text, and names of the concepts that they stand for; repetitions included."""
    return _tokens(_fold(text))


def _fold(text: str) -> str:
    return _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _tokens(folded: str) -> tuple[list[str], list[str]]:
    words: list[str] = []
    meanings: list[str] = []
    for run in _RUNS.findall(folded):
        if run[0] >= "\u3040":
            if len(run) == 1:
                words.append(run)
            else:
                words += [pair for i in range(len(run) - 1) if (pair := run[i : i + 2]) not in _STOP_HAN]
            meanings += concepts.of_characters(run)
        elif run.isalpha():
            if run not in _STOP:
                words.append(stem(run))
        else:
            words += _mixed(run.removesuffix("'s"))
    meanings += concepts.of_stems([stem(word) for word in _WORDS.findall(folded)])
    words += amounts(folded)
    return words, meanings


def _mixed(run: str) -> list[str]:
    """A run with digits or joints in it. FWD-2231, FWD/2231 and FWD2231 are one code; so are its parts, wherever they
    stand alone."""
    if run.isalpha():
        return [] if run in _STOP else [stem(run)]
    parts = _PARTS.findall(run)
    whole = run.translate(_JOINTS)
    if parts == [run]:
        return [whole]
    return [whole, *(stem(part) if part.isalpha() else part for part in parts if part not in _STOP)]


def _word_ids(words: list[str]) -> list[int]:
    crc32 = zlib.crc32
    return [crc32(word.encode()) & _WORD_BITS for word in words]


def row_tokens(text: str) -> RowTokens:
    words, meanings = _tokens(_fold(text))
    counts = {**Counter(_word_ids(words)), **{concepts.ids[name]: 1 for name in meanings}}
    ids = sorted(counts)[:MAX_TOKENS]
    return RowTokens(
        np.array(ids, np.uint32), np.array([counts[i] for i in ids], np.float32), float(len(words))
    )


def query_tokens(text: str) -> QueryTokens:
    """Empty for a text without any word."""
    folded = _fold(text)
    words, meanings = _tokens(folded)
    ids = sorted({*_word_ids(words), *(concepts.ids[name] for name in meanings)})[:MAX_TOKENS]
    return QueryTokens(np.array(ids, np.uint32), asks_for_the_present(folded))
