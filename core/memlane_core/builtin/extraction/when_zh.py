# ruff: noqa: E501
# Patterns read better whole.
"""Chinese relative dates to absolute ones."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from ..text.numerals import chinese_number
from .spans import Dated, DateSpan, day, days_ahead, month, quarter, shift, week, year_span

_DAYS = {
    "大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨儿": -1, "今天": 0, "今日": 0, "今晚": 0, "今早": 0, "今儿": 0,
    "明天": 1, "明日": 1, "明早": 1, "明晚": 1, "明儿": 1, "后天": 2, "後天": 2, "大后天": 3, "大後天": 3,
}  # fmt: skip
_REST_OF_DAY = {"昨晚": "晚上", "今晚": "晚上", "明晚": "晚上", "今早": "早上", "明早": "早上"}
_STEP = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "当": 0, "": 0, "下": 1, "下下": 2}
_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上年": -1, "今年": 0, "本年": 0, "明年": 1, "来年": 1, "來年": 1, "后年": 2, "後年": 2, "大后年": 3}  # fmt: skip
_WEEKDAYS = (
    {c: i for i, c in enumerate("一二三四五六日")}
    | {"天": 6, "末": 5}
    | {c: i for i, c in enumerate("123456")}
)
_QUARTERS = "一二三四"

_N = r"(?:(?<!\d)\d{1,3}(?:\.5)?|[一二三四五六七八九十两半]{1,3})"
_UNIT = r"(?:天|日|个?多?(?:周|週|星期|礼拜|禮拜)|[个個]月|[个個]半月|年|[个個]?季度)"
_CLOCK = r"(?P<half>凌晨|早上|上午|中午|下午|傍晚|晚上|夜里)?(?P<hour>\d{1,2}|[一二三四五六七八九十两]{1,3})(?:点|點|时(?!间)|:(?=\d))(?P<minute>半|一刻|三刻|\d{1,2}分?)?(?:整|钟|鐘)?"

_PATTERN = re.compile(
    rf"(?P<day>大[前后後]天|(?<!之)[前后後]天(?!天)|昨[天日晚儿]|今[天日晚早儿]|明[天日早晚儿](?!系))"
    rf"|(?<![每逢])(?<![周週期拜][一二三四五六日][到至])(?P<wd_step>上上|上|下下|下|这|這|本|)[个個]?(?:周|週|星期|礼拜|禮拜)(?P<wd>[一二三四五六日天末1-6])(?![到至、和～~-](?:下|这|上)?(?:周|星期|礼拜)?[一二三四五六日天]|都|个)"
    rf"|(?P<week>上上|上|下下|下|这|這|本)[个個]?(?:周|週|星期|礼拜|禮拜)(?![一二三四五六日天]|末)"
    rf"|(?P<month>上上|上|下下|下|这|這|本|当)[个個]?月(?:份)?(?![薪供租费底末初中]?[、/])(?:(?P<mday>[12]?\d|3[01]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[号號日])?"
    rf"|(?<![每个個各\d一二三四五六七八九十])(?P<mend>月[底末初尾])"
    rf"|(?P<quarter>上|下|这|這|本)[个個一]?季度?"
    rf"|(?P<year>大[前后]年|[前后後]年|去年|上年|[今本]年|明年|(?<![十百千几多])[来來]年)(?:(?P<ymonth>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月(?:份)?(?:(?P<yday>[12]?\d|3[01]|[一二三]?十[一二三四五六七八九]?|[一二三四五六七八九])[号號日])?|第?(?P<yq>[一二三四1-4])季度?|年?(?P<yend>[底末初中]))?"
    rf"|(?<![每各一二三四五六七八九十去今明前后後\d])(?P<yearend>年[底末初])"
    rf"|(?P<few>这几天|這幾天|这两天|這兩天|近几天|接下来几天)"
    rf"|(?:未来|未來|接下来|接下來|今后|今後|往后)(?:的)?(?P<ahead>{_N})(?P<ahead_unit>{_UNIT})(?:之?内|里)?"
    rf"|(?<![提到满超前后月])(?P<n>{_N})(?P<unit>{_UNIT})(?:之|以)?(?P<side>后|後|前(?!通知|申请|赎回))"
)
_CLOCK_AFTER = re.compile(_CLOCK)
_HABIT = re.compile(r"每|一般|通常|都是|往往|总是|平时|经常|固定")
_AGE = re.compile(
    r"(?:今年|現年|现年)(?:已经?|刚|都|有)?(?P<age>\d{2}|[二三四五六七八九]?十[一二三四五六七八九]?)(?:周?岁|歲)?(?=了|，|,|。|、|$)"
)


def resolve(text: str, anchor: date) -> Dated:
    """Every relative date of the text as an absolute one. Absolute dates stay as they were written."""
    text = _AGE.sub(lambda m: f"{m['age']}岁", text)
    spans: list[DateSpan] = []
    pieces: list[str] = []
    position = 0
    for match in _PATTERN.finditer(text):
        if match.start() < position:
            continue
        if match["mend"] and _HABIT.search(text[: match.start()]):
            continue
        span, shown = _read(match, anchor)
        if span is None:
            continue
        spans.append(span)
        pieces += text[position : match.start()], shown
        position = match.end()
        if span.first == span.last:
            clock = _CLOCK_AFTER.match(text, position)
            part = _REST_OF_DAY.get(match["day"] or "", "")
            told = _time(clock, part) if clock else None
            if clock and told:
                pieces[-1] = shown.removesuffix(part) + " " + told
                position = clock.end()
    pieces.append(text[position:])
    return Dated("".join(pieces), tuple(spans))


def show_month(span: DateSpan) -> str:
    return f"{span.first.year}年{span.first.month}月"


def _read(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    for name, read in _READERS.items():
        if match[name] is not None:
            return read(match, anchor)
    return None, ""


def _day(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    span = day(anchor, _DAYS[match["day"]], current=_DAYS[match["day"]] == 0)
    return span, span.first.isoformat() + _REST_OF_DAY.get(match["day"], "")


def _weekday(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    number = _WEEKDAYS[match["wd"]]
    monday = week(anchor, _STEP[match["wd_step"]]).first
    it = monday + timedelta(days=number)
    if not match["wd_step"] and it < anchor:
        it += timedelta(weeks=1)
    if match["wd"] == "末":
        span = DateSpan(it, it + timedelta(days=1), week(anchor, 0).grain)
        return span, f"{span.first.isoformat()}周末"
    return day(it, 0), it.isoformat()


def _week(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    span = week(anchor, _STEP[match["week"]])
    return span, f"{span.first.isoformat()}当周"


def _month(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    step = _STEP[match["month"]]
    span = month(anchor.year, anchor.month + step, current=step == 0)
    if match["mday"]:
        return _day_of(span, match["mday"])
    return span, show_month(span)


def _month_end(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    span = month(anchor.year, anchor.month, current=True)
    if match["mend"] == "月初" and anchor.day > 10:
        span = month(anchor.year, anchor.month + 1)
    return span, show_month(span) + match["mend"][1].replace("尾", "底")


def _quarter(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    step = _STEP[match["quarter"]]
    span = quarter(anchor.year, (anchor.month + 2) // 3 + step, current=step == 0)
    return span, f"{span.first.year}年第{_QUARTERS[(span.first.month - 1) // 3]}季度"


def _year(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    step = _YEARS[match["year"]]
    year = anchor.year + step
    if match["ymonth"]:
        span = month(year, int(_number(match["ymonth"])))
        if match["yday"]:
            return _day_of(span, match["yday"])
        return span, show_month(span)
    if match["yq"]:
        number = int(_number(match["yq"]))
        return quarter(year, number), f"{year}年第{_QUARTERS[number - 1]}季度"
    return year_span(year, current=step == 0), f"{year}年" + (match["yend"] or "")


def _year_end(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    year = anchor.year + (match["yearend"] == "年初" and anchor.month > 3)
    return year_span(year, current=year == anchor.year), f"{year}年{match['yearend'][1]}"


def _ahead(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    count, unit = _amount(match["ahead"], match["ahead_unit"])
    span = days_ahead(anchor, count, unit)
    return span, f"{anchor.isoformat()}起{match['ahead']}{match['ahead_unit']}内"


def _few_days(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    return days_ahead(anchor, 1, "week"), f"{anchor.isoformat()}起几天内"


def _offset(match: re.Match[str], anchor: date) -> tuple[DateSpan | None, str]:
    count, unit = _amount(match["n"], match["unit"])
    if unit == "quarter":
        count, unit = count * 3, "month"
    span = shift(anchor, count if match["side"] != "前" else -count, unit)
    if span.first == span.last:
        return span, span.first.isoformat()
    if unit == "year" and count == int(count):
        return span, f"{span.first.year}年"
    return span, show_month(span)


_READERS: dict[str, Callable[[re.Match[str], date], tuple[DateSpan | None, str]]] = {
    "day": _day, "wd": _weekday, "week": _week, "month": _month, "mend": _month_end, "quarter": _quarter, "year": _year,
    "yearend": _year_end, "few": _few_days, "ahead": _ahead, "n": _offset,
}  # fmt: skip


def _amount(number: str, unit: str) -> tuple[float, str]:
    count = _number(number)
    if "半月" in unit:
        return count + 0.5, "month"
    for sign, name in (("月", "month"), ("年", "year"), ("季", "quarter"), ("天", "day"), ("日", "day")):
        if sign in unit:
            return count, name
    return count, "week"


def _number(text: str) -> float:
    if text == "半":
        return 0.5
    value = float(text) if text[0].isdigit() else chinese_number(text)
    return float(value) if value is not None else 0.0


def _day_of(span: DateSpan, number: str) -> tuple[DateSpan | None, str]:
    it = span.first + timedelta(days=int(_number(number)) - 1)
    if it > span.last:
        return None, ""
    return day(it, 0), it.isoformat()


def _time(match: re.Match[str], part_of_day: str) -> str | None:
    hour = int(_number(match["hour"]))
    if hour > 24:
        return None
    if (match["half"] or part_of_day) in ("下午", "傍晚", "晚上", "夜里", "中午") and hour < 11:
        hour += 12
    minute = match["minute"] or "0"
    minutes = {"半": 30, "一刻": 15, "三刻": 45}.get(minute)
    return f"{hour % 24:02d}:{minutes if minutes is not None else int(minute.rstrip('分')):02d}"
