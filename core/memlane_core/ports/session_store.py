"""The short-term window: messages of sessions, durable. All calls block."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ..domain.conversation import Message, StoredMessage
from .journal import RequestStamp


@dataclass(frozen=True, slots=True)
class AppendMessages:
    tenant: str
    user_id: str
    session_id: str
    messages: tuple[Message, ...]
    time_us: int
    request: RequestStamp | None = None


@dataclass(frozen=True, slots=True)
class Window:
    messages: tuple[StoredMessage, ...]
    """Oldest first; the last N rounds whole."""
    total_messages: int
    """Messages of the session, those outside the window included."""
    ended: bool


@dataclass(frozen=True, slots=True)
class EndedSession:
    messages: tuple[StoredMessage, ...]
    """All messages since the session began; empty when it had been ended before."""
    already_ended: bool
    ingestion_id: str
    """The ingestion that the session was offered to; the same on every call. "" when there was nothing to offer."""


class SessionStore(Protocol):
    def append_messages(self, command: AppendMessages) -> tuple[StoredMessage, ...]:
        """All or nothing, in order; a replayed request_id returns the first answer. A message to an ended session
        opens it anew: what follows is offered at its next end. Raises RequestIdReused."""
        ...

    def find_appended(
        self, tenant: str, user_id: str, session_id: str, request: RequestStamp
    ) -> tuple[StoredMessage, ...] | None:
        """What this request appended when it came before; None for a new one. Raises RequestIdReused,
        ForgottenMeanwhile."""
        ...

    def window(self, tenant: str, user_id: str, session_id: str, *, max_rounds: int) -> Window:
        """An unknown session is an empty window."""
        ...

    def end_session(
        self,
        tenant: str,
        user_id: str,
        session_id: str,
        *,
        ingestion_id: str,
        actor: str,
        time_us: int,
        payload: Callable[[tuple[StoredMessage, ...]], str] | None = None,
    ) -> EndedSession:
        """Ends it and, in the same transaction, queues what has not been offered yet as one ingestion under
        `ingestion_id`: exactly once however often and however concurrently it is called.

        `payload` makes the ingestion's payload of the messages offered; by default it is the JSON object
        {"session_id": str, "messages": [{"role": str, "content": str, "create_time": ISO 8601 or null}]}.
        """
        ...
