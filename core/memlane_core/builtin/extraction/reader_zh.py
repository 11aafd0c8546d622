# ruff: noqa: E501
"""Chinese messages to drafts of facts."""

import re
from dataclasses import dataclass

import rjieba

from ..text.normalise import to_simplified
from ..text.numerals import QuantityKind, find_quantities
from ..text.secrets import MASK, redact, scrub_fact
from . import lexicon_zh as words
from . import when_zh
from .answers_zh import asked_about, complete, is_nominal
from .corrections import apply_correction
from .memo import Draft, Memo, Person, Turn
from .persons_zh import company_name, note_firm, note_kin, pronouns, rewrite
from .proposals import advice_zh, option
from .segments import Sentence, clauses_zh, sentences
from .validity import expiry

_OWN_START = re.compile(r"^(?:用户|本行|该|这|那|[\w·&]{2,20}(?:公司|厂))")
_SELF_NOUN = re.compile(
    r"^(?:公司|厂里|厂房|家里|家裡|名下|手头|手里|手上|账上|帳上|店里|单位|车间|仓库|我司|诊所|工厂|门店)"
)
_OWNER_STARTS = re.compile(r"^(?:我|俺|咱|本人|公司|他|她|它|我司|家里|自己)")
_SPLIT_VERB = re.compile(
    r"^(?:目前|现在|平时|一般|今年|去年|最近|每月|每年|还|也|又|另外)?(?:有(?!点)|没有|没|想|打算|计划|准备|需要|喜欢|不喜欢|希望|偏好|住|做|在(?!于)|开了|买了|欠|已婚|离异|带着?|担心|怕|不想|不接受|能接受|愿意|决定|管|要)[^，]{3,}"
)
# "截至6月30日，…": no statement yet.
_ADVERBIAL = re.compile(
    r"^(?:截至|截止到?|直到|到|自从?|从(?![没不来])|在|为了|因为|由于|关于|至于|对于|除了|除|根据|按照?|[1-9]\d?月|\d{4}年)[^，]{1,20}(?<![要有是做想办付买])$"
)
_CONNECTED = re.compile(
    r"^(?:所以|因为|因为|因此|就|才|只是|但|但是|不过|而且|以免|免得|否则|不然|主要|比如|包括|其中|结果|毕竟|反正|一共|总共|大概|大约|差不多|每|一年|一天|一个月|以后|之后|之前|那边|这边|那里|这样|剩下|其余|其他|另一|另|一个|分别|平均|再|然后|都|也|还)"
)
_TIME_LEAD = re.compile(
    r"^(?:目前|现在|今年|明年|去年|下个?月|上个?月|本月|这个月|每[年月周天季]|每个月|平时|以后|之前|以前|最近|刚刚?|今天|明天|昨天|这周|下周|上周|(?:截至|截止到?|直到|到)20\d\d[^，]{2,10}，|大概|大约|一般|通常|初期|\d{4}年(?:\d{1,2}月)?(?:[底初中末])?|20\d\d-\d\d-\d\d(?:至20\d\d-\d\d-\d\d)?(?: \d\d:\d\d)?)"
)


@dataclass(slots=True)
class _Unit:
    """Clauses of one sentence that make one fact."""

    text: str
    answered: bool = False
    """It was completed from a question."""
    topical: bool = False
    """It names its topic ("期限：三年") and needs no subject."""
    leans: bool = False
    """It has no topic and goes on with what was said before."""


def read(turn: Turn, memo: Memo) -> None:
    """Adds the facts of one message to the memo, completes and corrects earlier ones."""
    text = redact(turn.text, memo.policy).text
    pending = turn.question
    carried = ""
    for sentence in sentences(text):
        if sentence.pasted or words.INJECTION.search(sentence.text):
            memo.reject("", "它出自转贴的文字，不是客户自己的话")
            continue
        cleaned = _scrub(sentence, memo)
        if cleaned is None:
            continue
        pending, carried = _sentence(cleaned, turn, memo, pending, carried)


def _scrub(sentence: Sentence, memo: Memo) -> Sentence | None:
    if MASK not in sentence.text:
        return sentence
    rest = scrub_fact(sentence.text, memo.policy).text
    rewrite(sentence.text, memo)  # whose card it was: "她" may follow
    memo.reject(sentence.text, "含有密码、证件号等机密，已去除")
    return Sentence(rest, sentence.asks and sentence.text.endswith(rest)) if rest else None


def _sentence(sentence: Sentence, turn: Turn, memo: Memo, question: str, carried: str) -> tuple[str, str]:
    """Reads one sentence. Returns the question that is still open and the subject that a next clause may carry on."""
    name = company_name(sentence.text)
    clauses = clauses_zh(sentence.text)
    corrected = apply_correction(sentence.text, memo, turn.index, chinese=True)
    if corrected is not None:
        clauses = clauses_zh(corrected)
    note_firm(sentence.text, memo)
    units: list[_Unit] = []
    open_unit = False
    hypothetical = False
    for position, raw in enumerate(clauses):
        clause = words.LEAD.sub("", raw).strip(" ，,～~")
        if position == 0 and question:
            answered = complete(
                question,
                raw.strip() if words.NO_LEAD.match(raw) or words.YES_LEAD.match(raw) else clause,
                memo,
            )
            if answered is not None:
                question = ""
                if answered.text:
                    units.append(_Unit(answered.text, True, answered.topical, answered.leans))
                    open_unit = True
                continue
            carried = carried or asked_about(question, memo)
            if not carried and not re.search(r"[您你贵]", question):
                carried = memo.subject
        accepted = _acceptance(clause, clauses[position + 1 :], turn, memo)
        if accepted is not None:
            if accepted:
                units.append(_Unit(accepted))
                open_unit = not accepted.startswith("用户同意：")
            else:
                open_unit = False
                clauses[position + 1 :] = [
                    f"用户决定{c}" if i == 0 and not c.startswith("用户") else c
                    for i, c in enumerate(clauses[position + 1 :])
                ]
            question = ""
            continue
        if not clause or words.FILLER.match(clause):
            continue
        if words.HYPOTHETICAL.search(clause):
            hypothetical = True
            continue
        last = position == len(clauses) - 1
        if hypothetical or _asks(clause, sentence.asks and last):
            _note_people(clause, memo)
            open_unit = False
            continue
        decided = (words.DECIDE_IN_ANSWER if turn.answer_to else words.DECIDE).sub("", clause)
        if decided != clause:
            clause = f"用户决定{decided}"
        if turn.answer_to and (words.OPINION.match(clause) or words.LATER.match(clause)):
            continue
        if turn.answer_to and words.CHOICE.match(clause):
            explained = option(clause, turn)
            clause = f"用户选{words.CHOICE.sub('', clause).rstrip('吧了')}" + (
                f"（{explained}）" if explained else ""
            )
        if not question and _echoes(clause, turn):
            continue
        if _request(clause) or _chatter(clause, bool(units)):
            _note_people(clause, memo)
            open_unit = False
            continue
        if (
            open_unit
            and units
            and (_ADVERBIAL.match(units[-1].text) or not _starts_new(clause, units[-1].text))
        ):
            units[-1].text += "，" + clause
        else:
            telling = bool(memo.drafts or units or question) or any(
                _worth(c, telling=False) for c in clauses[position + 1 :]
            )
            if not _worth(clause, telling=telling):
                open_unit = False
                continue
            units.append(_Unit(clause))
            open_unit = True
        question = "" if _content(clause) else question
    for unit in units:
        carried = _store(unit, turn, memo, carried)
    if name:
        memo.company = name
        memo.business = True
    return question, carried


def _acceptance(clause: str, following: list[str], turn: Turn, memo: Memo) -> str | None:
    """None = no acceptance here; "" = accepted and the next clauses say what; otherwise the fact itself."""
    if not turn.answer_to:
        return None
    if words.YES_LEAD.match(clause) and following and words.DO_IT.match(following[0]) and advice_zh(turn):
        del following[0]
        return f"用户同意：{advice_zh(turn)}"
    match = words.ACCEPT.search(clause)
    if not match or _asks(clause, False):
        return None
    rest = (clause[: match.start()] + clause[match.end() :]).strip(" ，。吧了的")
    if _content(rest):
        return f"用户同意{rest}" if len(rest) > 3 else None
    if any(_content(words.LEAD.sub("", c)) and not _asks(c, False) and not _request(c) for c in following):
        return ""
    proposal = advice_zh(turn)
    return f"用户同意：{proposal}" if proposal else None


def _asks(clause: str, marked: bool) -> bool:
    """A question, whether or not it carries the mark."""
    clause = to_simplified(clause)
    if marked:
        return True
    return words.QUESTION_WORDS.search(clause) is not None and not words.NOT_QUESTION.search(clause)


def _request(clause: str) -> bool:
    """Asks the assistant for something now. Standing instructions ("以后发短信") are preferences, not requests."""
    clause = to_simplified(clause)
    if not words.REQUEST.match(clause):
        return False
    return not words.STANDING.search(clause) or words.QUESTION_WORDS.search(clause) is not None


def _echoes(clause: str, turn: Turn) -> bool:
    """Only repeats the assistant's words, to comment on them."""
    if len(clause) > 8 or words.SELF.search(clause) or words.MENTAL.search(clause):
        return False
    letters = re.sub(r"\d", "", clause)
    grams = {letters[i : i + 2] for i in range(len(letters) - 1)}
    return bool(grams) and sum(g in turn.answer_to for g in grams) / len(grams) >= 0.6 and is_nominal(clause)


def _chatter(clause: str, continuing: bool) -> bool:
    """Talk about the market, the weather, the world: nothing about this customer."""
    clause = to_simplified(clause)
    if words.SMALL_TALK.search(clause) and not words.BUSINESS.search(clause):
        return True
    if continuing or words.SELF.search(clause) or words.MENTAL.search(clause):
        return False
    return words.MARKET.search(clause) is not None


def _content(clause: str) -> bool:
    return bool(clause) and not words.FILLER.match(clause)


def _worth(clause: str, *, telling: bool) -> bool:
    """Whether a clause that opens a unit says something about the customer's world."""
    clause = to_simplified(clause)
    if len(clause) < 2:
        return False
    if (
        words.SELF.search(clause)
        or words.PRONOUN.search(clause)
        or words.PERSON.search(clause)
        or words.BUSINESS.search(clause)
    ):
        return len(clause) > 2 or bool(re.search(r"\d", clause))
    if words.MENTAL.search(clause) or words.STANDING.search(clause):
        return len(clause) > 3
    if any(q.kind is not QuantityKind.CODE and not q.weak for q in find_quantities(clause)):
        return True
    if re.search(r"[你您]", clause):
        return False
    # "有", "是", "在" open small talk as well: they tell something once the customer has begun to tell.
    return telling and words.STATE.search(clause) is not None and len(clause) > 2


def _starts_new(clause: str, unit: str) -> bool:
    """The clause stands by itself rather than continuing the unit."""
    if _CONNECTED.match(clause) or len(clause) <= 4:
        return False
    if len(unit) > 60:
        return True
    if _OWNER_STARTS.match(clause):
        return not clause.startswith("自己")
    person = words.PERSON.match(clause)
    if person and (person["owner"] or person.end("noun") < len(clause)):
        return True
    return _SPLIT_VERB.match(clause) is not None and words.STATE.search(unit) is not None


def _note_people(clause: str, memo: Memo) -> None:
    """A request names people too ("帮我妈看看…"): who "她" is afterwards."""
    before = len(memo.people)
    rewrite(re.sub(r"^.{0,4}?(?:帮|替|给)(?=我)", "", clause), memo)
    if len(memo.people) == before:
        note_kin(clause, memo)


def _store(unit: _Unit, turn: Turn, memo: Memo, carried: str) -> str:
    """Makes a draft of a unit; returns the subject that a next clause without one continues."""
    dated = when_zh.resolve(unit.text, turn.said.date())
    if (unit.leans or _elliptic(dated.text, answered=unit.answered)) and _join(dated.text, turn, memo):
        return carried
    if unit.topical:
        subject, content = carried, pronouns(rewrite(dated.text, memo), memo)
    else:
        subject, content = _with_subject(dated.text, memo, carried)
    memo.subject = subject
    memo.drafts.append(
        Draft(
            content.strip("，, "),
            turn.index,
            True,
            expiry(content, dated.spans, turn.said),
            retraction=words.RETRACTION.search(unit.text) is not None,
            answered=unit.answered or content.startswith(("用户同意", "用户决定", "用户选")),
        )
    )
    return subject


def _elliptic(text: str, *, answered: bool) -> bool:
    """A phrase that says nothing by itself: a bare amount or list, or an attribute of what was spoken of before."""
    if not is_nominal(text):
        return False
    if answered:
        return words.BARE_ATTRIBUTE.match(text) is not None
    named = re.sub(
        r"大概|大约|差不多|左右|以内|以上|上下|不到|超过|最多|最少|至少|每[年月周天季次个]?|一共|总共|平均|约|共",
        "",
        text,
    )
    numbers = [q.text for q in find_quantities(named)]
    for number in numbers:
        named = named.replace(number, "")
    return not numbers or len(re.findall(r"[\u4e00-\u9fff]", named)) < 2


def _join(text: str, turn: Turn, memo: Memo) -> bool:
    """The phrase goes on with what was said just before."""
    last = memo.last()
    if (
        last is None
        or not last.chinese
        or last.source < turn.index - 2
        or len(last.content) + len(text) > 120
    ):
        return False
    if words.ATTRIBUTE.match(text):
        return False
    last.content += "，" + text
    return True


def _with_subject(unit: str, memo: Memo, carried: str) -> tuple[str, str]:
    """The unit with its subject spelt out, and that subject."""
    had_pronoun = re.match(r"(?:他们|她们|它们|他|她|它|对方)", unit)
    text = pronouns(rewrite(unit, memo), memo)
    for person in reversed(memo.people):
        if text.startswith(person.label):
            called = re.match(
                r"叫(?:做)?([\u4e00-\u9fff]{2,4}|[A-Z][\w .&'’-]+?)(?=[，。；、]|$|今年|在|是|也)",
                text[len(person.label) :],
            )
            if called and not person.name:
                memo.rename(person, Person(person.label + called[1], person.gender, person.plural, called[1]))
                return person.label + called[1], text
            return person.label, text
    if text.startswith("用户") or (memo.company and text.startswith(memo.company)):
        return "用户", text
    if had_pronoun or re.match(r"(?:其余|其他|另外?一?个)", text):
        return "", text
    lead = _TIME_LEAD.match(text)
    rest = text[lead.end() :] if lead else text
    if (
        rest.startswith("用户")
        or any(rest.startswith(p.label) for p in memo.people)
        or re.search(r"用户(?!的)", rest)
    ):
        if (
            not rest.startswith("用户")
            and carried not in ("", "用户")
            and not any(rest.startswith(p.label) for p in memo.people)
        ):
            return carried, carried + text
        return "用户" if rest.startswith("用户") else "", text
    if words.ATTRIBUTE.match(text) or _SELF_NOUN.match(text):
        return "用户", f"用户的{text}" if not re.match(
            r"(?:家里|名下|手头|手里|手上|账上|帳上)", text
        ) else f"用户{text}"
    if _own_subject(rest):
        return "", text
    subject = carried or "用户"
    if subject != "用户" and subject in text:
        subject = "用户"
    return subject, subject + text


def _own_subject(text: str) -> bool:
    """The clause opens with a noun that can be its subject."""
    for _, (word, tag) in zip(range(4), rjieba.tag(text), strict=False):
        if tag in ("d", "t", "c", "zg", "u", "ad") and word not in ("客户",):
            continue
        if tag[0] in ("n", "s", "f", "l", "i", "j") or tag in ("eng", "r", "vn", "b", "an"):
            return word not in ("自己", "有点", "离异", "单身", "已婚", "未婚", "丧偶", "腿脚")
        if tag == "m" or tag == "mq" or tag == "q":
            return False
        return False
    return False
