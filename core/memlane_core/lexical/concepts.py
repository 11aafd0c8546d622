"""From words to the concepts that they stand for, so that a question finds a fact said in other words, or in the
other language."""

from collections.abc import Iterator, Sequence

from .concept_table import CONCEPTS
from .stem import stem

MARK = "\x00"
"""First character of a concept's token; no word of a text begins with it."""


def _read(table: str) -> tuple[dict[str, tuple[str, ...]], dict[tuple[str, ...], tuple[str, ...]]]:
    chinese: dict[str, tuple[str, ...]] = {}
    english: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in table.strip().splitlines():
        han, _, latin = line.partition("|")
        # Named by its first word, not by its place: stored features survive a longer table.
        token = MARK + han.split()[0]
        for word in han.split():
            if token not in chinese.get(word, ()):
                chinese[word] = (*chinese.get(word, ()), token)
        for phrase in latin.split():
            stems = tuple(stem(part) for part in phrase.split("_"))
            if token not in english.get(stems, ()):
                english[stems] = (*english.get(stems, ()), token)
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


def of_characters(run: str) -> Iterator[str]:
    """Concepts named in a run of Han characters: at each place the longest word counts."""
    i = 0
    while i < len(run):
        for length in _LENGTHS.get(run[i], ()):
            found = _CHINESE.get(run[i : i + length])
            if found is not None:
                yield from found
                i += length
                break
        else:
            i += 1


def of_stems(stems: Sequence[str]) -> Iterator[str]:
    """Concepts named by stemmed English words, single ones and phrases of neighbours."""
    for i, first in enumerate(stems):
        for length in _PHRASE_LENGTHS.get(first, ()):
            yield from _ENGLISH.get(tuple(stems[i : i + length]), ())
