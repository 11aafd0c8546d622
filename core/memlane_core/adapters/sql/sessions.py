"""The SessionStore port: messages of sessions."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, insert, select

from ...domain.conversation import Message, Role, StoredMessage
from ...ports.ingestion_queue import NewIngestion
from ...ports.journal import RequestStamp
from ...ports.session_store import AppendMessages, EndedSession, Window
from .base import AnswerKind, SqlBase
from .engine import require_text
from .ingestions import insert_ingestion
from .schema import messages, sessions


class SessionsMixin(SqlBase):
    """See ports/session_store.py for the contract of every method."""

    def append_messages(self, command: AppendMessages) -> tuple[StoredMessage, ...]:
        tenant, user_id, session_id = command.tenant, command.user_id, command.session_id
        require_text(tenant=tenant, user_id=user_id, session_id=session_id)
        for message in command.messages:
            require_text(content=message.content)
        with self._db.write() as connection:
            if command.request is not None:
                replay = self._find_replay(connection, tenant, user_id, command.request)
                if replay is not None:
                    first, last = json.loads(replay.response)
                    return _read(connection, _of(tenant, user_id, session_id), first, last)
            session = _session(connection, tenant, user_id, session_id)
            first = session["last_seq"] + 1
            stored = tuple(
                StoredMessage(seq=seq, message=message, time_us=command.time_us)
                for seq, message in enumerate(command.messages, start=first)
            )
            last = first + len(stored) - 1
            if stored:
                connection.execute(
                    insert(messages), [_message_row(tenant, user_id, session_id, item) for item in stored]
                )
                self._db.upsert(connection, sessions, [dict(session, last_seq=last, ended=False)])
            if command.request is not None:
                head = self._user_state(connection, tenant, user_id).head
                self._keep_answer(
                    connection, tenant, user_id, command.request, json.dumps([first, last]),
                    kind=AnswerKind.REFERENCE, position=head, time_us=command.time_us,
                )  # fmt: skip
        return stored

    def find_appended(
        self, tenant: str, user_id: str, session_id: str, request: RequestStamp
    ) -> tuple[StoredMessage, ...] | None:
        with self._db.read() as connection:
            replay = self._find_replay(connection, tenant, user_id, request)
            if replay is None:
                return None
            first, last = json.loads(replay.response)
            return _read(connection, _of(tenant, user_id, session_id), first, last)

    def window(self, tenant: str, user_id: str, session_id: str, *, max_rounds: int) -> Window:
        with self._db.read() as connection:
            session = _session(connection, tenant, user_id, session_id)
            found: tuple[StoredMessage, ...] = ()
            if max_rounds > 0:
                # A round begins with the user's message: find where the last N begin, then take all that
                # follow.
                of_session = _of(tenant, user_id, session_id)
                begins = (
                    of_session.with_only_columns(messages.c.seq)
                    .where(messages.c.role == Role.USER.value)
                    .order_by(messages.c.seq.desc())
                    .limit(1)
                    .offset(max_rounds - 1)
                )
                first = connection.execute(begins).scalar()
                found = _read(connection, of_session, first or 0, session["last_seq"])
        return Window(messages=found, total_messages=session["last_seq"], ended=session["ended"])

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
        require_text(
            tenant=tenant, user_id=user_id, session_id=session_id, ingestion_id=ingestion_id, actor=actor
        )
        with self._db.write() as connection:
            session = _session(connection, tenant, user_id, session_id)
            if session["ended"]:
                return EndedSession(messages=(), already_ended=True, ingestion_id=session["ingestion_id"])
            everything = _read(connection, _of(tenant, user_id, session_id), 1, session["last_seq"])
            offered = tuple(item for item in everything if item.seq > session["offered_seq"])
            if not offered:
                # Only a session that never was: messages open one, and its end offers them all.
                return EndedSession(messages=(), already_ended=False, ingestion_id="")
            encoded = default_payload(session_id, offered) if payload is None else payload(offered)
            require_text(payload=encoded)
            epoch = self._user_state(connection, tenant, user_id).epoch
            insert_ingestion(
                connection,
                NewIngestion(
                    ingestion_id=ingestion_id, tenant=tenant, user_id=user_id, session_id=session_id,
                    payload=encoded, actor=actor, time_us=time_us,
                ),
                epoch=epoch,
            )  # fmt: skip
            ended = dict(session, offered_seq=session["last_seq"], ended=True, ingestion_id=ingestion_id)
            self._db.upsert(connection, sessions, [ended])
        return EndedSession(messages=everything, already_ended=False, ingestion_id=ingestion_id)


def default_payload(session_id: str, offered: tuple[StoredMessage, ...]) -> str:
    """The ingestion's payload as ports/session_store.py describes it."""
    return json.dumps(
        {
            "session_id": session_id,
            "messages": [
                {
                    "role": item.message.role.value,
                    "content": item.message.content,
                    "create_time": _time_text(item.message.create_time),
                }
                for item in offered
            ],
        },
        ensure_ascii=False,
    )


def _time_text(time: datetime | None) -> str | None:
    """ISO 8601 with the speaker's own offset: "yesterday" depends on it."""
    return None if time is None else time.isoformat()


def _of(tenant: str, user_id: str, session_id: str) -> Select[Any]:
    return select(messages).where(
        messages.c.tenant == tenant, messages.c.user_id == user_id, messages.c.session_id == session_id
    )


def _session(connection: Connection, tenant: str, user_id: str, session_id: str) -> dict[str, Any]:
    statement = select(sessions).where(
        sessions.c.tenant == tenant, sessions.c.user_id == user_id, sessions.c.session_id == session_id
    )
    row = connection.execute(statement).mappings().first()
    if row is not None:
        return dict(row)
    return {
        "tenant": tenant, "user_id": user_id, "session_id": session_id,
        "last_seq": 0, "offered_seq": 0, "ended": False, "ingestion_id": "",
    }  # fmt: skip


def _message_row(tenant: str, user_id: str, session_id: str, item: StoredMessage) -> dict[str, Any]:
    return {
        "tenant": tenant, "user_id": user_id, "session_id": session_id, "seq": item.seq,
        "role": item.message.role.value, "content": item.message.content,
        "create_time": _time_text(item.message.create_time), "time_us": item.time_us,
    }  # fmt: skip


def _read(
    connection: Connection, of_session: Select[Any], first: int, last: int
) -> tuple[StoredMessage, ...]:
    statement = of_session.where(messages.c.seq >= first, messages.c.seq <= last).order_by(messages.c.seq)
    return tuple(stored_message(row) for row in connection.execute(statement))


def stored_message(row: Any) -> StoredMessage:
    """A StoredMessage of a row of `messages`."""
    time = None if row.create_time is None else datetime.fromisoformat(row.create_time)
    return StoredMessage(
        seq=row.seq,
        message=Message(role=Role(row.role), content=row.content, create_time=time),
        time_us=row.time_us,
    )
