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
_LONGEST_CHINESE = max(map(len, _CHINESE))
_LONGEST_ENGLISH = max(map(len, _ENGLISH))


def of_characters(run: str) -> Iterator[str]:
    """Concepts named in a run of Han characters: at each place the longest word counts."""
    i = 0
    while i < len(run):
        for length in range(min(_LONGEST_CHINESE, len(run) - i), 0, -1):
            found = _CHINESE.get(run[i : i + length])
            if found is not None:
                yield from found
                i += length
                break
        else:
            i += 1


def of_stems(stems: Sequence[str]) -> Iterator[str]:
    """Concepts named by stemmed English words, single ones and phrases of neighbours."""
    for i in range(len(stems)):
        for length in range(1, _LONGEST_ENGLISH + 1):
            yield from _ENGLISH.get(tuple(stems[i : i + length]), ()) if i + length <= len(stems) else ()
