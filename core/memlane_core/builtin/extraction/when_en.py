# ruff: noqa: E501
# Patterns read better whole.
"""English relative dates to absolute ones."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from ..text.numerals import english_number
from .spans import Dated, DateSpan, Grain, day, days_ahead, month, quarter, shift, week, year_span

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WD = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MN = "|".join(_MONTHS)
_N = r"(?:\d{1,3}|an?|the|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fourteen|fifteen|twenty|thirty|sixty|ninety|a couple of|a few|half a)"
_UNIT = r"(?:days?|weeks?|fortnights?|months?|years?|quarters?)"
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

_PATTERN = re.compile(
    rf"\b(?:(?P<day>the day before yesterday|the day after tomorrow|yesterday|today|tonight|tomorrow)"
    rf"|(?P<this_part>this (?:morning|afternoon|evening))"
    rf"|(?P<wd_step>last|next|this coming|this|the coming)\s(?P<wd>{_WD})(?!s)"
    rf"|(?P<from_wd>a week|a fortnight|two weeks)\s(?:on|from)\s(?P<fw>{_WD}|today|tomorrow)"
    rf"|(?:(?<=\bon\s)|(?<=\buntil\s)|(?<=\btill\s)|(?<=\bby\s)|(?<=\bbefore\s)|(?<=\bfrom\s))(?P<on_wd>{_WD})(?!s|\sto\b|\sand\b)"
    rf"|(?P<mn_step>last|next|this)\s(?P<mn>{_MN})\b"
    rf"|(?:(?P<edge>(?:the )?(?:end|beginning|start|middle) of )?(?P<step>last|next|this|the coming)\s(?P<period>week|weekend|month|quarter|year|spring|summer|autumn|fall|winter)(?!ly|-))"
    rf"|(?P<edge2>(?:the )?end of the )(?P<edge_period>week|month|quarter|year)"
    rf"|(?P<ahead_lead>(?:for|over|during|in|within)?\s?the (?:next|coming))\s(?P<ahead>{_N}\s)(?P<ahead_unit>{_UNIT})\b"
    rf"|in\s(?P<in_n>{_N})\s(?P<in_unit>{_UNIT})(?:['’]s?)?(?:\s(?P<in_time>time|from now|from today))?\b"
    rf"|(?P<from_n>{_N})\s(?P<from_unit>{_UNIT})\sfrom\s(?:now|today)"
    rf"|(?P<ago_n>{_N})\s(?P<ago_unit>{_UNIT})\sago)\b",
    re.I,
)
_AFTER_PREPOSITION = re.compile(
    r"\b(?:by|before|until|till|since|from|after|through|during|for|of|in|on|to|than|is|was|be|between|and|throughout|within|around|about|late|early|at)\s$",
    re.I,
)
_HABIT = re.compile(
    r"\b(?:pays?|paid|paying|settles?|settled|invoices?|terms|delivers?|delivered|takes?|usually|always|typically|normally|every|each|within|matures?|repaid in|paid off|back in)\b",
    re.I,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|made|sent|sold|bought|signed|paid|met|left|took|came|\w+ed)\b", re.I
)


def resolve(text: str, anchor: date) -> Dated:
    """Every relative date of the text as an absolute one. Absolute dates stay as they were written."""
    spans: list[DateSpan] = []
    pieces: list[str] = []
    position = 0
    for match in _PATTERN.finditer(text):
        span, shown, preposition = _read(match, anchor, text)
        if span is None:
            continue
        spans.append(span)
        before = text[position : match.start()]
        whole = text[: match.start()]
        if (
            preposition
            and not _AFTER_PREPOSITION.search(whole)
            and not text.startswith(("'s", "’s"), match.end())
        ):
            shown = f"{preposition} {shown}"
        if not whole.strip():
            shown = shown[0].upper() + shown[1:]
        pieces += before, shown
        position = match.end()
    pieces.append(text[position:])
    return Dated("".join(pieces), tuple(spans))


def show_month(span: DateSpan) -> str:
    return f"{_MONTHS[span.first.month - 1]} {span.first.year}"


_Read = tuple[DateSpan | None, str, str]


def _read(match: re.Match[str], anchor: date, text: str) -> _Read:
    for name, read in _READERS.items():
        if match[name] is not None:
            return read(match, anchor, text)
    return None, "", ""


def _one_day(span: DateSpan) -> _Read:
    return span, span.first.isoformat(), "on"


def _day(match: re.Match[str], anchor: date, text: str) -> _Read:
    said = match["day"].lower()
    offset = {"yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1}.get(
        said, -2 if "before" in said else 2
    )
    return _one_day(day(anchor, offset, current=offset == 0))


def _part_of_day(match: re.Match[str], anchor: date, text: str) -> _Read:
    span = day(anchor, 0, current=True)
    return span, f"{match['this_part'].lower().replace('this', 'the')} of {anchor.isoformat()}", "on"


def _weekday(match: re.Match[str], anchor: date, text: str) -> _Read:
    number = _WEEKDAYS.index(match["wd"].lower())
    step = match["wd_step"].lower()
    if step == "last":
        back = (anchor.weekday() - number) % 7 or 7
        return _one_day(day(anchor, -back))
    if step == "next":
        return _one_day(day(week(anchor, 1).first, number))
    return _one_day(day(anchor, (number - anchor.weekday()) % 7))


def _from_weekday(match: re.Match[str], anchor: date, text: str) -> _Read:
    weeks = 1 if match["from_wd"].lower() == "a week" else 2
    start = match["fw"].lower()
    first = (
        anchor + timedelta(days=int(start == "tomorrow"))
        if start in ("today", "tomorrow")
        else anchor + timedelta(days=(_WEEKDAYS.index(start) - anchor.weekday()) % 7)
    )
    return _one_day(day(first, weeks * 7))


def _on_weekday(match: re.Match[str], anchor: date, text: str) -> _Read:
    number = _WEEKDAYS.index(match["on_wd"].lower())
    if _HABIT.search(text):
        return None, "", ""
    ahead = (number - anchor.weekday()) % 7
    return _one_day(day(anchor, ahead - 7 if _PAST.search(text) and ahead else ahead))


def _named_month(match: re.Match[str], anchor: date, text: str) -> _Read:
    number = _MONTHS.index(match["mn"].capitalize()) + 1
    step = match["mn_step"].lower()
    year = anchor.year
    if step == "next":
        year += number <= anchor.month
    elif step == "last":
        year -= number >= anchor.month
    span = month(year, number)
    return span, show_month(span), "in"


def _period(match: re.Match[str], anchor: date, text: str) -> _Read:
    step = {"last": -1, "this": 0, "next": 1, "the coming": 1}[match["step"].lower()]
    return _of(match["period"].lower(), step, (match["edge"] or "").lower(), anchor)


def _edge_period(match: re.Match[str], anchor: date, text: str) -> _Read:
    return _of(match["edge_period"].lower(), 0, match["edge2"].lower().replace("of the", "of"), anchor)


def _of(period: str, step: int, edge: str, anchor: date) -> _Read:
    preposition = "at" if edge else "in"
    if period in ("week", "weekend"):
        span = week(anchor, step)
        if period == "weekend":
            span = DateSpan(span.last - timedelta(days=1), span.last, Grain.WEEK, step == 0)
            return span, f"the weekend of {span.first.isoformat()}", "on"
        return span, f"{edge}the week of {span.first.isoformat()}", preposition
    if period == "month":
        span = month(anchor.year, anchor.month + step, current=step == 0)
        return span, edge + show_month(span), preposition
    if period == "quarter":
        span = quarter(anchor.year, (anchor.month + 2) // 3 + step, current=step == 0)
        return span, f"{edge}Q{(span.first.month + 2) // 3} {span.first.year}", preposition
    if period == "year":
        span = year_span(anchor.year + step, current=step == 0)
        return span, f"{edge}{span.first.year}", preposition
    return _season(period, step, anchor)


def _season(name: str, step: int, anchor: date) -> _Read:
    first = _SEASONS[name]
    year = anchor.year
    if step == 1:
        year += name != "winter" or anchor.month > 2
    elif step == -1:
        year -= anchor.month < first + 3
    span = DateSpan(month(year, first).first, month(year, first + 2).last, Grain.SEASON, step == 0)
    return span, f"{name} {year}", "in"


def _ahead(match: re.Match[str], anchor: date, text: str) -> _Read:
    count, unit = _amount(match["ahead"].strip(), match["ahead_unit"])
    lead = (match["ahead_lead"].split() or ["the"])[0].lower()
    lead = "" if lead == "the" else lead + " "
    span = days_ahead(anchor, count, unit)
    return span, f"{lead}the {match['ahead'].strip()} {match['ahead_unit']} from {anchor.isoformat()}", ""


def _in(match: re.Match[str], anchor: date, text: str) -> _Read:
    count, unit = _amount(match["in_n"], match["in_unit"])
    if not match["in_time"] and (unit == "year" or _HABIT.search(text) or match["in_n"].lower() == "the"):
        return None, "", ""
    return _shifted(anchor, count, unit)


def _from_now(match: re.Match[str], anchor: date, text: str) -> _Read:
    return _shifted(anchor, *_amount(match["from_n"], match["from_unit"]))


def _ago(match: re.Match[str], anchor: date, text: str) -> _Read:
    count, unit = _amount(match["ago_n"], match["ago_unit"])
    return _shifted(anchor, -count, unit)


def _shifted(anchor: date, count: float, unit: str) -> _Read:
    if unit == "quarter":
        count, unit = count * 3, "month"
    span = shift(anchor, count, unit)
    if span.first == span.last:
        return _one_day(span)
    return span, str(span.first.year) if span.grain is Grain.YEAR else show_month(span), "in"


_READERS: dict[str, Callable[[re.Match[str], date, str], _Read]] = {
    "day": _day, "this_part": _part_of_day, "wd": _weekday, "from_wd": _from_weekday, "on_wd": _on_weekday, "mn": _named_month,
    "period": _period, "edge_period": _edge_period, "ahead": _ahead, "in_n": _in, "from_n": _from_now, "ago_n": _ago,
}  # fmt: skip


def _amount(number: str, unit: str) -> tuple[float, str]:
    number, unit = number.lower(), unit.lower().rstrip("s")
    if number in ("a", "an", "the", "one"):
        count = 1.0
    elif number == "half a":
        count = 0.5
    elif number == "a couple of":
        count = 2.0
    elif number == "a few":
        count = 3.0
    elif number.isdigit():
        count = float(number)
    else:
        count = float(english_number(number) or 0)
    return (count * 2, "week") if unit == "fortnight" else (count, unit)
