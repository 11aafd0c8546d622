"""English word stems by Porter's algorithm.

Source: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The step numbers are the paper's.
"""

from functools import lru_cache
from itertools import pairwise

_VOWELS = frozenset("aeiou")

_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive", "ize",
    "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Stem of a lower-case word; words of two letters and words with anything but ASCII stay as they are.

    The cache holds single words without any tie to who said them; numbers and codes do not come here.
    """
    if len(word) <= 2 or not word.isascii():
        return word
    word = _plural(word)
    word = _past_and_gerund(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    for ending in _STEP_4:
        if word.endswith(ending):
            root = word.removesuffix(ending)
            if _measure(root) > 1 and (ending != "ion" or root.endswith(("s", "t"))):
                word = root
            break
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _short_syllable(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_gerund(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        root = word.removesuffix(ending)
        if root != word and _has_vowel(root):
            if root.endswith(("at", "bl", "iz")):
                return root + "e"
            if (
                len(root) > 1
                and root[-1] == root[-2]
                and _consonant(root, len(root) - 1)
                and root[-1] not in "lsz"
            ):
                return root[:-1]
            return root + "e" if _measure(root) == 1 and _short_syllable(root) else root
    return word


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    """Steps 2 and 3: the first ending that fits, if something is left before it."""
    for old, new in endings:
        if word.endswith(old):
            root = word.removesuffix(old)
            return root + new if _measure(root) > 0 else word
    return word


def _consonant(word: str, i: int) -> bool:
    if word[i] == "y":
        return i == 0 or not _consonant(word, i - 1)
    return word[i] not in _VOWELS


def _measure(root: str) -> int:
    """The paper's m: how often a vowel is followed by a consonant."""
    kinds = [_consonant(root, i) for i in range(len(root))]
    return sum(after and not before for before, after in pairwise(kinds))


def _has_vowel(root: str) -> bool:
    return any(not _consonant(root, i) for i in range(len(root)))


def _short_syllable(root: str) -> bool:
    """The paper's *o: consonant, vowel, consonant, the last not w, x or y."""
    last = len(root) - 1
    return (
        last >= 2
        and _consonant(root, last)
        and not _consonant(root, last - 1)
        and _consonant(root, last - 2)
        and root[last] not in "wxy"
    )
