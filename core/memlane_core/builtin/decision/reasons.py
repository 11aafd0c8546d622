"""Why a decision was made, in a few words, in the language of the fact. Never quotes a memory."""

from ...domain.memory import Action
from .comparison import Comparison
from .reading import Reading

_TEXTS = {
    "first": ("没有相关的记忆", "nothing recorded concerns it"),
    "one_more": ("同类的又一项，与已有记忆并存", "one more of its kind, beside what is recorded"),
    "other_thing": (
        "属于另一个对象，已有记忆不涉及",
        "it concerns another person or thing than what is recorded",
    ),
    "unrelated": ("新的事实，已有记忆没有提到", "a new fact that nothing recorded states"),
    "same_text": ("与已有记忆相同", "the same text is recorded already"),
    "covered": ("已有记忆已包含", "already stated by this memory"),
    "number": ("同一事项，数值已变", "same matter, the number has changed"),
    "negation": ("同一事项，说法相反", "same matter, said the other way round"),
    "detail": ("同一事项，说得更具体", "same matter, in more detail"),
    "change": ("同一事项，情况已变", "same matter, it has changed"),
    "retraction": ("用户收回了这条", "taken back by the user"),
    "nothing_to_retract": ("没有可收回的记忆", "nothing recorded that could be taken back"),
}


def reason(key: str, *, chinese: bool) -> str:
    """The text of a reason by its key."""
    return _TEXTS[key][0 if chinese else 1]


def explain(action: Action, fact: Reading, comparison: Comparison | None) -> str:
    """The reason of a decision that the scorer made, read off its strongest feature."""
    return reason(_key(action, fact, comparison), chinese=fact.chinese)


def _key(action: Action, fact: Reading, comparison: Comparison | None) -> str:
    if comparison is None:
        return "first"
    if action is Action.DELETE:
        return "retraction"
    if action is Action.NOOP:
        return "covered"
    if action is Action.ADD:
        if comparison.other_thing:
            return "other_thing"
        return "one_more" if fact.adds else "unrelated"
    if comparison.number_swap:
        return "number"
    if comparison.reversed:
        return "negation"
    return "change" if fact.becomes or fact.tells_now else "detail"
