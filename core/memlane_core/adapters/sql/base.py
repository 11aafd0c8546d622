"""What the parts of SqlJournal share."""

from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from ...domain.errors import ForgottenMeanwhile, RequestIdReused
from ...ports.journal import Replay, RequestStamp, UserState
from .engine import Database, require_text
from .schema import requests, users

_REQUEST = select(requests.c.fingerprint, requests.c.response, requests.c.position).where(
    requests.c.tenant == bindparam("tenant"),
    requests.c.user_id == bindparam("user_id"),
    requests.c.method == bindparam("method"),
    requests.c.request_id == bindparam("request_id"),
)
_INSERT_REQUEST = insert(requests)
_USER = select(users.c.head, users.c.epoch, users.c.legal_hold).where(
    users.c.tenant == bindparam("tenant"), users.c.user_id == bindparam("user_id")
)
_UNSEEN = UserState(head=0, epoch=0, legal_hold=False)


class AnswerKind(StrEnum):
    """What a stored answer is, and so what erases it."""

    TEXT = "TEXT"
    """May quote memories: erased with them."""
    REFERENCE = "REFERENCE"
    """Points at messages, jobs or rules: erased when its user is forgotten."""
    RECEIPT = "RECEIPT"
    """Counts and hashes of an erasure: stays."""


class SqlBase:
    """Holds the database; the mixins add one port each."""

    _db: Database
    _journal_id: str

    def _find_replay(
        self, connection: Connection, tenant: str, user_id: str, request: RequestStamp
    ) -> Replay | None:
        require_text(tenant=tenant, user_id=user_id, method=request.method, request_id=request.request_id)
        row = connection.execute(
            _REQUEST,
            {
                "tenant": tenant,
                "user_id": user_id,
                "method": request.method,
                "request_id": request.request_id,
            },
        ).first()
        if row is None:
            return None
        if not row.fingerprint:
            raise ForgottenMeanwhile("the answer to this request was erased")
        if row.fingerprint != request.fingerprint:
            raise RequestIdReused(
                "the request_id came before with another request", metadata={"request_id": request.request_id}
            )
        return Replay(response=row.response, position=row.position)

    def _keep_answer(
        self,
        connection: Connection,
        tenant: str,
        user_id: str,
        request: RequestStamp,
        response: str,
        *,
        kind: AnswerKind,
        position: int,
        time_us: int,
    ) -> None:
        require_text(response=response)
        if not request.fingerprint:
            raise ValueError("a request without a fingerprint cannot be told from an erased one")
        row: dict[str, Any] = {
            "tenant": tenant, "user_id": user_id, "method": request.method, "request_id": request.request_id,
            "kind": kind.value, "fingerprint": request.fingerprint, "response": response,
            "position": position, "time_us": time_us,
        }  # fmt: skip
        connection.execute(_INSERT_REQUEST, row)

    def _user_state(self, connection: Connection, tenant: str, user_id: str) -> UserState:
        row = connection.execute(_USER, {"tenant": tenant, "user_id": user_id}).first()
        if row is None:
            return _UNSEEN
        return UserState(head=row.head, epoch=row.epoch, legal_hold=row.legal_hold)

    def _write_user(self, connection: Connection, tenant: str, user_id: str, state: UserState) -> None:
        row = {
            "tenant": tenant, "user_id": user_id,
            "head": state.head, "epoch": state.epoch, "legal_hold": state.legal_hold,
        }  # fmt: skip
        self._db.upsert(connection, users, [row])
