# ruff: noqa: E501
# Patterns read better whole.
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


_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_NARROW |= {0x3000: 0x20, 0x00A0: 0x20, 0x2010: 0x2D, 0x2011: 0x2D, 0x2012: 0x2D, 0x2013: 0x2D, 0x2212: 0x2D}
# Kept wide: it ends a clause, and a narrow "," would join "，" to what is taken for a token.
_NARROW |= {ord(c): ord(c) for c in "，；：？！（）"}

_IS = r"(?:\s*(?:is|was|are|=|:|：|是|为|為|叫|就是|(?:改|设|設|换|換)(?:成|为|為)了?|changed to|set to|says|reads)\s*)"
_TOKEN = r"(?P<value>[^\s，。；、？！（）“”‘’\"'<>\u4e00-\u9fff]{3,128})"
_QUOTED = r"[\"'“‘「](?P<quoted>[^\"'”’」\n]{3,128})[\"'”’」]"

_CARD_RUN = re.compile(r"(?<![\d.+#A-Za-z_-])\d(?:[ -]?\d){11,18}(?![\d]|[ -]?\d)")
_CARD_CUE = re.compile(
    r"(?:卡号|卡號|银行卡|銀行卡|信用卡|储蓄卡|借记卡|card(?: number| no\.?)?|\bpan\b)[^\d。.!?]{0,16}$",
    re.I | re.A,
)
_NOT_CARD_CUE = re.compile(
    r"(?:合同|订单|訂單|单号|流水号|流水|发票|快递|运单|order|contract|invoice|tracking|reference|ref)[^\d]{0,10}$",
    re.I | re.A,
)

_SECURITY_CODE = re.compile(
    r"(?:\bcv[vc]2?\b|\bcvn2?\b|\bcid\b|安全码|安全碼|后三位|後三位|末三位|背面的?(?:那)?[三3][位个]?(?:数字?|數字?|码|碼)?"
    r"|(?:card )?(?:security|verification) (?:code|number)|(?:three|3)[- ]?digits?[^.\d]{0,24}back(?: of [a-z ]{0,16})?)"
    r"[^\d。.!?；;，]{0,12}(?P<value>\d{3,4})(?!\d)",
    re.I | re.A,
)
_PIN = re.compile(
    r"\bpin(?![a-z])(?:\s?(?:code|number|码|碼))?(?:[^\d。.!?；;，]{0,14}|[^\d。.!?；;，]{0,48}(?:\b(?:is|was|to)|是|为|:|=)\s*)(?P<value>\d{4,12})(?!\d|[.,]\d)",
    re.I | re.A,
)
_ZH_PASSWORD_CUE = r"(?:密码|密碼|口令|暗号|passcode|pass ?phrase)"
_EN_PASSWORD_CUE = r"\b(?:password|passcode|pass ?phrase|passwd|pwd)\b"
_PASSWORD_QUOTED = re.compile(rf"(?:{_ZH_PASSWORD_CUE}|{_EN_PASSWORD_CUE}){_IS}?\s*{_QUOTED}", re.I | re.A)
_PASSWORD = re.compile(
    rf"(?:{_ZH_PASSWORD_CUE}|{_EN_PASSWORD_CUE})(?P<is>[^\x21-\x39\x3b-\x7e\n，。；？！]{{0,6}}?{_IS}|\s*){_TOKEN}",
    re.I | re.A,
)
_PASSWORD_ZH_NUMERALS = re.compile(
    rf"{_ZH_PASSWORD_CUE}[^\d，。；？！]{{0,4}}?(?:{_IS}了?)?\s*(?P<value>[零〇一二三四五六七八九]{{4,}}|[三四五六七八345678]个[零〇一二三四五六七八九\d])"
)
_ONE_TIME = re.compile(
    r"(?:验证码|驗證碼|校验码|校驗碼|动态码|動態碼|短信码|动态口令|动态密码|确认码|授权码|\botp\b"
    r"|\b(?:one[- ]time|verification|authentication|auth|login|confirmation|security|sms|texted|access|activation|2fa|reset)[- ](?:pass)?(?:code|word|number)s?\b"
    r"|(?<!post)(?<!sort )(?<!swift )(?<!bic )(?<!zip )(?<!country )(?<!postal )(?<!product )(?<!promo )(?<!area )(?<!dress )(?<!tax )(?<!branch )(?<!hs )(?<!-)\bcode\b)"
    r"(?P<gap>[^\d。!?\n]{0,24}?)(?<![\d-])(?P<value>\d{3} \d{3}|\d{4,8})(?![\d%]|[.,-]\d|\s?(?:元|万|美元|usd|eur|gbp|people|units|days))",
    re.I | re.A,
)
_REVERSED = re.compile(
    r"(?<![\d.,-])(?P<value>\d{3,8})(?!\d)\s*,?\s*(?:is|was|就是|是)\s*(?:my|the|our|我的|我|俺的)?\s*(?:[\w\u4e00-\u9fff]{0,4}\s?)"
    r"(?P<cue>pin\b|cv[vc]\b|password|passcode|otp\b|(?:one-time |verification |security )?code\b|密码|密碼|口令|验证码|驗證碼|安全码)",
    re.I | re.A,
)
_API_KEY = re.compile(
    r"(?<![\w-])(?P<value>sk-[A-Za-z0-9_-]{6,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|gh[pousr]_[A-Za-z0-9]{16,}|glpat-[\w-]{10,}|xox[abprs]-[\w-]{8,}"
    r"|AIza[\w-]{20,}|hf_[A-Za-z0-9]{16,}|(?:pk|rk|sk)_(?:live|test)_[A-Za-z0-9]{8,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_BEARER = re.compile(r"\bbearer\s+(?P<value>[A-Za-z0-9._~+/=-]{8,})", re.I | re.A)
_NAMED_KEY = re.compile(
    r"(?:\b(?:api|access|secret|client|app|signing|encryption)[ _-]?(?:key|secret|token)s?\b|\btokens?\b|\bsecret\b|\bappsecret\b|密钥|密鑰|令牌|私钥|私鑰|密匙)"
    rf"[^\x21-\x39\x3b-\x7e\n，。；]{{0,4}}?{_IS}\s*[\"'“]?{_TOKEN}",
    re.I | re.A,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:.*?-----END [A-Z ]*PRIVATE KEY-----|.*)", re.S
)
_SEED_PHRASE = re.compile(
    rf"(?:助记词|助記詞|(?:seed|recovery|mnemonic) (?:phrase|words?)){_IS}\s*(?P<value>[a-z]+(?:[ ,]+[a-z]+){{5,23}})",
    re.I | re.A,
)
_RESIDENT_ID = re.compile(
    r"(?<![\dA-Za-z])\d{6}[ -]?(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[ -]?\d{3}[\dXx](?![\dA-Za-z])"
)
_RESIDENT_ID_NAMED = re.compile(
    r"(?:身份证|身份證|证件|證件|identity card|id card|resident id|(?<![a-z])id)(?:号码|號碼|号|號)?(?: number| no\.?)?[^\d。.!?；;]{0,14}(?P<value>\d{14,17}[\dXx])(?![\dA-Za-z])",
    re.I | re.A,
)

# "my password is wrong" tells a trouble, not a password.
_NO_PASSWORD = frozenset(
    "not wrong incorrect expired locked too reset changed being so very still the a an my your our their weak required asked blocked invalid"
    " secure safe stored saved different same simple strong short long unknown lost forgotten correct right ok okay fine in on for with about at"
    " now never always it what that this and or but because when if manager protected protection policy policies again has have had does doesn't"
    " isn't wasn't won't can can't cannot should must will would to from by of as is was are reset. rejected refused failing broken needed"
    " case-sensitive sensitive easy hard written sent longer shorter old new just no yes please being compromised stolen leaked exposed known".split()
)


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
        return MASK + re.sub(r"\D", "", value.translate(_NARROW))[-4:]
    return MASK


def _spans(text: str, policy: SecretPolicy) -> tuple[_Span, ...]:
    """Secrets in order, none overlapping: of two the earlier and longer one stays."""
    narrow = text.translate(_NARROW)
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
    for match in _PRIVATE_KEY.finditer(narrow):
        yield _Span(*match.span(), SecretKind.PRIVATE_KEY)
    for match in _SEED_PHRASE.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.PRIVATE_KEY)
    for pattern in (_API_KEY, _BEARER):
        for match in pattern.finditer(narrow):
            yield _Span(*match.span("value"), SecretKind.API_KEY)
    for match in _NAMED_KEY.finditer(narrow):
        value = _trim(match["value"])
        if len(value) >= 6 and re.search(r"\d", value):
            yield _Span(match.start("value"), match.start("value") + len(value), SecretKind.API_KEY)
    yield from _numbers(narrow)
    yield from _passwords(narrow)


def _numbers(narrow: str) -> Iterator[_Span]:
    if not re.search(r"\d{3}", narrow):
        return
    for match in _RESIDENT_ID.finditer(narrow):
        if _resident_checksum(re.sub(r"[ -]", "", match[0])):
            yield _Span(*match.span(), SecretKind.RESIDENT_ID)
    for match in _RESIDENT_ID_NAMED.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.RESIDENT_ID)
    for match in _CARD_RUN.finditer(narrow):
        if _is_card(narrow, match):
            yield _Span(*match.span(), SecretKind.BANK_CARD)
    for pattern, kind in (
        (_SECURITY_CODE, SecretKind.CARD_SECURITY_CODE),
        (_PIN, SecretKind.PIN),
        (_ONE_TIME, SecretKind.ONE_TIME_CODE),
    ):
        for match in pattern.finditer(narrow):
            yield _Span(*match.span("value"), kind)
    for match in _REVERSED.finditer(narrow):
        cue = match["cue"].casefold()
        kind = (
            SecretKind.PIN if cue == "pin" else SecretKind.CARD_SECURITY_CODE if cue in ("cvv", "cvc", "安全码")
            else SecretKind.PASSWORD if "密" in cue or "pass" in cue or "口令" in cue else SecretKind.ONE_TIME_CODE
        )  # fmt: skip
        yield _Span(*match.span("value"), kind)


def _passwords(narrow: str) -> Iterator[_Span]:
    for match in _PASSWORD_QUOTED.finditer(narrow):
        yield _Span(*match.span("quoted"), SecretKind.PASSWORD)
    for match in _PASSWORD_ZH_NUMERALS.finditer(narrow):
        yield _Span(*match.span("value"), SecretKind.PASSWORD)
    for match in _PASSWORD.finditer(narrow):
        value = _trim(match["value"])
        told = bool(match["is"].strip())
        mixed = re.search(r"\d", value) is not None
        plain = value.casefold().strip(".,!?") in _NO_PASSWORD
        if len(value) >= 3 and not plain and (mixed or (told and not value.startswith("-"))):
            yield _Span(match.start("value"), match.start("value") + len(value), SecretKind.PASSWORD)


def _trim(value: str) -> str:
    return value.rstrip(".,;:?!)]}")


def _is_card(narrow: str, match: re.Match[str]) -> bool:
    digits = re.sub(r"\D", "", match[0])
    before = narrow[max(0, match.start() - 40) : match.start()]
    if _CARD_CUE.search(before):
        return True
    if _NOT_CARD_CUE.search(before) or not _has_card_form(digits):
        return False
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


_CLAUSE_BORDER = re.compile(
    r"[，。；！？、\n]+|[,;!?]+(?=\s|$|[\u4e00-\u9fff])|\.+(?=\s|$)|(?<=\s)(?:and|but)(?=\s)|(?<=[\w\u4e00-\u9fff])(?:但是?|不过|而且)(?=[\u4e00-\u9fff])"
)
_SECRET_WORDS = re.compile(
    r"密码|密碼|口令|验证码|驗證碼|身份证|身份證|卡号|卡號|安全码|密钥|令牌|\b(?:password|passcode|pin|cvv|cvc|otp|api key|secret|token|card(?: number)?|security code|login|code)\b",
    re.I | re.A,
)
_LEAD_IN = re.compile(
    r"^(?:我的?|这是|这个是|here(?:'s| is| are)|this is|it'?s|my|the|and|user'?s?|用户的?|你记一下|记一下|直接给你吧?|给你|发你|发给你|告诉你|is|are|的|号码|号|number|details?|[\s:：.])+$",
    re.I | re.A,
)


def _without_secrets(text: str, spans: tuple[_Span, ...]) -> str:
    """The clauses that hold no secret and do not merely announce one, joined as they stood."""
    kept: list[tuple[int, int]] = []
    dirty: list[bool] = []
    bounds: list[tuple[int, int]] = []
    start = 0
    for match in _CLAUSE_BORDER.finditer(text):
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
        if neighbour and (_SECRET_WORDS.search(piece) or _LEAD_IN.match(piece)):
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
