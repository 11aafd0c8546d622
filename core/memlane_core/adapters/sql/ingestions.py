"""The IngestionQueue port: conversations that are still to be remembered."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, exists, func, insert, select, update

from ...domain.errors import BacklogFull, NotFound
from ...ports.ingestion_queue import Ingestion, IngestionState, NewIngestion
from .base import AnswerKind, SqlBase
from .engine import require_text
from .schema import ingestions

_UNFINISHED = ingestions.c.unfinished.is_not(None)


def insert_ingestion(connection: Connection, new: NewIngestion, *, epoch: int) -> None:
    """Queue one job, inside the caller's transaction."""
    connection.execute(
        insert(ingestions),
        {
            "ingestion_id": new.ingestion_id, "tenant": new.tenant, "user_id": new.user_id,
            "session_id": new.session_id, "state": IngestionState.PENDING.value, "unfinished": 1,
            "payload": new.payload, "result": "", "actor": new.actor, "attempts": 0, "error_reason": "",
            "error_message": "", "epoch": epoch, "created_us": new.time_us, "updated_us": new.time_us,
            "next_attempt_us": new.time_us, "position": 0,
        },
    )  # fmt: skip


class IngestionsMixin(SqlBase):
    """See ports/ingestion_queue.py for the contract of every method."""

    def enqueue(
        self,
        new: NewIngestion,
        *,
        max_backlog: int,
        max_backlog_per_user: int,
        max_backlog_per_tenant: int | None = None,
    ) -> str:
        require_text(
            tenant=new.tenant, user_id=new.user_id, session_id=new.session_id,
            ingestion_id=new.ingestion_id, actor=new.actor, payload=new.payload,
        )  # fmt: skip
        with self._db.write() as connection:
            if new.request is not None:
                replay = self._find_replay(connection, new.tenant, new.user_id, new.request)
                if replay is not None:
                    return replay.response
            waiting = select(func.count()).select_from(ingestions).where(_UNFINISHED)
            if connection.execute(waiting).scalar_one() >= max_backlog:
                raise BacklogFull(
                    "too many ingestions are waiting", metadata={"max_backlog": str(max_backlog)}
                )
            of_tenant = waiting.where(ingestions.c.tenant == new.tenant)
            if (
                max_backlog_per_tenant is not None
                and connection.execute(of_tenant).scalar_one() >= max_backlog_per_tenant
            ):
                raise BacklogFull(
                    "too many ingestions of this tenant are waiting",
                    metadata={"max_backlog_per_tenant": str(max_backlog_per_tenant)},
                )
            of_user = waiting.where(ingestions.c.tenant == new.tenant, ingestions.c.user_id == new.user_id)
            if connection.execute(of_user).scalar_one() >= max_backlog_per_user:
                raise BacklogFull(
                    "too many ingestions of this user are waiting",
                    metadata={"max_backlog_per_user": str(max_backlog_per_user)},
                )
            state = self._user_state(connection, new.tenant, new.user_id)
            insert_ingestion(connection, new, epoch=state.epoch)
            if new.request is not None:
                self._keep_answer(
                    connection, new.tenant, new.user_id, new.request, new.ingestion_id,
                    kind=AnswerKind.REFERENCE, position=state.head, time_us=new.time_us,
                )  # fmt: skip
        return new.ingestion_id

    def claim(
        self, *, now_us: int, lease_us: int, limit: int, except_tenants: Collection[str] = ()
    ) -> list[Ingestion]:
        older = ingestions.alias("older")
        due = (
            select(ingestions)
            .where(
                _UNFINISHED,
                ingestions.c.next_attempt_us <= now_us,
                ~exists().where(
                    older.c.unfinished.is_not(None),
                    older.c.tenant == ingestions.c.tenant,
                    older.c.user_id == ingestions.c.user_id,
                    older.c.serial < ingestions.c.serial,
                ),
            )
            .order_by(ingestions.c.serial)
            .limit(limit)
        )
        if except_tenants:
            due = due.where(ingestions.c.tenant.not_in(sorted(except_tenants)))
        # A worker asks often and mostly in vain: look without the write lock first.
        with self._db.read() as connection:
            if connection.execute(due.limit(1)).first() is None:
                return []
        with self._db.write() as connection:
            rows = connection.execute(due).mappings().all()
            claimed = [
                dict(
                    row,
                    state=IngestionState.RUNNING.value,
                    attempts=row["attempts"] + 1,
                    updated_us=now_us,
                    next_attempt_us=now_us + lease_us,
                )
                for row in rows
            ]
            for row in claimed:
                changed = {k: row[k] for k in ("state", "attempts", "updated_us", "next_attempt_us")}
                connection.execute(
                    update(ingestions).where(ingestions.c.serial == row["serial"]).values(changed)
                )
        return [_ingestion(row) for row in claimed]

    def fail(
        self, ingestion_id: str, *, reason: str, message: str, next_attempt_us: int | None, time_us: int
    ) -> None:
        require_text(reason=reason, message=message)
        final = next_attempt_us is None
        with self._db.write() as connection:
            connection.execute(
                update(ingestions)
                .where(ingestions.c.ingestion_id == ingestion_id, _UNFINISHED)
                .values(
                    state=(IngestionState.FAILED if final else IngestionState.PENDING).value,
                    unfinished=None if final else 1,
                    error_reason=reason,
                    error_message=message,
                    updated_us=time_us,
                    next_attempt_us=time_us if next_attempt_us is None else next_attempt_us,
                )
            )

    def cancel(self, ingestion_id: str, *, time_us: int) -> None:
        with self._db.write() as connection:
            connection.execute(
                update(ingestions)
                .where(ingestions.c.ingestion_id == ingestion_id, _UNFINISHED)
                .values(state=IngestionState.CANCELLED.value, unfinished=None, payload="", updated_us=time_us)
            )

    def retry(self, tenant: str, user_id: str, ingestion_id: str, *, time_us: int) -> Ingestion:
        with self._db.write() as connection:
            connection.execute(
                update(ingestions)
                .where(
                    ingestions.c.tenant == tenant,
                    ingestions.c.user_id == user_id,
                    ingestions.c.ingestion_id == ingestion_id,
                    ingestions.c.state == IngestionState.FAILED.value,
                    # What was erased cannot be tried again.
                    ingestions.c.payload != "",
                )
                .values(
                    state=IngestionState.PENDING.value, unfinished=1, attempts=0, error_reason="",
                    error_message="", updated_us=time_us, next_attempt_us=time_us,
                )
            )  # fmt: skip
            return _get(connection, tenant, user_id, ingestion_id)

    def get_ingestion(self, tenant: str, user_id: str, ingestion_id: str) -> Ingestion:
        with self._db.read() as connection:
            return _get(connection, tenant, user_id, ingestion_id)

    def list_ingestions(
        self, tenant: str, user_id: str, *, state: IngestionState | None, before_us: int | None, limit: int
    ) -> list[Ingestion]:
        statement = select(ingestions).where(ingestions.c.tenant == tenant, ingestions.c.user_id == user_id)
        if state is not None:
            statement = statement.where(ingestions.c.state == state.value)
        if before_us is not None:
            statement = statement.where(ingestions.c.created_us < before_us)
        with self._db.read() as connection:
            rows = connection.execute(statement.order_by(ingestions.c.serial.desc()).limit(limit))
            return [_ingestion(row) for row in rows.mappings()]

    def backlog(self) -> tuple[int, int | None]:
        statement = select(func.count(), func.min(ingestions.c.created_us)).where(_UNFINISHED)
        with self._db.read() as connection:
            count, oldest = connection.execute(statement).one()
        return int(count), oldest

    def release_leases(self) -> int:
        with self._db.write() as connection:
            return connection.execute(
                update(ingestions)
                .where(ingestions.c.state == IngestionState.RUNNING.value, _UNFINISHED)
                .values(state=IngestionState.PENDING.value, next_attempt_us=ingestions.c.updated_us)
            ).rowcount


def _get(connection: Connection, tenant: str, user_id: str, ingestion_id: str) -> Ingestion:
    statement = select(ingestions).where(
        ingestions.c.ingestion_id == ingestion_id,
        ingestions.c.tenant == tenant,
        ingestions.c.user_id == user_id,
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise NotFound("ingestion", ingestion_id)
    return _ingestion(row)


def _ingestion(row: Any) -> Ingestion:
    return Ingestion(
        ingestion_id=row["ingestion_id"], tenant=row["tenant"], user_id=row["user_id"],
        session_id=row["session_id"], state=IngestionState(row["state"]), payload=row["payload"],
        result=row["result"], actor=row["actor"], attempts=row["attempts"],
        error_reason=row["error_reason"], error_message=row["error_message"], epoch=row["epoch"],
        created_us=row["created_us"], updated_us=row["updated_us"],
        next_attempt_us=row["next_attempt_us"],
    )  # fmt: skip
