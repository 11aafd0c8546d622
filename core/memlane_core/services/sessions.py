"""The short-term window: messages as they are said, and the end that offers them to Remember."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..context.tokens import message_tokens
from ..domain.conversation import Message, Role, StoredMessage
from ..domain.errors import NotFound
from ..domain.ids import new_ingestion_id
from ..guards import redact
from ..guards.secrets import SecretPolicy
from ..ports.clock import Clock
from ..ports.journal import RequestStamp
from ..ports.session_store import AppendMessages, EndedSession, SessionStore, Window
from .call import Call
from .codec import dumps, message_to_json
from .offload import Offload

DEFAULT_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Appended:
    message_count: int
    round_count: int


class SessionService:
    """Windows are durable in the journal and cached; secrets are cut before a message is written."""

    def __init__(
        self,
        *,
        store: SessionStore,
        offload: Offload,
        clock: Clock,
        secrets: SecretPolicy,
        record_factory: Callable[[Message], object],
        cached_windows: int = 10_000,
    ) -> None:
        self._store = store
        self._offload = offload
        self._clock = clock
        self._secrets = secrets
        self._record_factory = record_factory
        self._cache: OrderedDict[tuple[str, str, str], Window] = OrderedDict()
        self._cached_windows = cached_windows
        self._generation = 0

    async def append(
        self,
        call: Call,
        user_id: str,
        session_id: str,
        messages: tuple[Message, ...],
        request: RequestStamp | None,
    ) -> Appended:
        """All or nothing, in order."""
        clean = tuple(replace(m, content=redact(m.content, self._secrets).text) for m in messages)
        command = AppendMessages(
            call.tenant, user_id, session_id, clean, int(self._clock.now() * 1_000_000), request
        )
        await asyncio.shield(self._offload(self._store.append_messages, command))
        self._invalidate((call.tenant, user_id, session_id))
        window = await self.window(call, user_id, session_id)
        return Appended(window.total_messages, _round_count(window.messages))

    async def window(
        self, call: Call, user_id: str, session_id: str, max_rounds: int = DEFAULT_ROUNDS
    ) -> Window:
        """The last `max_rounds` rounds, oldest first; empty for a session never seen."""
        key = (call.tenant, user_id, session_id)
        cached = self._cache.get(key)
        if cached is not None and max_rounds == DEFAULT_ROUNDS:
            self._cache.move_to_end(key)
            return cached
        generation = self._generation
        window = await self._offload(self._read, call.tenant, user_id, session_id, max_rounds)
        if max_rounds == DEFAULT_ROUNDS and generation == self._generation:
            self._cache[key] = window
            if len(self._cache) > self._cached_windows:
                self._cache.popitem(last=False)
        return window

    def _read(self, tenant: str, user_id: str, session_id: str, max_rounds: int) -> Window:
        """With what a context needs of each message made ready once, not at every turn."""
        window = self._store.window(tenant, user_id, session_id, max_rounds=max_rounds)
        prepared = (
            replace(m, tokens=message_tokens(m.message.content), record=self._record_factory(m.message))
            for m in window.messages
        )
        return replace(window, messages=tuple(prepared))

    async def appended(
        self, call: Call, user_id: str, session_id: str, request: RequestStamp
    ) -> tuple[Message, ...] | None:
        """What this request appended when it came before; None for a new one. Raises RequestIdReused."""
        stored = await self._offload(self._store.find_appended, call.tenant, user_id, session_id, request)
        return None if stored is None else tuple(m.message for m in stored)

    async def said(self, call: Call, user_id: str, session_id: str) -> tuple[Message, ...]:
        """What the window of a session holds. Raises NotFound for a session that never was, or is another user's."""
        window = await self.window(call, user_id, session_id)
        if not window.messages:
            raise NotFound("session", session_id)
        return tuple(m.message for m in window.messages)

    async def end(self, call: Call, user_id: str, session_id: str) -> EndedSession:
        """Ends the session and queues what it holds, once; see SessionStore.end_session."""

        def payload(messages: tuple[StoredMessage, ...]) -> str:
            return dumps(
                {"session_id": session_id, "messages": [message_to_json(m.message) for m in messages]}
            )

        ended = await asyncio.shield(
            self._offload(
                self._store.end_session,
                call.tenant,
                user_id,
                session_id,
                ingestion_id=new_ingestion_id(),
                actor=call.actor,
                time_us=int(self._clock.now() * 1_000_000),
                payload=payload,
            )
        )
        self._invalidate((call.tenant, user_id, session_id))
        return ended

    def _invalidate(self, key: tuple[str, str, str]) -> None:
        # A read that began before this write must not put its older window back.
        self._generation += 1
        self._cache.pop(key, None)

    def forget(self, tenant: str, user_id: str) -> None:
        """Drop every cached window of a user."""
        self._generation += 1
        for key in [k for k in self._cache if k[:2] == (tenant, user_id)]:
            del self._cache[key]


def _round_count(messages: tuple[StoredMessage, ...]) -> int:
    return sum(1 for m in messages if m.message.role is Role.USER)
