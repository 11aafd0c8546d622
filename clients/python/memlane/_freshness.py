"""Which freshness a read must ask for, so that a client reads its own writes.

Tokens are opaque: which of two is newer cannot be told from them. What can be told is causality: a write that began
after another one had been answered has the newer token. So the client keeps, per user, the token of the last write;
where two writes to one user overlapped in time, it keeps the knowledge that it cannot tell, and the next read asks
for full consistency, whose answer's `read_at` covers both.
"""

import itertools
import threading
from collections import OrderedDict
from dataclasses import dataclass

from .inputs import Consistency

TENANT = ""
"""Scope of what has no user: knowledge and rules. No user_id is empty."""

_UNKNOWN_AGE = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest state that a scope is known to have."""

    token: str
    """Empty = several tokens of unknown order."""
    began: int
    ended: int
    """Ticks between which the call ran that gave the token."""

    def merge(self, other: "Mark") -> "Mark":
        """The newer one, or the knowledge that it cannot be told."""
        if self.token and self.token == other.token:
            return self
        if self.token and self.began > other.ended:
            return self
        if other.token and other.began > self.ended:
            return other
        return Mark("", min(self.began, other.began), max(self.ended, other.ended))


class Freshness:
    """Remembers marks by scope. Safe to use from several threads.

    `max_scopes` bounds the memory it takes: what falls out is merged into one mark that holds for every scope that
    has none of its own.
    """

    def __init__(self, max_scopes: int = 50_000) -> None:
        self._max_scopes = max_scopes
        self._marks: OrderedDict[str, Mark] = OrderedDict()
        self._floor: Mark | None = None
        self._ticks = itertools.count(1)
        self._lock = threading.Lock()

    def begin(self) -> int:
        """Tick at which a call begins; hand it to `wrote` or `read`."""
        return next(self._ticks)

    def wanted(self, *scopes: str) -> Consistency | None:
        """What a read of these scopes must ask for; None = nothing was written yet."""
        with self._lock:
            mark: Mark | None = None
            for scope in scopes:
                own = self._marks.get(scope, self._floor)
                if own is not None:
                    mark = own if mark is None else mark.merge(own)
        if mark is None:
            return None
        return Consistency.at_least(mark.token) if mark.token else Consistency.full()

    def wrote(self, scope: str, token: str, began: int, *, replay: bool = False) -> None:
        """A write of this scope was answered. `replay`: the answer may be that of an earlier call, so that its
        token's age is not known."""
        if not token:
            return
        with self._lock:
            mark = Mark(token, _UNKNOWN_AGE if replay else began, next(self._ticks))
            known = self._marks.pop(scope, self._floor)
            self._marks[scope] = mark if known is None else mark.merge(known)
            if len(self._marks) > self._max_scopes:
                _, oldest = self._marks.popitem(last=False)
                self._floor = oldest if self._floor is None else self._floor.merge(oldest)

    def read(self, scopes: tuple[str, ...], token: str, began: int) -> None:
        """A fully consistent read of these scopes was answered: its token settles what could not be told."""
        if not token:
            return
        with self._lock:
            for scope in scopes:
                known = self._marks.get(scope)
                if known is not None and not known.token and began > known.ended:
                    self._marks[scope] = Mark(token, began, next(self._ticks))
