"""The patterns by which numbers are found in a folded text."""

import re

from .numbers import EN_NUMBER, EN_ORDINALS, EN_SMALL, ZH_CHARACTERS, ZH_NUMBER
from .units import CURRENCY_OF, UNITS

_UNIT = "|".join(
    re.escape(u) + (r"\b" if u[-1].isascii() and u[-1].isalpha() else "")
    for u in sorted(UNITS, key=len, reverse=True)
)
_PREFIX_UNIT = "|".join(
    (r"\b" if name[0].isalpha() and name.isascii() else "") + re.escape(name)
    for name in sorted(CURRENCY_OF, key=len, reverse=True)
    if len(name) > 1 or not name.isalpha()
)

# After these words digits name a thing instead of counting.
_CODE_CUES = (
    r"(?:尾号|末四位|编号|单号|卡号|账号|合同号?)(?:为|是)?|批次|房号|型号"
    r"|ending(?: in| with)?|numbered|number(?:ed)?(?: is)?|no\.|ref(?:erence)?|account|invoice|contract|room|unit|block"
)
_CURRENCY_BEFORE_DIGITS = r"(?:usd|eur|gbp|cny|rmb|hkd|sgd|jpy|aud|cad|chf|nzd|us|hk)[\d-]"
CODE = re.compile(
    rf"(?P<cue>{_CODE_CUES})\s*(?P<digits>[a-z]*[-_]?\d[\da-z/-]*)"
    rf"|(?<![a-z\d])(?P<mixed>(?!{_CURRENCY_BEFORE_DIGITS})[a-z]{{1,6}}[-_]?\d[\da-z]*(?:-[\da-z]+)*"
    r"|\d+[a-z]+\d[\da-z]*)(?![a-z\d])"
)
TIME = re.compile(
    r"(?P<half>凌晨|早上|早晨|上午|中午|下午|傍晚|晚上|晚|夜里)?\s*(?P<hour>\d{1,2}|"
    + rf"[{ZH_CHARACTERS}]{{1,3}}"
    + r")\s*点(?P<minute>半|一刻|\d{1,2}分?)?(?!\d|[零一二三四五六七八九])"
    r"|(?P<en>\d{1,2})(?:[:.](?P<en_minute>\d\d))?\s*(?P<ampm>a\.?m\.?|p\.?m\.?)(?![a-z])"
    r"|(?P<oclock>\d{1,2}|" + "|".join(EN_SMALL) + r")\s*o'clock"
    r"|(?<![\d:])(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)(?![\d:])"
    r"|\b(?P<noon>noon|midday)\b|\b(?P<midnight>midnight)\b|(?P<zh_noon>正午)"
)
_EN_SCALE = r"(?:thousand|million|billion|hundred|dozen|bn|mn|[kmb])(?![a-z])"
NUMBER = re.compile(
    rf"(?P<prefix>{_PREFIX_UNIT})?\s*(?P<sign>(?<![\d\w])[-+])?"
    rf"(?P<number>百分之(?P<percent>\d+(?:\.\d+)?|{ZH_NUMBER})|千分之(?P<permille>\d+(?:\.\d+)?|{ZH_NUMBER})"
    rf"|(?P<ascii>(?<![a-z\d.])\d+(?:\.\d+)?)(?:\s*(?P<scale>[十百千万亿]+|{_EN_SCALE}))?"
    rf"|(?P<zh_half_share>一半|半数)|(?P<zh>{ZH_NUMBER})|(?P<zh_half>半)(?=年|个月|小时)|(?P<zh_pair>双)(?=人)"
    rf"|(?<![a-z])(?P<en>{EN_NUMBER})|\b(?P<en_half>half)\b(?! a)|\b(?P<ordinal>{'|'.join(EN_ORDINALS)})\b)"
    rf"(?P<many>多|余|来|几)?(?:\s?-?(?P<unit>{_UNIT}))?"
)

# Words and names that hold a numeral and state no number.
_ZH_NOT_NUMBERS = """
一般户 一般 一律 一概 一直 一定 一些 一起 一样 一切 一旦 一下子 一下 一点点 一点 一边 一共
一贯 一向 一时 一面 一方面 一流 一线 一路 一致 一次性 一手 一并 一齐 一再 一体 一味 一经 一早
一同 一刀切 一二线 一带一路 统一 唯一 之一 同一 万一 进一步 第一时间 单一 逐一 不一定 不一 任一
某一 另一 每一 二手 二维码 二次 二胎 三方 第三方 三农 三星 三亚 三峡 三明 三门峡 三井 三菱
三洋 四川 四季 五金 五矿 五粮液 五险一金 五险 六安 六福 六盘水 七夕 七匹狼 八达岭 八宝 九龙
九江 九寨沟 十分 十足 十堰 十字 双十一 百货 百度 百胜 百家 百姓 百般 千万别 千万不 千禧 千岛
千元机 万科 万达 万能 万事 万宁 万华 万元户 亿达 两岸 两地 两者 两难 两清 零售 零钱 零食 零件
零部件 零配件 零星 零散 零碎 陆家嘴 陆续 陆运 大陆 陆路 内陆 陆上 百分点 五一 十一长假 三七
四六级 三甲 三板 新三板 三文鱼 五星 四星 三层 二线 三线 二级市场 一级市场 二建 一建 三包 万圣
七喜 百万医疗险 千金 四海
"""
_EN_NOT_NUMBERS = (
    r"\b(?:one of|no one|second-?hand|at first|first of all|one another|a second"
    r"|(?:the|this|that|which|every) one)\b"
)
NOT_NUMBERS = re.compile(
    "(?:星期|礼拜|周)[一二三四五六]|"
    + "|".join(sorted(_ZH_NOT_NUMBERS.split(), key=len, reverse=True))
    + "|"
    + _EN_NOT_NUMBERS
)
