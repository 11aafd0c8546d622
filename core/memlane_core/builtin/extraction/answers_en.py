# ruff: noqa: E501
"""Short English answers completed from the question that they answer."""

import re
from dataclasses import dataclass

from . import lexicon_en as words
from .memo import Memo
from .persons_en import conjugate, resolve_start

_LEAD = re.compile(
    r"^(?:(?:and|so|then|but|ok(?:ay)?|sure|thanks?(?: you)?(?: for [\w ]+)?|great|noted|understood|got it|good to know|may i ask|could you tell me|can you tell me|do you mind telling me|just to check|in that case|by the way|of course|certainly|clear|right|perfect|wonderful|lovely|one more question|lastly|finally|first|also|sorry to hear that|congratulations|please tell me|to start with)\b[,.!:;–—-]*\s+)+",
    re.I,
)
_AUX = r"do|does|did|is|are|was|were|will|would|can|could|should|have|has|had|may|might|must|shall"
_WH = re.compile(
    rf"^(?P<wh>(?:(?:for|to|from|in|at|by|with|on|over|under|of|until|through) )?(?:which|what|how (?:much|many|long|old|often|large|big|far|soon|high|well)|when|where|whom|who|why|how|whose))\b(?P<np>(?: (?!(?:{_AUX})\b)[\w'’/-]+){{0,5}}?) (?P<aux>{_AUX})\b (?P<rest>.+)$",
    re.I,
)
_YES_NO = re.compile(rf"^(?P<aux>{_AUX}|isn't|aren't|don't|won't) (?P<rest>.+)$", re.I)
_OFFER = re.compile(
    r"^(?:how|what) (?:can|may|could|should) (?:i|we)\b|^what brings\b|^(?:shall|should|can|may|could|would you like|do you want|would you want|would it help|is there anything|anything|do you need (?:me|us|any help))\b.*\b(?:i|me|we|us|else|help|see|look|contact|arrange|send|prepare|call)\b",
    re.I,
)
_DET = re.compile(
    r"^(?:the|your|his|her|their|its|this|that|these|those|any|a|an|User's|each|every|both|all)\b", re.I
)
_PREP = re.compile(
    r"^(?:on|in|at|of|for|to|from|with|by|under|over|there|involved|going|coming|planned|needed|left|outstanding|due|available|allowed|used)\b",
    re.I,
)


def last_question(message: str) -> str:
    """The question that an assistant's message ends with, "" if it asks nothing."""
    found = ""
    for match in re.finditer(r"[^.!?\n]*(?:\.\d[^.!?\n]*)*\?", message):
        found = match[0]
    return found.rstrip("? ").strip()


def is_fragment(text: str) -> bool:
    """No finite verb: an amount, a name, an enumeration."""
    if words.FINITE.search(text) or re.match(r"(?:i|we|he|she|they|it)\b", text, re.I):
        return False
    if _VERB_ED.search(text):
        return False
    tokens = re.findall(r"[A-Za-z'’]+", text)
    for before, token in zip(["", *tokens], tokens, strict=False):
        low = token.lower()
        if (low in words.PAST and before.lower() not in ("and", "or")) or (
            low.endswith("ed") and before and before.lower() in ("i", "we", "he", "she", "they", "it", "who")
        ):
            return False
        if before.lower() in ("i", "we", "they", "he", "she", "it", "you") and (
            low in words.COMMON or low.endswith("s")
        ):
            return False
        if before and before.lower() not in _NOT_BEFORE_VERB:
            base = next(
                (
                    low[:-n] + y
                    for n, y in ((1, ""), (2, ""), (3, "y"))
                    if low.endswith("ies" if y else "s") and low[:-n] + y in words.COMMON
                ),
                "",
            )
            if base and (
                base not in _NOUNS_TOO
                or re.search(
                    rf"\b{token} (?:the|a|an|us|me|our|my|about|around|only|up|over|[A-Z]{{3}}|[$€£]|\d)",
                    text,
                )
            ):
                return False
        if low in _CLEAR_VERBS and before.lower().endswith("s") and before:
            return False
    return True


# "sued", "changed" after a noun are the verb; after an article or "and" they describe.
_VERB_ED = re.compile(
    r"(?<![,;] )\b(?!(?:the|a|an|and|or|but|of|in|on|at|by|for|with|to|not|never|only|just|be|been|all|fully|newly|recently|already|as|than|well|self|highly|semi|our|my|his|her|their|its|about|both|mostly|mainly|last|next|each|some|any|no)\b)[A-Za-z']{2,} (?!(?:need|feed|speed|seed|shed|red|bed|fixed|based|limited|united|called|named|paid|retired|married|mixed|combined|secured|used|aged|dried|frozen|related)\b)[a-z]+ed\b"
)
_NOT_BEFORE_VERB = frozenset(
    "the a an and or but of in on at by for with to not never no our my his her their its your some any all two three four five six seven eight nine ten many several few more most each every".split()
)
_NOUNS_TOO = frozenset(
    "order cost claim supply plan loan share report drink deposit export import invoice offer lease rent trade audit tax call email spend return change move cover work visit stop fund finance study aim end charge fly drive sign".split()
)
_CLEAR_VERBS = frozenset(
    "want need pay make sell buy own run live earn expect prefer import export come go owe belong serve bring meet depend include demand ask matter keep hold get give take say tell know think".split()
)


@dataclass(frozen=True, slots=True)
class Completed:
    """An answer made into a statement. An empty text = it says nothing."""

    text: str
    leans: bool = False
    """It has no topic of its own and goes on with the fact before."""


def complete(question: str, answer: str, memo: Memo) -> Completed | None:
    """The answer as a statement; None when it stands by itself."""
    asked = _to_user(question, memo)
    if not asked or len(asked) > 120:
        return None
    said = answer.strip(" .,!")
    trailing = re.search(r",? (?P<word>yes|no)$", said, re.I)
    if trailing:
        said = f"{trailing['word']}, {said[: trailing.start()]}"
    lead = words.YES.match(said) or words.NO.match(said)
    if lead and not words.WH.match(asked):
        return _yes_or_no(
            asked, memo, said[lead.end() :].strip(" ,."), negative=words.YES.match(said) is None
        )
    if not said or words.FILLER.match(said) or words.TALK.match(said) or _OFFER.match(asked):
        return None
    if re.match(r"who is (?:there|this)\b", asked, re.I):
        return None
    if not is_fragment(said) and not _ADVERBIAL_START.match(said):
        return None
    return _phrase(asked, lower_first(said), memo)


def _yes_or_no(asked: str, memo: Memo, rest: str, *, negative: bool) -> Completed | None:
    if _OFFER.match(asked):
        return None if rest else Completed("")
    more = f": {lower_first(rest)}" if rest else ""
    any_of = _ANY.match(asked)
    if any_of:
        return Completed(f"User has {'no ' if negative else ''}{any_of['np']}{more}")
    statement = _statement(asked, memo, negative=negative)
    if statement is None:
        return None
    return Completed(f"{statement}; {rest}" if rest and not is_fragment(rest) else statement + more)


def _phrase(asked: str, said: str, memo: Memo) -> Completed | None:
    """What was asked, in the order of a statement, and the phrase that answers it."""
    bare = _BARE_WH.match(asked)
    if bare:
        lead = (bare["preposition"] or "").lower()
        return Completed(said if not lead or said.lower().startswith(lead) else f"{lead} {said}", leans=True)
    in_place = re.match(r"^(?P<head>.+ )(?:which|what)(?: one)?$", asked, re.I)
    if in_place and not words.WH.match(asked):
        head = in_place["head"]
        return Completed(f"{head[0].upper()}{head[1:]}{said}")
    if _ANY.match(asked) or not _VERBAL.search(asked):
        topic = re.sub(
            r"^(?:for |to |from |in |at |by |with |on )?(?:which|what|whose|any|what about|how about|about|the|your|User's) ",
            "",
            asked,
            flags=re.I,
        )
        topic = re.sub(r"^(?:about|the|your|User's) ", "", topic, flags=re.I)
        if re.match(r"(?:which|what) ", asked, re.I) and _apposition(topic, said, memo):
            return Completed("")
        return Completed(f"{topic[0].upper()}{topic[1:]}: {said}")
    text = _indirect(asked, said, memo)
    return Completed(text) if text else None


_VERBAL = re.compile(rf"\b(?:{_AUX}|want|need|like)\b", re.I)
_ANY = re.compile(r"^(?:any|no|other)(?: other| more)? (?P<np>[\w' -]+)$", re.I)
_BARE_WH = re.compile(
    r"^(?:(?P<preposition>for|to|from|in|at|by|with|on|since) )?(?:which|what|who|whom|when|where|why|how)(?: much| many| long| often| one| ones| soon| far)?$",
    re.I,
)
_ADVERBIAL_START = re.compile(
    r"^(?:not|about|around|approximately|roughly|only|just|maybe|mostly|mainly|almost|nearly|over|under|up to|at (?:least|most)|between|until|till|after|before|because|for|in|at|on|by|with|from|through|via|every|each|once|twice|whenever|when|if|as soon as|within|to|since|during|less than|more than|no (?:more|less|later) than|usually|probably|ideally|preferably)\b|^\W*\d|^(?:[A-Z]{3}|[€£$])\s?\d",
    re.I,
)
"""A sentence that still answers: its verb stands in a clause that hangs on one of these."""


def lower_first(said: str) -> str:
    """The phrase as it reads inside a sentence: its first letter stays capital only where it is a name."""
    first = said.split()[0]
    if not re.match(r"[A-Z]", said) or re.match(r"[A-Z]{2}|I\b", said) or _proper(said):
        return said
    if (
        re.match(r"[A-Z][\w'-]+ [A-Z][a-z]", said)
        and not words.PREPOSITION_START.match(said)
        and first.lower() not in words.COMMON
    ):
        return said
    return said[0].lower() + said[1:]


def _proper(said: str) -> bool:
    first = said.split()[0]
    return bool(re.match(r"[A-Z][a-z]+$", first)) and not (
        words.PREPOSITION_START.match(said)
        or first.lower() in words.COMMON
        or first.lower() in words.NOT_NAMES
    )


def _to_user(question: str, memo: Memo) -> str:
    text = re.sub(
        r"\b(what|who|where|how|when)['’]s\b", r"\1 is", _LEAD.sub("", question.strip()), flags=re.I
    )
    parts = [p.strip() for p in re.split(r"[,:–—-]\s", text) if p.strip()]
    if len(parts) > 1 and (
        words.WH.match(parts[-1])
        or _YES_NO.match(parts[-1])
        or re.match(
            r"(?:and|or) (?:what|which|how|when|where|who|do|does|is|are|can|could|will|would)\b",
            parts[-1],
            re.I,
        )
    ):
        if words.WH.match(parts[0]) or _YES_NO.match(parts[0]):
            return ""
        text = parts[-1]
    if re.search(r"\band (?:what|which|how|when|where|who|why|do|does|is|are)\b", text, re.I):
        return ""
    text = _LEAD.sub("", text)
    firm = memo.company or "User's company"
    text = re.sub(r"\byour (?:company|firm|business)\b", firm, text, flags=re.I)
    text = re.sub(r"\byour\b", "User's", text, flags=re.I)
    for short, whole in (("'d", "would"), ("'ve", "has"), ("'re", "is"), ("'ll", "will")):
        text = re.sub(rf"\byou{short}\b", f"User {whole}", text, flags=re.I)
    text = re.sub(r"\byou(?: both| all| guys)?\b", "User", text, flags=re.I)
    words_out = re.split(r"(\b(?:they|he|she|their|his|her)\b)", text, flags=re.I)
    for i, word in enumerate(words_out):
        if re.fullmatch(r"they|he|she|their|his|her", word, re.I):
            words_out[i] = resolve_start(word, memo)[0]
    return "".join(words_out)


def _subject_and_rest(rest: str, memo: Memo) -> tuple[str, str]:
    """Splits "User need card terminals" into subject and predicate; the subject is "User", a name, or a noun phrase."""
    for person in reversed(memo.people):
        if rest.startswith(person.label + " "):
            return person.label, rest[len(person.label) :].strip()
    match = re.match(
        r"(?:User(?:'s (?:company|[a-z-]+(?: [A-Z]\w+)*))?|it|there|that|this|these|those|they|he|she)(?=\s|$)",
        rest,
    )
    if match:
        return match[0], rest[match.end() :].strip()
    named = re.match(rf"{words.NAME}(?=\s|$)", rest)
    if named:
        return named[0], rest[named.end() :].strip()
    tokens = rest.split()
    start = 2 if _DET.match(rest) else 1
    for i in range(start, min(len(tokens), start + 4)):
        if tokens[i].lower() in words.COMMON or tokens[i].lower() in ("be", "been"):
            return " ".join(tokens[:i]), " ".join(tokens[i:])
    return " ".join(tokens[:start]), " ".join(tokens[start:])


def _declarative(aux: str, subject: str, predicate: str, *, negative: bool) -> str:
    aux = aux.lower()
    third = subject not in ("they", "there") and not re.search(r"(?:parents|children|twins|[^s']s)$", subject)
    if aux in ("do", "does"):
        if negative:
            return f"{subject} {'does' if third else 'do'} not {predicate}"
        verb, _, tail = predicate.partition(" ")
        return f"{subject} {conjugate(verb) if third else verb} {tail}".strip()
    if aux == "did":
        return f"{subject} did {'not ' if negative else ''}{predicate}"
    if aux == "are" and third:
        aux = "is"
    if aux == "were" and third:
        aux = "was"
    if aux == "have" and third:
        aux = "has"
    return f"{subject} {aux} {'not ' if negative else ''}{predicate}".strip()


def _statement(asked: str, memo: Memo, *, negative: bool) -> str | None:
    match = _YES_NO.match(asked)
    if not match:
        return None
    subject, predicate = _subject_and_rest(match["rest"], memo)
    if not predicate:
        return None
    if negative:
        predicate = re.sub(r"\bany\b|\bsome\b", "any", predicate)
        if subject == "there":
            return f"There {match['aux'].lower()} no " + re.sub(r"^(?:any|an?) ", "", predicate)
    else:
        predicate = re.sub(r"\bany (?=\w)", "", predicate)
    text = _declarative(match["aux"], subject, predicate, negative=negative)
    return text[0].upper() + text[1:]


def _indirect(asked: str, said: str, memo: Memo) -> str | None:
    """ "How much can User contribute" and "a quarter" → "How much User can contribute: a quarter"."""
    match = _WH.match(asked)
    if not match:
        yes_no = _statement(asked, memo, negative=False)
        return f"{yes_no}: {said}" if yes_no else None
    wh, noun, aux, rest = match["wh"], match["np"].strip(), match["aux"], match["rest"].strip()
    if (
        wh.lower() in ("what", "which", "who")
        and aux.lower() in ("is", "are", "was", "were")
        and not re.search(r"ing\b", rest)
        and not noun
    ):
        return f"{rest[0].upper()}{rest[1:]} {aux.lower()} {said}"
    if wh.lower() == "how old" and aux.lower() in ("is", "are"):
        return f"{rest[0].upper()}{rest[1:]} is {said}"
    if _PREP.match(rest) or (
        wh.lower() in ("who", "what", "which")
        and aux.lower() in ("will", "would", "should")
        and not re.match(r"(?:User|the|it|they|he|she)\b", rest)
    ):
        return f"{asked[0].upper()}{asked[1:]}: {said}"
    subject, predicate = _subject_and_rest(rest, memo)
    clause = _declarative(aux, subject, predicate, negative=False)
    text = f"{wh} {noun} {clause}".replace("  ", " ")
    return f"{text[0].upper()}{text[1:]}: {said}"


def _apposition(noun: str, name: str, memo: Memo) -> bool:
    """ "Which supplier?" "Ostrava Springs": the name goes beside the noun in the fact that it names."""
    for draft in reversed(memo.drafts[-3:]):
        match = re.search(rf"(?i:\b{re.escape(noun)}s?\b)(?! [A-Z])", draft.content)
        if match and len(name) <= 60 and not draft.chinese:
            draft.content = f"{draft.content[: match.end()]} {name}{draft.content[match.end() :]}"
            return True
    return False
