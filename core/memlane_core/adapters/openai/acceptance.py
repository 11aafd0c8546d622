"""Whether a user's turn accepts what the assistant said before it."""

import re
from collections.abc import Sequence
from enum import IntEnum

from ...builtin.text.normalise import fold
from .grounding import content_units

# "OK" acknowledges; it accepts only what it was asked.
_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|correct|exactly|indeed|agreed|true|sure|absolutely|of course|sounds good)\b"
    r"|^\W*right\b(?! now)|^\W*i (?:do|am|will|have|did)(?=\W*$|[.,!])"
    r"|\b(?:that's|that is|you're|you are) (?:right|correct|true|me)\b|\b(?:i agree|go with|let's do|please do)\b"
    r"|\bthe (?:former|latter)\b|\bthe (?:first|second|third) one\b"
    r"|^\W*(?:是的|对的|没错|正确|确实|当然|同意|对对|嗯对|是啊|对啊|[是对](?=[\s,，。.!！]|$))"
    r"|我同意|就这样|就这么|选这个|按这个|前者|后者|第[一二三1-3][个种]"
)
_OK = re.compile(
    r"^\W*(?:ok(?:ay)?|fine|please|got it|嗯+|好的?|好啊|好吧|行|可以|没问题|麻烦了)(?=\W|$)"
    r"|👍|👌|^\W*(?:嗯|好)[嗯的啊吧呀]"
)
_UNDECIDED = re.compile(
    r"\b(?:think about it|think it over|maybe|perhaps|not sure|not certain|don't know|unsure|later)\b"
    r"|\b(?:we'll see|consider)\b"
    r"|考虑|想想|想一想|再说|再看|不一定|也许|可能|不确定|不知道|不清楚|回头|以后吧"
)
_NO = re.compile(
    r"\b(?:no|nope|not|never|wrong|incorrect)\b|n't\b"
    r"|不(?:是|对|用|要|行|必|同意|正确|需要|想|喜欢|太|怎么)|没有|错了|并不|^不(?=\W|$)"
)
_NOT_NO = re.compile(r"没错|不错|没问题|\bno problem\b|\bwhy not\b")
_AS_YOU_SAID = re.compile(
    r"\bgo with (?:your|that|the)\b|\bas you (?:said|suggested|proposed|recommended)\b"
    r"|\byour (?:plan|suggestion|proposal|advice|idea)\b"
    r"|[照按]你(?:说的|的)|听你的|[照按]您(?:说的|的)|听您的|[你您]的(?:方案|建议)"
)
_SHARED_UNITS = 2
"""Content words or bigrams that a message further back must share with the turn to be meant by it."""
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*\s*")
_QUESTION = re.compile(r"[?？]\s*$|[吗吧呢]\s*[。.]?\s*$")


class _Verdict(IntEnum):
    NONE = 0
    NO = 1
    OK = 2
    YES = 3


def last_question(assistant: str) -> str:
    """The question that an assistant's message ends with; "" when it does not end with one."""
    sentences = [s for s in _SENTENCE.findall(assistant) if s.strip()]
    return sentences[-1] if sentences and _QUESTION.search(sentences[-1].strip()) else ""


def accepted_texts(user: str, before: Sequence[str]) -> tuple[str, ...]:
    """What the user's turn makes his own of the assistant's messages `before` it, the nearest last.

    A clear yes accepts the whole message that it answers, a mere "OK" only the question that it ends with.
    "As you said" reaches further back, to what shares words with the turn. An undecided answer accepts
    nothing, and of several verdicts in one turn the last one counts.
    """
    answer = fold(user)
    if not before or _UNDECIDED.search(answer):
        return ()
    verdict = _Verdict.NONE
    for sentence in _SENTENCE.findall(answer):
        verdict = _verdict(sentence) or verdict
    match verdict:
        case _Verdict.YES:
            further = _further(answer, before[:-1]) if _AS_YOU_SAID.search(answer) else ()
            return (*further, before[-1])
        case _Verdict.OK:
            question = last_question(before[-1])
            return (question,) if question else ()
        case _:
            return ()


def _verdict(sentence: str) -> _Verdict:
    if _NO.search(_NOT_NO.sub(" ", sentence)):
        return _Verdict.NO
    if _YES.search(sentence) or _AS_YOU_SAID.search(sentence):
        return _Verdict.YES
    return _Verdict.OK if _OK.search(sentence) else _Verdict.NONE


def _further(answer: str, messages: Sequence[str]) -> tuple[str, ...]:
    units = content_units(answer)
    return tuple(m for m in messages if len(units & content_units(fold(m))) >= _SHARED_UNITS)
