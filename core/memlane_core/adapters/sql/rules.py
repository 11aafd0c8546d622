"""The RuleStore port: procedural rules, versioned."""

import json
from typing import Any

from sqlalchemy import insert, select

from ...domain.errors import NotFound, RevisionMismatch
from ...ports.journal import RequestStamp
from ...ports.rule_store import RuleSet
from .base import AnswerKind, SqlBase
from .chain import ChainWriter, NewEvent, commitment, new_salt
from .engine import require_text
from .schema import rules as rules_table

_NO_USER = ""
"""Rules belong to the tenant: their requests and events name no user."""

_EMPTY = RuleSet(version=0, rules=(), actor="", time_us=0)


class RulesMixin(SqlBase):
    """See ports/rule_store.py for the contract of every method."""

    def put_rules(
        self,
        tenant: str,
        rules: tuple[str, ...],
        *,
        expected_version: int | None,
        actor: str,
        time_us: int,
        request: RequestStamp | None,
    ) -> RuleSet:
        require_text(tenant=tenant, actor=actor, rules="".join(rules))
        with self._db.write() as connection:
            if request is not None:
                replay = self._find_replay(connection, tenant, _NO_USER, request)
                if replay is not None:
                    statement = select(rules_table).where(
                        rules_table.c.tenant == tenant, rules_table.c.version == int(replay.response)
                    )
                    return _rule_set(connection.execute(statement).one())
            newest = connection.execute(
                select(rules_table.c.version)
                .where(rules_table.c.tenant == tenant)
                .order_by(rules_table.c.version.desc())
                .limit(1)
            ).scalar()
            version = newest or 0
            if expected_version is not None and expected_version != version:
                raise RevisionMismatch(
                    f"the rules are at revision {version}", metadata={"current": str(version)}
                )
            encoded = json.dumps(rules, ensure_ascii=False)
            salt = new_salt()
            chain = ChainWriter(connection)
            position = chain.add(
                NewEvent(
                    time_us=time_us, tenant=tenant, user_id=_NO_USER, actor=actor, operation="PutRules",
                    action="PUT_RULES", revision=version + 1, count=len(rules), reason_code="STATED",
                    commitment=commitment(salt, encoded),
                )
            )  # fmt: skip
            chain.flush()
            row = {
                "tenant": tenant, "version": version + 1, "rules": encoded, "actor": actor,
                "time_us": time_us, "position": position, "salt": salt,
            }  # fmt: skip
            connection.execute(insert(rules_table), row)
            if request is not None:
                self._keep_answer(
                    connection, tenant, _NO_USER, request, str(version + 1),
                    kind=AnswerKind.REFERENCE, position=position, time_us=time_us,
                )  # fmt: skip
        return RuleSet(
            version=version + 1, rules=tuple(rules), actor=actor, time_us=time_us, position=position
        )

    def get_rules(self, tenant: str, version: int | None = None) -> RuleSet:
        if version == 0:
            return _EMPTY
        statement = select(rules_table).where(rules_table.c.tenant == tenant)
        if version is None:
            statement = statement.order_by(rules_table.c.version.desc()).limit(1)
        else:
            statement = statement.where(rules_table.c.version == version)
        with self._db.read() as connection:
            row = connection.execute(statement).first()
        if row is not None:
            return _rule_set(row)
        if version is None:
            return _EMPTY
        raise NotFound("rules revision", str(version))

    def list_rules(self, tenant: str, *, before_version: int | None, limit: int) -> list[RuleSet]:
        statement = select(rules_table).where(rules_table.c.tenant == tenant)
        if before_version is not None:
            statement = statement.where(rules_table.c.version < before_version)
        with self._db.read() as connection:
            rows = connection.execute(statement.order_by(rules_table.c.version.desc()).limit(limit))
            return [_rule_set(row) for row in rows]


def _rule_set(row: Any) -> RuleSet:
    return RuleSet(
        version=row.version, rules=tuple(json.loads(row.rules)), actor=row.actor,
        time_us=row.time_us, position=row.position,
    )  # fmt: skip
