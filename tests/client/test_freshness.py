"""A client reads its own writes: which freshness its reads ask for."""

import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from memlane import Client, Consistency, Search
from memlane._freshness import Freshness
from memlane.v1 import (
    compliance_service_pb2,
    consistency_pb2,
    context_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
)
from tests.client.callers import Caller
from tests.client.scripted_server import ScriptedServer, answer

Connect = Callable[..., Caller]


def token(value: str) -> consistency_pb2.ConsistencyToken:
    return consistency_pb2.ConsistencyToken(token=value)


def created(value: str) -> Any:
    return answer(memory_service_pb2.CreateMemoryResponse(written_at=token(value)))


def asked(request: Any) -> str:
    """What a request asks for, in short."""
    wanted = request.consistency
    requirement = wanted.WhichOneof("requirement")
    return wanted.at_least_as_fresh.token if requirement == "at_least_as_fresh" else requirement or "unset"


def test_a_read_follows_the_last_write_of_its_user(caller: Caller, server: ScriptedServer) -> None:
    server.then("CreateMemory", created("t1"), created("t2"), created("t9"))
    caller.call("search_memories", "c-1", "q")
    for user, text in (("c-1", "两个孩子"), ("c-1", "三个孩子"), ("c-2", "another user")):
        caller.call("create_memory", user, text)
    caller.call("search_memories", "c-1", "q")
    caller.call("search_memories", "c-3", "q")
    caller.call("get_memory", "c-2", "m-1")
    caller.call("get_window", "c-1", "s-1")
    assert [asked(r) for r in server.requests("SearchMemories")] == ["unset", "t2", "unset"]
    assert asked(server.requests("GetMemory")[0]) == "t9"
    assert asked(server.requests("GetWindow")[0]) == "t2"


def test_batches_and_streams_follow_each_search_of_its_own_user(
    caller: Caller, server: ScriptedServer
) -> None:
    server.then("CreateMemory", created("t1"))
    caller.call("create_memory", "c-1", "x")
    searches = [Search("c-1", "a"), Search("c-2", "b"), Search("c-1", "c", consistency=Consistency.full())]
    caller.call("batch_search_memories", searches)
    caller.collect("stream_search_memories", searches)
    want = ["t1", "unset", "fully_consistent"]
    assert [asked(s) for s in server.requests("BatchSearchMemories")[0].searches] == want
    assert [asked(r.search) for r in server.requests("StreamSearchMemories")] == want


def test_knowledge_and_rules_follow_the_tenants_own_writes(caller: Caller, server: ScriptedServer) -> None:
    server.then("CreateMemory", created("t1"))
    server.then(
        "UpsertKnowledge",
        answer(knowledge_service_pb2.UpsertKnowledgeResponse(written_at=token("k1"))),
    )
    caller.call("create_memory", "c-1", "x")
    caller.call("upsert_knowledge", "年利率 3.1%")
    caller.call("search_knowledge", "利率")
    caller.call("get_rules")
    # Its write came after the user's, and so covers both.
    caller.call("build_context", "c-1", "利率")
    caller.call("build_context", "c-2", "rates")
    assert asked(server.requests("SearchKnowledge")[0]) == asked(server.requests("GetRules")[0]) == "k1"
    assert [asked(r) for r in server.requests("BuildContext")] == ["k1", "k1"]


def test_the_end_of_a_chat_is_a_write(caller: Caller, server: ScriptedServer) -> None:
    done = context_service_pb2.ChatResponse(done=context_service_pb2.ChatDone(written_at=token("t5")))
    server.then("Chat", answer([done]))
    caller.collect("chat", "c-1", "s-1", "你好")
    caller.call("get_window", "c-1", "s-1")
    assert asked(server.requests("GetWindow")[0]) == "t5"


def test_what_must_be_repeatable_asks_for_the_same_each_time(caller: Caller, server: ScriptedServer) -> None:
    """Page tokens and the request_id of a chat hold for one request, its consistency included."""
    page = memory_service_pb2.ListMemoriesResponse(next_page_token="p2")
    server.then("ListMemories", answer(page))
    server.then("CreateMemory", created("t1"))
    caller.call("list_memories", "c-1")
    caller.call("create_memory", "c-1", "x")
    caller.call("list_memories", "c-1", page_token="p2")
    for _ in range(2):
        server.then("Chat", answer([context_service_pb2.ChatResponse(done=context_service_pb2.ChatDone())]))
        caller.collect("chat", "c-1", "s-1", "你好", request_id="turn-1")
        caller.call("create_memory", "c-1", "y")
    assert {asked(r) for r in server.requests("ListMemories")} == {"fully_consistent"}
    first, second = server.requests("Chat")
    assert first == second


def test_the_callers_choice_goes_before(caller: Caller, server: ScriptedServer) -> None:
    server.then("CreateMemory", created("t1"))
    caller.call("create_memory", "c-1", "x")
    for choice in (Consistency.minimize_latency(), Consistency.at_least("other"), Consistency.full()):
        caller.call("search_memories", "c-1", "q", consistency=choice)
    assert [asked(r) for r in server.requests("SearchMemories")] == [
        "minimize_latency",
        "other",
        "fully_consistent",
    ]


def test_it_can_be_switched_off(connect: Connect, server: ScriptedServer) -> None:
    caller = connect(read_your_writes=False)
    server.then("CreateMemory", created("t1"))
    caller.call("create_memory", "c-1", "x")
    caller.call("search_memories", "c-1", "q")
    caller.call("list_memories", "c-1")
    assert [asked(server.seen[i].request) for i in (1, 2)] == ["unset", "unset"]


def test_a_repeat_under_the_callers_own_id_may_carry_an_old_token(
    caller: Caller, server: ScriptedServer
) -> None:
    server.then("CreateMemory", created("t2"), created("t1"))
    search = memory_service_pb2.SearchMemoriesResponse(read_at=token("t3"))
    server.then("SearchMemories", answer(search))
    caller.call("create_memory", "c-1", "new")
    caller.call("create_memory", "c-1", "old", request_id="again")
    caller.call("search_memories", "c-1", "q")
    caller.call("search_memories", "c-1", "q")
    assert [asked(r) for r in server.requests("SearchMemories")] == ["fully_consistent", "t3"]


def test_an_ingestion_that_is_done_is_read_back(caller: Caller, server: ScriptedServer) -> None:
    server.then(
        "GetIngestion",
        answer(
            memory_service_pb2.GetIngestionResponse(
                state=memory_service_pb2.INGESTION_STATE_SUCCEEDED, written_at=token("t4")
            )
        ),
    )
    caller.call("get_ingestion", "c-1", "i-1")
    caller.call("search_memories", "c-1", "q")
    assert asked(server.requests("SearchMemories")[0]) == "t4"


def test_an_erasure_is_seen_by_the_next_read(caller: Caller, server: ScriptedServer) -> None:
    server.then("ForgetUser", answer(compliance_service_pb2.ForgetUserResponse(written_at=token("gone"))))
    caller.call("forget_user", "c-1", operator="o", reason="客户要求")
    caller.call("search_memories", "c-1", "q")
    assert asked(server.requests("SearchMemories")[0]) == "gone"


def test_threads_that_share_a_client_each_read_their_own_writes(server: ScriptedServer) -> None:
    """The server numbers the writes as a journal does. A read may ask for its user's last number, a later one, or
    everything; never for less, whatever the other threads do."""
    journal, numbering = itertools.count(1), threading.Lock()
    rounds, reads_each, users = 20, 4, ("c-0", "c-1", "c-2")

    def write(request: Any, context: grpc.ServicerContext) -> Any:
        with numbering:
            response = memory_service_pb2.CreateMemoryResponse(written_at=token(str(next(journal))))
        # Answers overtake each other on their way.
        time.sleep(random.uniform(0.0, 0.004))
        return response

    def read(request: Any, context: grpc.ServicerContext) -> Any:
        # The head of the journal, as a fully consistent read tells it.
        with numbering:
            return memory_service_pb2.SearchMemoriesResponse(read_at=token(str(next(journal))))

    server.then("CreateMemory", *[write] * 2 * len(users) * rounds)
    server.then("SearchMemories", *[read] * 2 * len(users) * rounds * reads_each)

    def live(client: Client, user: str, mark: str) -> None:
        for turn in range(rounds):
            own = int(client.create_memory(user, "新的事实").written_at)
            for _ in range(reads_each):
                client.search_memories(user, f"{mark} {turn} {own}", timeout=30.0)

    with Client(server.target) as client, ThreadPoolExecutor(6) as pool:
        lives = [pool.submit(live, client, user, mark) for user in users for mark in ("甲", "b")]
        for one in lives:
            one.result(60)
    reads = server.requests("SearchMemories")
    assert len(reads) == 2 * len(users) * rounds * reads_each
    for request in reads:
        own, wanted = int(request.query.rpartition(" ")[2]), asked(request)
        assert wanted == "fully_consistent" or int(wanted) >= own


def test_overlapping_writes_are_settled_by_one_full_read() -> None:
    freshness = Freshness()
    first, second = freshness.begin(), freshness.begin()
    freshness.wrote("c-1", "t2", second)
    freshness.wrote("c-1", "t1", first)
    assert freshness.wanted("c-1") == Consistency.full()

    reading = freshness.begin()
    freshness.read(("c-1",), "t3", reading)
    assert freshness.wanted("c-1") == Consistency.at_least("t3")


def test_a_read_that_began_before_the_last_write_settles_nothing() -> None:
    freshness = Freshness()
    first, second, reading = freshness.begin(), freshness.begin(), freshness.begin()
    freshness.wrote("c-1", "t2", second)
    freshness.wrote("c-1", "t1", first)
    freshness.read(("c-1",), "t0", reading)
    assert freshness.wanted("c-1") == Consistency.full()


def test_a_write_after_overlapping_ones_has_the_newest_token() -> None:
    freshness = Freshness()
    first, second = freshness.begin(), freshness.begin()
    freshness.wrote("c-1", "t2", second)
    freshness.wrote("c-1", "t1", first)
    freshness.wrote("c-1", "t3", freshness.begin())
    assert freshness.wanted("c-1") == Consistency.at_least("t3")


@pytest.mark.parametrize("users", [2, 3, 50])
def test_memory_is_bounded_and_no_write_is_lost(users: int) -> None:
    freshness = Freshness(max_scopes=2)
    for number in range(users):
        freshness.wrote(f"c-{number}", f"t{number}", freshness.begin())
    for number in range(users):
        wanted = freshness.wanted(f"c-{number}")
        assert wanted is not None and (wanted.fully or int(wanted.token[1:]) >= number)
    assert len(freshness._marks) == 2
