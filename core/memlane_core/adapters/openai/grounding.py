"""Whether a model's sentence rests on what was said, checked without a model.

It cannot prove that a sentence is right. It refuses what cannot be: numbers and dates that nobody said,
names out of our own prompts, sentences that share hardly a word with their source.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from ...builtin.text.normalise import fold
from ...builtin.text.numerals import Quantity, QuantityKind, quantities_of_folded
from .relative_dates import RelativeTime, relative_time

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
class Source:
    """What a fact may rest on."""

    said: tuple[str, ...]
    """The user's turns, and what the user accepted of the assistant's."""
    asked: str = ""
    """The question that the user answered: its words count beside the user's, never alone, and its numbers
    do not."""
    turn: str = ""
    """The user's turn that the fact names as its source."""
    turn_date: date | None = None
    """The day on which it was said, in the speaker's zone."""


def why_ungrounded(fact: str, source: Source) -> str | None:
    """The reason for which the fact does not rest on the source; None when nothing speaks against it."""
    folded = fold(fact)
    said = [fold(text) for text in source.said]
    wrong = _unsaid_quantity(folded, said, source)
    if wrong:
        return wrong
    units = content_units(folded)
    known = {unit for text in said for unit in content_units(text)}
    numbers = len(quantities_of_folded(folded))
    matched = len(units & known)
    if not matched and not numbers:
        return "it shares no word with what the user said"
    asked = content_units(fold(source.asked))
    share = (len(units & (known | asked)) + numbers) / (len(units) + numbers)
    return None if share >= _LEAST_SHARE else "it shares hardly a word with what the user said"


def content_units(folded: str) -> set[str]:
    """Stems of the Latin words and bigrams of the Chinese runs of a folded text, the frame left out."""
    units = {w[:_STEM_LENGTH] for w in _LATIN.findall(folded) if w not in _FRAME_EN and len(w) > 1}
    for run in _CJK_RUN.findall(_FRAME_ZH.sub(" ", folded)):
        units.update(run[i : i + 2] for i in range(len(run) - 1))
        if len(run) == 1:
            units.add(run)
    return units


def foreign_name(fact: str, names: Iterable[str], shown: Sequence[str]) -> str | None:
    """A name of our prompts' examples that the fact holds and the conversation does not."""
    folded, conversation = fold(fact), fold("\n".join(shown))
    return next((n for n in names if fold(n) in folded and fold(n) not in conversation), None)


def _unsaid_quantity(folded: str, said: Sequence[str], source: Source) -> str | None:
    known = [q for text in said for q in quantities_of_folded(text)]
    digits = {run for text in said for run in _DIGITS.findall(text)}
    when = relative_time(fold(source.turn), source.turn_date)
    for quantity in quantities_of_folded(folded):
        if quantity.weak or any(quantity.agrees(k) for k in known) or _written(quantity, said, digits):
            continue
        if quantity.kind in (QuantityKind.DATE, QuantityKind.TIME):
            if not _worked_out(quantity, when, source.turn_date):
                return "it names a date or time that the user did not say"
        else:
            return "it holds a number that the user did not say"
    return None


def _written(quantity: Quantity, said: Sequence[str], digits: set[str]) -> bool:
    """Whether the number stands in the source as it is, though it was read as something else there."""
    runs = _DIGITS.findall(quantity.text)
    if runs:
        return quantity.kind is not QuantityKind.DATE and all(run in digits for run in runs)
    return any(quantity.text.strip() in text for text in said)


def _worked_out(quantity: Quantity, when: RelativeTime, turn_date: date | None) -> bool:
    """Whether the date follows from "yesterday" and the like, or is the day of the message."""
    if when.only_day is None or quantity.date is None or quantity.kind is QuantityKind.TIME:
        return when.any or (quantity.date is not None and turn_date is not None and _is(quantity, turn_date))
    return _is(quantity, when.only_day)


def _is(quantity: Quantity, day: date) -> bool:
    said = quantity.date
    return said is not None and all(
        mine is None or mine == theirs
        for mine, theirs in ((said.year, day.year), (said.month, day.month), (said.day, day.day))
    )
