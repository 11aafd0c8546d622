"""Code that runs after whichever decider spoke and may only make its decision safer; and the scrubbing of secrets."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..domain.conversation import Fact
from ..domain.decision import Candidate, Decision
from .checks import CHECKS, Case, GuardPolicy, Refusal
from .names import GUARD_NAMES, GuardName
from .secrets import Redacted, SecretPolicy, redact

__all__ = [
    "GUARD_NAMES",
    "GuardName",
    "GuardPolicy",
    "Guarded",
    "Redacted",
    "SecretPolicy",
    "guard",
    "redact",
]


@dataclass(frozen=True, slots=True)
class Guarded:
    """A decision after the guards."""

    decision: Decision
    interventions: tuple[GuardName, ...] = ()
    """The guards that changed or refused it, in order."""
    rejected: str | None = None
    """Why it must not be carried out, for the caller: names ids and fields, never memory text."""


def guard(
    decision: Decision,
    fact: Fact,
    candidates: Sequence[Candidate],
    policy: GuardPolicy | None = None,
    *,
    deletions: int = 0,
) -> Guarded:
    """Run every guard over a decision. `deletions` is how many memories this Remember has deleted so far.

    Never raises: what cannot be made safe is refused with a reason.
    """
    policy = policy or GuardPolicy()
    interventions: list[GuardName] = []
    for name, check in CHECKS:
        verdict = check(Case(decision, fact, candidates, policy, deletions))
        if verdict is None or verdict == decision:
            continue
        interventions.append(name)
        if isinstance(verdict, Refusal):
            return Guarded(decision, tuple(interventions), verdict.reason)
        decision = verdict
    return Guarded(decision, tuple(interventions))
