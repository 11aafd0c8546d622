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
    "jan(?:uary)?;feb(?:ruary)?;mar(?:ch)?;apr(?:il)?;may;june?;july?;aug(?:ust)?;sept?(?:ember)?;oct(?:ober)?;"
    "nov(?:ember)?;dec(?:ember)?"
).split(";")
_ZH_DIGIT = "零〇一二三四五六七八九"
_ZH_SMALL = {text: n for n, text in enumerate("一 二 三 四 五 六 七 八 九 十 十一 十二".split(), 1)}

_YEAR = r"(?:19|20)\d\d"
_DAY = r"[12]\d|3[01]|0?[1-9]"
_ZH_DAY = rf"(?:{_DAY}|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])"
_ZH_MONTH = r"(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_ORDINAL = r"(?:st|nd|rd|th)"


def _month(n: int) -> str:
    """Pattern of an English month; a group name may stand only once in a pattern, hence the number."""
    return "(?:" + "|".join(f"(?P<m{n}_{i}>{name})" for i, name in enumerate(_MONTHS, 1)) + r")\b\.?"


_FORMS = (
    # 2026-03-05, 2026/3/5, 2026-03
    rf"(?<!\d)(?P<iso_y>{_YEAR})[-/.](?P<iso_m>0?[1-9]|1[0-2])[-/.](?P<iso_d>{_DAY})(?!\d)",
    r"(?<!\d)(?P<iso2_y>20\d\d)-(?P<iso2_m>0[1-9]|1[0-2])(?![\d-])",
    # 2026年, 2026年3月, 2026年3月5日, 二零二六年, 2026年第一季度
    rf"(?<!\d)(?P<zh_y>{_YEAR}|[一二][{_ZH_DIGIT}]{{3}})\s?年(?:度)?"
    rf"(?:\s?(?:(?P<zh_m>{_ZH_MONTH})\s?月份?(?:\s?(?P<zh_d>{_ZH_DAY})\s?[日号])?|第?(?P<zh_q>[一二三四1-4])季度?))?",
    # 3月, 3月5日, 5号, 二季度, Q2
    rf"(?<![\d个])(?P<md_m>{_ZH_MONTH})\s?月份?(?:\s?(?P<md_d>{_ZH_DAY})\s?[日号])?",
    rf"(?<!\d)(?P<d_d>{_ZH_DAY})\s?号(?![楼线店仓厂院门机])",
    r"第?(?P<q_q>[一二三四1-4])季度|\bq(?P<q_en>[1-4])\b",
    # 5 March 2026, March 5, March 2026, in March
    rf"(?<!\d)(?P<en_d>{_DAY}){_ORDINAL}?(?: of)? {_month(1)}(?:,? (?P<en_y>{_YEAR}))?",
    rf"\b{_month(2)} (?P<en2_d>{_DAY}){_ORDINAL}?(?!\d)(?:,? (?P<en2_y>{_YEAR}))?",
    rf"\b{_month(3)},? (?P<en3_y>{_YEAR})\b",
    rf"\b(?:in|every|each|until|since|from|by|next|last) (?:early |mid-?|late )?{_month(4)}"
    rf"(?:,? (?P<en4_y>{_YEAR})\b)?",
    # the 15th, 15th of each month, the first of the month
    rf"\bthe (?P<th_d>[12]?\d|3[01]){_ORDINAL}\b",
    rf"(?<!\d)(?P<th2_d>[12]?\d|3[01]){_ORDINAL}\b(?= of (?:the|each|every))",
    r"\bthe (?P<first>first)(?= (?:day )?of (?:the|each|every) month)",
    # a bare year after a word (see _reads_as_year)
    rf"(?<=[a-z] )(?P<y_y>{_YEAR})(?!\d|[ ]?(?:people|employees|units|tonnes|square|sqm))(?=[\s.,;)']|$)",
)
_DATE = re.compile("|".join(_FORMS))
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
