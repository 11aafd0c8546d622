"""Whether a fact says of the user what was said of somebody else."""

import re

from ...builtin.text.normalise import clauses, fold
from .grounding import content_units

# People whom a speaker talks about by relation; a fact about them names them by any word of their row.
_PEOPLE = (
    "爸爸|老爸|爸|父亲|爹|father|dad|daddy",
    "妈妈|老妈|妈|母亲|娘|mother|mum|mom|mummy|mommy",
    "父母|爸妈|双亲|parents|folks",
    "老公|丈夫|先生|husband|spouse|partner",
    "老婆|妻子|太太|爱人|wife|spouse|partner",
    "儿子|女儿|孩子|小孩|son|daughter|child|children|kid|kids",
    "哥哥|弟弟|姐姐|妹妹|哥|弟|姐|妹|兄|brother|sister|sibling",
    "爷爷|奶奶|外公|外婆|姥姥|姥爷|祖父|祖母|grandfather|grandmother|grandpa|grandma|grandparents",
    "叔叔|舅舅|阿姨|姑姑|姨妈|伯伯|表哥|表姐|表弟|表妹|uncle|aunt|cousin|nephew|niece",
    "朋友|闺蜜|哥们|friend|buddy|mate",
    "同事|老板|上司|领导|colleague|coworker|boss|manager|supervisor",
    "邻居|室友|同学|neighbour|neighbor|flatmate|roommate|classmate",
    "男朋友|女朋友|男友|女友|未婚夫|未婚妻|boyfriend|girlfriend|fiance|fiancee",
)
_WORDS = [row.split("|") for row in _PEOPLE]
_WORD_ROW = {word: i for i, words in enumerate(_WORDS) for word in words}
_BY_LENGTH = sorted(_WORD_ROW, key=len, reverse=True)
_LATIN = "|".join(w for w in _BY_LENGTH if w.isascii())
_CHINESE = "|".join(w for w in _BY_LENGTH if not w.isascii())
_SUBJECT = re.compile(
    r"^(?:and |but |so |because |well |however )?(?:my|his|her|their|our) (?:\w+ )?"
    rf"(?P<en>{_LATIN})\b(?:'s)?(?P<en_rest>.*)"
    r"|^(?:但是|但|而且|因为|所以|不过|其实)?(?:我|我们|咱|他|她)(?:家)?的?"
    rf"(?P<zh>{_CHINESE})(?P<zh_rest>.*)",
    re.DOTALL,
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|us|our|i'm|i've|i'd|i'll)\b|我|咱")
_ABOUT_USER = re.compile(r"^(?:the )?(?:user|customer|client)\b(?!'s)|^(?:用户|客户)|^(?:i|my)\b|^我")


def misattributed(fact: str, turn: str) -> bool:
    """Whether the clause of the turn that the fact is taken from is about another person whom the fact
    does not name.

    Only where it is plain: the clause begins with the person ("my father's …", "我爸的…") and has no "I"
    after it.
    """
    folded = fold(fact)
    units = content_units(folded)
    scored = [(len(units & content_units(fold(c.text))), fold(c.text)) for c in clauses(turn)]
    best = max((score for score, _ in scored), default=0)
    if best == 0 or _ABOUT_USER.search(folded) is None:
        return False
    sources = [text for score, text in scored if score == best]
    return all(_another_person(text, folded) for text in sources)


def _another_person(clause: str, fact: str) -> bool:
    match = _SUBJECT.match(clause)
    if match is None:
        return False
    rest = match["en_rest"] if match["en"] else match["zh_rest"]
    if _FIRST_PERSON.search(rest):
        return False
    words = _WORDS[_WORD_ROW[match["en"] or match["zh"]]]
    named = any(
        re.search(rf"\b{word}\b", fact) if word.isascii() else word in fact
        for word in (*words, "家人", "family")
    )
    name = re.match(r" ([a-z]+)", rest)
    return not named and not (name is not None and re.search(rf"\b{name[1]}\b", fact))
