"""A fact against one candidate: the features that the scorer weighs.

All features lie in about 0..1. They compare what a careful reader compares: whose fact it is, which attribute,
which value, yes or no; similarity is one feature among them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ..text.numerals import Quantity, QuantityKind, missing
from .lexicon import KINDS, MANY_VALUED, OPPOSITES, PERSONS, SINGLE_VALUED
from .reading import Reading, Word

_FAINT = frozenset(("@user", "@company"))
_LIGHT = frozenset(("@want", "@have", "@use", "@think", "@about", "@like", "@willing"))
_OTHER_SUBJECT = 0.3
_KIND = 0.7
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
    """One candidate's features by name."""

    features: Mapping[str, float]
    number_swap: bool
    """A number stands where the candidate has another of the same unit."""
    reversed: bool
    """One denies what the other affirms, or names an opposite."""
    other_thing: bool
    may_concern: bool
    """Same person, and no other code: only then can the fact be about the same thing."""
    may_repeat: bool
    """No other number and no flipped negation: only then can the fact be known already."""


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
    match = _match(fact, candidate)
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
    becomes, now, retracts, adds = (
        float(x) for x in (fact.becomes, fact.tells_now, fact.retracts, fact.adds)
    )
    value_swap = min(1.0, rest_fact) * min(1.0, rest_candidate)
    new_words = sum(w * (1 - v) for w, v in zip(fw, match.fact_closeness, strict=True))
    gone_words = sum(w * (1 - v) for w, v in zip(cw, match.candidate_closeness, strict=True))
    names = float(name_fact and name_candidate)
    same_predicate = float(bool(fact.predicate) and fact.predicate == candidate.predicate)
    order, swap_subject, swap_value = _sequence(match)
    shared = {w.concept for w, v in zip(match.fact_words, match.fact_closeness, strict=True) if v >= _SAME}
    many = float(bool(shared & MANY_VALUED) and "@main" not in shared)
    single = float(bool(shared & SINGLE_VALUED))
    lone_fact = sum(v < _SAME for v in match.fact_closeness)
    lone_candidate = sum(v < _SAME for v in match.candidate_closeness)
    minimal = float(lone_fact == 1 and lone_candidate == 1 and overlap > 0.4)
    person_new = float(
        any(
            w.concept in PERSONS and v < _SAME
            for w, v in zip(match.fact_words, match.fact_closeness, strict=True)
        )
    )
    features = {
        "bias": 1.0,
        "similarity": similarity,
        "similarity_high": max(0.0, similarity - 0.75) * 4,
        "cover_fact": cover_fact,
        "cover_fact_high": max(0.0, cover_fact - 0.6) * 2.5,
        "cover_candidate": cover_candidate,
        "cover_candidate_high": max(0.0, cover_candidate - 0.6) * 2.5,
        "letters_fact": letters_fact,
        "letters_candidate": letters_candidate,
        "order": order,
        "subject_extra_fact": min(1.0, subject_fact),
        "subject_extra_candidate": min(1.0, subject_candidate),
        "subject_swap": min(1.0, subject_fact) * min(1.0, subject_candidate),
        "subject_replaced": swap_subject,
        "value_replaced": swap_value,
        "value_extra_fact": min(1.0, rest_fact / 2),
        "value_extra_candidate": min(1.0, rest_candidate / 2),
        "new_words": min(1.0, new_words / 2),
        "gone_words": min(1.0, gone_words / 2),
        "minimal": minimal,
        "name_swap": names,
        "name_new": float(name_fact and not name_candidate),
        "person_new": person_new,
        "same_predicate": same_predicate,
        "many": many,
        "many_swap": many * value_swap,
        "single": single,
        "single_swap": single * value_swap,
        "flip_overlap": flip * overlap,
        "opposite_overlap": opposite * overlap,
        "becomes": becomes,
        "becomes_overlap": becomes * overlap,
        "now_overlap": now * overlap,
        "change_swap": max(becomes, now) * value_swap,
        "change_names": max(becomes, now) * names,
        "retracts": retracts,
        "retracts_overlap": retracts * overlap,
        "adds": adds,
        "adds_overlap": adds * overlap,
        "number_same": numbers["number_same"] * overlap,
        "number_swap": numbers["number_swap"] * overlap,
        "number_swap_order": numbers["number_swap_unit"] * order,
        "number_swap_subject": numbers["number_swap"] * min(1.0, subject_fact) * min(1.0, subject_candidate),
        "number_other": numbers["number_other"],
        "number_new": numbers["number_new"],
        "number_new_cover": numbers["number_new"] * cover_candidate,
        "number_gone_cover": numbers["number_gone"] * cover_fact,
    }
    may_repeat = not (numbers["number_missing"] or flip or opposite)
    return Comparison(
        features=features,
        number_swap=numbers["number_swap"] > 0,
        reversed=flip + opposite > 0,
        other_thing=owner + code > 0 or features["subject_swap"] > _OTHER_SUBJECT,
        may_concern=not (owner or code),
        may_repeat=may_repeat,
    )


def _weight(word: Word, weights: Mapping[str, float]) -> float:
    known = weights.get(word.concept)
    if known is not None:
        return known
    return 0.3 if word.concept in _FAINT else 0.6 if word.concept in _LIGHT else 1.0


def _match(fact: Reading, candidate: Reading) -> Match:
    a, b = fact.content, candidate.content
    grid = [[closeness(x, y) for y in b] for x in a]
    fact_best = [max([*row, _within(x, candidate)]) for x, row in zip(a, grid, strict=True)]
    candidate_best = [max([*(row[j] for row in grid), _within(y, fact)]) for j, y in enumerate(b)]
    opposed = {
        (i, j)
        for i, x in enumerate(a)
        for j, y in enumerate(b)
        if fact_best[i] < 1.0 and candidate_best[j] < 1.0 and frozenset((x.concept, y.concept)) in OPPOSITES
    }
    # Opposites are values of one attribute: the attribute is the same although no word is.
    for i, j in opposed:
        fact_best[i] = max(fact_best[i], _KIND)
        candidate_best[j] = max(candidate_best[j], _KIND)
    return Match(a, b, tuple(fact_best), tuple(candidate_best), len(opposed))


def _within(word: Word, other: Reading) -> float:
    """A Chinese word may be part of a longer one, or cut elsewhere, in the other sentence ("房贷", "房贷利率")."""
    if word.surface.isascii() or word.concept in PERSONS or word.surface not in other.folded:
        return 0.0
    return 0.9 if len(word.surface) > 1 else 0.6


def closeness(a: Word, b: Word) -> float:
    """1 for one concept; else by letters: shared characters in Chinese, shared beginning in English."""
    if a.concept == b.concept:
        return 1.0
    if (a.concept, b.concept) in KINDS or (b.concept, a.concept) in KINDS:
        return _KIND
    if a.concept in PERSONS or b.concept in PERSONS:
        return 0.0
    if a.surface.isascii() or b.surface.isascii():
        x, y = a.concept.lstrip("@"), b.concept.lstrip("@")
        shared = next((i for i, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
        return 0.8 if shared >= 4 and shared >= 0.6 * max(len(x), len(y)) else 0.0
    if not set(a.surface) & set(b.surface):
        return 0.0
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


def _sequence(match: Match) -> tuple[float, float, float]:
    """How far the words come in the same order, 0..1, and whether a word stands in place of another (between the
    same neighbours) in the subject or in the predicate."""
    a = [w.concept for w in match.fact_words]
    b = [w.concept for w in match.candidate_words]
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    subject = value = 0.0
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        if tag != "replace" or max(a2 - a1, b2 - b1) > 3:
            continue
        lone = all(v < _SAME for v in match.fact_closeness[a1:a2]) and all(
            v < _SAME for v in match.candidate_closeness[b1:b2]
        )
        if lone and match.fact_words[a1].subject:
            subject = 1.0
        elif lone:
            value = 1.0
    return matcher.ratio(), subject, value


def _letters(fact: Reading, candidate: Reading) -> tuple[float, float]:
    """Share of the fact's (candidate's) letter groups that the other has too."""
    common = sum((fact.letters & candidate.letters).values())
    return common / max(1, fact.letters.total()), common / max(1, candidate.letters.total())


def _owners_differ(fact: Reading, candidate: Reading) -> bool:
    if {w.concept for w in fact.words if w.proper} & {
        w.concept for w in candidate.words if w.proper and w.subject
    }:
        return False  # one calls by name whom the other calls "brother"
    in_fact = _kin({w.concept for w in fact.words})
    in_candidate = _kin({w.concept for w in candidate.words})
    return not (fact.owners <= in_candidate and candidate.owners <= in_fact)


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
        "number_missing": float(bool(new)),
        "number_swap": float(swap),
        "number_swap_unit": float(
            any(_same_scale(a, b) and a.unit == b.unit != "" for a in new for b in gone)
        ),
        "number_other": float(bool(new) and bool(gone) and not swap),
        "number_new": float(bool(new) and not gone),
        "number_gone": float(bool(gone) and not new),
        "number_same": float(bool(strong) and not new),
    }


def _same_scale(a: Quantity, b: Quantity) -> bool:
    return a.kind is b.kind and (a.unit == b.unit or not a.unit or not b.unit)
