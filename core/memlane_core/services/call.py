"""Who calls, and until when: what every use case is told besides its command."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..domain.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock after which nobody waits for the answer any more."""

    at: float
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def remaining_seconds(self) -> float:
        return self.at - self.clock()

    def timeout_seconds(self, at_most: float) -> float:
        """Time to give to a step: what remains, capped. Raises DeadlineExceeded when nothing remains."""
        remaining = self.remaining_seconds()
        if remaining <= 0:
            raise DeadlineExceeded("the deadline of the call has passed")
        return min(remaining, at_most)


@dataclass(frozen=True, slots=True)
class Call:
    """Scope and time of one call. The tenant comes from the credential, never from the body."""

    tenant: str
    actor: str
    """Who acts, for the audit log: the credential's subject or a job's name."""
    deadline: Deadline = field(default_factory=lambda: Deadline.after(60.0))
