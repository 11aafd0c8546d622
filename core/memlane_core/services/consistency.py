"""Consistency tokens and what a read does with them (SpiceDB's ZedToken is the model)."""

import asyncio
import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from enum import Enum, auto

from ..domain.errors import DeadlineExceeded, InvalidArgument, NotReady
from ..ports.journal import Journal
from .call import Call
from .locks import KeyedLocks
from .offload import Offload

_POLL_SECONDS = 0.01
_SEAL_BYTES = 10


class Freshness(Enum):
    MINIMIZE_LATENCY = auto()
    AT_LEAST = auto()
    FULL = auto()


@dataclass(frozen=True, slots=True)
class Consistency:
    freshness: Freshness = Freshness.MINIMIZE_LATENCY
    token: str = ""


MINIMIZE_LATENCY = Consistency()


class Positions:
    """Makes and reads tokens, and makes a read wait until this process has seen a position.

    A write is in the journal before it is in the index, and an ingestion tells its token from the journal. So a read
    that asks for a position waits for the user's writes that are under way: once the journal holds the position and
    their lock is free, the index holds it too. A position that this process has not seen was given by another process
    on the same journal.
    """

    def __init__(self, journal: Journal, offload: Offload, write_locks: KeyedLocks) -> None:
        self._journal = journal
        self._offload = offload
        self._write_locks = write_locks
        self._key = hashlib.sha256(f"memlane-token:{journal.journal_id}".encode()).digest()
        self._seen = journal.head()
        self._current: dict[str, str] = {}

    @property
    def seen(self) -> int:
        return self._seen

    def advance(self, position: int) -> None:
        """This process has journaled and applied `position`."""
        if position > self._seen:
            self._seen = position
            self._current.clear()

    def current_token(self, tenant: str) -> str:
        """Token of all that this process has seen; costs next to nothing."""
        token = self._current.get(tenant)
        if token is None:
            token = self._current[tenant] = self.token(tenant, self._seen)
        return token

    def token(self, tenant: str, position: int) -> str:
        seal = hmac.new(self._key, f"{tenant}:{position}".encode(), hashlib.sha256).digest()[:_SEAL_BYTES]
        return base64.urlsafe_b64encode(position.to_bytes(8, "big") + seal).decode().rstrip("=")

    def decode(self, tenant: str, token: str) -> int:
        """Position in a token. Raises InvalidArgument for a malformed one, another tenant's or another journal's."""
        try:
            raw = base64.b64decode(
                token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True
            )
        except (binascii.Error, UnicodeError):
            raw = b""
        position = int.from_bytes(raw[:8], "big")
        if len(raw) != 8 + _SEAL_BYTES or not hmac.compare_digest(
            self.token(tenant, position), token.rstrip("=")
        ):
            raise InvalidArgument.of("consistency.at_least_as_fresh.token", "is not a token of this service")
        return position

    async def ensure(self, call: Call, user_id: str, consistency: Consistency) -> None:
        """Return when a read of this user satisfies `consistency`. Raises InvalidArgument or NotReady."""
        if consistency.freshness is Freshness.MINIMIZE_LATENCY:
            return
        full = consistency.freshness is Freshness.FULL
        if not full:
            if not consistency.token:
                return
            wanted = self.decode(call.tenant, consistency.token)
            if wanted > self._seen:
                await self._wait_for(call, wanted)
        async with self._write_locks.hold((call.tenant, user_id)):
            if full:
                self.advance(await self._offload(self._journal.head))

    async def _wait_for(self, call: Call, wanted: int) -> None:
        while True:
            head = await self._offload(self._journal.head)
            if head >= wanted:
                self.advance(head)
                return
            try:
                await asyncio.sleep(min(_POLL_SECONDS, call.deadline.timeout_seconds(_POLL_SECONDS)))
            except DeadlineExceeded:
                raise NotReady("this process has not reached the position of the consistency token") from None
