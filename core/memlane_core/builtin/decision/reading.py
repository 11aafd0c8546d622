"""One sentence taken apart: whose fact it is, its words with their meaning and place, numbers, polarity, markers."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import rjieba

from ..text import markers
from ..text.negation import Negation, negations_of_folded
from ..text.normalise import fold, is_chinese
from ..text.numerals import Quantity, QuantityKind, quantities_of_folded
from .lexicon import CONCEPT_OF, NAMES, PERSONS, STOP_EN, STOP_ZH


@dataclass(frozen=True, slots=True)
class Word:
    """A word that carries meaning. `start`, `end` are positions in the folded text."""

    surface: str
    concept: str
    """`@name` of its concept, or its stem."""
    start: int
    end: int
    proper: bool
    """A name: capitalised inside an English sentence, tagged as a name in a Chinese one."""
    subject: bool
    """It stands before the predicate."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one sentence."""

    folded: str
    chinese: bool
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    """The words without those that only take something back or only tell a change."""
    letters: Counter[str]
    """Groups of neighbouring characters, numbers left out: what is left when words are cut differently."""
    quantities: tuple[Quantity, ...]
    negations: tuple[Negation, ...]
    owners: frozenset[str]
    """Concepts of persons other than the user that stand in the subject; empty = the user or a company."""
    retracts: bool
    erases: bool
    becomes: bool
    tells_now: bool
    adds: bool

    @property
    def negative(self) -> bool:
        return len(self.negations) % 2 == 1

    @property
    def predicate(self) -> str:
        """Concept of the first word after the subject; "" if there is none."""
        return next((w.concept for w in self.words if not w.subject), "")

    @property
    def codes(self) -> frozenset[str]:
        """Digits that name a thing (card endings, contract numbers)."""
        return frozenset(q.code for q in self.quantities if q.kind is QuantityKind.CODE)


_EN_TOKEN = re.compile(
    r"(?:mother|father|brother|sister|son|daughter)-in-law|co-founder|e-mail|short-term|long-term"
    r"|[a-zà-öø-ÿ]+(?:['&][a-zà-öø-ÿ]+)*",
    re.IGNORECASE,
)
_CONTRACTION = re.compile(r"n't$|^(?:i|you|we|they|he|she|it|that|there)'(?:m|re|ve|ll|d|s)$")
_EN_PHRASE = re.compile(
    r"\b(?:" + "|".join(sorted((w for w in CONCEPT_OF if " " in w), key=len, reverse=True)) + r")s?\b"
)
_IRREGULAR_FORMS = """
    buy: bought; sell: sold; pay: paid; hold: held; meet: met; lend: lent; build: built; grow: grew grown;
    fall: fell fallen; rise: rose risen; leave: left; lose: lost; make: made; teach: taught; wife: wives;
    choose: chose chosen; speak: spoke spoken; write: wrote; drive: drove; run: ran; keep: kept;
    child: children; people: people; eat: ate; drink: drank; give: gave given; take: took taken;
    begin: began begun; go: went; win: won; spend: spent; send: sent; mean: meant; bring: brought; owe: owes;
    die: dies; lie: lying; series: series; premises: premises; business: business; news: news; lens: lens;
    usa: usa; vat: vat
"""
_IRREGULAR = {
    form: base
    for base, _, forms in (entry.strip().partition(": ") for entry in _IRREGULAR_FORMS.split(";"))
    for form in forms.split()
}
_VERBS_EN = frozenset(
    """
    am is are was were be been has have had does do did will would can cannot could may might must should wants want
    wanted prefers prefer preferred likes like liked loves love enjoys enjoy hates hate dislikes dislike refuses
    refuse refused avoids rejects lives live lived works work worked runs run owns own owned holds hold held pays
    pay paid gets get got gives gave uses use used plans plan planned intends intend intended thinks think expects
    expect exports export imports import sells sell sold buys buy bought makes make made takes take took keeps keep
    kept needs need needed asks asked says said i'm i've rents rent leases lease hires employs employ earns earn
    spends spend saves save invests invest hedges hedge owes owe borrows borrowed lends signs signed opens opened
    closes closed moves moved relocated relocates starts started stops stopped ends ended expires expire matures
    mature begins renews renew covers cover stands stand stores store ships ship delivers deliver supplies supply
    manufactures manufacture produces produce roasts advertises visits visit travels travel studies study studied
    teaches teach taught speaks speak reads read writes wrote plays play collects collect follows follow supports
    support trusts trust sponsors sponsor donates donate belongs includes invoices reports report reached raised
    lifted extended cancelled canceled revoked withdrew withdrawn dropped scrapped abandoned pulled bought joined
    left married retired changed switched replaced lost won met entered rules ruled agrees agreed accepts accepted
    consents declined decided considers consider looks look looking seeks seek bids bid wishes wish hopes hope
    believes believe fears fear worries feels feel finds found thinks knows know smokes smoke drinks drink eats eat
    drives drive commutes commute transfers transfer demands demand requires require charges charge costs cost
    offers offer provides provide serves serve receives receive collects banks bank guarantees guarantee applies
    applied files filed suffers suffer shares share goes go went comes came became become turned rose fell grew
    topped employs allows allow needs names contains runs volunteers inherited issued allergic guarantees attends
    attend handles handle manages manage
    """.split()
)
_VERBS_ZH = frozenset(
    """
    是 为 有 在 住 居住 常住 想 想要 打算 计划 希望 要求 喜欢 爱 偏好 倾向 倾向于 习惯 愿意 同意 接受 可以 不想 不愿
    拒绝 反对 讨厌 抵触 介意 认为 判断 觉得 看好 预计 需要 买 购买 卖 出售 持有 拥有 租 租用 租了 开 开了 做 主营
    从事 生产 采购 进口 出口 支付 付 收 收到 使用 用 签 签了 取消 撤销 放弃 解除 搬 搬到 迁 换 换成 改 改为 改用
    涨到 降到 降为 升到 增加 提高 达 达到 约 共 叫 姓 属于 位于 设在 来自 患 患有 得 会 能 不会 不能 没 没有 未 不
    已 已经 将 将于 现在 目前 存 存了 投 投资 办 办理 申请 准备 正在 正 拟 任职 担任 就职 工作 读 在读 学 参加 关注
    订阅 预约 授权 担保 欠 还 还款 每 每月 每年 由 由于 负责 合作 供货 过敏 结婚 离婚 退休 到期 满期 说 表示 设 设了
    定 定在 发 寄 给 跳槽 变更 调整 上调 下调 拉长 缩短 延长 去 去了 回 出 带 请 听 看 看不懂 懂
    """.split()
)
_NAME_TAGS = frozenset(("nr", "ns", "nz", "nt", "nrt", "nrfg", "eng"))


def read(text: str) -> Reading:
    """Read one sentence. Cost is about 0.2 ms; nothing is kept."""
    cased = fold(text, keep_case=True)
    folded = cased.casefold()
    if len(folded) != len(cased):
        cased = folded
    quantities = quantities_of_folded(folded)
    taken = bytearray(len(folded))
    for q in quantities:
        if not q.weak:
            taken[q.start : q.end] = b"\1" * (q.end - q.start)
    chinese = is_chinese(folded)
    words = tuple(_chinese_words(folded, taken) if chinese else _english_words(cased, folded, taken))
    return Reading(
        folded=folded,
        chinese=chinese,
        words=words,
        content=_content(words, folded),
        letters=_letters(folded, quantities, 2 if chinese else 3),
        quantities=quantities,
        negations=negations_of_folded(folded),
        owners=_owners(words, chinese),
        retracts=markers.retracts(folded),
        erases=markers.erases(folded),
        becomes=markers.becomes(folded),
        tells_now=markers.tells_now(folded),
        adds=markers.adds(folded),
    )


_ENDINGS = (
    ("ies", 5, "y"),
    ("sses", 6, "ss"),
    ("ches", 6, "ch"),
    ("shes", 6, "sh"),
    ("xes", 5, "x"),
    ("ing", 6, ""),
    ("ied", 5, "y"),
    ("ed", 5, ""),
    ("s", 4, ""),
)
"""(ending, least length of the word, what replaces the ending)"""


def _content(words: tuple[Word, ...], folded: str) -> tuple[Word, ...]:
    spans = markers.marker_spans(folded)
    return tuple(w for w in words if not any(a < w.end and w.start < b for a, b in spans))


def _letters(folded: str, quantities: tuple[Quantity, ...], size: int) -> Counter[str]:
    text = list(folded)
    for q in quantities:
        text[q.start : q.end] = "\0" * (q.end - q.start)
    plain = "".join(text)
    groups = (plain[i : i + size] for i in range(len(plain) - size + 1))
    return Counter(g for g in groups if "\0" not in g and "用户" not in g)


def stem(word: str) -> str:
    """Base form of an English word by its ending; good enough to compare, not to print."""
    word = word.removesuffix("'s").removesuffix("'")
    if " " in word:
        return word if word in CONCEPT_OF else word.removesuffix("s")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in CONCEPT_OF or len(word) <= 3:
        return word
    for ending, least, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            base = word[: -len(ending)] + replacement
            if ending in ("ing", "ed"):
                if base + "e" in CONCEPT_OF:
                    return base + "e"
                if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "sl":
                    base = base[:-1]
            return base
    return word


def _english_words(cased: str, folded: str, taken: bytearray) -> Iterator[Word]:
    phrases = [m for m in _EN_PHRASE.finditer(folded) if not any(taken[m.start() : m.end()])]
    for phrase in phrases:
        taken[phrase.start() : phrase.end()] = b"\1" * (phrase.end() - phrase.start())
    tokens = [m for m in _EN_TOKEN.finditer(folded) if not any(taken[m.start() : m.end()])]
    tokens = sorted([*tokens, *phrases], key=lambda m: m.start())
    predicate = next(
        (
            m.start()
            for i, m in enumerate(tokens)
            if i and m[0] in _VERBS_EN and tokens[i - 1][0] not in ("the", "a", "an")
        ),
        len(folded),
    )
    for i, match in enumerate(tokens):
        surface = match[0]
        if surface in STOP_EN or _CONTRACTION.search(surface):
            continue
        base = stem(surface)
        first = not i or folded[: match.start()].rstrip().endswith((".", ";"))
        proper = cased[match.start()].isupper() and not (
            first and (base in CONCEPT_OF or surface in _VERBS_EN)
        )
        proper = proper or _concept(base) in NAMES
        yield Word(surface, _concept(base), match.start(), match.end(), proper, match.start() < predicate)


def _chinese_words(folded: str, taken: bytearray) -> Iterator[Word]:
    tokens = list(_cut(folded))
    predicate = _chinese_predicate(tokens, folded)
    for surface, tag, start, end in tokens:
        if tag == "x" or any(taken[start:end]) or surface in STOP_ZH or not surface.strip():
            continue
        if surface.isascii():
            base = stem(surface)
        else:
            base = surface
        yield Word(
            surface,
            _concept(base),
            start,
            end,
            tag in _NAME_TAGS or _concept(base) in NAMES,
            start < predicate,
        )


def _cut(folded: str) -> Iterator[tuple[str, str, int, int]]:
    """(word, tag, start, end), names of letters kept whole."""
    position = 0
    for surface, tag in _whole_units(rjieba.tag(folded)):
        start = folded.index(surface, position)
        position = start + len(surface)
        if surface.strip():
            yield surface, tag, start, position


def _whole_units(tokens: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Cuts 一家子公司 as 一家, 子公司 where the dictionary's 一家子 got in the way."""
    held: tuple[str, str] | None = None
    for surface, tag in tokens:
        if held is not None:
            if surface == "公司":
                yield held[0].removesuffix("子"), "m"
                surface, tag = "子公司", "n"
            else:
                yield held
            held = None
        if surface.endswith("家子") and len(surface) > 1:
            held = (surface, tag)
        else:
            yield surface, tag
    if held is not None:
        yield held


def _chinese_predicate(tokens: list[tuple[str, str, int, int]], folded: str) -> int:
    """Where the predicate begins: the first verb, or the first after the last 的 that another verb follows."""
    start = 1
    for i, (surface, _, _, _) in enumerate(tokens):
        if surface == "的" and any(t[0] in _VERBS_ZH for t in tokens[i + 1 :]):
            start = i + 1
        if surface in ("，", ",", ";", "；"):
            break
    for surface, tag, begin, _ in tokens[start:]:
        if surface in _VERBS_ZH or tag == "m":
            return begin
    return len(folded)


def _concept(base: str) -> str:
    return CONCEPT_OF.get(base, base)


def _owners(words: tuple[Word, ...], chinese: bool) -> frozenset[str]:
    return frozenset(w.concept for w in words if w.subject and w.concept in PERSONS)
