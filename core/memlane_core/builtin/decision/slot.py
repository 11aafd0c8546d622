"""Whether two statements speak of the same attribute of the same thing; needs no vectors."""

from .comparison import compare, word_weights
from .reading import Reading, read

_OVERLAP = 0.25


def same_slot(a: str, b: str) -> bool:
    """True when the second could be a newer value of the first: no other person, no other code ("尾号3317"), no
    other thing in the subject, and words in common."""
    return same_slot_of(read(a), read(b))


def same_slot_of(a: Reading, b: Reading) -> bool:
    """As `same_slot`, for texts that are read already."""
    comparison = compare(a, b, 0.0, word_weights([b]))
    features = comparison.features
    return not comparison.other_thing and max(features["cover_fact"], features["letters_fact"]) >= _OVERLAP
