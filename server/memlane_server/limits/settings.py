"""The section `limits` of the settings."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from memlane_core.ports.journal import Quota

from ..principal import TENANT_PATTERN
from .kinds import Kind

M = TypeVar("M", bound=BaseModel)

Positive = Annotated[int, Field(gt=0)]
Rate = Annotated[float, Field(gt=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Bounds(_Section):
    """Of calls of one kind. None = no bound."""

    per_second: Rate | None = None
    """Each search of a batch counts as a call."""
    burst: Rate | None = None
    """Calls that may come at once after a pause; None = those of two seconds."""
    concurrent: Positive | None = None


class Allowance(_Section):
    reads: Bounds = Bounds()
    writes: Bounds = Bounds()
    model_calls: Bounds = Bounds()
    """Remember, EndSession, RetryIngestion and Chat, where a language model is configured; else Remember and the like
    count as writes."""

    def of(self, kind: Kind) -> Bounds:
        bounds: Bounds = getattr(self, kind.value)
        return bounds


class MemoryQuotas(_Section):
    """Memories kept at once; deleted ones do not count. None = no bound."""

    per_user: Positive | None = 100_000
    per_tenant: Positive | None = None
    """Counted by each process for itself and exact again after a minute."""


class TenantLimits(_Section):
    """What is different for one tenant; what is left out stays as for all."""

    tenant: Allowance = Allowance()
    user: Allowance = Allowance()
    memories: MemoryQuotas = MemoryQuotas()


class LimitsSettings(_Section):
    """Generous on purpose: they stop what runs wild, and leave sizing to whoever knows the machine."""

    tenant: Allowance = Allowance(
        reads=Bounds(per_second=100_000),
        writes=Bounds(per_second=10_000),
        model_calls=Bounds(per_second=200, burst=1_000),
    )
    """For all users of one tenant together."""
    user: Allowance = Allowance(
        reads=Bounds(per_second=5_000, concurrent=256),
        writes=Bounds(per_second=1_000, burst=5_000, concurrent=256),
        model_calls=Bounds(per_second=50, burst=200, concurrent=32),
    )
    """For each user."""
    memories: MemoryQuotas = MemoryQuotas()
    tenants: dict[Annotated[str, Field(pattern=TENANT_PATTERN)], TenantLimits] = {}
    """By tenant. As a variable it is JSON: MEMLANE_LIMITS__TENANTS='{"bank-a": {"tenant": {"reads": ...}}}'."""
    tenant_share: float = Field(0.5, gt=0, le=1)
    """Part of the calls at once, of the streams, of the I/O threads and of the waiting ingestions that one tenant may
    hold. Without credentials there is one tenant, and it may hold all."""
    max_loop_lag_ms: Rate = 50.0
    """Lateness of the event loop from which on the tenants that ask for more than their fair share are refused."""
    max_loop_busy: float = Field(0.85, gt=0, le=1)
    """The same for the part of the time that the thread of the loop computes."""
    max_waiting_io: Positive = 2_000
    """Blocking calls that wait for a thread, from which on writes are refused."""
    tracked_users: int = Field(50_000, ge=4_096)
    """Users whose rates are remembered, the least recently seen one goes first."""

    def for_tenant(self, tenant: str) -> TenantLimits:
        """What holds for a tenant."""
        common = TenantLimits(tenant=self.tenant, user=self.user, memories=self.memories)
        own = self.tenants.get(tenant)
        return common if own is None else _overlaid(common, own)

    def quota_of_tenants(self) -> "QuotaOf":
        return QuotaOf(self)


class QuotaOf:
    """Quotas by tenant, worked out once for each that has its own."""

    def __init__(self, settings: LimitsSettings) -> None:
        self._common = _quota(settings.memories)
        self._own = {name: _quota(settings.for_tenant(name).memories) for name in settings.tenants}

    def __call__(self, tenant: str) -> Quota:
        return self._own.get(tenant, self._common)


def _quota(quotas: MemoryQuotas) -> Quota:
    return Quota(quotas.per_user, quotas.per_tenant)


def _overlaid(common: M, own: M) -> M:
    """`common` with what was set in `own` laid over it, at every depth."""
    return type(common).model_validate(_merged(common.model_dump(), own.model_dump(exclude_unset=True)))


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(common)
    for name, value in own.items():
        result[name] = _merged(result[name], value) if isinstance(value, dict) else value
    return result
