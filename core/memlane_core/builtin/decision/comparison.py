"""A fact against one candidate: the features that the scorer weighs.

All features lie in about 0..1. They compare what a careful reader compares: whose fact it is, which attribute,
which value, yes or no; similarity is one feature among them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..text.numerals import Quantity, QuantityKind, missing
from ..text import markers
from .lexicon import OPPOSITES, PERSONS
from .reading import Reading, Word

_FAINT = frozenset(("@user", "@company"))
_LIGHT = frozenset(("@want", "@have", "@use", "@think", "@about", "@like", "@willing", "@live", "@main"))
_SAME = 0.5
"""From this closeness on two words count as the same."""


@dataclass(frozen=True, slots=True)
class Match:
    """How the words of two sentences pair up."""

    fact_words: tuple[Word, ...]
    candidate_words: tuple[Word, ...]
    fact_closeness: tuple[float, ...]
    """For each word of the fact how close its best counterpart is, 0..1."""
    candidate_closeness: tuple[float, ...]
    opposites: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """One candidate's features by name; `content_overlap` is for reasons and tie-breaks."""

    features: Mapping[str, float]
    match: Match


def word_weights(readings: Sequence[Reading]) -> dict[str, float]:
    """Weight of each concept: what all candidates share tells them apart least."""
    total = len(readings)
    seen = Counter(concept for r in readings for concept in {w.concept for w in r.words})
    weights = {}
    for concept, count in seen.items():
        base = 0.3 if concept in _FAINT else 0.6 if concept in _LIGHT else 1.0
        weights[concept] = base * (1.0 - 0.5 * (count - 1) / (total - 1)) if total > 1 else base
    return weights


def compare(fact: Reading, candidate: Reading, similarity: float, weights: Mapping[str, float]) -> Comparison:
    """Features of one pair. `similarity` is scaled (see `scorer.scaled_similarity`)."""
    match = _match(_content(fact), _content(candidate))
    fw = [_weight(w, weights) for w in match.fact_words]
    cw = [_weight(w, weights) for w in match.candidate_words]
    cover_fact = _share(fw, match.fact_closeness)
    cover_candidate = _share(cw, match.candidate_closeness)
    letters_fact, letters_candidate = _letters(fact, candidate)
    subject_fact = _unmatched(match.fact_words, match.fact_closeness, fw, subject=True)
    subject_candidate = _unmatched(match.candidate_words, match.candidate_closeness, cw, subject=True)
    rest_fact = _unmatched(match.fact_words, match.fact_closeness, fw, subject=False)
    rest_candidate = _unmatched(match.candidate_words, match.candidate_closeness, cw, subject=False)
    name_fact = _lone_name(match.fact_words, match.fact_closeness)
    name_candidate = _lone_name(match.candidate_words, match.candidate_closeness)
    numbers = _numbers(fact.quantities, candidate.quantities)
    owner = float(_owners_differ(fact, candidate))
    code = float(bool(fact.codes and candidate.codes and not fact.codes & candidate.codes))
    flip = float(fact.negative != candidate.negative)
    opposite = float(match.opposites > 0)
    overlap = (cover_fact + cover_candidate) / 2
    changes, retracts, adds = float(fact.changes), float(fact.retracts), float(fact.adds)
    value_swap = min(1.0, rest_fact) * min(1.0, rest_candidate)
    features = {
        "bias": 1.0,
        "similarity": similarity,
        "cover_fact": cover_fact,
        "cover_candidate": cover_candidate,
        "letters_fact": letters_fact,
        "letters_candidate": letters_candidate,
        "subject_extra_fact": min(1.0, subject_fact),
        "subject_extra_candidate": min(1.0, subject_candidate),
        "subject_swap": min(1.0, subject_fact) * min(1.0, subject_candidate),
        "value_extra_fact": min(1.0, rest_fact / 2),
        "value_extra_candidate": min(1.0, rest_candidate / 2),
        "value_swap": value_swap,
        "name_swap": float(name_fact and name_candidate),
        "name_new": float(name_fact and not name_candidate),
        "owner": owner,
        "code": code,
        "flip": flip,
        "flip_overlap": flip * overlap,
        "opposite": opposite,
        "changes": changes,
        "changes_overlap": changes * overlap,
        "changes_swap": changes * value_swap,
        "retracts": retracts,
        "retracts_overlap": retracts * overlap,
        "adds": adds,
        "owner_overlap": owner * overlap,
        **numbers,
        "swap_overlap": numbers["number_swap"] * overlap,
        "swap_subject": numbers["number_swap"] * min(1.0, subject_fact) * min(1.0, subject_candidate),
        "same_numbers_overlap": numbers["number_same"] * overlap,
    }
    return Comparison(features, match)


def _content(reading: Reading) -> tuple[Word, ...]:
    spans = markers.retraction_spans(reading.folded) + markers.change_spans(reading.folded)
    return tuple(w for w in reading.words if not any(a < w.end and w.start < b for a, b in spans))


def _weight(word: Word, weights: Mapping[str, float]) -> float:
    known = weights.get(word.concept)
    if known is not None:
        return known
    return 0.3 if word.concept in _FAINT else 0.6 if word.concept in _LIGHT else 1.0


def _match(fact: tuple[Word, ...], candidate: tuple[Word, ...]) -> Match:
    grid = [[closeness(a, b) for b in candidate] for a in fact]
    fact_best = tuple(max(row, default=0.0) for row in grid)
    candidate_best = tuple(max((row[j] for row in grid), default=0.0) for j in range(len(candidate)))
    lone_fact = {w.concept for w, c in zip(fact, fact_best, strict=True) if c < 1.0}
    lone_candidate = {w.concept for w, c in zip(candidate, candidate_best, strict=True) if c < 1.0}
    opposites = sum(1 for a in lone_fact for b in lone_candidate if frozenset((a, b)) in OPPOSITES)
    return Match(fact, candidate, fact_best, candidate_best, opposites)


def closeness(a: Word, b: Word) -> float:
    """1 for one concept; else by letters: shared characters in Chinese, shared beginning in English."""
    if a.concept == b.concept:
        return 1.0
    if a.concept in PERSONS or b.concept in PERSONS:
        return 0.0
    if a.surface.isascii() or b.surface.isascii():
        x, y = a.concept.lstrip("@"), b.concept.lstrip("@")
        shared = next((i for i, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
        return 0.8 if shared >= 4 and shared >= 0.6 * max(len(x), len(y)) else 0.0
    common = sum((Counter(a.surface) & Counter(b.surface)).values())
    dice = 2 * common / (len(a.surface) + len(b.surface))
    return dice * 0.9 if dice >= _SAME else 0.0


def _share(weights: Sequence[float], values: Sequence[float]) -> float:
    total = sum(weights)
    return sum(w * v for w, v in zip(weights, values, strict=True)) / total if total else 0.0


def _unmatched(
    words: Sequence[Word], values: Sequence[float], weights: Sequence[float], *, subject: bool
) -> float:
    return sum(
        w * (1 - v) for word, v, w in zip(words, values, weights, strict=True) if word.subject is subject
    )


def _lone_name(words: Sequence[Word], values: Sequence[float]) -> bool:
    return any(w.proper and v < _SAME for w, v in zip(words, values, strict=True))


def _letters(fact: Reading, candidate: Reading) -> tuple[float, float]:
    """Share of the fact's (candidate's) letter groups that the other has too; numbers left out."""
    size = 2 if fact.chinese else 3
    a, b = _groups(fact, size), _groups(candidate, size)
    common = sum((a & b).values())
    return common / max(1, sum(a.values())), common / max(1, sum(b.values()))


def _groups(reading: Reading, size: int) -> Counter[str]:
    text = list(reading.folded)
    for q in reading.quantities:
        text[q.start : q.end] = "\0" * (q.end - q.start)
    plain = "".join(text)
    groups = (plain[i : i + size] for i in range(len(plain) - size + 1))
    return Counter(g for g in groups if "\0" not in g and "用户" not in g)


def _owners_differ(fact: Reading, candidate: Reading) -> bool:
    in_fact = {w.concept for w in fact.words}
    in_candidate = {w.concept for w in candidate.words}
    return bool(fact.owners - _kin(in_candidate)) or bool(candidate.owners - _kin(in_fact))


def _kin(concepts: set[str]) -> set[str]:
    found = set(concepts)
    if "@married" in concepts:
        found.add("@spouse")
    for general, special in (
        ("@brother", ("@elder_brother", "@younger_brother")),
        ("@sister", ("@elder_sister", "@younger_sister")),
        ("@child", ("@son", "@daughter")),
        ("@parents", ("@father", "@mother")),
    ):
        if general in concepts:
            found.update(special)
        if found.intersection(special):
            found.add(general)
    return found


def _numbers(fact: Sequence[Quantity], candidate: Sequence[Quantity]) -> dict[str, float]:
    """How the numbers of both relate; codes are compared apart."""
    f = [q for q in fact if q.kind is not QuantityKind.CODE]
    c = [q for q in candidate if q.kind is not QuantityKind.CODE]
    new, gone = missing(c, f), missing(f, c)
    swap = any(_same_scale(a, b) for a in new for b in gone)
    strong = [q for q in f if not q.weak]
    return {
        "number_swap": float(swap),
        "number_other": float(bool(new) and bool(gone) and not swap),
        "number_new": float(bool(new) and not gone),
        "number_gone": float(bool(gone) and not new),
        "number_same": float(bool(strong) and not new),
    }


def _same_scale(a: Quantity, b: Quantity) -> bool:
    return a.kind is b.kind and (a.unit == b.unit or not a.unit or not b.unit)
