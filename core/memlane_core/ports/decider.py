"""Facts and candidates to decisions."""

from dataclasses import dataclass
from typing import Protocol

from ..domain.decision import Decision, FactToDecide
from ..domain.memory import DeciderKind


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    facts: tuple[FactToDecide, ...]
    timeout_seconds: float | None = None


class Decider(Protocol):
    @property
    def kind(self) -> DeciderKind: ...

    async def decide(self, request: DecisionRequest) -> tuple[Decision, ...]:
        """One decision per fact, in the order of the facts. Decisions are proposals: the guards run afterwards.

        Raises ModelUnavailable, ModelThrottled, ModelAnswerUnusable or DeadlineExceeded.
        """
        ...
