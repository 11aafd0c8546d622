# ruff: noqa: E501
"""What the assistant proposed, for the moment the customer accepts it without saying it again."""

import re

from . import lexicon_en, lexicon_zh
from .memo import Turn
from .segments import sentences

_LOOK_BACK = 4
"""Assistant messages searched, newest first: an acceptance answers what was said just before."""

_LABEL_ZH = re.compile(r"(?:方案|选项|套餐|第)(?P<n>[一二三四1-4A-Da-d])(?:种|个|套|款)?")
_LABEL_EN = re.compile(
    r"\b(?:option|plan|proposal|the) (?P<n>first|second|third|one|two|three|[1-4]|[A-D])\b(?: (?:one|option))?",
    re.I,
)
_ORDINAL = {"first": "one", "second": "two", "third": "three", "1": "one", "2": "two", "3": "three"}


def advice_zh(turn: Turn) -> str:
    """The newest advice as a statement about 用户, "" if none was given."""
    for message in turn.proposals[:_LOOK_BACK]:
        for sentence in sentences(message):
            text = sentence.text
            if not lexicon_zh.PROPOSAL.search(text) or (
                sentence.asks and not re.search(r"建议|要不要", text)
            ):
                continue
            text = re.sub(r"^(?:好的|明白|了解|收到|嗯|那么?|这样的话|根据您?的情况)[，,]?", "", text)
            text = re.sub(
                r"^.{0,12}?(?:建议|建議|推荐|推薦)(?:您|你|贵司|贵公司)?(?:可以|考虑|先)?", "", text
            )
            text = re.sub(r"^(?:您|你|贵司|贵公司)?(?:可以|不妨|不如|要不要)(?:考虑)?", "", text)
            text = re.sub(r"(?:，?您?(?:看|觉得)(?:可以|怎么样|行|如何|呢).*|[吗呢])$", "", text)
            return text.replace("您", "用户").strip("，,：")
    return ""


def advice_en(turn: Turn) -> str:
    """The newest advice as a statement, "" if none was given. Offers of service ("Shall I update …") are none."""
    for message in turn.proposals[:_LOOK_BACK]:
        for sentence in sentences(message):
            text = sentence.text
            if not lexicon_en.PROPOSAL.search(text) or lexicon_en.SERVICE.match(text):
                continue
            text = re.sub(
                r"^(?:then|in that case|yes|sure|ok(?:ay)?|understood|right|so|well|for [\w ]+|given [\w ]+|based on [\w ]+)[,:]? ",
                "",
                text,
                flags=re.I,
            )
            text = re.sub(
                r"^(?:I(?:'d| would)? (?:suggest|recommend|propose|advise)(?: that)?|my (?:suggestion|recommendation) (?:is|would be)(?: to)?"
                r"|you (?:could|can|might|may|should)(?: (?:want to|consider|also))?|how about|what about|why not|shall (?:we|I)|consider|I(?:'d| would)|we (?:could|can)"
                r"|one option (?:is|would be)(?: to)?|the best option (?:is|would be)(?: to)?)(?: you)? ",
                "",
                text,
                flags=re.I,
            )
            text = re.sub(r"\byour\b", "User's", text, flags=re.I)
            return re.sub(r"\byou\b", "User", text, flags=re.I).strip(" ,.")
    return ""


def option(clause: str, turn: Turn) -> str:
    """What stands behind the label that the customer chose ("方案二", "option B"), "" if it was not explained."""
    chinese = _LABEL_ZH.search(clause)
    chosen = chinese or _LABEL_EN.search(clause)
    if not chosen:
        return ""
    number = chosen["n"].lower()
    names = {number, _ORDINAL.get(number, number)} | {k for k, v in _ORDINAL.items() if v == number}
    label = (
        rf"(?:方案|选项|套餐|第)(?:{'|'.join(names)})(?:种|个|套|款)?"
        if chinese
        else rf"(?:option|plan|proposal) (?:{'|'.join(names)})"
    )
    for message in turn.proposals[:_LOOK_BACK]:
        match = re.search(rf"{label}\s?(?:是|为|[:：,，]|is|would be)\s*(?P<text>[^；;。.]+)", message, re.I)
        if match:
            return match["text"].strip(" ，,")
    return ""
