"""Procedural rules: always in the system prompt, versioned, cached."""

import asyncio

from ..ports.clock import Clock
from ..ports.journal import RequestStamp
from ..ports.rule_store import RuleSet, RuleStore
from .call import Call
from .consistency import Freshness, Positions
from .offload import Offload


class RulesService:
    def __init__(self, *, store: RuleStore, offload: Offload, clock: Clock, positions: Positions) -> None:
        self._store = store
        self._offload = offload
        self._clock = clock
        self._positions = positions
        self._current: dict[str, RuleSet] = {}

    async def put(
        self,
        call: Call,
        rules: tuple[str, ...],
        *,
        expected_version: int | None,
        request: RequestStamp | None,
    ) -> RuleSet:
        """Replaces the tenant's rules. Raises RevisionMismatch, RequestIdReused."""
        rule_set = await asyncio.shield(
            self._offload(
                self._store.put_rules,
                call.tenant,
                rules,
                expected_version=expected_version,
                actor=call.actor,
                time_us=int(self._clock.now() * 1_000_000),
                request=request,
            )
        )
        self._current.pop(call.tenant, None)
        self._positions.advance(rule_set.position)
        return rule_set

    async def get(
        self, call: Call, version: int | None = None, freshness: Freshness = Freshness.MINIMIZE_LATENCY
    ) -> RuleSet:
        """The newest set, or one version. Raises NotFound for a version that never was."""
        if version is None and freshness is not Freshness.FULL and call.tenant in self._current:
            return self._current[call.tenant]
        rule_set = await self._offload(self._store.get_rules, call.tenant, version)
        if version is None:
            current = self._current.get(call.tenant)
            if current is None or current.version <= rule_set.version:
                self._current[call.tenant] = rule_set
        return rule_set

    async def list_rules(self, call: Call, *, before_version: int | None, limit: int) -> list[RuleSet]:
        return await self._offload(
            self._store.list_rules, call.tenant, before_version=before_version, limit=limit
        )
