"""Amounts in one form, however they are written: 50万, 五十万, 500,000 and 0.5 million are one token."""

import re
from collections.abc import Iterator
from decimal import Decimal

_UNITS = {
    "千": 1_000, "万": 10_000, "百万": 1_000_000, "千万": 10_000_000, "亿": 100_000_000, "k": 1_000,
    "thousand": 1_000, "m": 1_000_000, "mn": 1_000_000, "million": 1_000_000, "bn": 1_000_000_000,
    "billion": 1_000_000_000,
}  # fmt: skip
_AMOUNT = re.compile(
    r"(?<![a-z0-9.\-])([0-9]+(?:\.[0-9]+)?)\s?(百万|千万|千|万|亿|(?:thousand|million|billion|mn|bn|k|m)(?![a-z]))"
)
_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SMALL_UNITS = {"十": 10, "百": 100, "千": 1_000}
_LARGE_UNITS = {"万": 10_000, "亿": 100_000_000}
_CHINESE_NUMBER = re.compile(r"[零〇一二两三四五六七八九十百千万亿]{2,}")
_TENTHS = re.compile(r"([一二两三四五六七八九])成")


def amounts(text: str) -> Iterator[str]:
    """Amounts of a folded text (NFKC, lower case, no thousands separators) as plain digits; tenths as percent."""
    for match in _AMOUNT.finditer(text):
        yield _plain(Decimal(match[1]) * _UNITS[match[2]])
    for match in _CHINESE_NUMBER.finditer(text):
        value = _chinese_value(match[0])
        if value is not None:
            yield str(value)
    for match in _TENTHS.finditer(text):
        yield f"{_DIGITS[match[1]]}0%"


def _plain(value: Decimal) -> str:
    return format(value.quantize(1) if value == value.to_integral_value() else value.normalize(), "f")


def _chinese_value(numeral: str) -> int | None:
    """三千五百 → 3500; None for what is no number with a unit (as in 一一, 万一 or 千万别)."""
    if numeral[0] not in _DIGITS and numeral[0] != "十":
        return None
    total = section = digit = 0
    units = 0
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _SMALL_UNITS:
            section += (digit or 1) * _SMALL_UNITS[character]
            digit = 0
            units += 1
        else:
            if section + digit == 0:
                return None
            total = (total + section + digit) * _LARGE_UNITS[character]
            section = digit = 0
            units += 1
    return total + section + digit if units else None
