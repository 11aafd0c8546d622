"""Refused calls in the audit log: counted, so that a flood of bad tokens cannot fill it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from memlane_core.domain.errors import MemlaneError, PermissionDenied, Unauthenticated, Unavailable

from ..principal import Principal

_log = logging.getLogger(__name__)

MAX_ROWS = 32
"""Rows that one round may add to the log; what is beyond them is counted together."""
OTHERS = "OTHER_REFUSALS"


@dataclass(frozen=True, slots=True)
class Refused:
    """Calls refused for one reason since the last round."""

    tenant: str
    actor: str
    """Name of the credential; "" = nobody was recognised."""
    reason: str
    count: int


Record = Callable[[Refused], Awaitable[None]]


class Refusals:
    """To be used on the event loop. `record` writes one row; it must not block the loop."""

    def __init__(self, record: Record, *, own_tenant: str, every_seconds: float) -> None:
        """`own_tenant` is the server's own: there goes what concerns no tenant, as who was not recognised has none."""
        self._record = record
        self._own_tenant = own_tenant
        self._every_seconds = every_seconds
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def unauthenticated(self, error: Unauthenticated) -> None:
        self._count(self._own_tenant, "", error)

    def denied(self, principal: Principal, error: PermissionDenied) -> None:
        self._count(principal.tenant, principal.actor, error)

    async def run_forever(self) -> None:
        while True:
            await asyncio.sleep(self._every_seconds)
            try:
                await self.flush()
            except Unavailable as error:
                _log.warning("refused calls are audited later: %s", error.reason)

    async def flush(self) -> None:
        """Raises Unavailable; what was not written is kept for the next time."""
        while self._counts:
            key, count = self._counts.popitem()
            try:
                await self._record(Refused(*key, count))
            except BaseException:
                self._counts[key] += count
                raise
            tenant, _, reason = key
            _log.warning("refused calls", extra={"tenant": tenant, "reason": reason, "count": count})

    def _count(self, tenant: str, actor: str, error: MemlaneError) -> None:
        key = (tenant, actor, error.reason)
        if key not in self._counts and len(self._counts) >= MAX_ROWS:
            key = (self._own_tenant, "", OTHERS)
        self._counts[key] += 1
