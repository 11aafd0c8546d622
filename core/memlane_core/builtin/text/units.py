"""Currencies and units of measure by every way to write them. Names are folded (see `normalise.fold`)."""

_CURRENCIES = """
CNY: 人民币 | rmb | cny | 元人民币 | yuan | renminbi | 块钱 | 元 | 块 | ¥
USD: 美元 | 美金 | usd | us dollars | us dollar | dollars | dollar | us$ | $
EUR: 欧元 | eur | euros | euro | €
GBP: 英镑 | gbp | pounds | pound | sterling | £
JPY: 日元 | 日圆 | jpy | yen
HKD: 港币 | 港元 | 港纸 | hkd | hong kong dollars | hk$
SGD: 新加坡元 | 新元 | 新币 | 坡币 | sgd | singapore dollars | s$
AUD: 澳元 | 澳币 | aud | australian dollars | a$
CAD: 加元 | 加币 | cad | canadian dollars | c$
CHF: 瑞士法郎 | 瑞郎 | chf | swiss francs | swiss franc
NZD: 新西兰元 | 纽币 | nzd
KRW: 韩元 | 韩币 | krw | won
THB: 泰铢 | thb | baht
TWD: 新台币 | 台币 | twd
MOP: 澳门元 | mop
SEK: 瑞典克朗 | sek | swedish kronor | swedish krona | kronor
NOK: 挪威克朗 | nok | norwegian kroner | kroner
DKK: 丹麦克朗 | dkk | danish kroner
INR: 印度卢比 | 卢比 | inr | indian rupees | rupees
MYR: 马来西亚林吉特 | 林吉特 | 马币 | myr | ringgit
VND: 越南盾 | vnd | dong
IDR: 印尼盾 | idr | rupiah
RUB: 卢布 | rub | roubles | rubles
AED: 迪拉姆 | aed | dirhams
BRL: 雷亚尔 | brl | reais
PLN: 兹罗提 | pln | zloty
MXN: 墨西哥比索 | mxn
ZAR: 南非兰特 | 兰特 | zar | rand
TRY: 土耳其里拉 | 里拉 | lira
"""

# canonical unit, factor: names
_MEASURES = """
CNY 0.1: 角
% 1: % | percent | per cent | pct | 个百分点 | 个点 | percentage points | percentage point
% 10: 成
% 0.1: ‰
% 0.01: 个基点 | 基点 | bp | bps | basis points
month 12: 年 | 载 | years | year | yrs | year's | years'
month 3: 个季度 | 季度 | quarters
month 1: 个月 | 月 | months | month | months'
day 7: 个星期 | 星期 | 周 | 个礼拜 | weeks | week
day 1: 天 | 日 | days | day | days'
workday 1: 个工作日 | 工作日 | working days | business days
minute 60: 个小时 | 小时 | hours | hour
minute 1: 分钟 | minutes
age 1: 周岁 | 岁 | years old | years of age
m2 1: 平方米 | 平米 | 平 | square metres | square meters | sqm
mu 1: 亩
tonne 1: 吨 | tonnes | tons
kg 1: 公斤 | 千克 | kg
kg 0.5: 斤
gram 1: 克 | grams
km 1: 公里 | km
m 1: 米
times 1: 倍 | times
# 1: 个 | 名 | 位 | 人 | 口 | 家 | 台 | 套 | 笔 | 张 | 辆 | 条 | 间 | 份 | 只 | 支 | 款 | 单 | 双 | 件
# 1: 处 | 艘 | 架 | 栋 | 栏 | 部 | 项
# 1: 批 | 户 | 所 | 头 | 次 | 门 | 座 | people | persons | employees | staff | units
"""

COUNT = "#"
"""The unit of things counted, whatever the measure word: "15名", "15 employees"."""


def _rows(table: str) -> list[tuple[str, list[str]]]:
    rows = (line.partition(": ") for line in table.strip().splitlines())
    return [(head, [name.strip() for name in names.split(" | ")]) for head, _, names in rows]


CURRENCY_OF: dict[str, str] = {name: code for code, names in _rows(_CURRENCIES) for name in names}
"""Every way to write a currency, with its ISO 4217 code."""

UNITS: dict[str, tuple[str, str]] = {
    **{name: (code, "1") for name, code in CURRENCY_OF.items()},
    **{
        name: (unit, factor)
        for head, names in _rows(_MEASURES)
        for unit, _, factor in [head.partition(" ")]
        for name in names
    },
}
"""Written unit → (canonical unit, factor): "年" → ("month", "12")."""
