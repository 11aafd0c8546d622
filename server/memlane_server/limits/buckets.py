"""One kind of calls of one tenant or user: how many a second, how many at once."""

from .settings import Bounds

_BURST_SECONDS = 2.0


class Bucket:
    """A token bucket and a count of what runs. Times are monotonic seconds, given by the caller.

    Source of the token bucket: J. Turner, "New directions in communications", IEEE Communications Magazine 24 (1986).
    """

    __slots__ = ("_at", "_burst", "_concurrent", "_rate", "_tokens", "running")

    def __init__(self, bounds: Bounds, now: float) -> None:
        self._rate = bounds.per_second or 0.0
        """0 = no bound."""
        self._burst = bounds.burst or max(self._rate * _BURST_SECONDS, 1.0)
        self._tokens = self._burst
        self._at = now
        self._concurrent = bounds.concurrent or 0
        """0 = no bound."""
        self.running = 0

    def missing_seconds(self, now: float, weight: int) -> float:
        """How long until the rate allows a call of this weight; 0 = now. A call that weighs more than the bucket can
        hold needs a full one."""
        if not self._rate:
            return 0.0
        tokens = self._tokens + (now - self._at) * self._rate
        self._tokens = tokens = self._burst if tokens > self._burst else tokens
        self._at = now
        missing = (weight if weight < self._burst else self._burst) - tokens
        # Sums of floating point numbers: who waits as long as he was told must be let in.
        return missing / self._rate if missing > 1e-6 else 0.0

    @property
    def full(self) -> bool:
        """As many run as may."""
        return 0 < self._concurrent <= self.running

    @property
    def concurrent(self) -> int:
        return self._concurrent

    def enter(self, weight: int) -> None:
        """Counts a call that is let in; may take more than there is, so that a heavy call is paid for afterwards."""
        if self._rate:
            self._tokens -= weight
        self.running += 1

    def leave(self) -> None:
        self.running -= 1
