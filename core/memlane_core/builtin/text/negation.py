"""Whether a sentence says yes or no.

Polarity is the parity of the negations in a clause: negators ("not", "不", "未") and words that deny or reject by
themselves ("refuse", "dislike", "拒绝", "讨厌"). Two of them cancel out ("不反对", "does not dislike").
"""

import re
from dataclasses import dataclass

from .normalise import fold


@dataclass(frozen=True, slots=True)
class Negation:
    """One negating word; `start`, `end` are positions in the folded text."""

    text: str
    start: int
    end: int
    lexical: bool
    """It denies by its own meaning ("refuse", "讨厌") rather than by negating a neighbour ("not", "不")."""


# Words that hold a negator's characters and negate nothing; checked first.
_ZH_NOT_NEGATIONS = """
不仅 不但 不只 不光 不过(?!敏) 不论 不管 不错 不断 不久 不同(?!意) 不动产 不少 不得不 能不能 不能不 不可不 不无
不时 不锈钢 不足 不如 不良 不超过 不低于 不高于 不少于 不多于 不晚于 不早于 不大于 不小于 差不多 了不起 对不起
说不定 不一定 不定期 不限 不等 不见不散 是不是 有没有 会不会 要不要 可不可以 好不好 想不想 愿不愿意 未来 未必
未婚妻 未婚夫 未成年 未尽 非常 非洲 非农 除非 无非 并非易事 北非 南非 是非 非凡 非标 非常规 无论 无锡 无人机 无线
无纺 无缝 无限 无忧 无比 无数 没错 没关系 没想到 沉没 没收(?!到|入) 埋没 别墅 别人 别的 别处 特别 分别 个别 区别
级别 类别 性别 告别 识别 鉴别 辨别 禁忌
"""
_ZH_NEGATORS = """
不再是 不再 不要 不想 不用 不必 不得 不能 不可以 不可 不会 不是 不了 不起 不懂 不到 没有 没法 没能 从未 尚未
并未 还未 未能 未曾 并非 绝不 决不 从不 毫不 并不 无法 无意 无须 无需 不 没 未 非 无 勿 莫 别 甭
"""
_ZH_LEXICAL = """
拒绝 拒不 反对 讨厌 厌恶 反感 抵触 抗拒 排斥 回避 避免 避开 远离 禁止 严禁 禁用 忌讳 受够 受不了 戒了 戒掉 戒酒
戒烟 谢绝 否认 缺乏 缺少 杜绝 免谈 停用 不看好 嫌弃 嫌 怕 害怕 担心 失去 拒收 婉拒 介意 敬而远之 一概不碰
"""
_EN_NOT_NEGATIONS = r"""
not only; no more than; no less than; no fewer than; no later than; no earlier than; not more than; not less than
no doubt; no\.\s?\d+; no one else; whether or not; if not; rather not say
(?:no|nothing|nobody|none)\b[^.,;]* (?:more|bigger|larger|higher|better|greater)\b[^.,;]* than
non-?(?:resident|dom|executive|profit|life|recourse)\w*
"""
_EN_NEGATORS = r"""
not; no; never; without; nothing; nobody; none; neither; nor; cannot; no longer; hardly; rarely; seldom
dont; doesnt; isnt; cant; wont
"""
# Parts of words that negate the rest.
_EN_PREFIXES = (
    r"n't\b|(?<=[a-z])-free\b|\bnon-?(?=smoker|us\b)"
    r"|\bun(?=willing|able|interested|happy|insured|married|employed|secured|hedged|comfortable|licensed|registered)"
)
_EN_LEXICAL = r"""
refus(?:e|es|ed|ing); dislik(?:e|es|ed|ing); hat(?:e|es|ed|ing); detests?; loathes?; avoid(?:s|ed|ing)?
reject(?:s|ed|ing)?; rules? out; ruled out; declin(?:es|ed)(?= to| an| the| any); object(?:s|ed)? to; opposed to
against; averse to; aversion to; can't stand; cannot stand; stopped; stops; quit; ceased?; lacks?; prohibit(?:s|ed)?
forbids?; forbidden; banned; barred from; wary of; steers? clear of; stays? away from; shuns?; gone off; fed up with
tired of; sick of; too much for; put off by; turned down
"""


def _zh(words: str) -> str:
    return "|".join(sorted(words.split(), key=len, reverse=True))


def _en(words: str) -> str:
    return (
        r"\b(?:"
        + "|".join(w.strip() for line in words.splitlines() for w in line.split(";") if w.strip())
        + r")\b"
    )


_ZH = re.compile(
    f"(?P<skip>{_zh(_ZH_NOT_NEGATIONS)})|(?P<lexical>{_zh(_ZH_LEXICAL)})|(?P<negator>{_zh(_ZH_NEGATORS)})"
)
_EN = re.compile(
    f"(?P<skip>{_en(_EN_NOT_NEGATIONS)})|(?P<negator>{_en(_EN_NEGATORS)}|{_EN_PREFIXES})"
    f"|(?P<lexical>{_en(_EN_LEXICAL)})"
)
# "can't stand" is one refusal, not two; the same for these pairs of negator and lexical word.
_EN_IDIOM = re.compile(
    r"\b(?:can't|cannot|can not|couldn't) (?:stand|bear|abide)\b|\bwould rather not\b|\bno longer\b"
)


def negations(text: str) -> tuple[Negation, ...]:
    """The negating words of a text, in order. `text` may be raw; it is folded first."""
    return negations_of_folded(fold(text))


def negations_of_folded(folded: str) -> tuple[Negation, ...]:
    """As `negations`, for a text that is folded already."""
    found: list[Negation] = []
    idioms = [m.span() for m in _EN_IDIOM.finditer(folded)]
    found.extend(Negation(folded[a:b], a, b, lexical=True) for a, b in idioms)
    for pattern in (_ZH, _EN):
        for match in pattern.finditer(folded):
            if match["skip"] or any(a < match.end() and match.start() < b for a, b in idioms):
                continue
            found.append(Negation(match[0], *match.span(), lexical=match["lexical"] is not None))
    return tuple(sorted(found, key=lambda n: n.start))


def negative(text: str) -> bool:
    """Whether the text as a whole denies: an odd number of negating words."""
    return len(negations(text)) % 2 == 1
