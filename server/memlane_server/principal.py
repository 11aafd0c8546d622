"""Who calls, and what they may do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from memlane_core.domain.errors import PermissionDenied

MEMORY_READ: Final = "memory:read"
MEMORY_WRITE: Final = "memory:write"
KNOWLEDGE_WRITE: Final = "knowledge:write"
RULES_WRITE: Final = "rules:write"
COMPLIANCE: Final = "compliance"
ADMIN: Final = "admin"
SCOPES: Final = frozenset((MEMORY_READ, MEMORY_WRITE, KNOWLEDGE_WRITE, RULES_WRITE, COMPLIANCE, ADMIN))
"""All there are. None implies another; which RPC needs which stands in `permissions`."""

TENANT_PATTERN: Final = r"^[A-Za-z0-9_-]{1,32}$"
"""Names of tenants become parts of names of collections, and stand in keys and logs."""


@dataclass(frozen=True, slots=True)
class Principal:
    tenant: str
    actor: str
    """Name of the credential, for the audit log."""
    user_id: str | None = None
    """The one user whom the credential may act for; None = every user of the tenant."""
    scopes: frozenset[str] = SCOPES


ServicerContext = Any
"""grpc.aio.ServicerContext; grpcio carries no types."""
Caller = Callable[[ServicerContext], Principal]
"""From the context of a call (its credential) to the principal. Raises Unauthenticated."""
OnDenied = Callable[[Principal, PermissionDenied], None]
"""Told of each call that a principal may not make."""


def single(principal: Principal) -> Caller:
    """Every caller is this principal."""

    def caller(context: ServicerContext) -> Principal:
        return principal

    return caller
