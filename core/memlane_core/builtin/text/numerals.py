"""Every number of a text with its value and unit, however it is written.

"50万元", "500,000元", "５０万", "五十万" and "half a million" are one value; "3年" is "36个月"; "八成" is "80%";
"a dozen" is 12. Dates and codes ("尾号3317", "HT-0417") are read as what they are, never as amounts.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from .dates import PartialDate, find_dates
from .normalise import fold
from .numbers import EN_BIG, EN_ORDINALS, EN_SMALL, ZH_BIG, ZH_UNITS, chinese_number, english_number
from .quantity_patterns import CODE, NOT_NUMBERS, NUMBER, TIME
from .units import COUNT, CURRENCY_OF, UNITS

__all__ = [
    "Quantity",
    "QuantityKind",
    "chinese_number",
    "covers",
    "english_number",
    "find_quantities",
    "missing",
    "quantities_of_folded",
]


class QuantityKind(StrEnum):
    NUMBER = "number"
    """An amount or count: `value` in `unit`."""
    DATE = "date"
    """A calendar date, perhaps without year or day: `date`."""
    TIME = "time"
    """A time of day: `value` in minutes after midnight."""
    CODE = "code"
    """Digits that name a thing (card ending, contract number): `code`."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a text. `start` and `end` are positions in the folded text (see `normalise.fold`)."""

    kind: QuantityKind
    text: str
    start: int
    end: int
    value: Decimal = Decimal(0)
    unit: str = ""
    """ISO currency code, "%", "month", "day", "minute", "age" …, a measure word, or "" if none is written."""
    code: str = ""
    date: PartialDate | None = None
    weak: bool = False
    """Only an article ("一家", "one of"): it states no count, and differs from no count but a written one."""

    def agrees(self, other: "Quantity") -> bool:
        """Whether both can be the same number: equal value, and no conflict of units where both are written."""
        if self.kind is not other.kind:
            return False
        match self.kind:
            case QuantityKind.CODE:
                return self.code == other.code
            case QuantityKind.DATE:
                return self.date is not None and other.date is not None and self.date.agrees(other.date)
            case QuantityKind.TIME:
                return self.value == other.value or abs(self.value - other.value) == 720
            case QuantityKind.NUMBER:
                return self.value == other.value and _units_agree(self.unit, other.unit)


_ARTICLE_MEASURES = frozenset((*"个家套只笔名位张辆条间份部次批件处艘架栋项款座天周", "个月"))
_AFTER_PER_YEAR = frozenset("的要能可收赚付交约有花挣")
"""What follows 一年 where it means "a year" as a rate ("一年的收入") rather than a length of time."""
_AFTER_RANK = frozenset("型级期")
"""一 alone is hardly ever a number ("一…就"), but it is before these ("一型糖尿病")."""
_HALF_DAY = frozenset(("下午", "傍晚", "晚上", "晚", "夜里", "中午"))


def find_quantities(text: str) -> tuple[Quantity, ...]:
    """All numbers of a text in reading order. `text` may be raw; it is folded first (positions are in the fold)."""
    return quantities_of_folded(fold(text))


def quantities_of_folded(folded: str) -> tuple[Quantity, ...]:
    """As `find_quantities`, for a text that is folded already."""
    found: list[Quantity] = []
    taken = bytearray(len(folded))

    def claim(start: int, end: int) -> bool:
        if any(taken[start:end]):
            return False
        taken[start:end] = b"\1" * (end - start)
        return True

    for date, start, end in find_dates(folded):
        if claim(start, end):
            found.append(Quantity(QuantityKind.DATE, folded[start:end], start, end, date=date))
    for match in TIME.finditer(folded):
        minutes = _minutes(match)
        if minutes is not None and claim(*match.span()):
            found.append(Quantity(QuantityKind.TIME, match[0], *match.span(), value=Decimal(minutes)))
    for match in CODE.finditer(folded):
        name = "digits" if match["digits"] else "mixed"
        if claim(*match.span(name)):
            found.append(
                Quantity(
                    QuantityKind.CODE, match[name], *match.span(name), code=re.sub(r"[-_/]", "", match[name])
                )
            )
    for match in NOT_NUMBERS.finditer(folded):
        claim(*match.span())
    position = 0
    while (number := NUMBER.search(folded, position)) is not None:
        start, end = number.start("number"), number.end()
        position = max(end, position + 1)
        if not claim(start, end):
            position = start + 1
            continue
        quantity = _quantity(number)
        if quantity is not None:
            found.append(quantity)
    return tuple(sorted(found, key=lambda q: q.start))


def covers(have: Iterable[Quantity], want: Iterable[Quantity]) -> bool:
    """Whether every number of `want` is stated by `have` too: then `want` tells no number that `have` does not."""
    return not missing(have, want)


def missing(have: Iterable[Quantity], want: Iterable[Quantity]) -> tuple[Quantity, ...]:
    """The numbers of `want` that agree with none of `have`. Articles ("一家") are missing only where `have` counts
    the same thing with another number."""
    known = tuple(have)
    return tuple(
        q for q in want if not any(q.agrees(k) for k in known) and not (q.weak and not _counts(known, q.unit))
    )


def _counts(quantities: Sequence[Quantity], unit: str) -> bool:
    return any(q.kind is QuantityKind.NUMBER and not q.weak and q.unit == unit for q in quantities)


def _units_agree(a: str, b: str) -> bool:
    return a == b or not a or not b


def _quantity(match: re.Match[str]) -> Quantity | None:
    start, end = match.start("number"), match.end()
    unit_text = match["unit"] or ""
    unit, factor = UNITS.get(unit_text, ("", "1"))
    weak = False
    value: Decimal | None
    if match["percent"] or match["permille"]:
        value = _decimal(match["percent"] or match["permille"])
        unit, factor = "%", "1" if match["percent"] else "0.1"
    elif match["ascii"]:
        value = _decimal(match["ascii"])
        if value is not None and match["scale"]:
            value *= _scale(match["scale"])
        if match["sign"] == "-" and value is not None:
            value = -value
    elif match["zh"]:
        value = chinese_number(match["zh"])
        following = match.string[match.end() : match.end() + 1]
        weak = match["zh"] == "一" and (
            unit_text in _ARTICLE_MEASURES or (unit_text == "年" and following in _AFTER_PER_YEAR)
        )
        if match["zh"] in ("万", "亿", "千", "百"):
            return None
        if match["zh"] == "一" and not unit_text and following not in _AFTER_RANK:
            return None
    elif match["zh_half"]:
        value = Decimal("0.5")
    elif match["zh_half_share"] or match["en_half"]:
        value, unit, factor = Decimal(50), "%", "1"
    elif match["zh_pair"]:
        value, unit = Decimal(2), COUNT
    elif match["ordinal"]:
        value, unit = Decimal(EN_ORDINALS[match["ordinal"]]), "ordinal"
    else:
        value = english_number(match["en"])
        weak = match["en"] == "one"
    if value is None:
        return None
    if match["prefix"] and unit in ("", COUNT):
        unit = CURRENCY_OF[match["prefix"]]
        start = match.start("prefix")
    return Quantity(
        QuantityKind.NUMBER,
        match.string[start:end],
        start,
        end,
        value=value * Decimal(factor),
        unit=unit,
        weak=weak,
    )


def _scale(text: str) -> int:
    if text in EN_BIG:
        return EN_BIG[text]
    product = 1
    for c in text:
        product *= ZH_UNITS.get(c) or ZH_BIG[c]
    return product


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return chinese_number(text)


def _minutes(match: re.Match[str]) -> int | None:
    if match["noon"] or match["zh_noon"]:
        return 720
    if match["midnight"]:
        return 0
    if match["h24"]:
        return int(match["h24"]) * 60 + int(match["m24"])
    if match["en"]:
        hour = int(match["en"]) % 12 + (12 if match["ampm"].startswith("p") else 0)
        return hour * 60 + int(match["en_minute"] or 0)
    if match["oclock"]:
        word = match["oclock"]
        return (EN_SMALL[word] if word in EN_SMALL else int(word)) * 60
    hour_value = _decimal(match["hour"])
    if hour_value is None or hour_value > 24 or hour_value != int(hour_value):
        return None
    hour = int(hour_value)
    if match["half"] in _HALF_DAY and hour < 12:
        hour += 12
    minute = match["minute"] or "0"
    return hour * 60 + (30 if minute == "半" else 15 if minute == "一刻" else int(minute.rstrip("分")))
