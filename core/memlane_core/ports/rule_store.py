"""Procedural rules of a tenant, versioned. All calls block."""

from dataclasses import dataclass
from typing import Protocol

from .journal import RequestStamp


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of one tenant at one version. Version 0 is the empty set that every tenant starts with."""

    version: int
    rules: tuple[str, ...]
    actor: str
    time_us: int
    position: int = 0


class RuleStore(Protocol):
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
        """Replaces the set, as version + 1, with an audit event. Raises RevisionMismatch, RequestIdReused."""
        ...

    def get_rules(self, tenant: str, version: int | None = None) -> RuleSet:
        """The newest, or the one asked for. Raises NotFound for a version that never was."""
        ...

    def list_rules(self, tenant: str, *, before_version: int | None, limit: int) -> list[RuleSet]:
        """Newest first."""
        ...
