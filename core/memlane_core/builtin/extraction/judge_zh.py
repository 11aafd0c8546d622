"""What a Chinese clause is: a question, a request, talk, or something worth keeping."""

import re

from ..text.normalise import to_simplified
from ..text.numerals import QuantityKind, find_quantities
from . import lexicon_zh as words
from .answers_zh import is_nominal
from .memo import Turn

_OWNER_STARTS = re.compile(r"^(?:我|俺|咱|本人|公司|他|她|它|我司|家里|自己)")
_SPLIT_VERB = re.compile(
    r"^(?:目前|现在|平时|一般|今年|去年|最近|每月|每年|还|也|又|另外)?(?:有(?!点)|没有|没|想|打算|计划|准备|需要|喜欢|不喜欢|希望|偏好|住|做|在(?!于)|开了|买了|欠|已婚|离异|带着?|担心|怕|不想|不接受|能接受|愿意|决定|管|要)[^，]{3,}"
)
_CONNECTED = re.compile(
    r"^(?:所以|因为|因为|因此|就|才|只是|但|但是|不过|而且|以免|免得|否则|不然|主要|比如|包括|其中|结果|毕竟|反正|一共|总共|大概|大约|差不多|每|一年|一天|一个月|以后|之后|之前|那边|这边|那里|这样|剩下|其余|其他|另一|另|一个|分别|平均|再|然后|都|也|还)"
)


def asks(clause: str, marked: bool) -> bool:
    """A question, whether or not it carries the mark."""
    clause = to_simplified(clause)
    if marked:
        return True
    return words.QUESTION_WORDS.search(clause) is not None and not words.NOT_QUESTION.search(clause)


def requests(clause: str) -> bool:
    """Asks the assistant for something now. Standing instructions ("以后发短信") are preferences, not requests."""
    clause = to_simplified(clause)
    if not words.REQUEST.match(clause):
        return False
    return not words.STANDING.search(clause) or words.QUESTION_WORDS.search(clause) is not None


def echoes(clause: str, turn: Turn) -> bool:
    """Only repeats the assistant's words, to comment on them."""
    if len(clause) > 8 or words.SELF.search(clause) or words.MENTAL.search(clause):
        return False
    letters = re.sub(r"\d|[啊呀嘛哦呢吧…]+$", "", clause)
    grams = {letters[i : i + 2] for i in range(len(letters) - 1)}
    return bool(grams) and sum(g in turn.answer_to for g in grams) / len(grams) >= 0.6 and is_nominal(letters)


def chatter(clause: str, *, continuing: bool) -> bool:
    """Talk about the market, the weather, the world: nothing about this customer."""
    clause = to_simplified(clause)
    if words.SMALL_TALK.search(clause) and not words.BUSINESS.search(clause):
        return True
    if continuing or words.SELF.search(clause) or words.MENTAL.search(clause):
        return False
    return words.MARKET.search(clause) is not None


def has_content(clause: str) -> bool:
    """More than a greeting, thanks or an acknowledgement."""
    return bool(clause) and not words.FILLER.match(clause)


def worth(clause: str, *, telling: bool) -> bool:
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


def starts_new(clause: str, unit: str) -> bool:
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
