"""Relative times in a turn, and the date in a fact that was worked out from one."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

_DAYS = {
    "大前天": -3, "前天": -2, "前晚": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1,
    "今天": 0, "今日": 0, "今晚": 0, "今早": 0, "明天": 1, "明日": 1, "明早": 1, "明晚": 1,
    "后天": 2, "大后天": 3,
    "the day before yesterday": -2, "yesterday": -1, "last night": -1,
    "today": 0, "tonight": 0, "this morning": 0, "tomorrow": 1, "the day after tomorrow": 2,
}  # fmt: skip
_DAY = re.compile("|".join(re.escape(w) for w in sorted(_DAYS, key=len, reverse=True)))
_OTHER = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bweekend\b"
    r"|\b(?:last|next|this|coming|past|previous|following|end of|middle of|beginning of)(?: \w+)? "
    r"(?:week|month|year|quarter|spring|summer|autumn|fall|winter|christmas|easter|semester|season)"
    r"|\b(?:days?|weeks?|months?|years?|hours?|minutes?|fortnight|decades?)\b"
    r"|\b(?:ago|soon|recently|later|since|until|till)\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|\b(?:christmas|easter|new year|birthday)\b|\b(?:19|20)\d\d\b|\d+(?:st|nd|rd|th)\b"
    r"|[上下这本前去今明后当][个一两]?(?:周|星期|礼拜|月|年|季度|旬|学期)|(?:周|星期|礼拜)[一二三四五六日天末]"
    r"|[月年季周][初中底末]|(?:天|日|周|月|年|小时|分钟|星期)(?:之?前|之?后|以后|以来|内)|半年|最近|刚刚"
    r"|春节|国庆|中秋|元旦|五一|生日|\d+ ?[号日月年]|[一二三四五六七八九十]+[号日月年]|(?:19|20)\d\d[-/.]\d"
)
_WRITTEN_DATE = re.compile(
    r"(?P<y>(?:19|20)\d\d)(?P<s1>[-/.]|\s?年\s?)(?P<m>\d{1,2})(?P<s2>[-/.]|\s?月\s?)(?P<d>\d{1,2})(?!\d)"
)


@dataclass(frozen=True, slots=True)
class RelativeTime:
    """What a turn says about time."""

    any: bool
    """Some date can be worked out of it."""
    only_day: date | None
    """The day that it means, where it names one day by a plain word and says no other time; else None."""


NO_TIME = RelativeTime(any=False, only_day=None)


def relative_time(folded: str, turn_date: date | None) -> RelativeTime:
    days = {_DAYS[m[0]] for m in _DAY.finditer(folded)}
    other = _OTHER.search(_DAY.sub(" ", folded)) is not None
    only_day = None
    if turn_date is not None and len(days) == 1 and not other:
        only_day = turn_date + timedelta(days=days.pop())
        return RelativeTime(True, only_day)
    return RelativeTime(bool(days) or other, None)


def corrected_date(fact: str, when: RelativeTime) -> str:
    """The fact with its only written date put right, where the turn leaves no doubt which day it means.

    Models count days from the wrong day, or in the wrong zone; "yesterday" is arithmetic and needs no model.
    """
    written = list(_WRITTEN_DATE.finditer(fact))
    if when.only_day is None or len(written) != 1:
        return fact
    [match] = written
    day = when.only_day
    if (int(match["y"]), int(match["m"]), int(match["d"])) == (day.year, day.month, day.day):
        return fact
    padded = len(match["m"]) == 2 and len(match["d"]) == 2
    month, day_of_month = (f"{day.month:02d}", f"{day.day:02d}") if padded else (str(day.month), str(day.day))
    text = f"{day.year}{match['s1']}{month}{match['s2']}{day_of_month}"
    return fact[: match.start()] + text + fact[match.end() :]
