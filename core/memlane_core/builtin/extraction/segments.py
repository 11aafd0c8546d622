"""Messages to sentences and clauses, without what the customer only quotes or pastes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..text.normalise import is_chinese

_FENCE = re.compile(r"```.*?(?:```|$)", re.S)
_MARKUP = re.compile(
    r"<(?P<tag>[A-Za-z_][\w-]*)\b[^>]*>.*?</(?P=tag)>|^\s*(?:>|\[?(?:system|assistant|tool|developer|系统|助手)\]?\s*[:：]).*$",
    re.S | re.M | re.I,
)
_FORWARDED = re.compile(r"^-{3,}.*(?:forwarded|original message|转发|原始邮件).*", re.M | re.I | re.S)
_QUOTES = re.compile(
    r"“[^”]*”|「[^」]*」|『[^』]*』|«[^»]*»|\"[^\"\n]*\"|(?:(?<=[\s:：,，(])|^)['‘][^'’\n]*(?:(?<=\w)['’](?=\w)[^'’\n]*)*['’](?=[\s,.;:!?，。；！？)]|$)"
)
_SENTENCE_END = re.compile(
    r"[。！？!?；;\n…]+[”’」』\"')）]*|(?<!\bMr)(?<!\bMs)(?<!\bDr)(?<!\bMrs)(?<!\bSt)(?<!\bNo)(?<!\bapprox)(?<!\b[A-Z])(?<!\be\.g)(?<!\bi\.e)\.+(?=[\s\"'”)]|$|[\u4e00-\u9fff])"
)
_LONG_QUOTE_ZH, _LONG_QUOTE_EN = 12, 5


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence without its end mark."""

    text: str
    asks: bool
    """It ended with a question mark."""
    pasted: bool = False
    """A quotation was cut out of it: what remains introduces foreign words."""


def own_words(text: str) -> str:
    """The message without code, mark-up, forwarded mails and lines that pose as another speaker's."""
    for pattern in (_FENCE, _MARKUP, _FORWARDED):
        text = pattern.sub("\n", text)
    return text


def sentences(text: str) -> Iterator[Sentence]:
    """The customer's own sentences. Long quotations are cut out; short ones (names, titles) lose their marks only."""
    text = _QUOTES.sub(_unquote, own_words(text))
    start = 0
    for match in _SENTENCE_END.finditer(text):
        yield from _sentence(text[start : match.start()], match[0])
        start = match.end()
    yield from _sentence(text[start:], "")


_HOLE = "\x00"


def _unquote(match: re.Match[str]) -> str:
    inner = match[0][1:-1].strip()
    long = len(inner) >= _LONG_QUOTE_ZH if is_chinese(inner) else len(inner.split()) >= _LONG_QUOTE_EN
    return _HOLE if long else inner


def _sentence(text: str, end: str) -> Iterator[Sentence]:
    pasted = _HOLE in text
    text = text.replace(_HOLE, " ").strip(" \t\r，,、:：-–—•·")
    text = re.sub(r"^\*\s+", "", text)
    if text:
        yield Sentence(text, "?" in end or "？" in end, pasted)


_COMMA_ZH = re.compile(r"[，,](?!\d{3}(?!\d))|——|—|(?<=[\u4e00-\u9fff])\s+(?=[\u4e00-\u9fff])")


_INTRODUCES = re.compile(
    r"^[^，：:]{0,8}(?:介绍|情况|如下|说一?下|说明|补充|信息|要求|需求|资料)[^，：:]{0,6}(?:：|:(?!\d))"
)


def clauses_zh(sentence: str) -> list[str]:
    """The parts between commas; enumerations ("、") and thousands stay whole."""
    sentence = _INTRODUCES.sub("", sentence)
    return [part.strip() for part in _COMMA_ZH.split(sentence) if part.strip()]
