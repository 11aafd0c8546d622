"""Stretches of calendar time, counted in the speaker's own zone."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum


class Grain(StrEnum):
    """How exactly a date was said."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    SEASON = "season"
    YEAR = "year"
    AHEAD = "ahead"
    """From now on for some time ("未来30天", "for the next two weeks")."""


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Whole days from `first` to `last`, both included."""

    first: date
    last: date
    grain: Grain
    current: bool = False
    """It was named as the one that holds now ("本月", "this quarter")."""


@dataclass(frozen=True, slots=True)
class Dated:
    """A text whose relative dates were made absolute."""

    text: str
    spans: tuple[DateSpan, ...] = ()


def day(anchor: date, offset: int, *, current: bool = False) -> DateSpan:
    it = anchor + timedelta(days=offset)
    return DateSpan(it, it, Grain.DAY, current)


def week(anchor: date, offset: int) -> DateSpan:
    """The calendar week (Monday to Sunday) that lies `offset` weeks from the anchor's."""
    monday = anchor - timedelta(days=anchor.weekday()) + timedelta(weeks=offset)
    return DateSpan(monday, monday + timedelta(days=6), Grain.WEEK, offset == 0)


def month(year: int, number: int, *, current: bool = False) -> DateSpan:
    """`number` may lie outside 1..12 and is carried into the year."""
    year, number = year + (number - 1) // 12, (number - 1) % 12 + 1
    after = date(year + number // 12, number % 12 + 1, 1)
    return DateSpan(date(year, number, 1), after - timedelta(days=1), Grain.MONTH, current)


def quarter(year: int, number: int, *, current: bool = False) -> DateSpan:
    """`number` may lie outside 1..4 and is carried into the year."""
    year, number = year + (number - 1) // 4, (number - 1) % 4 + 1
    return DateSpan(month(year, number * 3 - 2).first, month(year, number * 3).last, Grain.QUARTER, current)


def year_span(year: int, *, current: bool = False) -> DateSpan:
    return DateSpan(date(year, 1, 1), date(year, 12, 31), Grain.YEAR, current)


def shift(anchor: date, count: float, unit: str) -> DateSpan:
    """`count` units ("day", "week", "month", "year") from the anchor; negative = before it."""
    if unit == "day":
        return day(anchor, round(count))
    if unit == "week":
        return day(anchor, round(count * 7))
    if unit == "month":
        if count != int(count):
            return day(anchor, round(count * 30))
        return month(anchor.year, anchor.month + int(count))
    if count != int(count):
        return month(anchor.year, anchor.month + round(count * 12))
    return year_span(anchor.year + int(count))


def days_ahead(anchor: date, count: float, unit: str) -> DateSpan:
    """From the anchor on for `count` units."""
    days = {"day": 1.0, "week": 7.0, "month": 30.4375, "year": 365.25, "quarter": 91.3125}[unit] * count
    return DateSpan(anchor, anchor + timedelta(days=round(days)), Grain.AHEAD, True)


def end_of(span: DateSpan, zone_of: datetime) -> int:
    """Unix second at which the span is over in the zone of `zone_of`."""
    midnight = datetime.combine(span.last + timedelta(days=1), time(), tzinfo=zone_of.tzinfo)
    return int(midnight.timestamp())
