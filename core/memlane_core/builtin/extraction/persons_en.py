# ruff: noqa: E501
"""English: first person to "User" with the verb in agreement, and third persons by their names."""

import re
from collections.abc import Callable

from . import lexicon_en as words
from .memo import Memo, Person

_SUBJECT = r"(?P<subject>\b(?:I|we)\b)"
_CONTRACTED = {"'m": " is", "'re": " is", "'ve": " has", "'ll": " will"}
_IRREGULAR = {
    "am": "is", "are": "is", "were": "was", "was": "was", "have": "has", "do": "does", "don't": "doesn't", "aren't": "isn't", "weren't": "wasn't",
    "haven't": "hasn't", "go": "goes", "ain't": "isn't",
}  # fmt: skip
_FIRST = re.compile(
    rf"{_SUBJECT}(?P<short>['’](?:m|re|ve|ll|d))?(?P<adverbs>(?:\s{words.ADVERB}\b)*)(?:\s(?P<verb>[A-Za-z]+(?:['’]t)?))?",
    re.I,
)
_AND_VERB = re.compile(r"(?P<link>,? (?:and|or|but|then)(?: then| also)? )(?P<verb>[a-z]+)\b(?= \w)")
_PERSON = re.compile(
    rf"\b(?P<owner>[Mm]y|[Oo]ur|[Oo]ne of (?:my|our))\s(?P<mod>(?:[a-z-]+ ){{0,2}}?(?:(?i:{words.KIN})['’]s )?)(?P<noun>(?i:{words.KIN}|(?:{words.ROLE})s?))\b(?! (?:ledger|book|base|service|insurance|bank|card|account))(?:,? (?:called |named |is called )?(?P<name>{words.NAME}))?"
)
_NAME_ONLY = re.compile(rf"^{words.NAME}$")
_COMPANY = (
    re.compile(rf"\b(?:[Ww]e(?:['’]re| are)|[Tt]he (?:company|firm|business) is(?: called)?|(?:[Mm]y|[Oo]ur) (?:company|firm|business|shop|trust|group|charity|practice|farm)(?: is)?(?: called| named)?|[Tt]rading as) (?P<name>{words.NAME})"),
    re.compile(rf"^(?P<name>{words.NAME}) (?:imports|exports|makes|builds|sells|produces|manufactures|distributes|supplies|runs|operates|trades)\b"),
    re.compile(rf"\b(?:work for|own|chair|run|manage|founded|(?:owner|treasurer|director|head|manager|treasury|founder|CEO|CFO|chair|partner|lead|controller|secretary) (?:of|at|for)|in charge of) (?P<name>{words.NAME})"),
)  # fmt: skip
_NOT_COMPANY = frozenset(
    "I The A An My Our We English German French Chinese European American British Monday Tuesday Wednesday Thursday Friday".split()
)


_BEFORE_PRONOUN = re.compile(
    r"(?:now|today|currently|unfortunately|sadly|luckily|also|at the moment|these days|sometimes|usually),? (?=(?:he|she|they|his|her|their)\b)",
    re.I,
)


def company_name(text: str) -> str:
    """The name by which the customer calls his own firm, "" if none is told here."""
    for pattern in _COMPANY:
        match = pattern.search(text)
        if match and match["name"].split()[0] not in _NOT_COMPANY:
            name = re.split(r",| and ", match["name"])[0]
            if len(name) > 2:
                return name
    return ""


def rewrite(text: str, memo: Memo) -> str:
    """The clause with its speaker named "User" (or his firm, for "we") and the people he owns by their names."""
    firm = memo.company if memo.company and memo.company not in text else ""
    we = firm or ("User's company" if memo.business else "User")
    text = _people(text, memo)
    text = re.sub(
        r"\b(?:my|our) (?:company|firm|business)\b(?=[' ]|$)(?! (?:partner|account|card|plan))",
        lambda m: firm or "User's company",
        text,
        flags=re.I,
    )
    text = _subjects(text, lambda said: "User" if said.lower() == "i" else we)
    text = re.sub(r"\bourselves\b", "themselves", text, flags=re.I)
    text = re.sub(r"\bmyself\b", "themselves", text, flags=re.I)
    text = (
        re.sub(r"\b(?:[Mm]e|us)\b", lambda m: "User" if m[0].lower() == "me" else we, text)
        if not re.search(r"\blet us\b", text, re.I)
        else text
    )
    text = re.sub(r"\b(?:mine)\b", "User's", text, flags=re.I)
    text = re.sub(r"\bours\b", _owner(we), text, flags=re.I)
    text = re.sub(r"\bmy\b", "User's", text, flags=re.I)
    text = re.sub(r"\bour\b", _owner(we), text, flags=re.I)
    text = re.sub(
        r"\byour (?=(?:ladder|plan|proposal|suggestion|idea|advice|offer|recommendation|scheme|split)\b)",
        "the proposed ",
        text,
        flags=re.I,
    )
    text = re.sub(
        r"\b(?:with|from|to|by|for) you\b", lambda m: m[0].split()[0] + " the bank", text, flags=re.I
    )
    text = re.sub(r"\byour\b", "the bank's", text, flags=re.I)
    text = re.sub(r"\byou\b", "the bank", text, flags=re.I)
    return re.sub(r"(User's) User's\b", r"\1", text)


def resolve_start(text: str, memo: Memo) -> tuple[str, Person | None]:
    """A pronoun that opens the clause replaced by the one it means, and who that is."""
    lead = _BEFORE_PRONOUN.match(text)
    if lead:
        resolved, person = resolve_start(text[lead.end() :], memo)
        return (lead[0] + resolved if person else text), person
    match = re.match(
        r"(?P<said>he|she|they|his|her|their)\b(?P<short>['’](?:s|re|ve|ll|d))?(?P<all> all| both)?",
        text,
        re.I,
    )
    if not match:
        return text, None
    said = match["said"].lower()
    gender = {"he": "m", "his": "m", "she": "f", "her": "f"}.get(said, "")
    plural = said in ("they", "their")
    person = memo.who(gender, plural=plural)
    if person is None or (plural and not person.plural and match["all"]):
        return text, None
    rest = text[match.end("said") :]
    if said in ("his", "her", "their"):
        return _owner(person.label) + rest, person
    if plural and not person.plural:
        return _subjects("we" + rest, lambda _: person.label), person
    if match["short"] and match["short"][1:] in ("d", "ll", "ve"):
        return person.label + {"d": " would", "ll": " will", "ve": " has"}[match["short"][1:]] + rest[
            len(match["short"]) :
        ], person
    if match["short"] == "'s" or match["short"] == "’s":
        rest = (
            " has"
            if re.match(r"['’]s (?:got|been|had|lost|moved|bought|sold|\w+ed)\b(?! by)", rest)
            and not re.match(
                r"['’]s (?:called|named|retired|married|divorced|widowed|based|self-employed)", rest
            )
            else " is"
        ) + rest[2:]
    return person.label + rest, person


def conjugate(verb: str) -> str:
    """Third person singular of a base form; other forms come back unchanged."""
    low = verb.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if (
        low in words.PAST
        or low in words.SAME
        or low in words.MODAL
        or (low.endswith("ed") and low not in words.NOT_PAST_ED)
    ):
        return verb
    if low.endswith(("n't", "n’t")) or low in ("is", "has", "does", "not", "to", "and", "or", "who", "the"):
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", low):
        return verb + "es"
    if re.search(r"[^aeiou]y$", low):
        return verb[:-1] + "ies"
    return verb + "s"


def is_base_verb(word: str) -> bool:
    return word.lower() in words.COMMON


def _owner(label: str) -> str:
    """Possessive of a name; what "User's company" owns is the user's, to keep facts readable."""
    if label == "User's company":
        return "User's"
    return label + ("'" if label.endswith("s") else "'s")


def _subjects(text: str, name: Callable[[str], str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in _FIRST.finditer(text):
        if match["subject"] == "i" or match.start() < position:
            continue
        pieces.append(text[position : match.start()])
        pieces.append(name(match["subject"]))
        verb = (match["verb"] or "").replace("’", "'")
        short = (match["short"] or "").replace("’", "'").lower()
        if short == "'d":
            pieces.append(" had" if verb in ("been", "better", "already") else " would")
            pieces.append(match["adverbs"] + (f" {verb}" if verb else ""))
        elif short:
            pieces.append(_CONTRACTED[short] + match["adverbs"] + (f" {verb}" if verb else ""))
        elif verb:
            pieces.append(match["adverbs"] + " " + conjugate(verb))
        else:
            pieces.append(match["adverbs"])
        position = match.end()
        if (verb and not short and verb.lower() in words.COMMON and conjugate(verb) != verb) or short in (
            "'m",
            "'re",
            "'ve",
        ):
            tail = text[position:]
            text = text[:position] + _second_verb(tail)
    pieces.append(text[position:])
    return "".join(pieces)


def _second_verb(tail: str) -> str:
    """ "I run and own …": the verb after "and" agrees too, if it is one and has no subject of its own."""
    match = _AND_VERB.search(tail)
    if (
        match
        and is_base_verb(match["verb"])
        and not re.search(r"\bto\b|[.;:]|,? (?:who|which|that|if|when)\b", tail[: match.start()])
    ):
        return tail[: match.start("verb")] + conjugate(match["verb"]) + tail[match.end("verb") :]
    return tail


def _people(text: str, memo: Memo) -> str:
    for match in list(_PERSON.finditer(text)):
        noun = match["noun"]
        name = match["name"] or ""
        if name and not _NAME_ONLY.match(name):
            name = ""
        name = re.sub(r"['’]s$|(?:,| and| of| the)? *$", "", name)
        owner = match["owner"].lower()
        if (
            owner == "our"
            and re.fullmatch(
                r"(?:customers|clients|suppliers|employees|directors|investors|shareholders|board)",
                noun,
                re.I,
            )
            and not name
        ):
            continue
        possessive = "User's" if owner != "our" or not memo.company else f"{memo.company}'s"
        if owner.startswith("one of"):
            label = name or f"one of {possessive} {match['mod']}{noun}"
        else:
            label = f"{possessive} {match['mod']}{noun}" + (f" {name}" if name else "")
        gender = "f" if words.FEMALE.search(noun) else "m" if words.MALE.search(noun) else ""
        memo.meet(
            Person(label, gender, bool(words.PLURAL.search(noun)) and not owner.startswith("one of"), name)
        )
    for match in re.finditer(
        rf"\b(?:an?|the)(?: new)? (?:[a-z-]+ ){{1,3}}?(?:provider|company|firm|supplier|customer|client|buyer|bank|agency|broker|landlord|contractor|partner), (?P<name>{words.NAME})",
        text,
    ):
        memo.meet(Person(match["name"], name=match["name"]))
    return re.sub(r"^One of (?:my|our)\b", "One of User's", text)
