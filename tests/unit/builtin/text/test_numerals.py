"""One value however it is written, in Chinese and English; other values stay apart."""

from decimal import Decimal

import pytest

from memlane_core.builtin.text.numerals import (
    QuantityKind,
    chinese_number,
    covers,
    english_number,
    find_quantities,
    missing,
)


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("50万元", 500_000, "CNY"),
        ("500,000元", 500_000, "CNY"),
        ("５０万元", 500_000, "CNY"),
        ("五十万元", 500_000, "CNY"),
        ("人民币50万", 500_000, "CNY"),
        ("1.2亿元", 120_000_000, "CNY"),
        ("１２０００万元", 120_000_000, "CNY"),
        ("三千五百块", 3_500, "CNY"),
        ("两万五", 25_000, ""),
        ("百分之三点五", Decimal("3.5"), "%"),
        ("3.5个点", Decimal("3.5"), "%"),
        ("八成", 80, "%"),
        ("一半", 50, "%"),
        ("千分之五", Decimal("0.5"), "%"),
        ("3年", 36, "month"),
        ("三十六个月", 36, "month"),
        ("半年", 6, "month"),
        ("两周", 14, "day"),
        ("60岁", 60, "age"),
        ("双人授权", 2, "#"),
        ("GBP 0.5 million", 500_000, "GBP"),
        ("GBP 500,000", 500_000, "GBP"),
        ("£500k", 500_000, "GBP"),
        ("half a million dollars", 500_000, "USD"),
        ("$1.5m", 1_500_000, "USD"),
        ("a dozen people", 12, "#"),
        ("twenty-five employees", 25, "#"),
        ("3-year deposit", 36, "month"),
        ("half", 50, "%"),
    ],
)
def test_value_and_unit(text: str, value: Decimal | int, unit: str) -> None:
    (quantity,) = find_quantities(text)
    assert (quantity.kind, quantity.value, quantity.unit) == (QuantityKind.NUMBER, Decimal(value), unit)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("额度50万元", "额度是500,000元"),
        ("limit of GBP 500,000", "GBP 0.5 million limit"),
        ("到期日2027年3月5日", "2027-03-05到期"),
        ("ends on 3 April 2028", "ends on 2028-04-03"),
        ("晚上八点以后", "晚上8点之后"),
        ("before noon", "only after twelve o'clock"),
        ("会员编号ＡＸ－２０８７", "会员编号是AX-2087"),
        ("1型糖尿病", "一型糖尿病"),
        ("会议在下午三点半", "会议时间15:30"),
        ("due on the 1st of each month", "due on the first of each month"),
        ("本金三百零五万", "本金305万"),
    ],
)
def test_the_same_number_written_otherwise(one: str, other: str) -> None:
    assert find_quantities(one)
    assert covers(find_quantities(one), find_quantities(other))
    assert covers(find_quantities(other), find_quantities(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("月供三千", "月供三万"),
        ("payment due on the 15th", "payment due on the 16th"),
        ("limit 5,000", "limit 50,000"),
        ("尾号1234的卡", "尾号5678的卡"),
        ("card ending 1234", "card ending 5678"),
        ("合同HT-0417", "合同HT-0471"),
        ("50万美元", "50万欧元"),
        ("3%", "3年"),
        ("2027年3月5日", "2027年5月3日"),
        ("8 am", "9 am"),
        ("两个孩子", "三个孩子"),
        ("two children", "three children"),
    ],
)
def test_other_numbers_differ(one: str, other: str) -> None:
    assert not covers(find_quantities(one), find_quantities(other))
    assert not covers(find_quantities(other), find_quantities(one))


@pytest.mark.parametrize(
    "text",
    [
        "公司的一般户",
        "用户一概不碰",
        "四川的三方物流",
        "周三开会",
        "万科的物业",
        "十分满意",
        "may sign payments",
        "one of them",
    ],
)
def test_numerals_inside_words_are_no_numbers(text: str) -> None:
    assert find_quantities(text) == ()


def test_an_article_is_missing_only_where_the_same_thing_is_counted() -> None:
    assert covers(find_quantities("用户在香港有子公司"), find_quantities("用户在香港有一家子公司"))
    assert not covers(find_quantities("用户在香港有两家子公司"), find_quantities("用户在香港有一家子公司"))


def test_a_fact_with_fewer_numbers_is_covered_but_does_not_cover() -> None:
    long, short = (
        find_quantities("EUR 900,000 bottling line in October 2026"),
        find_quantities("bottling line"),
    )
    assert covers(long, short)
    assert {q.text for q in missing(short, long)} == {"eur 900000", "in october 2026"}


def test_a_partial_date_agrees_with_the_whole_one() -> None:
    assert covers(find_quantities("2028年4月3日到期"), find_quantities("4月3日到期"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("三百二十", 320),
        ("二零二六", 2026),
        ("一点二亿", 120_000_000),
        ("一万二", 12_000),
        ("十五", 15),
        ("两千零八", 2008),
    ],
)
def test_chinese_number(text: str, value: int) -> None:
    assert chinese_number(text) == value


def test_what_is_no_numeral_has_no_value() -> None:
    assert chinese_number("三只") is None
    assert english_number("and") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("three hundred thousand", 300_000),
        ("twenty-five", 25),
        ("a dozen", 12),
        ("two million five hundred thousand", 2_500_000),
    ],
)
def test_english_number(text: str, value: int) -> None:
    assert english_number(text) == value
