"""Texts to hashed tokens, for Chinese, Japanese and English alike.

Latin words are stemmed lightly, numbers and codes stay whole (and their parts are tokens too), Han and kana runs
give character bigrams, and a single character where a run has only one.
"""

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RUNS = re.compile(
    r"[0-9a-z\u00c0-\u024f\u0370-\u04ff]+(?:[-_./&'][0-9a-z\u00c0-\u024f\u0370-\u04ff]+)*%?"
    r"|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff々]+"
    r"|[\uac00-\ud7af]+"
)
_WORD_PARTS = re.compile(r"[0-9]+(?:\.[0-9]+)?|[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")

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
MAX_TOKENS = 512
"""Distinct tokens kept of one text."""


@dataclass(frozen=True, slots=True)
class RowTokens:
    """Tokens of a stored text, sorted by id."""

    ids: NDArray[np.uint32]
    frequencies: NDArray[np.float32]
    length: float
    """Tokens in all, repetitions counted."""


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """Distinct tokens of a query, sorted by id."""

    ids: NDArray[np.uint32]


def tokenize(text: str) -> Iterator[str]:
    """Tokens of a text in order, repetitions included."""
    folded = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text).casefold())
    for match in _RUNS.finditer(folded):
        run = match.group()
        if run[0] >= "\u3040":
            yield from _characters(run)
        else:
            yield from _words(run)


def _characters(run: str) -> Iterator[str]:
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
            yield _stem(run)
        return
    yield run
    parts = _WORD_PARTS.findall(run)
    if len(parts) > 1:
        yield from (_stem(p) for p in parts if p not in _STOP)


def _stem(word: str) -> str:
    """Plural, past and gerund endings taken off: enough for recall, and never wrong on names by more than one form."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3 and re.search(r"[aeiouy]", stem):
            if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]
            return stem.removesuffix("e")
    return word.removesuffix("e") if len(word) > 4 else word


def _hash(token: str) -> int:
    return zlib.crc32(token.encode("utf-8", "surrogatepass"))


def row_tokens(text: str) -> RowTokens:
    counts = Counter(map(_hash, tokenize(text)))
    ids = sorted(counts)[:MAX_TOKENS]
    return RowTokens(
        np.array(ids, np.uint32),
        np.array([counts[i] for i in ids], np.float32),
        float(sum(counts.values())),
    )


def query_tokens(text: str) -> QueryTokens:
    return QueryTokens(np.array(sorted(set(map(_hash, tokenize(text))))[:MAX_TOKENS], np.uint32))
