# ruff: noqa: E501
"""Corrections inside one conversation: the last value said wins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import rjieba

from ..text.numerals import Quantity, QuantityKind, find_quantities
from .lexicon_en import NAME
from .memo import Draft, Memo

_ZH_N = "零一二两三四五六七八九十百千万亿半"
_MONTH = "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?"
_CURRENCY = "USD|EUR|GBP|CNY|RMB|HKD|SGD|JPY|AUD|CAD|CHF|NZD|US\\$|HK\\$|[$€£¥]"
_AMOUNT = re.compile(
    rf"\bthe \d{{1,2}}(?:st|nd|rd|th)\b|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})\b(?: \d{{4}})?|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b|\d{{1,2}}月\d{{1,2}}[日号號]|20\d\d-\d\d-\d\d"
    rf"|(?:(?:{_CURRENCY})\s?)?(?:\d[\d,]*(?:\.\d+)?|[{_ZH_N}]{{1,8}}(?=[元块万亿张个名人家笔台套天年月岁成点号%]|美|欧|英|港|日))\s?(?:[十百千万亿]+|(?:thousand|million|billion|grand|bn|mn|[kKmM])\b)?\s?(?:%|percent|per cent|(?:个)?(?:工作日|小时|分钟|百分点|月|星期)|[元块张名人位家笔台套天年月岁成份辆条件户间号周头]|美元|美金|欧元|英镑|港币|港元|日元|人民币|dollars?|euros?|pounds?|years?|months?|weeks?|days?|people|employees|staff|units|orders|invoices)?"
    rf"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine|hundred|thousand|million))*(?: (?:percent|years?|months?|weeks?|days?|people|employees|staff|units))?",
    re.I,
)
_MARK_ZH = re.compile(
    r"(?:^|[，,])(?:[啊哦噢哎呃唉诶嗯呀]|等等|等一下|等下|抱歉|不好意思|对不起|sorry)*[，,]?(?:我)?(?:刚才|刚刚|之前|前面)?(?:名?字|名字|数字|金额|日期|时间|单位|人名|地址)?"
    r"(?:不对|不是|不，|[说讲记搞弄写打看报算][错岔混反串]了?|[\u4e00-\u9fff]{0,4}?(?:[说讲记搞弄写打看报算][错岔混反串]了?|[报说写看算记打]成)|說錯了?|口误|更正一下|更正|纠正一下|纠正|准确地?说|应该是|应该|实际上?是|其实是|改口)[了啊哈，,：:。 ]*(?:应该)?(?:是|说)?"
)
_MARK_RATHER_ZH = re.compile(r"(?:^|[，,])[^，,]{1,4}(?:应该|应|实际上?|其实)(?:是|为)")
_MARK_EN = re.compile(
    r"(?:^|[,;]\s|\s[–—-]\s)(?:oh,? |oops,? |ah,? |no,? |wait,? |but )*(?:actually|wait|sorry|apologies|my mistake|my bad|i mean(?:t)?|correction|scratch that|strike that|make (?:that|it)|hang on|hold on|i misspoke|i misread(?: it| that)?|i mixed (?:it|them|that|those) up|i got (?:it|that|them) wrong|let me correct (?:that|myself)|i got that wrong|that(?:'s| is| was) (?:wrong|not right|a typo|the old one|a slip|a mistake)|i should have said|no,? (?=(?:it'?s|make|that'?s)\b)|or rather|rather)\b[\s,.:;–—-]*|\bactually[.!]?$",
    re.I,
)
_PAIRS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"(?:不是|并非)(?P<old>[^，,。]{1,14}?)[，,]?\s*(?:而是|是|应该是|应为)\s*(?P<new>[^，,。]{1,20})",
        r"(?:不是|并非)(?P<old>[^，,。]{1,14})[，,]\s*(?P<new>[^，,。]{1,20})",
        r"(?:是|应该是|应为)(?P<new>[^，,。]{1,20})[，,]\s*(?:而)?不是(?P<old>[^，,。]{1,14})",
        r"(?:把|将)?(?:刚才|之前|原来)?(?:说|报)?的?(?P<old>[^，,。把将]{1,14})(?:改成|改为|改為|换成|更正为|调整为|改到)(?P<new>[^，,。]{1,20})",
        r"(?:^|[,;.]\s)(?:(?:it'?s|it is|that'?s|make it|i meant|i mean|should be|we meant)\s)?(?P<new>[\w£$€%.,' -]{1,30}?),? (?:and )?not (?P<old>[\w£$€%.,' -]{1,24}?)(?=$|[.;,])",
        r"\bnot (?P<old>[\w£$€%.,' -]{1,24}?),? (?:but|it'?s|rather|make it|i meant) (?P<new>[\w£$€%.,' -]{1,30}?)(?=$|[.;,])",
        r"\bi keep saying (?P<old>[\w£$€%.,' -]{1,24}?),? (?:but )?i mean (?P<new>[\w£$€%.,' -]{1,30}?)(?=$|[.;,!])",
        r"\bi said (?P<old>[\w£$€%.,' -]{1,24}?),? (?:but )?(?:i meant|it'?s|it should be|that should be) (?P<new>[\w£$€%.,' -]{1,30}?)(?=$|[.;,])",
        r"\b(?P<new>[\w£$€%.,-]{1,24}?) instead of (?P<old>[\w£$€%.,' -]{1,24}?)(?=$|[.;,])",
        r"\bchange (?:the |that |it )?(?:from )?(?P<old>[\w£$€%.,' -]{1,24}?) to (?P<new>[\w£$€%.,' -]{1,30}?)(?=$|[.;,])",
    )
)
_ADDS = re.compile(r"^(?:另外|还有|而且|再加|also\b|and\b|plus\b)", re.I)
_CURRENCY_WORDS = frozenset("euros dollars pounds francs yen yuan dinars kroner rand".split())


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    start: int
    end: int
    quantity: Quantity


def apply_correction(sentence: str, memo: Memo, index: int, *, chinese: bool) -> str | None:
    """Rewrites what the sentence corrects: earlier drafts, or its own first half.

    Returns what of the sentence remains to be read as new ("" = nothing), or None when it corrects nothing. A sentence
    that only announces a slip makes the next one of the same message (`index`) a correction.
    """
    announced = memo.correcting == index
    memo.correcting = None
    rest = _pair(sentence, memo)
    if rest is not None:
        return rest
    marked = (_MARK_ZH if chinese else _MARK_EN).search(sentence)
    if chinese and not marked and amounts(sentence):
        marked = _MARK_RATHER_ZH.search(sentence)
    if not marked and not announced:
        return None
    before = sentence[: marked.start()] if marked else ""
    after = sentence[marked.end() :].strip(" ，,。.") if marked else sentence
    if not after and before:
        before, after = "", before
    own = _in_sentence(before, after)
    if own is not None:
        return own
    old = _replace_quantity(memo, after, sentence)
    if old is not None:
        return (
            ""
            if re.sub(r"\W", "", before).endswith(re.sub(r"\W", "", old)) and len(before) <= len(old) + 4
            else before
        )
    if _replace_name(memo, after, chinese=chinese):
        return before
    if len(after) <= 2 or (not chinese and not amounts(after) and len(after.split()) <= 2):
        memo.correcting = index
        return before
    return None


def amounts(text: str) -> list[_Said]:
    """Numbers and dates as they are written, with what they count."""
    found = []
    for match in _AMOUNT.finditer(text):
        written = match[0].strip(" ,")
        quantities = [q for q in find_quantities(written) if not q.weak]
        if len(quantities) == 1 and quantities[0].kind in (QuantityKind.NUMBER, QuantityKind.DATE):
            start = match.start() + (len(match[0]) - len(match[0].lstrip()))
            found.append(_Said(written, start, start + len(written), quantities[0]))
    return found


def _pair(sentence: str, memo: Memo) -> str | None:
    """ "B, not A": both values are said."""
    for pattern in _PAIRS:
        for match in pattern.finditer(sentence):
            old, new = _bare(match["old"]), _bare(match["new"])
            if not old or not new or old == new:
                continue
            before, after = sentence[: match.start()], sentence[match.end() :].strip(" ，,。.")
            if old in before:
                return before.replace(old, new)
            if _replace_words(memo, old, new):
                kept = re.split(r"[，,](?!\d)", before)[:-1]
                kept += [after] if _ADDS.match(after) else []
                return "，".join(kept) if re.search(r"[\u4e00-\u9fff]", sentence) else ", ".join(kept)
    return None


def _bare(text: str) -> str:
    text = text.strip(" ，,。.'\"的吧")
    return re.sub(r"^(?:it'?s|the|that'?s|i meant) ", "", text, flags=re.I)


def _replace_words(memo: Memo, old: str, new: str) -> bool:
    """Replaces the words of an earlier draft, newest first; a number also where it was written otherwise."""
    pattern = re.compile(re.escape(old), re.I)
    for draft in reversed(memo.drafts):
        if pattern.search(draft.content):
            draft.content = pattern.sub(lambda _: _in_case(new), draft.content)
            return True
    wanted = amounts(old)
    if len(wanted) != 1:
        return False
    for draft in reversed(memo.drafts):
        for said in amounts(draft.content):
            if (
                said.quantity.value == wanted[0].quantity.value
                and said.quantity.kind is wanted[0].quantity.kind
            ):
                draft.content = draft.content[: said.start] + new + draft.content[said.end :]
                return True
    return False


def _in_case(text: str) -> str:
    """ "Euros" opens its sentence with a capital; inside another it has none."""
    return text[0].lower() + text[1:] if text.lower() in _CURRENCY_WORDS else text


def _in_sentence(before: str, after: str) -> str | None:
    """ "200k, sorry, 250k": the slip stands in the same sentence."""
    for said in amounts(after)[:1]:
        for place in reversed(amounts(before)):
            if _counts_the_same(place.quantity, said.quantity):
                return before[: place.start] + said.text + before[place.end :]
    return None


def _replace_quantity(memo: Memo, text: str, sentence: str) -> str | None:
    """The number of `text` takes the place of an earlier one that counts the same thing. Returns the old one."""
    old = None
    if re.search(r"\b(?:also|too|another|as well)\b|也|还有|另外", text):
        return None
    clauses = [c for c in re.split(r"，|[,;；](?!\d)", text) if amounts(c)]
    for said in amounts(clauses[0]) if clauses else []:
        for draft, place in _places(memo, said, sentence, clauses[0]):
            old = old or place.text
            draft.content = (
                draft.content[: place.start]
                + _in_place_of(place.text, said.text)
                + draft.content[place.end :]
            )
            break
    return old


def _in_place_of(old: str, new: str) -> str:
    """The new value with what only the old one said: the month of "4 November", the noun of "12 employees"."""
    day = re.fullmatch(r"the (?P<d>\d{1,2})(?:st|nd|rd|th)|(?P<z>\d{1,2})[日号號]", new)
    month = re.fullmatch(
        r"(?P<a>(?:20\d\d年)?\d{1,2}月)\d{1,2}(?P<b>[日号號]?)|\d{1,2}(?P<c>(?:st|nd|rd|th)? [A-Za-z]+.*)|(?P<e>[A-Za-z]+ )\d{1,2}",
        old,
    )
    if day and month:
        number = day["d"] or day["z"]
        if month["c"]:
            return number + re.sub(r"^(?:st|nd|rd|th)", "", month["c"])
        return f"{month['a'] or month['e']}{number}{month['b'] or ''}"
    if re.fullmatch(r"[\d,.]+", new):
        noun = re.fullmatch(r"[\d,.]+(?P<noun>\s?[A-Za-z]{3,}|[张个名人位家笔台套辆条件户间头])", old)
        return new + noun["noun"] if noun else new
    return new


def _places(memo: Memo, said: _Said, text: str, clause: str) -> Iterator[tuple[Draft, _Said]]:
    """Where the same thing is counted: facts that share a word with the correction first, then the newest."""
    found = []
    for age, draft in enumerate(reversed(memo.drafts)):
        same = [p for p in amounts(draft.content) if _counts_the_same(p.quantity, said.quantity)]
        if same:
            # Of several numbers the one whose own words are named, else the last.
            named = [p for p in same if _shares_word(draft.content[max(0, p.start - 8) : p.end + 4], text)]
            found.append((not _shares_word(draft.content, text), age, draft, (named or same)[-1]))
    found.sort(key=lambda f: f[:2])
    chinese = re.search(r"[\u4e00-\u9fff]", clause) is not None
    short = len(clause) <= 16 if chinese else len(clause.split()) <= 6
    for strange, _, draft, place in found:
        if not strange or short:
            yield draft, place


def _counts_the_same(a: Quantity, b: Quantity) -> bool:
    if a.kind is not b.kind:
        return False
    return a.unit == b.unit or (
        _loose(a.unit) and _loose(b.unit) and (not a.unit or not b.unit or "#" in (a.unit, b.unit))
    )


def _loose(unit: str) -> bool:
    """A number of this unit is often said without it; spans of time and shares are not."""
    return unit in ("", "#", "age") or unit.isupper()


def _shares_word(a: str, b: str) -> bool:
    return bool(_words(a) & _words(b))


def _words(text: str) -> set[str]:
    letters = re.findall(r"[\u4e00-\u9fff]+", re.sub(rf"[{_ZH_N}用户]", " ", text))
    grams = {run[i : i + 2] for run in letters for i in range(len(run) - 1)}
    return grams | {w.lower() for w in re.findall(r"[A-Za-z]{4,}", text)} - {
        "user",
        "actually",
        "that",
        "with",
        "from",
    }


def _replace_name(memo: Memo, after: str, *, chinese: bool) -> bool:
    """A lone name takes the place of the last one of its class (place for place, person for person)."""
    first = re.split(r"[，,。;]", after)[0]
    if not chinese and _replace_weekday(memo, after):
        return True
    if not chinese:
        return _replace_english_name(
            memo, re.sub(r"^(?:it'?s|it is|that'?s|i meant|make it|in|the) ", "", first, flags=re.I)
        )
    first = re.sub(r"^(?:应该|就)?是|(?:的?那[家个边位]|才对|吧|啊|的)+$", "", first)
    tagged = [(w, t) for w, t in rjieba.tag(first) if t[0] == "n"]
    if 2 <= len(first) <= 6 and _replace_similar(memo, first):
        return True
    if len(tagged) != 1 or len(tagged[0][0]) < len(first) - 2:
        return False
    word, tag = tagged[0]
    if _replace_similar(memo, word):
        return True
    for draft in reversed(memo.drafts):
        for other, other_tag in reversed(list(rjieba.tag(draft.content))):
            if other_tag == tag and other != word and tag in ("ns", "nr", "nt", "nz"):
                draft.content = draft.content.replace(other, word)
                return True
    return False


def _replace_similar(memo: Memo, word: str) -> bool:
    """A slip of the pen: the same word with one character different."""
    for draft in reversed(memo.drafts):
        for start in range(len(draft.content) - len(word) + 1):
            other = draft.content[start : start + len(word)]
            same = sum(a == b for a, b in zip(word, other, strict=True))
            if len(word) >= 3 and same == len(word) - 1 and re.fullmatch(r"[\u4e00-\u9fff]+", other):
                draft.content = draft.content[:start] + word + draft.content[start + len(word) :]
                return True
    return False


def strip_marks(sentence: str) -> str:
    """The English sentence without the words that announce a correction."""
    match = _MARK_EN.match(sentence)
    return sentence[match.end() :] if match else sentence


_WEEKDAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b")


def _replace_weekday(memo: Memo, said: str) -> bool:
    day = _WEEKDAY.search(said)
    for draft in reversed(memo.drafts) if day else ():
        if day and _WEEKDAY.search(draft.content) and not draft.chinese:
            draft.content = _WEEKDAY.sub(day[0], draft.content)
            return True
    return False


def _replace_english_name(memo: Memo, said: str) -> bool:
    match = re.fullmatch(rf"(?P<name>{NAME})(?: (?:now|instead|though))?", said.strip(" ."))
    if not match:
        return False
    for draft in reversed(memo.drafts[-2:]):
        names = [m for m in re.finditer(NAME, draft.content) if not m[0].startswith("User") and m.start() > 0]
        if names and not draft.chinese:
            last = names[-1]
            draft.content = draft.content[: last.start()] + match["name"] + draft.content[last.end() :]
            return True
    return False
