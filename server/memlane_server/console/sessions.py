"""Who is signed in, and the tokens that show that a form came from our own page.

A browser holds an unguessable id and nothing else. The bearer token stays here and is handed to the same
authentication as over gRPC with each call, so that a session is never good for longer than its token.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

MAX_SESSIONS = 256


@dataclass(slots=True)
class _Session:
    token: str
    used: float


class Sessions:
    """To be used on the event loop."""

    def __init__(self, idle_seconds: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._idle_seconds = idle_seconds
        self._now = now
        self._by_id: dict[str, _Session] = {}
        self._key = secrets.token_bytes(32)

    def open(self, token: str) -> str:
        """Id of a new session; it is never one that the browser had before."""
        if len(self._by_id) >= MAX_SESSIONS:
            del self._by_id[min(self._by_id, key=lambda known: self._by_id[known].used)]
        session_id = secrets.token_urlsafe(32)
        self._by_id[session_id] = _Session(token, self._now())
        return session_id

    def token(self, session_id: str, *, used: bool = True) -> str | None:
        """Bearer token of a session; None when there is none, or it was idle for too long. `used` is False where a
        page asks by itself: an unattended one must not stay signed in."""
        session = self._by_id.get(session_id)
        if session is None:
            return None
        now = self._now()
        if now - session.used > self._idle_seconds:
            self.close(session_id)
            return None
        if used:
            session.used = now
        return session.token

    def close(self, session_id: str) -> None:
        self._by_id.pop(session_id, None)

    def form_token(self, session_id: str) -> str:
        """What a form must carry, against requests that another site forged. Without a session ("") it is the same for
        everyone who can read our pages; other sites cannot."""
        return hmac.new(self._key, session_id.encode(), hashlib.sha256).hexdigest()

    def is_form_token(self, session_id: str, token: str) -> bool:
        return hmac.compare_digest(self.form_token(session_id).encode(), token.encode())
