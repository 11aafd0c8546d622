"""Rates, places and quotas on a whole server: refused at once, in words that a client can act on."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from memlane.v1 import memory_pb2, memory_service_pb2, memory_service_pb2_grpc
from memlane_server.auth import AuthSettings, issuing
from memlane_server.principal import Principal
from tests.support.forked_server import running_forked_server
from tests.support.refusals import refusal_of, refused

SECRET = "a-development-secret-for-the-tests-of-limits"
LIMITS = {
    "slow-bank": {
        "tenant": {"reads": {"per_second": 0.01, "burst": 20}},
        "user": {"reads": {"per_second": 0.01, "burst": 4}},
    },
    "small-bank": {"memories": {"per_user": 3}},
    "tiny-bank": {"memories": {"per_user": 50, "per_tenant": 4}},
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {
        "MEMLANE_AUTH__HS256_SECRET": SECRET,
        "MEMLANE_LIMITS__TENANTS": json.dumps(LIMITS),
        "MEMLANE_SERVER__MAX_CONCURRENT_CALLS": "8",
        # On a busy machine a tenant would be refused for the lateness of the loop, which is not looked at here.
        "MEMLANE_LIMITS__MAX_LOOP_LAG_MS": "60000",
        "MEMLANE_LIMITS__MAX_LOOP_BUSY": "1",
    }
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data", settings) as process:
        yield process.address


class Bank:
    """What one tenant's back end says."""

    def __init__(self, address: str, tenant: str) -> None:
        token = issuing.sign(
            issuing.claims_of(
                Principal(tenant, "svc"), AuthSettings.model_validate({"hs256_secret": SECRET}), 600
            ),
            SECRET,
        )
        self._metadata = (("authorization", f"Bearer {token}"),)
        self.channel = grpc.insecure_channel(address)
        self._stub = memory_service_pb2_grpc.MemoryServiceStub(self.channel)

    def call(self, method: str, request: Any) -> Any:
        return getattr(self._stub, method)(request, metadata=self._metadata, timeout=30)

    def create(self, user_id: str, content: str) -> memory_pb2.Memory:
        request = memory_service_pb2.CreateMemoryRequest(user_id=user_id, content=content)
        created: memory_pb2.Memory = self.call("CreateMemory", request).memory
        return created

    def search(self, user_id: str) -> Any:
        request = memory_service_pb2.SearchMemoriesRequest(user_id=user_id, query="喝什么茶")
        return self.call("SearchMemories", request)

    def state(self, user_id: str, *facts: str) -> memory_service_pb2.RememberResponse:
        request = memory_service_pb2.RememberRequest(user_id=user_id)
        for fact in facts:
            request.facts.facts.add(content=fact)
        response: memory_service_pb2.RememberResponse = self.call("Remember", request)
        return response

    def stream(self, until: threading.Event) -> Any:
        def wait() -> Iterator[memory_service_pb2.StreamSearchMemoriesRequest]:
            yield memory_service_pb2.StreamSearchMemoriesRequest(
                correlation_id="1", search=memory_service_pb2.SearchMemoriesRequest(user_id="u", query="茶")
            )
            assert until.wait(60)

        return self._stub.StreamSearchMemories(wait(), metadata=self._metadata, timeout=60)


@pytest.fixture
def bank(address: str) -> Iterator[Callable[[str], Bank]]:
    banks: list[Bank] = []

    def make(tenant: str) -> Bank:
        banks.append(Bank(address, tenant))
        return banks[-1]

    yield make
    for one in banks:
        one.channel.close()


def fresh() -> str:
    return f"客户-{uuid.uuid4().hex[:12]}"


def retry_seconds(call: Callable[[], Any]) -> float:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    status = rpc_status.from_call(caught.value)
    for packed in status.details:
        info = error_details_pb2.RetryInfo()
        if packed.Unpack(info):
            return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    raise AssertionError("no RetryInfo")


def test_rates_hold_for_user_and_tenant_and_for_no_other_tenant(bank: Callable[[str], Bank]) -> None:
    slow, other = bank("slow-bank"), bank("other-bank")
    user_id = fresh()
    for _ in range(4):
        slow.search(user_id)
    refusal = refused(lambda: slow.search(user_id))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
    assert refusal.metadata == {"scope": "user", "kind": "reads"}
    assert 50 < retry_seconds(lambda: slow.search(user_id)) <= 100
    slow.create(user_id, "喜欢龙井茶 likes tea")
    batch = memory_service_pb2.BatchSearchMemoriesRequest()
    for _ in range(16):
        batch.searches.add(user_id=fresh(), query="茶")
    slow.call("BatchSearchMemories", batch)
    refusal = refused(lambda: slow.search(fresh()))
    assert refusal.metadata == {"scope": "tenant", "kind": "reads"}, "each search of a batch counts"
    for _ in range(30):
        other.search(user_id)


def test_one_tenant_holds_half_of_the_streams(bank: Callable[[str], Bank]) -> None:
    noisy, quiet, done = bank("noisy-bank"), bank("quiet-bank"), threading.Event()
    try:
        open_ = [noisy.stream(done) for _ in range(4)]
        for stream in open_:
            assert next(stream).correlation_id == "1"
        refusal = refused(lambda: next(noisy.stream(done)))
        assert (refusal.code, refusal.reason) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "CONCURRENCY_LIMITED",
        )
        assert next(quiet.stream(done)).correlation_id == "1"
    finally:
        done.set()


def test_at_the_quota_one_may_change_and_delete_and_not_add(bank: Callable[[str], Bank]) -> None:
    small, user_id = bank("small-bank"), fresh()
    kept = [small.create(user_id, text) for text in ("住在上海", "喜欢喝茶", "Has two children")]
    refusal = refused(lambda: small.create(user_id, "养了一只猫"))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "QUOTA_REACHED")
    assert refusal.metadata == {"quota": "memories per user", "limit": "3"}
    changed = memory_service_pb2.UpdateMemoryRequest(
        user_id=user_id, memory_id=kept[0].memory_id, content="住在北京"
    )
    assert small.call("UpdateMemory", changed).memory.revision == 2
    gone = memory_service_pb2.DeleteMemoryRequest(user_id=user_id, memory_id=kept[1].memory_id)
    small.call("DeleteMemory", gone)
    small.create(user_id, "养了一只猫")
    small.create(fresh(), "another user")


def test_remember_at_the_quota_names_the_facts_that_found_no_place(bank: Callable[[str], Bank]) -> None:
    small, user_id = bank("small-bank"), fresh()
    small.create(user_id, "用户有两个孩子")
    facts = (
        "用户有三个孩子",
        "用户养了一只猫",
        "The user works in Shanghai",
        "用户对花生过敏",
        "用户喜欢爬山",
    )
    answer = small.state(user_id, *facts)
    actions = [memory_pb2.Action.Name(o.action).removeprefix("ACTION_") for o in answer.operations]
    assert actions == ["UPDATE", "ADD", "ADD"]
    assert [r.fact for r in answer.rejected] == ["用户对花生过敏", "用户喜欢爬山"]
    assert {r.reason for r in answer.rejected} == {"the quota of 3 memories per user is reached"}
    again = small.state(user_id, "用户有四个孩子", "用户喜欢爬山")
    assert [memory_pb2.Action.Name(o.action) for o in again.operations] == ["ACTION_UPDATE"]
    assert len(again.rejected) == 1


def test_the_quota_holds_when_many_write_at_once(bank: Callable[[str], Bank]) -> None:
    small, tiny = bank("small-bank"), bank("tiny-bank")

    def create(who: Bank, user_id: str) -> bool:
        while True:
            try:
                who.create(user_id, f"记忆 {uuid.uuid4().hex}")
            except grpc.RpcError as error:
                refusal = refusal_of(error)
                if refusal.reason != "CONCURRENCY_LIMITED":
                    assert refusal.reason == "QUOTA_REACHED", refusal
                    return False
            else:
                return True

    with ThreadPoolExecutor(4) as pool:
        user_id = fresh()
        assert sum(pool.map(lambda _: create(small, user_id), range(12))) == 3
        assert sum(pool.map(lambda _: create(tiny, fresh()), range(12))) == 4
    refusal = refused(lambda: tiny.create(fresh(), "多一条"))
    assert refusal.metadata == {"quota": "memories per tenant", "limit": "4"}
    answer = tiny.state(fresh(), "用户喜欢爬山")
    assert [r.reason for r in answer.rejected] == ["the quota of 4 memories per tenant is reached"]
