"""Calendar dates as they are written, whole or in part."""

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A date of which some fields may not be said. `quarter` stands where a quarter is named instead of a month."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    quarter: int | None = None

    def agrees(self, other: "PartialDate") -> bool:
        """Whether both can be the same date: at least one field is said by both, and none differs."""
        pairs = (
            (self.year, other.year),
            (self.month, other.month),
            (self.day, other.day),
            (self.quarter, other.quarter),
        )
        shared = [(a, b) for a, b in pairs if a is not None and b is not None]
        return bool(shared) and all(a == b for a, b in shared)


_MONTHS = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?", "aug(?:ust)?", "sept?(?:ember)?", "oct(?:ober)?",
    "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
_MONTH = "(?:" + "|".join(f"(?P<m{{n}}_{i}>{name})" for i, name in enumerate(_MONTHS, 1)) + r")\b\.?"
_ZH_DIGIT = "零〇一二三四五六七八九"
_ZH_SMALL = {
    "一": 1, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "十一": 11, "十二": 12,
}  # fmt: skip


def _month(n: int) -> str:
    return _MONTH.replace("{n}", str(n))


_DATE = re.compile(
    r"(?<!\d)(?P<iso_y>(?:19|20)\d\d)[-/.](?P<iso_m>0?[1-9]|1[0-2])[-/.](?P<iso_d>[12]\d|3[01]|0?[1-9])(?!\d)"
    r"|(?<!\d)(?P<iso2_y>20\d\d)-(?P<iso2_m>0[1-9]|1[0-2])(?![\d-])"
    rf"|(?<!\d)(?P<zh_y>(?:19|20)\d\d|[一二][{_ZH_DIGIT}]{{3}})\s?年(?:度)?(?:\s?(?:(?P<zh_m>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月份?(?:\s?(?P<zh_d>[12]\d|3[01]|0?[1-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])\s?[日号])?|第?(?P<zh_q>[一二三四1-4])季度?))?"
    rf"|(?<![\d个])(?P<md_m>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])\s?月份?(?:\s?(?P<md_d>[12]\d|3[01]|0?[1-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])\s?[日号])?"
    r"|(?<!\d)(?P<d_d>[12]\d|3[01]|0?[1-9]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])\s?号(?![楼线店仓厂院门机])"
    r"|第?(?P<q_q>[一二三四1-4])季度|\bq(?P<q_en>[1-4])\b"
    rf"|(?<!\d)(?P<en_d>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?(?: of)? {_month(1)}(?:,? (?P<en_y>(?:19|20)\d\d))?"
    rf"|\b{_month(2)} (?P<en2_d>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?(?!\d)(?:,? (?P<en2_y>(?:19|20)\d\d))?"
    rf"|\b{_month(3)},? (?P<en3_y>(?:19|20)\d\d)\b"
    rf"|\b(?:in|every|each|until|since|from|by|next|last) (?:early |mid-?|late )?{_month(4)}(?:,? (?P<en4_y>(?:19|20)\d\d)\b)?"
    r"|\bthe (?P<th_d>[12]?\d|3[01])(?:st|nd|rd|th)\b|(?<!\d)(?P<th2_d>[12]?\d|3[01])(?:st|nd|rd|th)\b(?= of (?:the|each|every))"
    r"|\bthe (?P<first>first)(?= (?:day )?of (?:the|each|every) month)"
    r"|(?<=[a-z] )(?P<y_y>(?:19|20)\d\d)(?!\d|[ ]?(?:people|employees|units|tonnes|square|sqm))(?=[\s.,;)']|$)"
)
_MONTH_GROUPS = {name: int(name.split("_")[1]) for name in _DATE.groupindex if re.fullmatch(r"m\d_\d+", name)}


def find_dates(folded: str) -> Iterator[tuple[PartialDate, int, int]]:
    """(date, start, end) of each date of a folded text. Durations ("3年", "6个月") are none."""
    for match in _DATE.finditer(folded):
        said = match.groupdict()
        year = _first(said, ("iso_y", "iso2_y", "zh_y", "en_y", "en2_y", "en3_y", "en4_y", "y_y"))
        month = _first(said, ("iso_m", "iso2_m", "zh_m", "md_m"))
        if month is None:
            month = next((n for name, n in _MONTH_GROUPS.items() if said[name]), None)
        day = _first(said, ("iso_d", "zh_d", "md_d", "d_d", "en_d", "en2_d", "th_d", "th2_d"))
        if said["first"]:
            day = 1
        quarter = _first(said, ("zh_q", "q_q", "q_en"))
        if said["y_y"] and not _reads_as_year(folded, match.start()):
            continue
        if (
            said["md_m"]
            and said["md_d"] is None
            and folded[match.end() : match.end() + 1] in ("供", "薪", "租", "费", "均")
        ):
            continue
        yield PartialDate(year, month, day, quarter), match.start(), match.end()


def _reads_as_year(folded: str, start: int) -> bool:
    """A bare "2028" is a year after a preposition or a month, not after a currency or a cue of a code."""
    word = folded[:start].rstrip().rsplit(" ", 1)[-1]
    return word in _BEFORE_YEAR


_BEFORE_YEAR = frozenset(
    "in by until till since before after from during year early late mid of for to end and or".split()
)


def _first(said: dict[str, str | None], names: tuple[str, ...]) -> int | None:
    for name in names:
        text = said[name]
        if text:
            return _number(text)
    return None


def _number(text: str) -> int:
    if text.isascii():
        return int(text)
    if len(text) == 4 and "十" not in text:
        return int("".join(str(_ZH_DIGIT.index(c) if c == "零" else _ZH_DIGIT.index(c) - 1) for c in text))
    tens, ten, units = text.partition("十")
    if ten:
        return (_ZH_SMALL[tens] if tens else 1) * 10 + (_ZH_SMALL[units] if units else 0)
    return _ZH_SMALL[text]
