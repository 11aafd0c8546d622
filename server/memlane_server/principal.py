"""Who calls. Until credentials exist, everybody is the one configured principal."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Principal:
    tenant: str
    actor: str
    """Name of the credential, for the audit log."""


ServicerContext = Any
"""grpc.aio.ServicerContext; grpcio carries no types."""
Caller = Callable[[ServicerContext], Principal]
"""From the context of a call (its credential) to the principal. Raises Unauthenticated."""


def single(principal: Principal) -> Caller:
    """Every caller is this principal."""

    def caller(context: ServicerContext) -> Principal:
        return principal

    return caller
