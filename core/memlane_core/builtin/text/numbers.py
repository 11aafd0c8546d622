"""Numbers in words: what Chinese and English numerals are worth."""

import re
from decimal import Decimal

ZH_DIGITS = {
    c: i
    for i, group in enumerate(
        ("零〇", "一壹", "二两贰俩", "三叁仨", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for c in group
}
ZH_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
ZH_BIG = {"万": 10_000, "亿": 100_000_000}
ZH_CHARACTERS = "".join((*ZH_DIGITS, *ZH_UNITS, *ZH_BIG))

ZH_NUMBER = rf"[{ZH_CHARACTERS}]+(?:点[{''.join(ZH_DIGITS)}]+)?"
"""Pattern of a Chinese numeral."""

EN_SMALL = {
    word: value
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
} | {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
EN_BIG = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "dozen": 12,
    "score": 20,
    "k": 1000,
    "m": 10**6,
    "mn": 10**6,
    "bn": 10**9,
    "b": 10**9,
}
EN_ORDINALS = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
}
_EN_SCALES = "hundred|thousand|million|billion|dozen"
_EN_WORDS = "|".join(sorted((*EN_SMALL, *_EN_SCALES.split("|")), key=len, reverse=True))
EN_NUMBER = rf"(?:(?:half a|a half|a|an) (?:{_EN_SCALES})|(?:{_EN_WORDS})(?:[ -](?:and )?(?:{_EN_WORDS}))*)\b"
"""Pattern of an English numeral in words."""


def chinese_number(text: str) -> Decimal | None:
    """Value of a Chinese numeral ("三百二十", "两万五", "一点二亿", "二零二六"); None if it is not one."""
    whole, _, fraction = text.partition("点")
    scale = 1
    while fraction and fraction[-1] in ZH_BIG:
        scale *= ZH_BIG[fraction[-1]]
        fraction = fraction[:-1]
    if whole and all(c in ZH_DIGITS for c in whole):
        value = Decimal("".join(str(ZH_DIGITS[c]) for c in whole))
    else:
        total = section = digit = 0
        last_unit = 1
        for c in whole:
            if c in ZH_DIGITS:
                digit = ZH_DIGITS[c]
                if c in "零〇":
                    last_unit = 1
            elif c in ZH_UNITS:
                section += (digit or 1) * ZH_UNITS[c]
                last_unit, digit = ZH_UNITS[c], 0
            elif c in ZH_BIG:
                total = (
                    (total + section + digit or 1) * ZH_BIG[c]
                    if section or digit or not total
                    else total * ZH_BIG[c]
                )
                last_unit, section, digit = ZH_BIG[c], 0, 0
            else:
                return None
        # "两万五" is 25,000: a last bare digit counts tenths of the unit before it.
        value = Decimal(total + section + digit * (last_unit // 10 if digit and last_unit > 10 else 1))
    if fraction:
        if not all(c in ZH_DIGITS for c in fraction):
            return None
        value += Decimal("0." + "".join(str(ZH_DIGITS[c]) for c in fraction))
    return value * scale


def english_number(text: str) -> Decimal | None:
    """Value of an English numeral in words ("twenty-five", "three hundred thousand", "half a million")."""
    total = current = Decimal(0)
    seen = False
    words = re.split(r"[ -]", text)
    half = words[:2] in (["half", "a"], ["a", "half"])
    for word in words[2:] if half else words:
        if word in EN_SMALL:
            current += EN_SMALL[word]
        elif word in EN_BIG:
            factor = EN_BIG[word]
            current = (current or Decimal(1)) * factor
            if factor >= 1000:
                total, current = total + current, Decimal(0)
        elif word not in ("a", "an", "and"):
            return None
        else:
            continue
        seen = True
    value = total + current
    return (value / 2 if half else value) if seen else None
