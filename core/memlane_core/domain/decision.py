"""Decisions over facts, and the operations that come of them."""

from dataclasses import dataclass

from .conversation import Fact, RejectedFact
from .memory import Action, DeciderKind, Memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """A live memory of the same user that a fact may concern."""

    memory: Memory
    similarity: float
    """Cosine with the fact, -1..1."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with one fact. ADD has no target; UPDATE, DELETE and NOOP name one of the candidates."""

    action: Action
    target_id: str | None = None
    content: str | None = None
    """New text for ADD and UPDATE; None = the fact's own text."""
    reason: str = ""
    """Why, in a few words, in the fact's language."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One decided (and, unless validated only, applied) step of a Remember."""

    action: Action
    memory: Memory | None
    """The memory as it stands afterwards; for DELETE and NOOP the memory concerned."""
    previous: Memory | None
    """The memory as it stood before an UPDATE or DELETE."""
    reason: str
    decider: DeciderKind
    similarity: float | None
    """Cosine between the fact and the memory concerned; None where nothing was compared."""
    guards: tuple[str, ...] = ()
    """Names of the guards that changed the decision."""


@dataclass(frozen=True, slots=True)
class RememberResult:
    """Answer of one Remember."""

    operations: tuple[Operation, ...]
    rejected: tuple[RejectedFact, ...]
    partial: bool
    position: int
    """Journal position after the call; the base of the consistency token."""
    ingestion_id: str = ""


@dataclass(frozen=True, slots=True)
class FactToDecide:
    """A fact with the candidates nominated for it, most similar first."""

    fact: Fact
    candidates: tuple[Candidate, ...]
