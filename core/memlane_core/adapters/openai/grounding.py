"""Whether a model's sentence rests on what was said, checked without a model.

It cannot prove that a sentence is right. It refuses what cannot be: numbers and dates that nobody said,
names out of our own prompts, sentences that share hardly a word with their source.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from ...builtin.text.normalise import fold
from ...builtin.text.numerals import Quantity, QuantityKind, quantities_of_folded
from .relative_dates import NO_TIME, RelativeTime

_LEAST_SHARE = 0.25
"""Of a sentence's content words that its source must hold. Low: paraphrases are welcome, inventions share
nothing."""
_STEM_LENGTH = 5
"""Latin words are compared by this many leading letters ("prefers", "preferred")."""
_LATIN = re.compile(r"[a-z][a-z']*")
_CJK_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\u3040-\u30ff]+")
_DIGITS = re.compile(r"\d+")
# Words of the frame that a fact puts around its content; that they occur in the source says nothing.
_FRAME_EN_WORDS = """
a an the this that these those and or but of in on at to for from with by as is are was were be been being am
has have had do does did not no will would can could should may might it its their his her he she they them
user user's users
customer customer's client like likes liked love loves prefer prefers preferred enjoy enjoys want wants
wanted wish wishes need needs hate hates dislike dislikes longer now currently also very about i me my you
your we our who which when where what how so than then there
"""
_FRAME_EN = frozenset(_FRAME_EN_WORDS.split())
_FRAME_ZH = re.compile(
    r"用户的?|客户的?|本人|自己|喜欢|偏好|希望|想要|需要|讨厌|不再|目前|现在|已经|以及|表示|认为|觉得"
    r"|[的了是在有和与于也都就把被为]"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A text that a fact may rest on, read once: reading the numbers of a long one takes milliseconds."""

    folded: str
    units: frozenset[str]
    quantities: tuple[Quantity, ...]
    digits: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "Evidence":
        folded = fold(text)
        return cls(
            folded,
            frozenset(content_units(folded)),
            quantities_of_folded(folded),
            frozenset(_DIGITS.findall(folded)),
        )


@dataclass(frozen=True, slots=True)
class Source:
    """What a fact may rest on."""

    said: tuple[Evidence, ...]
    """The user's turns, and what the user accepted of the assistant's."""
    asked: str = ""
    """The question that the user answered: its words count beside the user's, never alone, and its numbers
    do not."""
    when: RelativeTime = NO_TIME
    """What the user's turn that the fact names says about time."""
    turn_date: date | None = None
    """The day on which it was said, in the speaker's zone."""


def why_ungrounded(fact: str, source: Source) -> str | None:
    """The reason for which the fact does not rest on the source; None when nothing speaks against it."""
    stated = Evidence.of(fact)
    if all(_accounted_for(q, source) for q in stated.quantities):
        known = frozenset[str]().union(*(e.units for e in source.said))
        numbers = len(stated.quantities)
        if not numbers and not stated.units & known:
            return "it shares no word with what the user said"
        matched = len(stated.units & (known | content_units(fold(source.asked)))) + numbers
        share = matched / (len(stated.units) + numbers)
        return None if share >= _LEAST_SHARE else "it shares hardly a word with what the user said"
    return "it holds a number, date or time that the user did not say"


def content_units(folded: str) -> set[str]:
    """Stems of the Latin words and bigrams of the Chinese runs of a folded text, the frame left out."""
    units = {w[:_STEM_LENGTH] for w in _LATIN.findall(folded) if w not in _FRAME_EN and len(w) > 1}
    for run in _CJK_RUN.findall(_FRAME_ZH.sub(" ", folded)):
        units.update(run[i : i + 2] for i in range(len(run) - 1))
        if len(run) == 1:
            units.add(run)
    return units


def foreign_name(fact: str, names: Iterable[str], folded_conversation: str) -> str | None:
    """A name of our prompts' examples that the fact holds and the conversation does not."""
    folded = fold(fact)
    return next((n for n in names if fold(n) in folded and fold(n) not in folded_conversation), None)


def _accounted_for(quantity: Quantity, source: Source) -> bool:
    if quantity.weak or any(quantity.agrees(k) for e in source.said for k in e.quantities):
        return True
    if quantity.kind in (QuantityKind.DATE, QuantityKind.TIME) and _worked_out(quantity, source):
        return True
    return quantity.kind is not QuantityKind.DATE and _written(quantity, source)


def _written(quantity: Quantity, source: Source) -> bool:
    """Whether the number stands in the source as it is, though it was read as something else there."""
    runs = _DIGITS.findall(quantity.text)
    if runs:
        return all(any(run in e.digits for e in source.said) for run in runs)
    return any(quantity.text.strip() in e.folded for e in source.said)


def _worked_out(quantity: Quantity, source: Source) -> bool:
    """Whether the date follows from "yesterday" and the like, or is the day of the message."""
    if source.when.only_day is not None and quantity.date is not None:
        return _is(quantity, source.when.only_day)
    return source.when.any or (source.turn_date is not None and _is(quantity, source.turn_date))


def _is(quantity: Quantity, day: date) -> bool:
    said = quantity.date
    return said is not None and all(
        mine is None or mine == theirs
        for mine, theirs in ((said.year, day.year), (said.month, day.month), (said.day, day.day))
    )
