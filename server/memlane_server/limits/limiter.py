"""Limits by tenant and by user, on the event loop: a few dictionary look-ups for each call."""

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from memlane_core.domain import limits
from memlane_core.domain.errors import Exhausted
from memlane_core.services.offload import work_for

from ..errors import Overloaded
from ..principal import Principal
from .buckets import Bucket
from .errors import ConcurrencyLimited, RateLimited
from .kinds import KINDS, Kind, kind_of
from .settings import Allowance, LimitsSettings, TenantLimits

_RETRY_SECONDS = 0.5
"""First pause for a call that was refused for what runs at the moment; how long that takes nobody knows."""
_WINDOW_SECONDS = 1.0
_MAX_TENANTS = 10_000
_LIMITED = tuple(kind for kind in Kind if kind is not Kind.FREE)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the whole process has, to be shared."""

    lanes: Mapping[str, tuple[str, int | None]]
    """By path: the lane of the call and how many run in it at once; None = no bound."""
    streams: int


class _Buckets:
    """The buckets of one tenant or one user, by kind."""

    __slots__ = ("by_kind",)

    def __init__(self, allowance: Allowance, now: float) -> None:
        self.by_kind = tuple(Bucket(allowance.of(kind), now) for kind in _LIMITED)

    @property
    def idle(self) -> bool:
        return not any(bucket.running for bucket in self.by_kind)


class _Tenant(_Buckets):
    __slots__ = ("admitted", "in_lane", "in_window", "limits", "streams")

    def __init__(self, tenant_limits: TenantLimits, lanes: int, now: float) -> None:
        super().__init__(tenant_limits.tenant, now)
        self.limits = tenant_limits
        self.in_lane = [0] * lanes
        self.streams = 0
        self.in_window = 0
        """Calls let in since the window began."""
        self.admitted = [0] * len(_LIMITED)
        """Calls let in, in the order of _LIMITED."""

    @property
    def idle(self) -> bool:
        return not self.streams and super().idle


K = TypeVar("K", bound=Hashable)
B = TypeVar("B", bound=_Buckets)


@dataclass(frozen=True, slots=True)
class _Rpc:
    """What is known of an RPC before any call of it."""

    kind: Kind
    bucket: int
    """Place of the kind in _LIMITED; numbers, since an enum's hash is a call of Python code."""
    lane: int
    lane_share: int
    """Calls of the lane that one tenant may have at once."""


class TenantLimiter:
    """Implements `limiter.Limiter`. A refused call costs no token and leaves no trace but a count."""

    def __init__(
        self,
        settings: LimitsSettings,
        capacity: Capacity,
        *,
        share: float,
        model: bool,
        behind: Callable[[], bool] = lambda: False,
        waiting_io: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`share`: part of the capacity that one tenant may hold. `model`: a language model is configured. `behind`:
        more is asked than the process can do."""
        self._settings = settings
        self._behind = behind
        self._waiting_io = waiting_io
        self._clock = clock
        lanes = sorted({lane for lane, _ in capacity.lanes.values()} | {""})
        self._lane_count = len(lanes)
        self._rpcs = {path: _rpc(path, capacity, share, model, lanes) for path in {*KINDS, *capacity.lanes}}
        self._stream_share = _part(capacity.streams, share)
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()
        self._users: OrderedDict[tuple[str, str], _Buckets] = OrderedDict()
        self._window_ends = 0.0
        self._fair_calls = math.inf
        """Calls in a window that every tenant may have, however much is asked."""
        self.refused: Counter[tuple[str, str, str]] = Counter()
        """Refusals by scope (tenant, user, server), kind and what was exceeded (rate, concurrency, fair_share, io)."""

    @property
    def tracked_users(self) -> int:
        return len(self._users)

    def admitted(self) -> dict[str, dict[str, int]]:
        """Calls let in by tenant and kind, since the tenant was first seen. From any thread."""
        return {
            name: {kind.value: count for kind, count in zip(_LIMITED, tenant.admitted, strict=True)}
            for name, tenant in list(self._tenants.items())
        }

    def enter(self, principal: Principal, path: str, user_id: str, weight: int = 1) -> None:
        """Raises RateLimited, ConcurrencyLimited or Overloaded; otherwise `leave` must follow.

        `user_id`: "" where a call names no one user. `weight`: as how many calls it counts.
        """
        work_for(principal.tenant)
        rpc = self._rpcs[path]
        kind = rpc.kind
        if kind is Kind.FREE:
            return
        now = self._clock()
        tenant = self._tenant(principal.tenant, now)
        self._check_fair(tenant, kind, now)
        if kind is not Kind.READS and self._waiting_io() >= self._settings.max_waiting_io:
            self.refused["server", kind, "io"] += 1
            raise Overloaded(
                "too much waits for the disk and the store already", retry_after_seconds=_RETRY_SECONDS
            )
        bucket = tenant.by_kind[rpc.bucket]
        self._check(bucket, "tenant", kind, now, weight)
        if tenant.in_lane[rpc.lane] >= rpc.lane_share:
            raise self._concurrency("tenant", kind, rpc.lane_share)
        if user_id and len(user_id) <= limits.MAX_USER_ID_BYTES:
            own = self._user(principal.tenant, user_id, tenant.limits, now).by_kind[rpc.bucket]
            self._check(own, "user", kind, now, weight)
            own.enter(weight)
        bucket.enter(weight)
        tenant.in_lane[rpc.lane] += 1
        tenant.in_window += weight
        tenant.admitted[rpc.bucket] += weight

    def leave(self, principal: Principal, path: str, user_id: str) -> None:
        """The call that entered has ended."""
        rpc = self._rpcs[path]
        if rpc.kind is Kind.FREE:
            return
        tenant = self._tenants[principal.tenant]
        tenant.by_kind[rpc.bucket].leave()
        tenant.in_lane[rpc.lane] -= 1
        if user_id and len(user_id) <= limits.MAX_USER_ID_BYTES:
            self._users[principal.tenant, user_id].by_kind[rpc.bucket].leave()

    def open_stream(self, principal: Principal) -> None:
        """Raises ConcurrencyLimited; otherwise `close_stream` must follow."""
        tenant = self._tenant(principal.tenant, self._clock())
        if tenant.streams >= self._stream_share:
            raise self._concurrency("tenant", "streams", self._stream_share)
        tenant.streams += 1

    def close_stream(self, principal: Principal) -> None:
        self._tenants[principal.tenant].streams -= 1

    def _check(self, bucket: Bucket, scope: str, kind: Kind, now: float, weight: int) -> None:
        if bucket.full:
            raise self._concurrency(scope, kind, bucket.concurrent)
        seconds = bucket.missing_seconds(now, weight)
        if seconds:
            self.refused[scope, kind, "rate"] += 1
            raise RateLimited(
                f"this {scope} may not send more {kind} now",
                retry_after_seconds=seconds,
                metadata={"scope": scope, "kind": kind},
            )

    def _concurrency(self, scope: str, kind: str, limit: int) -> Exhausted:
        self.refused[scope, kind, "concurrency"] += 1
        return ConcurrencyLimited(
            f"{limit} {kind} of this {scope} run already",
            retry_after_seconds=_RETRY_SECONDS,
            metadata={"scope": scope, "kind": kind},
        )

    def _check_fair(self, tenant: _Tenant, kind: Kind, now: float) -> None:
        """Max-min fairness in windows: while the process is behind, a tenant gets its equal part of what was let in
        during the window before; whoever asks for less than that notices nothing."""
        if now >= self._window_ends:
            self._next_window(now)
        if tenant.in_window >= self._fair_calls and self._behind():
            self.refused["tenant", kind, "fair_share"] += 1
            raise Overloaded(
                "the server is behind and this tenant has had its share",
                retry_after_seconds=max(self._window_ends - now, 0.0),
                metadata={"scope": "tenant", "kind": kind},
            )

    def _next_window(self, now: float) -> None:
        counts = [tenant.in_window for tenant in self._tenants.values() if tenant.in_window]
        self._fair_calls = max(sum(counts) / len(counts), 1.0) if len(counts) > 1 else math.inf
        for tenant in self._tenants.values():
            tenant.in_window = 0
        self._window_ends = now + _WINDOW_SECONDS

    def _tenant(self, name: str, now: float) -> _Tenant:
        tenant = self._tenants.get(name)
        if tenant is None:
            _make_room(self._tenants, _MAX_TENANTS)
            tenant = self._tenants[name] = _Tenant(self._settings.for_tenant(name), self._lane_count, now)
        return tenant

    def _user(self, tenant: str, user_id: str, tenant_limits: TenantLimits, now: float) -> _Buckets:
        key = (tenant, user_id)
        user = self._users.get(key)
        if user is None:
            _make_room(self._users, self._settings.tracked_users)
            user = self._users[key] = _Buckets(tenant_limits.user, now)
        else:
            self._users.move_to_end(key)
        return user


def _rpc(path: str, capacity: Capacity, share: float, model: bool, lanes: list[str]) -> _Rpc:
    lane, limit = capacity.lanes.get(path, ("", None))
    kind = kind_of(path, model=model)
    return _Rpc(
        kind,
        _LIMITED.index(kind) if kind in _LIMITED else -1,
        lanes.index(lane),
        2**31 if limit is None else _part(limit, share),
    )


def _part(of: int, share: float) -> int:
    return max(math.ceil(of * share), 1)


def _make_room(kept: OrderedDict[K, B], limit: int) -> None:
    """Forget the least recently used ones; those with calls under way, which the lanes bound, are kept."""
    for _ in range(len(kept)):
        if len(kept) < limit:
            return
        key, oldest = kept.popitem(last=False)
        if not oldest.idle:
            kept[key] = oldest
