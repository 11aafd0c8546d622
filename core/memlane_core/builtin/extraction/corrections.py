# ruff: noqa: E501
"""Corrections inside one conversation: the last value said wins."""

import re
from dataclasses import dataclass

from ..text.numerals import Quantity, QuantityKind, find_quantities
from .memo import Draft, Memo

_ZH_N = "零一二两三四五六七八九十百千万亿半"
_AMOUNT = re.compile(
    rf"(?:(?:USD|EUR|GBP|CNY|RMB|HKD|SGD|JPY|AUD|CAD|CHF|NZD|US\$|HK\$|[$€£¥])\s?)?(?:\d[\d,]*(?:\.\d+)?|[{_ZH_N}]{{1,8}}(?=[元块万亿张个名人家笔台套天年月岁成点号%]|美|欧|英|港|日))\s?(?:[十百千万亿]+|(?:thousand|million|billion|bn|mn|[kKmM])\b)?\s?(?:%|percent|per cent|(?:个)?(?:工作日|小时|分钟|百分点|月|星期)|[元块张名人位家笔台套天年岁成份辆条件户间号周]|美元|美金|欧元|英镑|港币|港元|日元|人民币|dollars?|euros?|pounds?|years?|months?|weeks?|days?|people|employees|units|orders|invoices)?"
    rf"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine|hundred|thousand|million))*(?: (?:percent|years?|months?|weeks?|days?|people|employees|units))?",
    re.I,
)
_MARK_ZH = re.compile(
    r"(?:^|[，,])(?:啊|哦|噢|哎|呃|等等|等一下|等下|抱歉|不好意思|对不起|sorry)*[，,]?(?:我)?(?:刚才|刚刚|之前|前面)?(?:不对|不是|不，|说错了?|讲错了?|记错了?|搞错了?|弄错了?|写错了?|打错了?|口误|更正一下|更正|纠正一下|纠正|准确地?说|应该是|应该)[了啊，,：:。 ]*(?:应该)?(?:是|说)?"
)
_MARK_EN = re.compile(
    r"^(?:oh|ah|oops|wait|hang on|hold on|sorry|apologies|my mistake|actually|no|correction|scratch that|strike that|rather|i mean|i meant|make that|let me correct (?:that|myself)|i got that wrong|i misspoke|that's wrong|not quite|i should say|i said|well)\b[\s,.:;–—-]*",
    re.I,
)
_STRONG_EN = re.compile(
    r"\b(?:actually|sorry|i meant|i mean|correction|scratch that|strike that|make that|my mistake|hang on|hold on|misspoke|got that wrong|wrong (?:number|figure|amount|date)|flipped|typo|i should have said|not .{1,20} but)\b|\bit'?s now\b|\bshould be\b",
    re.I,
)
_PAIRS = (
    re.compile(r"(?:不是|并非)(?P<old>[^，,。]{1,14}?)[，,]?\s*(?:而是|是|应该是|应为)\s*(?P<new>[^，,。]{1,20})"),
    re.compile(r"(?:不是|并非)(?P<old>[^，,。]{1,14})[，,]\s*(?P<new>[^，,。]{1,20})"),
    re.compile(r"(?:是|应该是|应为)(?P<new>[^，,。]{1,20})[，,]\s*(?:而)?不是(?P<old>[^，,。]{1,14})"),
    re.compile(r"把?(?:刚才|之前|原来)?(?:说|报)?的?(?P<old>[^，,。把]{1,14})(?:改成|改为|改为|换成|更正为|调整为|改到)(?P<new>[^，,。]{1,20})"),
    re.compile(r"(?:^|[,;.]\s)(?:(?:it'?s|it is|that'?s|make it|i meant|i mean|should be|we meant)\s)?(?P<new>[\w£$€%.,' -]{1,30}?),? (?:and )?not (?P<old>[\w£$€%.,' -]{1,24}?)(?=$|[.;,])", re.I),
    re.compile(r"\bnot (?P<old>[\w£$€%.,' -]{1,24}?),? (?:but|it'?s|rather|make it|i meant) (?P<new>[\w£$€%.,' -]{1,30}?)(?=$|[.;,])", re.I),
    re.compile(r"\bi said (?P<old>[\w£$€%.,' -]{1,24}?),? (?:but )?(?:i meant|it'?s|it should be|that should be) (?P<new>[\w£$€%.,' -]{1,30}?)(?=$|[.;,])", re.I),
    re.compile(r"\b(?P<new>[\w£$€%.,-]{1,24}?) instead of (?P<old>[\w£$€%.,' -]{1,24}?)(?=$|[.;,])", re.I),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    start: int
    end: int
    quantity: Quantity


def apply_correction(sentence: str, memo: Memo, index: int, *, chinese: bool) -> str | None:
    """Rewrites earlier drafts where the sentence corrects them.

    Returns what of the sentence remains to be read as new ("" = nothing), or None when it corrects nothing.
    """
    if not memo.drafts:
        return None
    for pattern in _PAIRS:
        for match in pattern.finditer(sentence):
            old, new = _bare(match["old"]), _bare(match["new"])
            if old and new and old != new and _replace_words(memo, old, new):
                return _rest(sentence[: match.start()], sentence[match.end() :], chinese)
    marked = _MARK_ZH.search(sentence) if chinese else None
    if chinese and not marked:
        return None
    if not chinese and not _STRONG_EN.search(sentence):
        return None
    before = sentence[: marked.start()] if marked else ""
    after = sentence[marked.end() :] if marked else _strip_marks(sentence)
    if _replace_quantity(memo, after):
        return before
    if chinese and len(after) <= 16 and _replace_like(memo, after.strip("，,。 ")):
        return before
    return None


def amounts(text: str) -> list[_Said]:
    """Numbers as they are written, with what they count."""
    found = []
    for match in _AMOUNT.finditer(text):
        written = match[0].strip()
        quantities = [q for q in find_quantities(written) if not q.weak]
        if len(quantities) == 1 and quantities[0].kind in (QuantityKind.NUMBER, QuantityKind.DATE):
            start = match.start() + (len(match[0]) - len(match[0].lstrip()))
            found.append(_Said(written, start, start + len(written), quantities[0]))
    return found


def _bare(text: str) -> str:
    return text.strip(" ，,。.'\"的").removeprefix("it's ").removeprefix("the ").strip()


def _rest(before: str, after: str, chinese: bool) -> str:
    """Beside a correction only a statement about something else is worth reading; reasons for the slip are not."""
    before = (
        re.sub(r"(?:更正一下|更正|纠正一下|不对|说错了|抱歉|不好意思)[，,。 ]*$", "", before)
        if chinese
        else before
    )
    return "" if chinese or not before.strip(" ,.") else ""


def _strip_marks(sentence: str) -> str:
    previous = None
    while previous != sentence:
        previous, sentence = sentence, _MARK_EN.sub("", sentence)
    return sentence


def _replace_words(memo: Memo, old: str, new: str) -> bool:
    """Replaces the words of an earlier draft, newest first; a number also where it was written otherwise."""
    for draft in reversed(memo.drafts):
        pattern = re.compile(re.escape(old), re.I)
        if pattern.search(draft.content):
            draft.content = pattern.sub(lambda _: _in_case(new), draft.content)
            return True
    wanted = [a for a in amounts(old)]
    if len(wanted) == 1:
        for draft in reversed(memo.drafts):
            for said in amounts(draft.content):
                if said.quantity.value == wanted[0].quantity.value:
                    draft.content = draft.content[: said.start] + new + draft.content[said.end :]
                    return True
    return False


def _in_case(text: str) -> str:
    """ "Euros" opens its sentence with a capital; inside another it has none."""
    return (
        text[0].lower() + text[1:]
        if re.match(r"[A-Z][a-z]+s?$", text) and text.lower() in _CURRENCY_WORDS
        else text
    )


_CURRENCY_WORDS = frozenset("euros dollars pounds francs yen yuan dinars kroner rand".split())


def _replace_quantity(memo: Memo, text: str) -> bool:
    """The number of `text` takes the place of the newest earlier number that counts the same thing."""
    done = False
    for said in amounts(text):
        for draft in reversed(memo.drafts):
            place = _same_kind(draft, said)
            if place is not None:
                draft.content = draft.content[: place.start] + said.text + draft.content[place.end :]
                done = True
                break
    return done


def _same_kind(draft: Draft, said: _Said) -> _Said | None:
    for place in reversed(amounts(draft.content)):
        if place.quantity.kind is not said.quantity.kind:
            continue
        a, b = place.quantity.unit, said.quantity.unit
        if a == b or (not a or not b or {a, b} <= {"", "CNY", "#"}):
            return place
    return None


def _replace_like(memo: Memo, text: str) -> bool:
    """A lone name takes the place of the last word of its class (place for place, person for person)."""
    import rjieba

    tagged = [(w, t) for w, t in rjieba.tag(text) if t[0] == "n"]
    if len(tagged) != 1 or len(tagged[0][0]) < len(text) - 2:
        return False
    word, tag = tagged[0]
    for draft in reversed(memo.drafts):
        for other, other_tag in reversed(list(rjieba.tag(draft.content))):
            if other_tag == tag and other != word and tag in ("ns", "nr", "nt", "nz"):
                draft.content = draft.content.replace(other, word)
                return True
    return False
