"""Relative dates become absolute, counted from the day of the message; absolute ones stay as written."""

from datetime import date, datetime

import pytest

from memlane_core.builtin.extraction import when_en, when_zh
from memlane_core.builtin.extraction.validity import expiry

CHINESE = [
    ("2025-12-18", "下个月要还800万", "2026年1月要还800万"),
    ("2024-02-27", "大后天要交保函", "2024-03-01要交保函"),
    ("2023-05-24", "明天下午三点去网点", "2023-05-25 15:00去网点"),
    ("2023-05-24", "今晚8点到账", "2023-05-24 20:00到账"),
    ("2025-09-04", "上周三签的", "2025-08-27签的"),
    ("2025-09-04", "下下周一上午10点半", "2025-09-15 10:30"),
    ("2025-09-04", "周五下午", "2025-09-05下午"),
    ("2025-09-04", "三天后付款", "2025-09-07付款"),
    ("2025-09-04", "两周前买的", "2025-08-21买的"),
    ("2025-09-04", "半年后到期", "2026年3月到期"),
    ("2025-09-04", "下个月15号", "2025-10-15"),
    ("2025-01-04", "上个季度营收", "2024年第四季度营收"),
    ("2025-09-04", "明年3月到期", "2026年3月到期"),
    ("2025-09-04", "去年底买的", "2024年底买的"),
    ("2025-09-04", "今年九月前注册", "2025年9月前注册"),
    ("2025-09-04", "今年36，做软件", "36岁，做软件"),
    ("2025-08-11", "这周出差", "2025-08-11当周出差"),
    ("2025-07-02", "第一笔下周一到", "第一笔2025-07-07到"),
    # Habits, terms and absolute dates are no relative dates.
    ("2025-09-04", "每周五对账", "每周五对账"),
    ("2025-09-04", "一般月尾收到", "一般月尾收到"),
    ("2025-09-04", "货到后30天付款", "货到后30天付款"),
    ("2025-09-04", "糖尿病十来年了", "糖尿病十来年了"),
    ("2025-09-04", "其余两家在2027年以后", "其余两家在2027年以后"),
    ("2025-09-04", "周一到周五上班", "周一到周五上班"),
]

ENGLISH = [
    ("2023-05-24", "I went to Paris yesterday", "I went to Paris on 2023-05-23"),
    ("2025-09-15", "We launch next month", "We launch in October 2025"),
    ("2025-12-15", "by the end of next month", "by the end of January 2026"),
    ("2025-03-01", "The board meets in ten days", "The board meets on 2025-03-11"),
    ("2025-03-05", "we meet next Friday", "we meet on 2025-03-14"),
    ("2025-12-29", "signed last Tuesday", "signed on 2025-12-23"),
    ("2025-11-19", "in a fortnight", "On 2025-12-03"),
    ("2025-11-19", "a week on Friday", "On 2025-11-28"),
    ("2025-11-19", "I signed on Monday", "I signed on 2025-11-17"),
    ("2025-01-19", "I moved two months ago", "I moved in November 2024"),
    ("2025-11-19", "through next spring", "through spring 2026"),
    ("2025-03-19", "no purchases this quarter", "no purchases in Q1 2025"),
    ("2025-03-01", "Last year's takings", "2024's takings"),
    ("2025-06-10", "I travel for the next three weeks", "I travel for the three weeks from 2025-06-10"),
    # Terms and horizons are no dates.
    ("2025-03-01", "paid off in 12 years", "paid off in 12 years"),
    ("2025-03-01", "customers pay in 60 days", "customers pay in 60 days"),
    ("2025-03-01", "closed on Mondays", "closed on Mondays"),
]


@pytest.mark.parametrize(("today", "said", "meant"), CHINESE)
def test_chinese_dates(today: str, said: str, meant: str) -> None:
    assert when_zh.resolve(said, date.fromisoformat(today)).text == meant


@pytest.mark.parametrize(("today", "said", "meant"), ENGLISH)
def test_english_dates(today: str, said: str, meant: str) -> None:
    assert when_en.resolve(said, date.fromisoformat(today)).text == meant


VALIDITY = [
    ("2025-08-11T09:00:00+08:00", "这周我在出差", 6.6),
    ("2025-08-11T09:00:00+08:00", "本月额度提高到10万", 20.6),
    ("2025-08-11T09:00:00+08:00", "未来三个月现金流紧张", 91.6),
    ("2025-07-30T09:00:00+08:00", "我8月1日到8月15日休假", 16.6),
    ("2025-09-16T10:00:00+08:00", "9月底之前我都不方便见面", 14.6),
    ("2025-05-30T09:00:00+08:00", "出差两周", 14.6),
    ("2025-07-30T09:00:00+08:00", "贷款明年3月到期", None),
    ("2025-07-30T09:00:00+08:00", "今年九月前要把公司注册好", None),
    ("2025-07-30T09:00:00+08:00", "上个月收到两笔英镑", None),
    ("2025-04-07T17:00:00+01:00", "I'm on leave until 25 April 2025", 18.3),
    ("2025-04-07T17:00:00+01:00", "we are abroad for 30 days", 30.3),
    ("2025-04-07T17:00:00+01:00", "hold payments until the end of June", 84.3),
    ("2025-04-07T17:00:00+01:00", "no bond purchases this quarter", 84.3),
    ("2025-07-02T10:00:00+01:00", "I'm standing in for our treasurer until mid-September", 75.6),
    ("2025-04-07T17:00:00+01:00", "Our VAT number changed this year", None),
    ("2025-04-07T17:00:00+01:00", "I won't need the money for ten years", None),
    ("2025-04-07T17:00:00+01:00", "The loan is due next month", None),
]


@pytest.mark.parametrize(("said_at", "text", "days"), VALIDITY)
def test_validity_ends_at_midnight_of_the_speaker(said_at: str, text: str, days: float | None) -> None:
    said = datetime.fromisoformat(said_at)
    reader = when_en if text.isascii() else when_zh
    dated = reader.resolve(text, said.date())
    end = expiry(dated.text, dated.spans, said)
    if days is None:
        assert end is None
    else:
        assert end is not None
        assert round((end - said.timestamp()) / 86_400, 1) == days
        ends = datetime.fromtimestamp(end, said.tzinfo)
        assert (ends.hour, ends.minute) == (0, 0)
