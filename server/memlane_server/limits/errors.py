"""Refusals of the limiter: RESOURCE_EXHAUSTED, raised before any work is done."""

from memlane_core.domain.errors import Exhausted


class RateLimited(Exhausted):
    """More calls a second than allowed."""

    reason = "RATE_LIMITED"


class ConcurrencyLimited(Exhausted):
    """More calls at once than allowed."""

    reason = "CONCURRENCY_LIMITED"
