"""Every number of a text with its value and unit, however it is written.

"50万元", "500,000元", "５０万", "五十万" and "half a million" are one value; "3年" is "36个月"; "八成" is "80%";
"a dozen" is 12. Dates and codes ("尾号3317", "HT-0417") are read as what they are, never as amounts.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from .dates import PartialDate, find_dates
from .normalise import fold


class QuantityKind(StrEnum):
    NUMBER = "number"
    """An amount or count: `value` in `unit`."""
    DATE = "date"
    """A calendar date, perhaps without year or day: `date`."""
    TIME = "time"
    """A time of day: `value` in minutes after midnight."""
    CODE = "code"
    """Digits that name a thing (card ending, contract number): `code`."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a text. `start` and `end` are positions in the folded text (see `normalise.fold`)."""

    kind: QuantityKind
    text: str
    start: int
    end: int
    value: Decimal = Decimal(0)
    unit: str = ""
    """ISO currency code, "%", "month", "day", "minute", "age" …, a measure word, or "" if none is written."""
    code: str = ""
    date: PartialDate | None = None
    weak: bool = False
    """Only an article ("一家", "one of"): it states no count, and differs from no count but a written one."""

    def agrees(self, other: "Quantity") -> bool:
        """Whether both can be the same number: equal value, and no conflict of units where both are written."""
        if self.kind is not other.kind:
            return False
        match self.kind:
            case QuantityKind.CODE:
                return self.code == other.code
            case QuantityKind.DATE:
                return self.date is not None and other.date is not None and self.date.agrees(other.date)
            case QuantityKind.TIME:
                return self.value == other.value or abs(self.value - other.value) == 720
            case QuantityKind.NUMBER:
                return self.value == other.value and _units_agree(self.unit, other.unit)


_ZH_DIGITS = {
    c: i
    for i, group in enumerate(
        ("零〇", "一壹", "二两贰俩", "三叁仨", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for c in group
}
_ZH_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_ZH_BIG = {"万": 10_000, "亿": 100_000_000}
_ZH = "".join((*_ZH_DIGITS, *_ZH_UNITS, *_ZH_BIG))

# Words and names that hold a numeral character and state no number. Longest first when compiled.
_ZH_NOT_NUMBERS = (
    "一般户|一般|一律|一概|一直|一定|一些|一起|一样|一切|一旦|一下子|一下|一点点|一点|一边|一共|一贯|一向|一时|一面|一方面|一流|一线|一路"
    "|一致|一次性|一手|一并|一齐|一再|一体|一味|一经|一早|一同|一刀切|一二线|一带一路|统一|唯一|之一|同一|万一|进一步|第一时间|单一|逐一|不一定|不一|任一|某一|另一|每一"
    "|二手|二维码|二次|二胎|三方|第三方|三农|三星|三亚|三峡|三明|三门峡|三井|三菱|三洋|四川|四季|五金|五矿|五粮液|五险一金|五险|六安|六福|六盘水|七夕|七匹狼|八达岭|八宝|九龙|九江|九寨沟"
    "|十分|十足|十堰|十字|双十一|百货|百度|百胜|百家|百姓|百般|千万别|千万不|千禧|千岛|千元机|万科|万达|万能|万事|万宁|万华|万元户|亿达"
    "|两岸|两地|两者|两难|两清|零售|零钱|零食|零件|零部件|零配件|零星|零散|零碎|陆家嘴|陆续|陆运|大陆|陆路|内陆|陆上|百分点"
    "|(?:星期|礼拜|周)[一二三四五六]|五一|十一长假|三七|四六级|三甲|三板|新三板|三文鱼|五星|四星|三层|二线|三线|二级市场|一级市场|二建|一建|三包|万圣|七喜|百万医疗险|千金|四海"
)  # fmt: skip
_ZH_NUMBER = rf"[{_ZH}]+(?:点[{''.join(_ZH_DIGITS)}]+)?"

_EN_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
    "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}  # fmt: skip
_EN_BIG = {
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
_EN_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
}  # fmt: skip
_EN_WORDS = "|".join(
    sorted((*_EN_SMALL, "hundred", "thousand", "million", "billion", "dozen"), key=len, reverse=True)
)
_EN_NUMBER = rf"(?:(?:half a|a half|a|an) (?:hundred|thousand|million|billion|dozen)|(?:{_EN_WORDS})(?:[ -](?:and )?(?:{_EN_WORDS}))*)\b"

_CURRENCIES = {
    "CNY": ("人民币", "rmb", "cny", "元人民币", "yuan", "renminbi", "块钱", "元", "块", "¥"),
    "USD": ("美元", "美金", "usd", "us dollars", "us dollar", "dollars", "dollar", "us$", "$"),
    "EUR": ("欧元", "eur", "euros", "euro", "€"),
    "GBP": ("英镑", "gbp", "pounds", "pound", "sterling", "£"),
    "JPY": ("日元", "日圆", "jpy", "yen"),
    "HKD": ("港币", "港元", "港纸", "hkd", "hong kong dollars", "hk$"),
    "SGD": ("新加坡元", "新元", "新币", "坡币", "sgd", "singapore dollars", "s$"),
    "AUD": ("澳元", "澳币", "aud", "australian dollars", "a$"),
    "CAD": ("加元", "加币", "cad", "canadian dollars", "c$"),
    "CHF": ("瑞士法郎", "瑞郎", "chf", "swiss francs", "swiss franc"),
    "NZD": ("新西兰元", "纽币", "nzd"),
    "KRW": ("韩元", "韩币", "krw", "won"),
    "THB": ("泰铢", "thb", "baht"),
    "TWD": ("新台币", "台币", "twd"),
    "MOP": ("澳门元", "mop"),
    "SEK": ("瑞典克朗", "sek", "swedish kronor", "swedish krona", "kronor"),
    "NOK": ("挪威克朗", "nok", "norwegian kroner", "kroner"),
    "DKK": ("丹麦克朗", "dkk", "danish kroner"),
    "INR": ("印度卢比", "卢比", "inr", "indian rupees", "rupees"),
    "MYR": ("马来西亚林吉特", "林吉特", "马币", "myr", "ringgit"),
    "VND": ("越南盾", "vnd", "dong"),
    "IDR": ("印尼盾", "idr", "rupiah"),
    "RUB": ("卢布", "rub", "roubles", "rubles"),
    "AED": ("迪拉姆", "aed", "dirhams"),
    "BRL": ("雷亚尔", "brl", "reais"),
    "PLN": ("兹罗提", "pln", "zloty"),
    "MXN": ("墨西哥比索", "mxn"),
    "ZAR": ("南非兰特", "兰特", "zar", "rand"),
    "TRY": ("土耳其里拉", "里拉", "try", "lira"),
}
CURRENCY_OF = {name: code for code, names in _CURRENCIES.items() for name in names}
"""Every way to write a currency, folded, with its ISO 4217 code."""

# unit → (canonical unit, factor)
_UNITS: dict[str, tuple[str, str]] = {
    **{name: (code, "1") for name, code in CURRENCY_OF.items()},
    "角": ("CNY", "0.1"),
    "%": ("%", "1"), "percent": ("%", "1"), "per cent": ("%", "1"), "pct": ("%", "1"), "个百分点": ("%", "1"), "个点": ("%", "1"),
    "percentage points": ("%", "1"), "percentage point": ("%", "1"), "成": ("%", "10"), "‰": ("%", "0.1"), "个基点": ("%", "0.01"), "基点": ("%", "0.01"), "bp": ("%", "0.01"),
    "bps": ("%", "0.01"), "basis points": ("%", "0.01"),
    "个季度": ("month", "3"), "季度": ("month", "3"), "quarters": ("month", "3"),
    "周岁": ("age", "1"), "岁": ("age", "1"), "years old": ("age", "1"), "years of age": ("age", "1"),
    "年": ("month", "12"), "载": ("month", "12"), "years": ("month", "12"), "year": ("month", "12"), "yrs": ("month", "12"), "year's": ("month", "12"), "years'": ("month", "12"),
    "个月": ("month", "1"), "月": ("month", "1"), "months": ("month", "1"), "month": ("month", "1"), "months'": ("month", "1"),
    "个星期": ("day", "7"), "星期": ("day", "7"), "周": ("day", "7"), "个礼拜": ("day", "7"), "weeks": ("day", "7"), "week": ("day", "7"),
    "天": ("day", "1"), "日": ("day", "1"), "days": ("day", "1"), "day": ("day", "1"), "days'": ("day", "1"),
    "个工作日": ("workday", "1"), "工作日": ("workday", "1"), "working days": ("workday", "1"), "business days": ("workday", "1"),
    "个小时": ("minute", "60"), "小时": ("minute", "60"), "hours": ("minute", "60"), "hour": ("minute", "60"),
    "分钟": ("minute", "1"), "minutes": ("minute", "1"),
    "平方米": ("m2", "1"), "平米": ("m2", "1"), "平": ("m2", "1"), "square metres": ("m2", "1"), "square meters": ("m2", "1"), "sqm": ("m2", "1"),
    "亩": ("mu", "1"), "吨": ("tonne", "1"), "tonnes": ("tonne", "1"), "tons": ("tonne", "1"), "公斤": ("kg", "1"), "千克": ("kg", "1"), "kg": ("kg", "1"), "斤": ("kg", "0.5"), "克": ("gram", "1"), "grams": ("gram", "1"),
    "公里": ("km", "1"), "km": ("km", "1"), "米": ("m", "1"), "倍": ("times", "1"), "times": ("times", "1"),
    **dict.fromkeys("个名位人口家台套笔张辆条间份只支款单双件处艘架栋栏部项批户所头次门座", ("#", "1")),
    **dict.fromkeys(("people", "persons", "employees", "staff", "units"), ("#", "1")),
}  # fmt: skip
_UNIT = "|".join(
    re.escape(u) + (r"\b" if u[-1].isascii() and u[-1].isalpha() else "")
    for u in sorted(_UNITS, key=len, reverse=True)
)
_PREFIX_UNIT = "|".join(
    (r"\b" if name[0].isalpha() and name.isascii() else "") + re.escape(name)
    for name in sorted(CURRENCY_OF, key=len, reverse=True)
    if len(name) > 1 or not name.isalpha()
)

_CODE = re.compile(
    r"(?P<cue>尾号(?:为|是)?|末四位(?:为|是)?|编号(?:为|是)?|单号(?:为|是)?|卡号(?:为|是)?|账号(?:为|是)?|合同号?(?:为|是)?|批次|房号"
    r"|ending(?: in| with)?|numbered|number(?:ed)?(?: is)?|no\.|ref(?:erence)?|account|invoice|contract|room|unit|block|型号)\s*(?P<digits>[a-z]*[-_]?\d[\da-z/-]*)"
    r"|(?<![a-z\d])(?P<mixed>(?!(?:usd|eur|gbp|cny|rmb|hkd|sgd|jpy|aud|cad|chf|nzd|us|hk)[\d-])[a-z]{1,6}[-_]?\d[\da-z]*(?:-[\da-z]+)*|\d+[a-z]+\d[\da-z]*)(?![a-z\d])"
)
_TIME = re.compile(
    r"(?P<half>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上|晚|夜里)?\s*(?P<hour>\d{1,2}|"
    + rf"[{_ZH}]{{1,3}}"
    + r")\s*点(?P<minute>半|一刻|\d{1,2}分?)?(?!\d|[零一二三四五六七八九])"
    r"|(?P<en>\d{1,2})(?:[:.](?P<en_minute>\d\d))?\s*(?P<ampm>a\.?m\.?|p\.?m\.?)(?![a-z])"
    r"|(?P<oclock>\d{1,2}|" + "|".join(_EN_SMALL) + r")\s*o'clock"
    r"|(?<![\d:])(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)(?![\d:])"
    r"|\b(?P<noon>noon|midday)\b|\b(?P<midnight>midnight)\b|(?P<zh_noon>正午)"
)
_NUMBER = re.compile(
    rf"(?P<prefix>{_PREFIX_UNIT})?\s*(?P<sign>(?<![\d\w])[-+])?"
    rf"(?P<number>百分之(?P<percent>\d+(?:\.\d+)?|{_ZH_NUMBER})|千分之(?P<permille>\d+(?:\.\d+)?|{_ZH_NUMBER})"
    rf"|(?P<ascii>(?<![a-z\d.])\d+(?:\.\d+)?)\s*(?P<scale>[十百千万亿]+|(?:thousand|million|billion|hundred|dozen|bn|mn|[kmb])(?![a-z]))?"
    rf"|(?P<zh>{_ZH_NUMBER})|(?P<zh_half>半)(?=年|个月|小时|数)|(?P<zh_half_share>一半|半数)"
    rf"|(?P<zh_pair>双)(?=人)|(?<![a-z])(?P<en>{_EN_NUMBER})|\b(?P<en_half>half)\b(?! a)|\b(?P<ordinal>{'|'.join(_EN_ORDINALS)})\b)"
    rf"(?P<many>多|余|来|几)?\s?-?(?P<unit>{_UNIT})?"
)
_NOT_NUMBERS = re.compile(_ZH_NOT_NUMBERS)
_EN_NOT_NUMBERS = re.compile(
    r"\b(?:one of|no one|second-?hand|at first|first of all|one another|the one|this one|that one|which one|every one|a second)\b"
)
_ARTICLE_MEASURES = frozenset((*"个家套只笔名位张辆条间份部次批件处艘架栋项款座天周", "个月"))
_AFTER_PER_YEAR = frozenset("的要能可收赚付交约有花挣")
"""What follows 一年 where it means "a year" as a rate ("一年的收入") rather than a length of time."""
_HALF_DAY = frozenset(("下午", "傍晚", "晚上", "晚", "夜里", "中午"))


def find_quantities(text: str) -> tuple[Quantity, ...]:
    """All numbers of a text in reading order. `text` may be raw; it is folded first (positions are in the fold)."""
    return quantities_of_folded(fold(text))


def quantities_of_folded(folded: str) -> tuple[Quantity, ...]:
    """As `find_quantities`, for a text that is folded already."""
    found: list[Quantity] = []
    taken = bytearray(len(folded))

    def claim(start: int, end: int) -> bool:
        if any(taken[start:end]):
            return False
        taken[start:end] = b"\1" * (end - start)
        return True

    for date, start, end in find_dates(folded):
        if claim(start, end):
            found.append(Quantity(QuantityKind.DATE, folded[start:end], start, end, date=date))
    for match in _TIME.finditer(folded):
        minutes = _minutes(match)
        if minutes is not None and claim(*match.span()):
            found.append(Quantity(QuantityKind.TIME, match[0], *match.span(), value=Decimal(minutes)))
    for match in _CODE.finditer(folded):
        name = "digits" if match["digits"] else "mixed"
        if claim(*match.span(name)):
            found.append(
                Quantity(
                    QuantityKind.CODE, match[name], *match.span(name), code=re.sub(r"[-_/]", "", match[name])
                )
            )
    for pattern in (_NOT_NUMBERS, _EN_NOT_NUMBERS):
        for match in pattern.finditer(folded):
            claim(*match.span())
    position = 0
    while match := _NUMBER.search(folded, position):
        start, end = match.start("number"), match.end()
        position = max(match.end(), position + 1)
        if not claim(start, end):
            position = start + 1
            continue
        quantity = _quantity(match)
        if quantity is not None:
            found.append(quantity)
    return tuple(sorted(found, key=lambda q: q.start))


def chinese_number(text: str) -> Decimal | None:
    """Value of a Chinese numeral ("三百二十", "两万五", "一点二亿", "二零二六"); None if it is not one."""
    whole, _, fraction = text.partition("点")
    scale = 1
    while fraction and fraction[-1] in _ZH_BIG:
        scale *= _ZH_BIG[fraction[-1]]
        fraction = fraction[:-1]
    if whole and all(c in _ZH_DIGITS for c in whole):
        value = Decimal("".join(str(_ZH_DIGITS[c]) for c in whole))
    else:
        total = section = digit = 0
        last_unit = 1
        for c in whole:
            if c in _ZH_DIGITS:
                digit = _ZH_DIGITS[c]
                if c in "零〇":
                    last_unit = 1
            elif c in _ZH_UNITS:
                section += (digit or 1) * _ZH_UNITS[c]
                last_unit, digit = _ZH_UNITS[c], 0
            elif c in _ZH_BIG:
                total = (
                    (total + section + digit or 1) * _ZH_BIG[c]
                    if section or digit or not total
                    else total * _ZH_BIG[c]
                )
                last_unit, section, digit = _ZH_BIG[c], 0, 0
            else:
                return None
        # "两万五" is 25,000: a last bare digit counts tenths of the unit before it.
        value = Decimal(total + section + digit * (last_unit // 10 if digit and last_unit > 10 else 1))
    if fraction:
        if not all(c in _ZH_DIGITS for c in fraction):
            return None
        value += Decimal("0." + "".join(str(_ZH_DIGITS[c]) for c in fraction))
    return value * scale


def english_number(text: str) -> Decimal | None:
    """Value of an English numeral in words ("twenty-five", "three hundred thousand", "half a million")."""
    total = current = Decimal(0)
    seen = False
    words = re.split(r"[ -]", text)
    half = words[:2] in (["half", "a"], ["a", "half"])
    for word in words[2:] if half else words:
        if word in _EN_SMALL:
            current += _EN_SMALL[word]
        elif word in _EN_BIG:
            factor = _EN_BIG[word]
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


def covers(have: Iterable[Quantity], want: Iterable[Quantity]) -> bool:
    """Whether every number of `want` is stated by `have` too: then `want` tells no number that `have` does not."""
    return not missing(have, want)


def missing(have: Iterable[Quantity], want: Iterable[Quantity]) -> tuple[Quantity, ...]:
    """The numbers of `want` that agree with none of `have`. Articles ("一家") are missing only where `have` counts
    the same thing with another number."""
    known = tuple(have)
    return tuple(
        q for q in want if not any(q.agrees(k) for k in known) and not (q.weak and not _counts(known, q.unit))
    )


def _counts(quantities: Sequence[Quantity], unit: str) -> bool:
    return any(q.kind is QuantityKind.NUMBER and not q.weak and q.unit == unit for q in quantities)


def _units_agree(a: str, b: str) -> bool:
    return a == b or not a or not b or ((a == "#" or b == "#") and not (_hard(a) or _hard(b)))


def _hard(unit: str) -> bool:
    return unit not in ("", "#")


def _quantity(match: re.Match[str]) -> Quantity | None:
    start, end = match.start("number"), match.end()
    unit_text = match["unit"] or ""
    unit, factor = _UNITS.get(unit_text, ("", "1"))
    weak = False
    value: Decimal | None
    if match["percent"] or match["permille"]:
        value = _decimal(match["percent"] or match["permille"])
        unit, factor = "%", "1" if match["percent"] else "0.1"
    elif match["ascii"]:
        value = _decimal(match["ascii"])
        if value is not None and match["scale"]:
            value *= _scale(match["scale"])
        if match["sign"] == "-" and value is not None:
            value = -value
    elif match["zh"]:
        value = chinese_number(match["zh"])
        following = match.string[match.end() : match.end() + 1]
        weak = match["zh"] == "一" and (
            unit_text in _ARTICLE_MEASURES or (unit_text == "年" and following in _AFTER_PER_YEAR)
        )
        if match["zh"] in ("万", "亿", "千", "百"):
            return None
        if match["zh"] == "一" and not unit_text:
            return None
    elif match["zh_half"]:
        value = Decimal("0.5")
    elif match["zh_half_share"] or match["en_half"]:
        value, unit, factor = Decimal(50), "%", "1"
    elif match["zh_pair"]:
        value, unit = Decimal(2), "#"
    elif match["ordinal"]:
        value, unit = Decimal(_EN_ORDINALS[match["ordinal"]]), "ordinal"
    else:
        value = english_number(match["en"])
        weak = match["en"] == "one"
    if value is None:
        return None
    if match["prefix"] and unit in ("", "#"):
        unit = CURRENCY_OF[match["prefix"]]
        start = match.start("prefix")
    return Quantity(
        QuantityKind.NUMBER,
        match.string[start:end],
        start,
        end,
        value=value * Decimal(factor),
        unit=unit,
        weak=weak,
    )


def _scale(text: str) -> int:
    if text in _EN_BIG:
        return _EN_BIG[text]
    product = 1
    for c in text:
        product *= _ZH_UNITS.get(c) or _ZH_BIG[c]
    return product


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return chinese_number(text)


def _minutes(match: re.Match[str]) -> int | None:
    if match["noon"] or match["zh_noon"]:
        return 720
    if match["midnight"]:
        return 0
    if match["h24"]:
        return int(match["h24"]) * 60 + int(match["m24"])
    if match["en"]:
        hour = int(match["en"]) % 12 + (12 if match["ampm"].startswith("p") else 0)
        return hour * 60 + int(match["en_minute"] or 0)
    if match["oclock"]:
        word = match["oclock"]
        return (_EN_SMALL[word] if word in _EN_SMALL else int(word)) * 60
    hour_value = _decimal(match["hour"])
    if hour_value is None or hour_value > 24 or hour_value != int(hour_value):
        return None
    hour = int(hour_value)
    if match["half"] in _HALF_DAY and hour < 12:
        hour += 12
    minute = match["minute"] or "0"
    return hour * 60 + (30 if minute == "半" else 15 if minute == "一刻" else int(minute.rstrip("分")))
