"""From words to the concepts that they stand for, so that a question finds a fact said in other words, or in the
other language."""

import zlib
from collections.abc import Sequence

from .concept_table import CONCEPTS
from .stem import stem

CONCEPT_BIT = 1 << 31
"""Set in the id of a concept, clear in the id of a word: the kernel lets a concept count less."""


def _read(table: str) -> tuple[dict[str, tuple[str, ...]], dict[tuple[str, ...], tuple[str, ...]]]:
    chinese: dict[str, tuple[str, ...]] = {}
    english: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in table.strip().splitlines():
        han, _, latin = line.partition("|")
        name = han.split()[0]
        for word in han.split():
            if name not in chinese.get(word, ()):
                chinese[word] = (*chinese.get(word, ()), name)
        for phrase in latin.split():
            stems = tuple(stem(part) for part in phrase.split("_"))
            if name not in english.get(stems, ()):
                english[stems] = (*english.get(stems, ()), name)
    return chinese, english


_CHINESE, _ENGLISH = _read(CONCEPTS)
_LENGTHS = {
    first: tuple(sorted({len(word) for word in _CHINESE if word[0] == first}, reverse=True))
    for first in {word[0] for word in _CHINESE}
}
"""Lengths of the words that begin with a character, longest first."""
_PHRASE_LENGTHS = {
    first: tuple({len(phrase) for phrase in _ENGLISH if phrase[0] == first})
    for first in {p[0] for p in _ENGLISH}
}
"""Lengths of the phrases that begin with a stem."""


ids = {
    name: zlib.crc32(name.encode()) | CONCEPT_BIT
    for names in (*_CHINESE.values(), *_ENGLISH.values())
    for name in names
}
"""Token id of each concept."""


def of_characters(run: str) -> list[str]:
    """Concepts named in a run of Han characters: at each place the longest word counts."""
    names: list[str] = []
    i = 0
    while i < len(run):
        for length in _LENGTHS.get(run[i], ()):
            found = _CHINESE.get(run[i : i + length])
            if found is not None:
                names += found
                i += length
                break
        else:
            i += 1
    return names


def of_stems(stems: Sequence[str]) -> list[str]:
    """Concepts named by stemmed English words, single ones and phrases of neighbours."""
    names: list[str] = []
    for i, first in enumerate(stems):
        for length in _PHRASE_LENGTHS.get(first, ()):
            names += _ENGLISH.get(tuple(stems[i : i + length]), ())
    return names
