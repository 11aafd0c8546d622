# ruff: noqa: E501
# Patterns read better whole.
"""How long a statement says that it holds."""

import re
from datetime import date, datetime, timedelta

from .spans import DateSpan, Grain, days_ahead, end_of, month

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_EN = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"

_UNTIL_ZH = re.compile(
    r"(?:一直到|直到|截止到?|截至|[到至])(?:(?P<y>20\d\d)[年-])?(?:(?P<m>1[0-2]|0?[1-9])(?:月份?|-)(?:(?P<d>[12]\d|3[01]|0?[1-9])[日号號]?|(?P<edge>[底末中初]))?|(?P<year_end>[底末]))(?P<end>为止|止|之前|以前|前|之间|期间)?"
)
# "9月底之前都不方便": a deadline unless something does not hold before it.
_BEFORE_ZH = re.compile(
    r"(?:(?P<y>20\d\d)[年-])?(?:(?P<m>1[0-2]|0?[1-9])(?:月份?|-)(?:(?P<d>[12]\d|3[01]|0?[1-9])[日号號]?|(?P<edge>[底末中初]))?|(?P<year_end>[底末]))(?P<end>之前|以前|前)(?=[^，。]{0,8}(?:不|别|暂|没))"
)
_UNTIL_EN = re.compile(
    rf"\b(?:until|till|through|up to|valid to|to)\s(?:(?P<edge>(?:the )?(?:end|middle|start|beginning) of |mid-? ?|early |late )?(?:(?P<iso>20\d\d-\d\d-\d\d)|(?:the )?(?:(?P<d1>[12]?\d|3[01])(?:st|nd|rd|th)?(?: of)? )?(?P<m>{_MONTH_EN})\b\.?(?: (?P<d2>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?(?!\d))?(?:,? (?P<y>20\d\d))?|Q(?P<q>[1-4]) (?P<qy>20\d\d)|(?P<season>spring|summer|autumn|fall|winter) (?P<sy>20\d\d)|(?P<year>20\d\d)))",
    re.I,
)
_FOR_EN = re.compile(
    r"\bfor (?:about |around |up to |another )?(?P<n>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|thirty|sixty|ninety) (?P<unit>day|week|month)s?\b",
    re.I,
)
_FOR_ZH = re.compile(
    r"(?:休|出差|请假|住院|暂停|停(?:业|产|机)|有效期?|冻结|宽限|离开|外出|去)[^，。]{0,6}?(?P<n>\d{1,3}|[一二两三四五六七八九十半]{1,3})(?P<unit>天|周|个?星期|个月)"
)
_THIS_LONG_ZH = re.compile(r"这(?P<n>半|一|两|三|四|五|六)个?(?P<unit>年|月|周|星期|礼拜)")
_WORDS_EN = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twelve": 12, "fourteen": 14, "thirty": 30, "sixty": 60, "ninety": 90,
}  # fmt: skip
_NUMBERS_ZH = {"半": 0.5, "两": 2.0} | {c: float(i) for i, c in enumerate("一二三四五六七八九十", 1)}

_STATE = re.compile(
    r"出差|驻场|驻外|外派|派驻|休假|度假|年假|产假|病假|请假|住院|旅游|旅行|外地|在国外|在海外|不在|回去|回家|回国|探亲|培训|停业|停产|装修|收不到|联系不上|不方便|暂停|暂时|临时|冻结|外出|隔离|值班|放假|出国|回老家|闭店|代理|代班|代签|手头紧|周转不开"
    r"|\b(?:on leave|leave|away|abroad|travell?ing|holiday|vacation|out of (?:the )?office|hospital|sabbatical|parental|maternity|unavailable|offline|unreachable|closed|temporar(?:y|ily)|suspended?|paused?|frozen|on hold|hold off|standing in|covering for|no calls|don't call|do not call|stuck|tied up|seconded|visiting|short of cash|tight)\b",
    re.I,
)
_PLAN = re.compile(
    r"预算|额度|计划|目标|限额|暂不|不做|不考虑|不打算|暂停|只做|指标|上限|优惠|活动|免费|促销"
    r"|\b(?:budget|limit|quota|target|cap|plan|no new|not taking|freeze|promotion|offer|waived?|discount)\b",
    re.I,
)
_PAST = re.compile(
    r"(?<!为)(?<!别推)(?<!不)了(?!解)(?!$)|(?<![别再用])[买卖付签办交还清搬换开]了|过(?!年|节)|已经|已|刚|\b(?:was|were|had|did|went|got|made|sold|bought|paid|met|left|took|came|became|moved|lost|ended|has \w+ed|have \w+ed|(?<!is )(?<!are )(?<!be )\b\w{2,}(?<!ne)ed)\b"
)
_LONGEST_DAYS = 400
"""What is said of the years to come is a plan's horizon, not the time for which it is true."""
_HORIZON = re.compile(
    r"\b(?:in|within) the [\w ]{3,20} from \d{4}-|[想要打算计划准备].{0,12}(?:起.{1,5}内)|起.{1,5}内.{0,6}(?:买|付|还清|完成|办|开)"
)
_DUE = re.compile(r"到期|期满|截止日|\b(?:matur\w+|due|expir\w+|deadline)\b", re.I)
_WHOLE = re.compile(r"through", re.I)
_RANGE_TO = re.compile(r"\b(?:from|between)\b", re.I)


def expiry(text: str, spans: tuple[DateSpan, ...], said: datetime) -> int | None:
    """Unix second at which the statement stops being true, where it says so itself; None = lasting.

    `text` has absolute dates, `spans` are the relative ones it was written with, `said` is when (aware). Dates of
    events and deadlines give no expiry: that a loan falls due in June stays worth knowing in July.
    """
    end = _until(text, said.date())
    if end is not None and not (_DUE.search(text) and not _STATE.search(text)):
        near = 0 <= (end - said.date()).days <= _LONGEST_DAYS
        return end_of(DateSpan(end, end, Grain.DAY), said) if near else None
    ahead = [s for s in spans if s.grain is Grain.AHEAD]
    if ahead and (ahead[-1].last - said.date()).days <= _LONGEST_DAYS and not _HORIZON.search(text):
        return end_of(ahead[-1], said)
    state = _STATE.search(text) is not None
    if state:
        length = _length(text, said.date())
        if length is not None:
            return end_of(length, said)
        coming = [s for s in spans if s.last >= said.date() and s.grain is not Grain.YEAR]
        if coming:
            return end_of(max(coming, key=lambda s: s.last), said)
    if _PAST.search(text):
        return None
    for span in spans:
        if not span.current:
            continue
        if span.grain in (Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.SEASON) and not _edge(text):
            return end_of(span, said)
        if span.grain is Grain.YEAR and _PLAN.search(text):
            return end_of(span, said)
    return None


def _edge(text: str) -> bool:
    """A point in time ("月底付款", "by the end of") rather than a stretch."""
    return re.search(r"月[底末初]|[底末]前|\bby\b|\b(?:end|start|beginning) of\b", text) is not None


def _length(text: str, today: date) -> DateSpan | None:
    match = _FOR_EN.search(text)
    if match:
        said = match["n"].lower()
        count = float(said) if said.isdigit() else float(_WORDS_EN[said])
        return days_ahead(today, count, match["unit"].lower())
    match = _THIS_LONG_ZH.search(text)
    if match:
        unit = {"年": "year", "月": "month"}.get(match["unit"], "week")
        return days_ahead(today, _NUMBERS_ZH[match["n"]], unit)
    match = _FOR_ZH.search(text)
    if match:
        said = match["n"]
        count = float(said) if said.isdigit() else _NUMBERS_ZH.get(said, 0.0)
        unit = {"天": "day", "周": "week", "个月": "month"}.get(match["unit"], "week")
        return days_ahead(today, count, unit) if count else None
    return None


def _until(text: str, today: date) -> date | None:
    match = _UNTIL_ZH.search(text) or _BEFORE_ZH.search(text)
    if match and not _deadline_zh(match, text):
        return _until_zh(match, today)
    for found in _UNTIL_EN.finditer(text):
        if found[0].lower().startswith(("to ", "up to")) and not (
            _STATE.search(text) or _RANGE_TO.search(text[: found.start()])
        ):
            continue
        return _until_en(found, today)
    return None


def _deadline_zh(match: re.Match[str], text: str) -> bool:
    """ "到6月底前要办好" asks for something by then; "到6月底为止" and "到6月底前都不" last until then."""
    if match["end"] in ("前", "之前", "以前"):
        return re.search(r"不|别|暂|都|有效|保留", text) is None
    return re.search(r"[上下]午$|等$", text[: match.start()]) is not None


def _until_zh(match: re.Match[str], today: date) -> date | None:
    if match["year_end"]:
        return date(int(match["y"] or today.year), 12, 31)
    number = int(match["m"])
    year = int(match["y"]) if match["y"] else today.year + (number < today.month)
    if match["d"]:
        return _day(year, number, int(match["d"]), today, told=bool(match["y"]))
    if match["edge"] == "中":
        return date(year, number, 15)
    if match["edge"] == "初":
        return date(year, number, 10)
    return month(year, number).last


def _until_en(match: re.Match[str], today: date) -> date | None:
    if match["iso"]:
        return date.fromisoformat(match["iso"])
    edge = (match["edge"] or "").lower()
    if match["year"]:
        year = int(match["year"])
        return date(year, 12, 31) if "end" in edge else date(year, 1, 1)
    if match["q"]:
        last = month(int(match["qy"]), int(match["q"]) * 3)
        return last.last if "end" in edge else month(int(match["qy"]), int(match["q"]) * 3 - 2).first
    if match["season"]:
        first = {"spring": 3, "summer": 6, "winter": 12}.get(match["season"].lower(), 9)
        return (
            month(int(match["sy"]), first + 2).last
            if _WHOLE.match(match[0])
            else month(int(match["sy"]), first).first
        )
    number = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(match["m"].lower()[:3]))
    year = int(match["y"]) if match["y"] else today.year + (number < today.month)
    said = match["d1"] or match["d2"]
    if said:
        return _day(year, number, int(said), today, told=bool(match["y"]))
    whole = month(year, number)
    if "end" in edge or _WHOLE.match(match[0]):
        return whole.last
    if edge == "late ":
        return whole.last
    if edge == "early ":
        return whole.first + timedelta(days=9)
    if "mid" in edge:
        return whole.first + timedelta(days=14)
    return whole.first


def _day(year: int, number: int, day: int, today: date, *, told: bool) -> date | None:
    whole = month(year, number)
    if day > whole.last.day:
        return None
    it = whole.first + timedelta(days=day - 1)
    return month(year + 1, number).first + timedelta(days=day - 1) if it < today and not told else it
