"""Chinese messages to drafts of facts."""

import re
from dataclasses import dataclass

from ..text.numerals import find_quantities
from ..text.secrets import MASK, redact, scrub_fact
from . import lexicon_zh as words
from . import when_zh
from .answers_zh import asked_about, complete, is_nominal
from .corrections import apply_correction
from .judge_zh import asks, chatter, echoes, has_content, requests, starts_new, worth
from .memo import Draft, Memo, Turn
from .persons_zh import company_name, note_firm, note_kin, pronouns, rewrite
from .proposals import advice_zh, option
from .segments import Sentence, clauses_zh, sentences
from .subject_zh import with_subject
from .validity import expiry

# "截至6月30日，…": no statement yet.
_ADVERBIAL = re.compile(
    r"^(?:截至|截止到?|直到|到|自从?|从(?![没不来])|在|为了|因为|由于|关于|至于|对于|除了|除|根据|按照?|[1-9]\d?月|\d{4}年)[^，]{1,20}(?<![要有是做想办付买])$"
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
        reader = _SentenceReader(cleaned, turn, memo, pending, carried)
        reader.read()
        pending, carried = reader.question, reader.carried


def _scrub(sentence: Sentence, memo: Memo) -> Sentence | None:
    if MASK not in sentence.text:
        return sentence
    rest = scrub_fact(sentence.text, memo.policy).text
    rewrite(sentence.text, memo)  # whose card it was: "她" may follow
    memo.reject(sentence.text, "含有密码、证件号等机密，已去除")
    return Sentence(rest, sentence.asks and sentence.text.endswith(rest)) if rest else None


class _SentenceReader:
    """Reads one sentence, clause by clause, into units."""

    def __init__(self, sentence: Sentence, turn: Turn, memo: Memo, question: str, carried: str) -> None:
        corrected = apply_correction(sentence.text, memo, turn.index, chinese=True)
        self._clauses = clauses_zh(sentence.text if corrected is None else corrected)
        self._sentence = sentence
        self._turn = turn
        self._memo = memo
        self._units: list[_Unit] = []
        self._open = False
        """Whether the next clause may go on with the last unit."""
        self.question = question
        """The assistant's question that is still open, "" if none."""
        self.carried = carried
        """The subject that a clause without one continues."""

    def read(self) -> None:
        name = company_name(self._sentence.text)
        note_firm(self._sentence.text, self._memo)
        if self.question and self._clauses and self._answer(self._clauses[0]):
            del self._clauses[0]
        hypothetical = False
        while self._clauses:
            clause = words.LEAD.sub("", self._clauses.pop(0)).strip(" ，,～~")
            if self._accept(clause) or not has_content(clause):
                continue
            hypothetical = hypothetical or words.HYPOTHETICAL.search(clause) is not None
            if hypothetical or asks(clause, self._sentence.asks and not self._clauses):
                self._leave(clause)
                continue
            self._clause(clause)
        for unit in self._units:
            self.carried = _store(unit, self._turn, self._memo, self.carried)
        if name:
            self._memo.company = name
            self._memo.business = True

    def _answer(self, raw: str) -> bool:
        """Completes the first clause from the open question. False when it stands by itself."""
        bare = raw.strip()
        if not (words.NO_LEAD.match(bare) or words.YES_LEAD.match(bare)):
            bare = words.LEAD.sub("", raw).strip(" ，,～~")
        done = complete(self.question, bare, self._memo)
        if done is None:
            self.carried = self.carried or asked_about(self.question, self._memo)
            if not self.carried and not re.search(r"[您你贵]", self.question):
                self.carried = self._memo.subject
            return False
        self.question = ""
        if done.text:
            self._units.append(_Unit(done.text, True, done.topical, done.leans))
            self._open = True
        return True

    def _accept(self, clause: str) -> bool:
        """Whether the clause accepts what was proposed; then the fact is what follows, or the proposal itself."""
        fact = _acceptance(clause, self._clauses, self._turn)
        if fact is None:
            return False
        if fact:
            self._units.append(_Unit(fact))
        elif not self._clauses[0].startswith("用户"):
            self._clauses[0] = f"用户决定{self._clauses[0]}"
        self._open = bool(fact) and not fact.startswith("用户同意：")
        self.question = ""
        return True

    def _clause(self, clause: str) -> None:
        if self._turn.answer_to:
            if words.OPINION.match(clause) or words.LATER.match(clause) or words.MULLS.match(clause):
                return
            clause = self._choice(words.DECIDE_IN_ANSWER.sub("用户决定", clause))
        else:
            clause = words.DECIDE.sub("用户决定", clause)
        if not self.question and echoes(clause, self._turn):
            return
        if requests(clause) or chatter(clause, continuing=bool(self._units)):
            self._leave(clause)
            return
        last = self._units[-1] if self._units and self._open else None
        if last is not None and (_ADVERBIAL.match(last.text) or not starts_new(clause, last.text)):
            last.text += "，" + clause
        elif worth(clause, telling=self._telling()):
            self._units.append(_Unit(clause))
            self._open = True
        else:
            self._open = False
            return
        self.question = ""

    def _choice(self, clause: str) -> str:
        """ "选方案二" with what the assistant had called so."""
        if not words.CHOICE.match(clause):
            return clause
        explained = option(clause, self._turn)
        chosen = words.CHOICE.sub("", clause).rstrip("吧了")
        return f"用户选{chosen}（{explained}）" if explained else f"用户选{chosen}"

    def _telling(self) -> bool:
        """The customer is telling about himself: before, around, or in answer to a question."""
        return bool(self._memo.drafts or self._units or self.question) or any(
            worth(other, telling=False) for other in self._clauses
        )

    def _leave(self, clause: str) -> None:
        """Not a fact, but it may name people ("帮我妈看看…"): who "她" is afterwards."""
        before = len(self._memo.people)
        rewrite(re.sub(r"^.{0,4}?(?:帮|替|给)(?=我)", "", clause), self._memo)
        if len(self._memo.people) == before:
            note_kin(clause, self._memo)
        self._open = False


def _acceptance(clause: str, following: list[str], turn: Turn) -> str | None:
    """None = no acceptance here; "" = accepted and the next clause says what; otherwise the fact itself."""
    if not turn.answer_to:
        return None
    if words.YES_LEAD.match(clause) and following and words.DO_IT.match(following[0]) and advice_zh(turn):
        del following[0]
        return f"用户同意：{advice_zh(turn)}"
    match = words.ACCEPT.search(clause)
    if not match or asks(clause, False):
        return None
    rest = (clause[: match.start()] + clause[match.end() :]).strip(" ，。吧了的")
    if has_content(rest):
        return f"用户同意{rest}" if len(rest) > 3 else None
    if any(has_content(words.LEAD.sub("", c)) and not asks(c, False) and not requests(c) for c in following):
        return ""
    proposal = advice_zh(turn)
    return f"用户同意：{proposal}" if proposal else None


def _store(unit: _Unit, turn: Turn, memo: Memo, carried: str) -> str:
    """Makes a draft of a unit; returns the subject that a next clause without one continues."""
    dated = when_zh.resolve(unit.text, turn.said.date())
    if (unit.leans or _elliptic(dated.text, answered=unit.answered)) and _join(dated.text, turn, memo):
        return carried
    if unit.topical:
        subject, content = carried, pronouns(rewrite(dated.text, memo), memo)
    else:
        subject, content = with_subject(dated.text, memo, carried)
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
