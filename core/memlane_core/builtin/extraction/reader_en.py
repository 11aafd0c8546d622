# ruff: noqa: E501
"""English messages to drafts of facts."""

import re

from ..text.numerals import find_quantities
from ..text.secrets import MASK, redact, scrub_fact
from . import lexicon_en as words
from . import when_en
from .answers_en import Completed, complete, is_fragment, lower_first
from .corrections import apply_correction, strip_marks
from .memo import Draft, Memo, Person, Turn
from .persons_en import company_name, resolve_start, rewrite
from .proposals import advice_en, option
from .segments import Sentence, sentences
from .validity import expiry

_SPLIT = re.compile(
    r",?\s+(?:and|but|so|yet|plus)\s+(?=(?:I|we|please|my|our)\b|(?:please |don't |do not )(?:send|call|email|text|keep|use)\b)|,?\s+(?:so|but)\s+(?=(?:send|call|email|text|keep|use)\b)|,\s+(?=(?:I|we|please|my|our)\b(?!\s?(?:own|and)\b))|\s+[–—-]\s+|,\s+(?=(?:what|how|where|who|when)'s\b|(?:what|how|can|could|should|which|where|when|would|will|is|are|do|does|who)\s(?:do|does|is|are|you|i|we|it|there|the|that|should|can|would|much|many|long)\b)"
)
_ANAPHORA = re.compile(
    r"^(?:it|that|this|these|those|both|one|each|there|the (?:rest|other|others|same|one|first|second)|most|all of|half|some of|after that|before that|in between|of (?:these|those|which|that))\b",
    re.I,
)
_NO_SUBJECT = re.compile(
    r"^(?P<verb>prefer|want|need|have|got|live|work|love|hate|like|dislike|would (?:like|prefer|rather)|can't|cannot|don't (?:like|want|need|have|own|drink|smoke|trust|use)|won't|hope|plan|expect|own|run|moved|bought|sold|started|retired|married|recently \w+ed|just \w+ed)\b",
    re.I,
)
_GERUND = re.compile(
    r"^(?:looking (?:for|to|at)|retiring|starting|getting|having|planning|thinking (?:of|about)|hoping|considering|trying|saving|expecting|moving|buying|selling|working|living|interested in|not interested in|happy (?:with|to)|worried about|allergic to|based in|retired|married|single|divorced|widowed)\b",
    re.I,
)
_IMPERATIVE = re.compile(
    r"^(?:please |kindly |just |also |then |now )*(?P<neg>(?:don't|do not|never) )?(?P<rest>.+)$", re.I | re.S
)


def read(turn: Turn, memo: Memo) -> None:
    """Adds the facts of one message to the memo, completes and corrects earlier ones."""
    text = redact(turn.text.replace("’", "'"), memo.policy).text
    question = turn.question
    found = list(sentences(text))
    before = len(memo.drafts)
    accepted = False
    for sentence in found:
        if sentence.pasted or words.INJECTION.search(sentence.text):
            memo.reject("", "it comes from pasted text, not from the customer")
            continue
        cleaned = sentence
        if MASK in sentence.text:
            rest = scrub_fact(sentence.text, memo.policy).text
            memo.reject(sentence.text, "it holds a secret, which was cut")
            rewrite(sentence.text, memo)  # whose card it was: "she" may follow
            if not rest:
                continue
            cleaned = Sentence(rest, sentence.asks and sentence.text.endswith(rest[-8:]))
        if turn.answer_to and _accepts(cleaned.text):
            accepted = True
            question = ""
            continue
        question = _sentence(cleaned, turn, memo, question)
    if accepted and len(memo.drafts) == before:
        proposal = advice_en(turn)
        if proposal:
            _add(f"User agreed: {proposal}", turn, memo)
            memo.drafts[-1].answered = True


def _sentence(sentence: Sentence, turn: Turn, memo: Memo, question: str) -> str:
    name = company_name(sentence.text)
    if name and not memo.company:
        memo.business = True
    corrected = apply_correction(sentence.text, memo, turn.index, chinese=False)
    if corrected == "":
        return question
    text = strip_marks(sentence.text if corrected is None else corrected).strip(" ,")
    if question:
        answer = text if words.YES.match(text) or words.NO.match(text) else words.LEAD.sub("", text)
        done = complete(question, answer, memo)
        if done is not None:
            if done.text:
                _answered(done, turn, memo)
            return ""
        if words.NO.match(text) or words.YES.match(text):
            text = words.NO.sub("", words.YES.sub("", text))
    body = words.OWN_KIN.sub(lambda m: f"my {m[0].lower()}", words.LEAD.sub("", text).strip(" ,."))
    if not body or words.FILLER.match(body) or words.TALK.match(body):
        return question
    parts = _split(body)
    if question and len(parts) > 1 and is_fragment(parts[0]):
        # "Euros and won, we lose a lot on conversion": only the first part answers.
        done = complete(question, parts[0], memo)
        if done is not None and done.text:
            _answered(done, turn, memo)
            parts = parts[1:]
    for position, part in enumerate(parts):
        part = words.LEAD.sub("", part).strip(" ,.")
        if not part or words.FILLER.match(part) or words.TALK.match(part):
            continue
        if _asks(part, sentence.asks and position == len(parts) - 1):
            continue
        _unit(part, turn, memo)
    if name:
        memo.company = name
        memo.business = True
    return ""


def _split(body: str) -> list[str]:
    """Clauses with a subject of their own. A condition stays with what depends on it."""
    if re.match(r"(?:if|when|unless|as long as|once|since|because|although|though|while)\b", body, re.I):
        return [body]
    parts: list[str] = []
    for part in _SPLIT.split(body):
        if parts and is_fragment(parts[-1]) and len(parts) == 1 and not re.search(r"\d", parts[-1]):
            # "My wife and I have moved": what precedes is no clause of its own.
            parts[-1] = body[: body.index(part, len(parts[-1])) + len(part)]
        elif part:
            parts.append(part)
    return parts


def _asks(part: str, marked: bool) -> bool:
    if not marked and words.DECIDES.match(part):
        return False
    if words.POLITE_WISH.match(part) and words.STANDING.search(part):
        return False
    return (
        marked
        and (
            words.ASK.match(part) is not None
            or not re.match(r"(?:I|we|my|our)\b", part, re.I)
            or part.endswith("right")
        )
    ) or words.ASK.match(part) is not None


def _unit(part: str, turn: Turn, memo: Memo) -> None:
    """Judges one clause and makes a draft of it."""
    if words.HYPOTHETICAL.match(part) or (
        re.match(r"if\b", part, re.I)
        and not re.search(
            r"\b(?:I|we)(?:'d|'ll| would| will| want| prefer| need| can)\b|\b(?:call|text|email|tell|let) (?:me|us)\b",
            part,
        )
    ):
        return
    confirmed = words.CONFIRMS.match(part)
    if confirmed and not words.SELF.search(part):
        what = confirmed["what"]
        key = re.sub(r"^(?:the|a|an|that|this|it|yes) ?", "", what, flags=re.I).lower()
        if key and not any(key in d.content.lower() for d in memo.drafts):
            _add(f"User confirms: {what[0].lower()}{what[1:]}", turn, memo)
        return
    if words.OPINION.match(part) and not re.search(r"\b(?:my|our)\b", part, re.I):
        return
    if words.REQUEST.match(part) and not _NO_SUBJECT.match(part):
        if _lasting(part):
            _add(_instruction(part), turn, memo)
        return
    if words.DECIDES.match(part):
        rest = re.sub(r"^let's ", "", part, flags=re.I)
        meant = option(rest, turn) or (advice_en(turn) if re.search(r"\b(?:that|this|it)\b", rest) else "")
        _add(f"User decided to {rest[0].lower()}{rest[1:]}" + (f" ({meant})" if meant else ""), turn, memo)
        memo.drafts[-1].answered = True
        return
    if (
        is_fragment(part)
        and not re.match(r"\d{2}, [a-z]", part)
        and not _NO_SUBJECT.match(part)
        and not _GERUND.match(part)
    ):
        _fragment(part, turn, memo)
        return
    if re.match(r"\d{2}, [a-z]", part):
        part = f"I'm {part}"
    elif _NO_SUBJECT.match(part):
        part = f"I {part[0].lower()}{part[1:]}"
    elif _GERUND.match(part):
        part = f"I'm {part[0].lower()}{part[1:]}"
    if not _worth(part, memo):
        return
    text, person = resolve_start(part, memo)
    if (
        person is None
        and (_ANAPHORA.match(text) or re.match(r"(?:he|she|they|his|her|their)\b", text, re.I))
        and _join(rewrite(text, memo), turn, memo, "; ")
    ):
        return
    last = memo.last()
    if (
        last
        and last.answered
        and last.source == turn.index
        and person is None
        and re.search(r"\bthe [a-z]", part)
    ):
        # "Goole. We want to buy the building": the building is the one in Goole.
        last.answered = False
        if _join(rewrite(text, memo), turn, memo, "; "):
            return
    _add(rewrite(text, memo), turn, memo)


def _answered(done: Completed, turn: Turn, memo: Memo) -> None:
    """A statement made of a question and its answer; what leans on the fact before is joined to it."""
    if done.leans:
        if not _join(rewrite(done.text, memo), turn, memo, ", "):
            _add(done.text, turn, memo)
        return
    before = len(memo.drafts)
    for part in done.text.split("; "):
        text, person = resolve_start(part, memo)
        leans = person is None and re.search(r"\b(?:it|them|that|this)\b", text.split(":")[0])
        if not (leans and _join(rewrite(text, memo), turn, memo, "; ")):
            _add(text, turn, memo)
    if len(memo.drafts) > before:
        memo.drafts[-1].answered = True


def _lasting(part: str) -> bool:
    """An instruction that stays in force, or one that sets something up: not a wish for the next answer."""
    if words.STANDING.search(part):
        return True
    sets = re.match(
        r"(?:please )?(?:put|set|hold|cover|lock|fix|book|limit|cap|split|invest|move)\b", part, re.I
    )
    return sets is not None and (words.SELF.search(part) is not None or re.search(r"\d", part) is not None)


def _instruction(part: str) -> str:
    match = _IMPERATIVE.match(part)
    assert match is not None
    rest = re.sub(r",? please\b", "", match["rest"], flags=re.I).strip()
    rest = rest[0].lower() + rest[1:]
    if match["neg"]:
        never = "never " if match["neg"].lower().startswith("never") else ""
        return f"I ask the bank not to {never}{rest}".replace("not to never", "never to")
    return f"I ask the bank to {rest}"


def _worth(part: str, memo: Memo) -> bool:
    if words.SELF.search(part):
        return not re.match(r"(?:i|we) (?:will|'ll)? ?(?:see|understand|know)$", part, re.I)
    if re.match(r"(?:he|she|they|his|her|their)\b", part, re.I):
        return True
    if words.MARKET.search(part):
        return False
    if re.search(r"\byou(?:r|'re|'ve)?\b", part, re.I) and not re.search(r"\d", part):
        return False
    if words.BUSINESS.search(part) or any(not q.weak for q in find_quantities(part)):
        return True
    if _ANAPHORA.match(part):
        return bool(memo.drafts)
    if memo.drafts and re.match(r"(?:the|a|an|no|some|all|most) \w", part, re.I):
        return True
    return (
        re.search(r"(?<!^)\b[A-Z][a-z]+|^[A-Z][a-z]+ [A-Z]", part) is not None
        or re.match(r"(?:nobody|everyone|everybody|someone) (?:here|in)", part, re.I) is not None
    )


def _fragment(part: str, turn: Turn, memo: Memo) -> None:
    """A phrase without a verb goes on with what was said just before, or is kept if it tells a number or a name."""
    wish = re.match(r"(?:please,? (?P<a>.+)|(?P<b>.+?),? please)$", part, re.I)
    if wish and len(part.split()) > 2:
        _add(f"I ask for {lower_first(wish['a'] or wish['b'])}", turn, memo)
        return
    if words.MARKET.search(part) or (len(part.split()) > 25):
        return
    telling = any(not q.weak for q in find_quantities(part)) or re.search(
        r"(?<!^)\b[A-Z][\w-]+|\b(?:only|no|not|never|mostly|mainly)\b", part
    )
    if not telling and not words.BUSINESS.search(part):
        return
    text = rewrite(part, memo)
    if _join(text, turn, memo, ", "):
        return
    if telling:
        _add(text, turn, memo)


def _join(text: str, turn: Turn, memo: Memo, mark: str) -> bool:
    last = memo.last()
    if last is None or last.chinese or last.source < turn.index - 2 or len(last.content) + len(text) > 240:
        return False
    dated = when_en.resolve(text, turn.said.date())
    if expiry(dated.text, dated.spans, turn.said) is not None:
        return False
    last.content += mark + (dated.text if dated.text.startswith("User") else lower_first(dated.text))
    return True


def _add(text: str, turn: Turn, memo: Memo) -> None:
    text = rewrite(text, memo)
    dated = when_en.resolve(text, turn.said.date())
    content = dated.text.strip(" ,.;:")
    if not content:
        return
    content = content[0].upper() + content[1:]
    memo.drafts.append(
        Draft(content, turn.index, False, expiry(dated.text, dated.spans, turn.said), retraction=words.RETRACTION.search(text) is not None)
    )  # fmt: skip
    _rename(content, memo)


def _rename(content: str, memo: Memo) -> None:
    """ "User's dad is called Bertram", "User's biggest customer is Ravenglass Foods": from now on they have a name."""
    for person in memo.people:
        if person.name or not content.startswith(person.label):
            continue
        rest = content[len(person.label) :]
        match = re.match(rf" is (?:called|named) (?P<name>{words.NAME})", rest) or re.match(
            rf" is (?P<name>{words.NAME})(?=$|[,.;])", rest
        )
        if match and not re.search(r"(?:ish|ese|[^aeiou]an|ch)$", match["name"]):
            name = match["name"].split(",")[0]
            memo.rename(person, Person(f"{person.label} {name}", person.gender, person.plural, name))
            return


def _accepts(text: str) -> bool:
    """The whole sentence says yes to what was proposed, perhaps with praise beside it."""
    if words.ACCEPT.match(text):
        return True
    parts = [p.strip() for p in re.split(r",\s", text) if p.strip()]
    if (
        len(parts) == 2
        and re.match(r"yes,? please$|please do$", parts[0], re.I)
        and words.REQUEST.match(parts[1])
    ):
        return True
    return any(words.ACCEPT.match(p) for p in parts) and all(
        words.ACCEPT.match(p) or words.FILLER.match(p) or words.PRAISE.match(p) for p in parts
    )
