"""Limits by tenant and by user, on a clock that the test moves."""

from collections.abc import Callable
from typing import Any

import pytest

from memlane_core.domain.errors import Exhausted
from memlane_server.config import ServerSettings
from memlane_server.errors import Overloaded
from memlane_server.grpc_server import capacity
from memlane_server.health import SERVICES
from memlane_server.limits import LimitsSettings, TenantLimiter
from memlane_server.limits.errors import ConcurrencyLimited, RateLimited
from memlane_server.limits.kinds import KINDS, Kind, kind_of
from memlane_server.principal import Principal

SEARCH = "/memlane.v1.MemoryService/SearchMemories"
BATCH = "/memlane.v1.MemoryService/BatchSearchMemories"
CREATE = "/memlane.v1.MemoryService/CreateMemory"
REMEMBER = "/memlane.v1.MemoryService/Remember"
EXPORT = "/memlane.v1.ComplianceService/ExportUser"
ECHO = "/memlane.v1.DiagnosticsService/Echo"
BANK_A, BANK_B = Principal("bank-a", "teller"), Principal("bank-b", "柜员")


class Limited:
    def __init__(self, *, share: float = 1.0, model: bool = True, calls: int = 1000, **settings: Any) -> None:
        self.now = 100.0
        self.behind = False
        self.waiting = 0
        self.limiter = TenantLimiter(
            LimitsSettings.model_validate(settings),
            capacity(ServerSettings(max_concurrent_calls=calls, max_slow_calls=8)),
            share=share,
            model=model,
            behind=lambda: self.behind,
            waiting_io=lambda: self.waiting,
            clock=lambda: self.now,
        )

    def call(
        self, path: str = SEARCH, user_id: str = "张三", who: Principal = BANK_A, weight: int = 1
    ) -> None:
        """A call that is over at once."""
        self.limiter.enter(who, path, user_id, weight)
        self.limiter.leave(who, path, user_id)

    def admitted(self, times: int, call: Callable[[], None] | None = None) -> int:
        count = 0
        for _ in range(times):
            try:
                (call or self.call)()
            except Exhausted:
                continue
            count += 1
        return count


def test_every_rpc_has_its_kind() -> None:
    assert set(KINDS) == {f"/{s.full_name}/{m.name}" for s in SERVICES.values() for m in s.methods}


def test_without_a_model_remember_is_a_write() -> None:
    assert kind_of(REMEMBER, model=True) is Kind.MODEL_CALLS
    assert kind_of(REMEMBER, model=False) is Kind.WRITES


def test_a_user_gets_a_burst_and_then_the_rate() -> None:
    limited = Limited(user={"reads": {"per_second": 10, "burst": 5}})
    assert limited.admitted(20) == 5
    with pytest.raises(RateLimited) as caught:
        limited.call()
    assert caught.value.retry_after_seconds == pytest.approx(0.1)
    assert caught.value.metadata == {"scope": "user", "kind": "reads"}
    limited.now += 0.1
    assert limited.admitted(3) == 1, "as soon as the answer said"
    limited.now += 3600
    assert limited.admitted(20) == 5, "no more than a burst, however long the pause"
    limited.call(user_id="李四")
    limited.call(CREATE)
    limited.call(who=BANK_B)


def test_a_tenants_rate_covers_all_its_users_and_counts_each_search_of_a_batch() -> None:
    limited = Limited(tenant={"reads": {"per_second": 100, "burst": 100}})
    limited.call(BATCH, "", weight=64)
    assert limited.admitted(100, lambda: limited.call(user_id=f"u{limited.limiter.tracked_users}")) == 36
    assert limited.admitted(1, lambda: limited.call(who=BANK_B)) == 1
    limited.now += 10
    limited.call(BATCH, "", weight=1000)
    limited.now += 8.9
    assert limited.admitted(1) == 0, "a batch larger than the burst is paid for afterwards"
    limited.now += 0.2
    assert limited.admitted(1) == 1


def test_calls_at_once_are_bounded_for_user_and_tenant() -> None:
    limited = Limited(user={"writes": {"concurrent": 2}}, tenant={"writes": {"concurrent": 3}})
    for user_id in ("a", "a", "b"):
        limited.limiter.enter(BANK_A, CREATE, user_id)
    for user_id, scope in (("a", "tenant"), ("c", "tenant")):
        with pytest.raises(ConcurrencyLimited) as caught:
            limited.call(CREATE, user_id)
        assert caught.value.metadata["scope"] == scope
        assert caught.value.retry_after_seconds
    limited.limiter.leave(BANK_A, CREATE, "b")
    with pytest.raises(ConcurrencyLimited) as caught:
        limited.call(CREATE, "a")
    assert caught.value.metadata["scope"] == "user"
    limited.call(CREATE, "c")
    assert limited.limiter.refused == {
        ("tenant", "writes", "concurrency"): 2,
        ("user", "writes", "concurrency"): 1,
    }


def test_one_tenant_holds_no_more_than_its_share_of_a_lane() -> None:
    limited = Limited(share=0.5, calls=10)
    for path, places in ((SEARCH, 5), (REMEMBER, 4), (EXPORT, 4)):
        for _ in range(places):
            limited.limiter.enter(BANK_A, path, "")
        with pytest.raises(ConcurrencyLimited):
            limited.call(path)
        limited.call(path, who=BANK_B)
    with pytest.raises(ConcurrencyLimited):
        limited.call(CREATE)
    limited.call(ECHO)


def test_streams_are_shared_too() -> None:
    limited = Limited(share=0.5, calls=4)
    for _ in range(2):
        limited.limiter.open_stream(BANK_A)
    with pytest.raises(ConcurrencyLimited):
        limited.limiter.open_stream(BANK_A)
    limited.limiter.open_stream(BANK_B)
    limited.limiter.close_stream(BANK_A)
    limited.limiter.open_stream(BANK_A)


def test_while_the_server_is_behind_only_who_asks_for_much_is_refused() -> None:
    limited = Limited()

    def second() -> tuple[int, int]:
        limited.now += 1.0
        noisy = limited.admitted(1000)
        return noisy, limited.admitted(20, lambda: limited.call(who=BANK_B))

    assert second() == (1000, 20)
    limited.behind = True
    assert second() == (510, 20), "half of what was let in before"
    assert second() == (265, 20)
    assert second()[1] == 20
    limited.behind = False
    assert second() == (1000, 20)
    assert limited.limiter.refused["tenant", "reads", "fair_share"] > 0


def test_a_tenant_alone_is_never_refused_for_its_share() -> None:
    limited = Limited()
    limited.behind = True
    for _ in range(3):
        limited.now += 1.0
        assert limited.admitted(1000) == 1000


def test_writes_are_refused_while_too_much_waits_for_a_thread() -> None:
    limited = Limited(max_waiting_io=10)
    limited.waiting = 10
    with pytest.raises(Overloaded):
        limited.call(CREATE)
    limited.call(SEARCH)


def test_what_is_remembered_of_users_is_bounded() -> None:
    limited = Limited(tracked_users=4096, user={"reads": {"per_second": 1, "burst": 1, "concurrent": 1}})
    limited.limiter.enter(BANK_A, SEARCH, "in flight")
    for number in range(10_000):
        limited.call(user_id=f"user-{number}")
    assert limited.limiter.tracked_users == 4096
    with pytest.raises(ConcurrencyLimited):
        limited.call(user_id="in flight")
    limited.limiter.leave(BANK_A, SEARCH, "in flight")
    limited.call(user_id="x" * 1_000_000)
    assert limited.limiter.tracked_users == 4096, "what cannot be a user id is not remembered"


def test_a_tenants_own_limits_lie_over_the_common_ones() -> None:
    settings = LimitsSettings.model_validate(
        {
            "user": {"reads": {"per_second": 7, "burst": 9}},
            "memories": {"per_user": 1000},
            "tenants": {"bank-b": {"user": {"reads": {"burst": 3}}, "memories": {"per_tenant": 50_000}}},
        }
    )
    reads = settings.for_tenant("bank-b").user.reads
    assert (reads.per_second, reads.burst) == (7, 3)
    quota = settings.quota_of_tenants()
    assert (quota("bank-b").per_user, quota("bank-b").per_tenant) == (1000, 50_000)
    assert (quota("bank-a").per_user, quota("bank-a").per_tenant) == (1000, None)
