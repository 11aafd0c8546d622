"""The guards, one function each. A check looks at a decision and answers None (nothing to object), a safer decision,
or a refusal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..builtin.decision.slot import same_slot
from ..builtin.text.markers import retracts
from ..builtin.text.negation import negations
from ..builtin.text.normalise import clauses, fold, is_chinese
from ..builtin.text.numerals import Quantity, find_quantities, missing
from ..domain.conversation import Fact
from ..domain.decision import Candidate, Decision
from ..domain.limits import MAX_CONTENT_BYTES
from ..domain.memory import Action
from .names import GuardName


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """What one installation allows."""

    max_deletions: int = 10
    """Memories that one Remember may delete."""
    max_content_bytes: int = MAX_CONTENT_BYTES
    """UTF-8 bytes of one memory's text."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a check may look at."""

    decision: Decision
    fact: Fact
    candidates: Sequence[Candidate]
    policy: GuardPolicy
    deletions: int
    """Memories that this Remember has deleted so far."""

    @property
    def target(self) -> Candidate | None:
        wanted = self.decision.target_id
        return next((c for c in self.candidates if c.memory.memory_id == wanted), None)

    @property
    def text(self) -> str:
        """The text that the decision would write."""
        return self.fact.content if self.decision.content is None else self.decision.content

    @property
    def writes(self) -> bool:
        return self.decision.action in (Action.ADD, Action.UPDATE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The decision is not carried out. `reason` names ids and fields, never memory text."""

    reason: str


Verdict = Decision | Refusal | None
Check = Callable[[Case], Verdict]


def unknown_target(case: Case) -> Verdict:
    """Only ids offered in this call are accepted. An ADD that names one keeps its text and loses the id."""
    wanted = case.decision.target_id
    if wanted is None or case.target is not None:
        return None
    if case.decision.action is Action.ADD:
        return replace(case.decision, target_id=None)
    return Refusal(f"the decision names memory {wanted!r}, which was not offered")


def missing_target(case: Case) -> Verdict:
    """UPDATE and DELETE need a target; a NOOP without one would lose a stated fact."""
    decision = case.decision
    match decision.action:
        case Action.ADD if decision.target_id is not None:
            return replace(decision, target_id=None)
        case Action.UPDATE if decision.target_id is None:
            return replace(decision, action=Action.ADD)
        case Action.DELETE if decision.target_id is None:
            return Refusal("a DELETE names no memory")
        case Action.NOOP if decision.target_id is None and not case.fact.retraction:
            if not case.candidates:
                return Decision(Action.ADD, reason=decision.reason)
            nearest = max(case.candidates, key=lambda c: c.similarity)
            return replace(decision, target_id=nearest.memory.memory_id)
        case Action.ADD | Action.UPDATE | Action.DELETE | Action.NOOP:
            return None
        case other:
            return Refusal(f"{other.value} is no decision about a fact")


def already_stored(case: Case) -> Verdict:
    """A fact whose very words are stored changes nothing, whatever the decider makes of it."""
    if case.fact.retraction or case.decision.action is Action.NOOP:
        return None
    # An UPDATE or DELETE of another memory may still settle a contradiction with it.
    touched = case.candidates if case.decision.action is Action.ADD else filter(None, (case.target,))
    said = fold(case.fact.content)
    for candidate in touched:
        if fold(candidate.memory.content) == said:
            return Decision(Action.NOOP, candidate.memory.memory_id, reason=case.decision.reason)
    return None


def content_empty(case: Case) -> Verdict:
    """A blank new text falls back to the fact's own; a blank fact is refused."""
    if not case.writes or case.text.strip():
        return None
    if case.fact.content.strip():
        return replace(case.decision, content=None)
    return Refusal("content: must not be empty")


def content_lost_number(case: Case) -> Verdict:
    """A new text states every number of the fact and none that neither fact nor target states."""
    if not case.writes or case.decision.content is None:
        return None
    fact, text = find_quantities(case.fact.content), find_quantities(case.decision.content)
    known: tuple[Quantity, ...] = fact
    if case.decision.action is Action.UPDATE and case.target is not None:
        known += find_quantities(case.target.memory.content)
    if missing(text, fact) or missing(known, text):
        return replace(case.decision, content=None)
    return None


def content_lost_negation(case: Case) -> Verdict:
    """A new text denies where the fact denies, and does not where neither fact nor target does."""
    if not case.writes or case.decision.content is None:
        return None
    fact, text = len(negations(case.fact.content)), len(negations(case.decision.content))
    target = case.target if case.decision.action is Action.UPDATE else None
    known = fact + (len(negations(target.memory.content)) if target else 0)
    if (fact and not text) or (text and not known):
        return replace(case.decision, content=None)
    return None


def delete_loses_fact(case: Case) -> Verdict:
    """Only what takes something back may delete; a stated fact replaces its predecessor instead."""
    if (
        case.decision.action is not Action.DELETE
        or case.target is None
        or _takes_back(case.fact, case.target)
    ):
        return None
    return Decision(Action.UPDATE, case.decision.target_id, reason=case.decision.reason)


def number_differs(case: Case) -> Verdict:
    """A fact with a number that its target does not state is no repetition."""
    target = case.target
    if case.decision.action is not Action.NOOP or target is None or case.fact.retraction:
        return None
    if not missing(find_quantities(target.memory.content), find_quantities(case.fact.content)):
        return None
    return _replace_or_keep_both(case, target, "数字与已有记忆不同", "its numbers differ from the memory's")


def negation_differs(case: Case) -> Verdict:
    """A fact that denies what its target affirms, or the reverse, is no repetition."""
    target = case.target
    if case.decision.action is not Action.NOOP or target is None or case.fact.retraction:
        return None
    if len(negations(target.memory.content)) % 2 == len(negations(case.fact.content)) % 2:
        return None
    return _replace_or_keep_both(
        case, target, "肯定与否定和已有记忆相反", "it denies what the memory states, or the reverse"
    )


def too_many_deletions(case: Case) -> Verdict:
    """One Remember deletes at most `policy.max_deletions` memories."""
    if case.decision.action is Action.DELETE and case.deletions >= case.policy.max_deletions:
        return Refusal(
            f"memory {case.decision.target_id!r} was not deleted: one call deletes at most {case.policy.max_deletions}"
        )
    return None


def content_too_long(case: Case) -> Verdict:
    """Text is measured in UTF-8 bytes. A new text that is too long falls back to the fact's, if that fits."""
    limit = case.policy.max_content_bytes
    if not case.writes or _bytes(case.text) <= limit:
        return None
    if case.decision.content is not None and _bytes(case.fact.content) <= limit:
        return replace(case.decision, content=None)
    return Refusal(f"content: {_bytes(case.text)} bytes of UTF-8, at most {limit} are kept")


CHECKS: tuple[tuple[GuardName, Check], ...] = (
    (GuardName.UNKNOWN_TARGET, unknown_target),
    (GuardName.MISSING_TARGET, missing_target),
    (GuardName.ALREADY_STORED, already_stored),
    (GuardName.DELETE_LOSES_FACT, delete_loses_fact),
    (GuardName.NUMBER_DIFFERS, number_differs),
    (GuardName.NEGATION_DIFFERS, negation_differs),
    (GuardName.CONTENT_EMPTY, content_empty),
    (GuardName.CONTENT_LOST_NUMBER, content_lost_number),
    (GuardName.CONTENT_LOST_NEGATION, content_lost_negation),
    (GuardName.CONTENT_TOO_LONG, content_too_long),
    (GuardName.TOO_MANY_DELETIONS, too_many_deletions),
)
"""In the order in which they run: each sees what the ones before made of the decision."""


def _replace_or_keep_both(case: Case, target: Candidate, zh: str, en: str) -> Decision:
    reason = zh if is_chinese(case.fact.content) else en
    if same_slot(case.fact.content, target.memory.content):
        return Decision(Action.UPDATE, target.memory.memory_id, reason=reason)
    return Decision(Action.ADD, reason=reason)


def _takes_back(fact: Fact, target: Candidate) -> bool:
    """Whether the fact takes something back and states nothing new beside it."""
    if fact.retraction:
        return True
    folded = fold(fact.content)
    if not retracts(folded):
        return False
    known = find_quantities(target.memory.content)
    return not any(
        missing(known, find_quantities(clause.text))
        for clause in clauses(folded)
        if not retracts(clause.text)
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", errors="surrogatepass"))
