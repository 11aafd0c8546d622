"""Secrets that must never be stored: found by their form and by the words around them, and cut.

What counts: bank cards (Luhn, or named as a card), card security codes, PINs, passwords, one-time codes, API keys and
tokens, private keys, Chinese resident id numbers (GB 11643 checksum, or named as one). What does not: amounts, dates,
phone numbers and extensions, contract and invoice numbers, codes of products, sort codes.

Word borders are ASCII ones (`re.A`), since Chinese stands directly beside Latin letters. Matching happens on a copy
of the same length with full-width characters narrowed, so positions stay true and what remains is as it was typed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from . import secret_patterns as patterns

MASK = "****"
"""Stands where a secret stood; a card may keep its last four digits behind it."""


class SecretKind(StrEnum):
    BANK_CARD = "bank_card"
    CARD_SECURITY_CODE = "card_security_code"
    PIN = "pin"
    PASSWORD = "password"
    ONE_TIME_CODE = "one_time_code"
    API_KEY = "api_key"
    PRIVATE_KEY = "private_key"
    RESIDENT_ID = "resident_id"
    GOVERNMENT_ID = "government_id"
    """Passport, social security or driving licence number, named as one."""
    SECURITY_ANSWER = "security_answer"


@dataclass(frozen=True, slots=True)
class SecretPolicy:
    """What to cut, and how much of a card may stay."""

    kinds: frozenset[SecretKind] = frozenset(SecretKind)
    keep_last_four: bool = True
    """Leave the last four digits of a bank card, as receipts do."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets."""

    text: str
    kinds: tuple[str, ...]
    """Kinds that were found, each once, in the order of their first place. Empty = the text is unchanged."""
    only_secret: bool = False
    """Nothing worth keeping is left beside the secrets."""


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    kind: SecretKind


def redact(text: str, policy: SecretPolicy = SecretPolicy()) -> Redacted:
    """The text with every secret replaced by `MASK`. Idempotent: a redacted text has nothing more to cut."""
    spans = _spans(text, policy)
    if not spans:
        return Redacted(text, (), only_secret=MASK in text and not _without_secrets(text, ()))
    pieces: list[str] = []
    position = 0
    for span in spans:
        pieces += text[position : span.start], _replacement(text[span.start : span.end], span.kind, policy)
        position = span.end
    pieces.append(text[position:])
    return Redacted("".join(pieces), _kinds(spans), only_secret=not _without_secrets(text, spans))


def scrub_fact(content: str, policy: SecretPolicy = SecretPolicy()) -> Redacted:
    """A fact reduced to its clauses that hold no secret, in the words they were said in.

    `only_secret` with an empty text when nothing is left: such a fact is to be rejected. A fact without a secret comes
    back unchanged.
    """
    spans = _spans(content, policy)
    if not spans and MASK not in content:
        return Redacted(content, ())
    rest = _without_secrets(content, spans)
    return Redacted(rest, _kinds(spans), only_secret=not rest)


def _kinds(spans: tuple[_Span, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(span.kind) for span in spans))


def _replacement(value: str, kind: SecretKind, policy: SecretPolicy) -> str:
    if kind is SecretKind.BANK_CARD and policy.keep_last_four:
        return MASK + re.sub(r"\D", "", value.translate(patterns.NARROW))[-4:]
    return MASK


def _spans(text: str, policy: SecretPolicy) -> tuple[_Span, ...]:
    """Secrets in order, none overlapping: of two the earlier and longer one stays."""
    narrow = text.translate(patterns.NARROW)
    found = [span for span in _candidates(narrow) if span.kind in policy.kinds]
    found.sort(key=lambda s: (s.start, -s.end))
    chosen: list[_Span] = []
    for span in found:
        if MASK in text[span.start : span.end]:
            continue
        if not chosen or span.start >= chosen[-1].end:
            chosen.append(span)
        elif span.end > chosen[-1].end:
            chosen[-1] = _Span(chosen[-1].start, span.end, chosen[-1].kind)
    return tuple(chosen)


def _candidates(narrow: str) -> Iterator[_Span]:
    for match in patterns.PRIVATE_KEY.finditer(narrow):
        yield _Span(*match.span(), SecretKind.PRIVATE_KEY)
    for match in patterns.SEED_PHRASE.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.PRIVATE_KEY)
    for pattern in (patterns.API_KEY, patterns.BEARER):
        for match in pattern.finditer(narrow):
            yield _Span(*match.span("value"), SecretKind.API_KEY)
    for match in patterns.NAMED_KEY.finditer(narrow):
        value = _trim(match["value"])
        if len(value) >= 6 and re.search(r"\d", value):
            yield _Span(match.start("value"), match.start("value") + len(value), SecretKind.API_KEY)
    yield from _numbers(narrow)
    yield from _passwords(narrow)
    yield from _spoken(narrow)


def _numbers(narrow: str) -> Iterator[_Span]:
    if not re.search(r"\d", narrow):
        return
    for match in patterns.RESIDENT_ID.finditer(narrow):
        if _resident_checksum(re.sub(r"[ -]", "", match[0])):
            yield _Span(*match.span(), SecretKind.RESIDENT_ID)
    for match in patterns.RESIDENT_ID_NAMED.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.RESIDENT_ID)
    for match in patterns.RESIDENT_ID_TAIL.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.RESIDENT_ID)
    for match in patterns.GOVERNMENT_ID.finditer(narrow):
        yield _Span(
            match.start("value"),
            match.start("value") + len(match["value"].rstrip()),
            SecretKind.GOVERNMENT_ID,
        )
    for match in patterns.CARD_RUN.finditer(narrow):
        if _is_card(narrow, match):
            yield _Span(*match.span(), SecretKind.BANK_CARD)
            code = patterns.AFTER_CARD.match(narrow, match.end())
            if code:
                yield _Span(*code.span("value"), SecretKind.CARD_SECURITY_CODE)
    for pattern, kind in (
        (patterns.SECURITY_CODE, SecretKind.CARD_SECURITY_CODE),
        (patterns.PIN, SecretKind.PIN),
        (patterns.ONE_TIME, SecretKind.ONE_TIME_CODE),
    ):
        for match in pattern.finditer(narrow):
            yield _Span(*match.span("value"), kind)
    for match in patterns.ONE_TIME_NAMED.finditer(narrow):
        name = str(match.lastgroup)
        yield _Span(*match.span(name), SecretKind.ONE_TIME_CODE)
    for match in patterns.REVERSED.finditer(narrow):
        cue = match["cue"].casefold()
        kind = (
            SecretKind.PIN if cue == "pin" else SecretKind.CARD_SECURITY_CODE if cue in ("cvv", "cvc", "安全码")
            else SecretKind.PASSWORD if "密" in cue or "pass" in cue or "口令" in cue else SecretKind.ONE_TIME_CODE
        )  # fmt: skip
        yield _Span(*match.span("value"), kind)


def _passwords(narrow: str) -> Iterator[_Span]:
    for match in patterns.PASSWORD_QUOTED.finditer(narrow):
        yield _Span(*match.span("quoted"), SecretKind.PASSWORD)
    for match in patterns.PASSWORD_EXPLAINED.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.PASSWORD)
    for match in patterns.PASSWORD_ZH_NUMERALS.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.PASSWORD)
    for pattern in (
        patterns.PASSWORD_FAR,
        patterns.PASSWORD_PAIR,
        patterns.PASSWORD_REVERSED,
        patterns.CREDENTIALS,
        patterns.CREDENTIALS_LISTED,
    ):
        for match in pattern.finditer(narrow):
            value = _trim(match["value"])
            if len(value) >= 4 and re.search(r"\d", value) and value.casefold() not in patterns.NO_PASSWORD:
                yield _Span(match.start("value"), match.start("value") + len(value), SecretKind.PASSWORD)
    for match in patterns.PASSWORD.finditer(narrow):
        value = _trim(match["value"])
        told = bool(match["is"].strip())
        mixed = re.search(r"\d", value) is not None
        plain = value.casefold().strip(".,!?") in patterns.NO_PASSWORD
        if len(value) >= 3 and not plain and (mixed or (told and not value.startswith("-"))):
            yield _Span(match.start("value"), match.start("value") + len(value), SecretKind.PASSWORD)


def _spoken(narrow: str) -> Iterator[_Span]:
    """Secrets told in words: answers to security questions, digits spelt out."""
    for match in patterns.SECURITY_ANSWER.finditer(narrow):
        if match["value"].casefold() not in patterns.NO_PASSWORD:
            yield _Span(*match.span("value"), SecretKind.SECURITY_ANSWER)
    for match in patterns.SPACED_DIGITS.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.PIN)
    for match in patterns.SPELT_OUT.finditer(narrow):
        yield _Span(
            match.start("value"), match.start("value") + len(match["value"].rstrip(" ,-")), SecretKind.PIN
        )


def _trim(value: str) -> str:
    return value.rstrip(".,;:?!)]}")


def _is_card(narrow: str, match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match[0])
    before = narrow[max(0, match.start() - 40) : match.start()]
    if patterns.CARD_CUE.search(before):
        return True
    if patterns.NOT_CARD_CUE.search(before) or not _has_card_form(digits):
        return False
    if digits.startswith("62") and 16 <= len(digits) <= 19:
        return True
    grouped = re.fullmatch(r"\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{1,3})?", match[0]) is not None
    return grouped or _luhn(digits)


def _has_card_form(digits: str) -> bool:
    """Length and first digit of ISO/IEC 7812 numbers that banks issue; phone numbers and timestamps have neither."""
    length, first = len(digits), digits[0]
    return {13: "4", 14: "3", 15: "3", 16: "234569", 17: "6", 18: "56", 19: "456"}.get(length, "").find(
        first
    ) >= 0


def _luhn(digits: str) -> bool:
    """ISO/IEC 7812-1 check digit."""
    total = 0
    for place, c in enumerate(reversed(digits)):
        value = int(c) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _resident_checksum(number: str) -> bool:
    """GB 11643-1999: ISO 7064 MOD 11-2 over the first 17 digits."""
    total = sum(int(c) * (2 ** (17 - place) % 11) for place, c in enumerate(number[:17]))
    return "10X98765432"[total % 11] == number[17].upper()


def _without_secrets(text: str, spans: tuple[_Span, ...]) -> str:
    """The clauses that hold no secret and do not merely announce one, joined as they stood."""
    kept: list[tuple[int, int]] = []
    dirty: list[bool] = []
    bounds: list[tuple[int, int]] = []
    start = 0
    for match in patterns.CLAUSE_BORDER.finditer(text):
        if any(s.start < match.end() and match.start() < s.end for s in spans):
            continue
        bounds.append((start, match.start()))
        start = match.end()
    bounds.append((start, len(text)))
    for a, b in bounds:
        piece = text[a:b]
        dirty.append(MASK in piece or any(s.start < b and a < s.end for s in spans))
    for i, (a, b) in enumerate(bounds):
        piece = text[a:b].strip()
        if dirty[i] or not re.search(r"\w", piece):
            continue
        neighbour = (i + 1 < len(bounds) and dirty[i + 1]) or (i > 0 and dirty[i - 1])
        if neighbour and (patterns.SECRET_WORDS.search(piece) or patterns.LEAD_IN.match(piece)):
            continue
        kept.append((a, b))
    rest: list[str] = []
    for i, (a, b) in enumerate(kept):
        if i and kept[i - 1][1] <= a:
            gap = text[kept[i - 1][1] : a]
            rest.append(gap if len(gap) <= 3 or gap.strip() in ("and", "but") else _border(text))
        rest.append(text[a:b])
    return "".join(rest).strip(" ，,;；、")


def _border(text: str) -> str:
    return "，" if re.search(r"[\u4e00-\u9fff]", text) else ", "
