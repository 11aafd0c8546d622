# ruff: noqa: E501
"""Who a Chinese clause is about, spelt out where the speaker leaves it to be understood."""

import re

import rjieba

from . import lexicon_zh as words
from .memo import Memo, Person
from .persons_zh import pronouns, rewrite

_SELF_NOUN = re.compile(
    r"^(?:公司|厂里|厂房|家里|家裡|名下|手头|手里|手上|账上|帳上|店里|单位|车间|仓库|我司|诊所|工厂|门店)"
)
_TIME_LEAD = re.compile(
    r"^(?:目前|现在|今年|明年|去年|下个?月|上个?月|本月|这个月|每[年月周天季]|每个月|平时|以后|之前|以前|最近|刚刚?|今天|明天|昨天|这周|下周|上周|(?:截至|截止到?|直到|到)20\d\d[^，]{2,10}，|大概|大约|一般|通常|初期|\d{4}年(?:\d{1,2}月)?(?:[底初中末])?|20\d\d-\d\d-\d\d(?:至20\d\d-\d\d-\d\d)?(?: \d\d:\d\d)?)"
)


def with_subject(unit: str, memo: Memo, carried: str) -> tuple[str, str]:
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
