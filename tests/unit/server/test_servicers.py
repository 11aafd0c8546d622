"""Every RPC of the contract has its method; batches keep to the size of an answer."""

from typing import Any, cast

import pytest

from memlane.v1 import memory_pb2
from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain import limits
from memlane_core.domain.errors import StoreUnavailable
from memlane_core.domain.memory import Memory
from memlane_core.index import Hit
from memlane_core.services.call import Call
from memlane_core.services.search import SearchCommand, SearchResult, SearchTiming
from memlane_server.health import SERVICES
from memlane_server.servicers import servicers
from memlane_server.servicers.search import SearchServicer, may_wait
from memlane_server.services import Services
from tests.support.hits import hit_of

CALL = Call("bank", "teller")


class FakeSearch:
    """Gives every search the same hits; fails for the user `down`."""

    dimension = 2

    def __init__(self, hits: list[Hit]) -> None:
        self._hits = hits

    async def search_all(self, call: Call, commands: list[Any]) -> list[Any]:
        return [c if isinstance(c, Exception) else self._one(c) for c in commands]

    def _one(self, command: SearchCommand) -> Any:
        if command.user_id == "down":
            return StoreUnavailable("the store does not answer")
        return SearchResult(self._hits, SearchTiming(0, 1, 1, False))


class FakeServices:
    """What a search needs, and no more."""

    class clock:
        @staticmethod
        def now() -> float:
            return 1_700_000_000.0

    class positions:
        @staticmethod
        def current_token(tenant: str) -> str:
            return f"at-{tenant}"

    def __init__(self, hits: list[Hit]) -> None:
        self.search = FakeSearch(hits)


def hit(size: int) -> Hit:
    memory = Memory("m", "u", "x" * size)
    return hit_of(memory, 0.5, 0.5)


async def batch(servicer: SearchServicer, searches: list[pb.SearchMemoriesRequest]) -> tuple[int, Any]:
    encoded = await servicer.BatchSearchMemories(pb.BatchSearchMemoriesRequest(searches=searches), CALL)
    return len(encoded), pb.BatchSearchMemoriesResponse.FromString(encoded)


def servicer(*hits: Hit) -> SearchServicer:
    return SearchServicer(cast(Services, FakeServices(list(hits))))


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_rpc_has_its_method(name: str) -> None:
    methods = servicers(cast(Services, FakeServices([])))[name]
    for method in SERVICES[name].methods:
        assert callable(getattr(methods, method.name))


async def test_each_search_of_a_batch_has_its_own_status() -> None:
    searches = [pb.SearchMemoriesRequest(user_id=u, query="利率") for u in ("a", "", "down", "b")]
    _, answer = await batch(servicer(hit(10)), searches)
    assert [o.status.code for o in answer.responses] == [0, 3, 14, 0]
    assert [v.field for v in answer.responses[1].status.field_violations] == ["user_id"]
    assert [len(o.response.results) for o in answer.responses] == [1, 0, 0, 1]
    assert answer.responses[3].response.read_at.token == "at-bank"


async def test_a_batch_keeps_to_the_size_of_an_answer() -> None:
    searches = [pb.SearchMemoriesRequest(user_id="a", query="q")] * 1000
    size, answer = await batch(servicer(*[hit(2000)] * 5), searches)
    codes = [o.status.code for o in answer.responses]
    assert size <= limits.MAX_RESPONSE_MESSAGE_BYTES and len(codes) == 1000
    assert 350 < codes.count(0) < 420 and set(codes) == {0, 8}
    assert codes == sorted(codes)


async def test_a_stream_answers_what_is_wrong_with_one_request() -> None:
    from contextlib import nullcontext

    request = pb.StreamSearchMemoriesRequest(correlation_id="第一")
    encoded = await servicer().StreamSearchMemories(request, lambda: nullcontext(CALL))
    answer = pb.StreamSearchMemoriesResponse.FromString(encoded)
    assert (answer.correlation_id, answer.status.code) == ("第一", 3)
    assert [v.field for v in answer.status.field_violations] == ["search"]


def test_searches_that_may_wait_overlap() -> None:
    def waits(**search: Any) -> bool:
        return may_wait(
            pb.StreamSearchMemoriesRequest(search=pb.SearchMemoriesRequest(user_id="a", **search))
        )

    assert waits(query="q") and waits(embedding_f32=b"", as_of={"seconds": 1})
    assert not waits(embedding_f32=b"") and not waits(embedding=memory_pb2.Embedding(values=[1]))
