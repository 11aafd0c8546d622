"""Whether a user's turn accepts what the assistant said just before it."""

import re

from ...builtin.text.normalise import fold

# "OK" acknowledges; it accepts only what it was asked.
_YES = re.compile(
    r"\b(?:yes|yeah|yep|yup|correct|exactly|indeed|agreed?|right|true|sure|absolutely)\b"
    r"|\b(?:of course|sounds good)\b"
    r"|\b(?:go with|let's do|i do|i am|i will|i have|i did|please do|that one)\b"
    r"|\bthe (?:former|latter|first|second|third)\b"
    r"|是的|对的|没错|正确|确实|同意|当然|就这样|就这么|选这个|按这个|前者|后者|第[一二三1-3][个种]"
    r"|^(?:是|对|对对|嗯对|是啊|对啊)(?=[\s,，。.!！]|$)"
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
    r"\b(?:no|nope|not|never|wrong|incorrect)\b|n't\b|不是|不对|不用|不要|不行|没有|错了|并不|^不\b|^不(?=[,，。\s])"
)
_NOT_NO = re.compile(r"没错|不错|没问题|\bno problem\b|\bwhy not\b")
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*\s*")
_QUESTION = re.compile(r"[?？]\s*$|[吗吧呢]\s*[。.]?\s*$")


def last_question(assistant: str) -> str:
    """The question that an assistant's message ends with; "" when it does not end with one."""
    sentences = [s for s in _SENTENCE.findall(assistant) if s.strip()]
    return sentences[-1] if sentences and _QUESTION.search(sentences[-1].strip()) else ""


def accepted_text(user: str, assistant: str) -> str:
    """The part of the assistant's message that the user's answer makes his own; "" when none.

    A clear yes accepts the whole message, a mere "OK" only the question that it ends with; an undecided
    answer and a no accept nothing.
    """
    answer = fold(user)
    if _UNDECIDED.search(answer) or _NO.search(_NOT_NO.sub(" ", answer)):
        return ""
    if _YES.search(answer):
        return assistant
    return last_question(assistant) if _OK.search(answer) else ""
