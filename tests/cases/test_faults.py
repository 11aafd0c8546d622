"""Field reports about models that fail, hang or are slow: bounded ends, honest statuses, nothing half-written."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from memlane.v1 import memory_pb2, memory_service_pb2
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import (
    Chat,
    Drip,
    Embeddings,
    Hang,
    OpenAIStub,
    Reply,
    Request,
    Reset,
    Status,
    Throttled,
)

from .conftest import Api
from .model_server_fixture import (
    Gate,
    asked_for,
    decided,
    decision,
    every_turn,
    model,
    new_unless_stored,
    reason_of,
    reset,
    scripted_server,
    until,
)

_SLOW_CALLS = 20
_MODEL_SECONDS = 4.5
_LOADED_MACHINE_SECONDS = 5.0
"""What a bound is widened by here; the ends that the server keeps to are much closer."""


@pytest.fixture(scope="module")
def running_stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as stub:
        yield stub


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, running_stub: OpenAIStub, clock_file: Path
) -> Iterator[ServerProcess]:
    with scripted_server(
        tmp_path_factory.mktemp("memlane") / "data",
        running_stub,
        clock_file,
        MEMORY__CANDIDATES="1",
        SERVER__MAX_SLOW_CALLS=str(_SLOW_CALLS),
        CHAT__TIMEOUT_SECONDS=str(_MODEL_SECONDS),
    ) as process:
        yield process


@pytest.fixture
def stub(running_stub: OpenAIStub) -> OpenAIStub:
    reset(running_stub)
    return running_stub


@pytest.fixture
def gates() -> Iterator[Callable[..., Gate]]:
    """Makes gates, and opens those that a failed test left shut."""
    made: list[Gate] = []

    def make(answer: Callable[[Request], Reply]) -> Gate:
        made.append(Gate(answer))
        return made[-1]

    yield make
    for gate in made:
        gate.open()


def spoken(user_id: str, text: str, request_id: str = "") -> memory_service_pb2.RememberRequest:
    request = memory_service_pb2.RememberRequest(user_id=user_id, request_id=request_id)
    request.conversation.messages.add(role=memory_pb2.ROLE_USER, content=text)
    return request


def test_B29_a_user_forgotten_meanwhile_does_not_grow_back(
    api: Api, server: ServerProcess, stub: OpenAIStub, clock_file: Path, gates: Callable[..., Gate]
) -> None:
    user = api.fresh()
    api.state(user, "User keeps bees", "User likes tea", "User owns a boat")
    api.append(user, "s1", "I keep goats too.")
    gate = gates(every_turn)
    stub.chat.clear()
    stub.chat.default = model(facts=gate)
    slow = api.memory.Remember.future(spoken(user, "I play the violin."), timeout=60)
    stub.chat.wait_for_requests(1)
    assert api.forget(user).memory_count == 3
    gate.open()
    assert slow.code() in (grpc.StatusCode.ABORTED, grpc.StatusCode.CANCELLED)
    assert api.live(user) == []
    assert api.forget(user).memory_count == 0

    server.kill()
    server.start()
    with server.channel() as channel:
        again = Api(channel, clock_file)
        assert again.live(user) == []
        assert again.found(user, "violin") == []
        again.say(user, "I keep cats.")
        assert again.texts(user) == ["I keep cats."]


@pytest.mark.parametrize(
    "answers",
    [(Status(500),) * 4, (Embeddings(missing=1),)],
    ids=["500", "too-few-vectors"],
)
def test_B37_facts_without_vectors_are_not_stored(
    api: Api, stub: OpenAIStub, answers: tuple[Reply, ...]
) -> None:
    user = api.fresh()
    facts = [f"User {user} likes {thing}" for thing in ("tea", "boats", "bees")]
    stub.embeddings.will(*answers)
    with pytest.raises(grpc.RpcError) as refused:
        api.state(user, *facts)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert reason_of(refused.value) == "MODEL_UNAVAILABLE"
    assert stub.embeddings.left == 0
    assert api.texts(user) == []
    api.state(user, *facts)
    assert sorted(api.texts(user)) == sorted(facts)


def test_B37_a_vector_missing_for_the_last_fact_undoes_the_first(api: Api, stub: OpenAIStub) -> None:
    """The second fact is merged with a memory; the merged text's embedding fails when the first is staged already."""
    user = api.fresh()
    tea, coffee, boat = f"{user} likes tea", f"{user} likes coffee", f"{user} owns a boat"
    # Each fact's one candidate: the new row of the boat is not nearer to coffee than tea is.
    stub.embeddings.will(Embeddings([_axis(0)]), Embeddings([_axis(1), _axis(0)]), Embeddings(missing=1))
    api.state(user, tea)
    before = api.live(user)
    merged = f"{user} likes tea and coffee"
    stub.chat.default = model(
        decisions=lambda _: decided(decision(0, "ADD", None), decision(1, "UPDATE", 0, merged))
    )
    with pytest.raises(grpc.RpcError) as refused:
        api.state(user, boat, coffee)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert stub.embeddings.requests[-1].json["input"] == [merged]
    assert api.live(user) == before
    assert len(api.revisions(user, before[0].memory_id)) == 1
    stub.embeddings.will(Embeddings([_axis(1), _axis(0)]))
    api.state(user, boat, coffee)
    assert sorted(api.texts(user)) == [merged, boat]


def _axis(number: int) -> list[float]:
    return [1.0 if i == number else 0.0 for i in range(64)]


def test_B37_shuffled_vectors_find_their_texts(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    facts = [f"{user} keeps {thing}" for thing in ("swans", "otters", "camels")]
    stub.embeddings.will(Embeddings(shuffled=True))
    api.state(user, *facts)
    for text in facts:
        assert api.found(user, text)[0] == text


def test_B37_an_update_without_a_vector_keeps_the_old_row(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    old, new = f"{user} keeps swans", f"{user} keeps otters"
    memory = api.create(user, old)
    api.create(user, f"{user} owns a boat")
    update = memory_service_pb2.UpdateMemoryRequest(user_id=user, memory_id=memory.memory_id, content=new)
    stub.embeddings.will(Embeddings(missing=1))
    with pytest.raises(grpc.RpcError) as refused:
        api.memory.UpdateMemory(update, timeout=30)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert memory in api.live(user)
    assert len(api.revisions(user, memory.memory_id)) == 1
    assert api.found(user, old)[0] == old

    api.memory.UpdateMemory(update, timeout=30)
    assert api.found(user, new)[0] == new
    assert old not in api.found(user, old)


@pytest.mark.parametrize(
    ("deadline_seconds", "code"),
    [(3.0, grpc.StatusCode.DEADLINE_EXCEEDED), (30.0, grpc.StatusCode.UNAVAILABLE)],
    ids=["callers-deadline", "own-timeout"],
)
def test_B39_a_b_silence_ends_in_time_and_holds_up_nobody(
    api: Api, stub: OpenAIStub, deadline_seconds: float, code: grpc.StatusCode
) -> None:
    other, users = api.fresh("other"), [api.fresh("hang"), api.fresh("drip")]
    api.create(other, f"{other} keeps swans")
    stub.chat.will(Hang(), Drip(Chat('{"facts": []}')))
    started = time.monotonic()
    silent = [
        api.memory.Remember.future(spoken(user, "I like tea."), timeout=deadline_seconds) for user in users
    ]
    asked = stub.chat.wait_for_requests(2)
    assert api.found(other, f"{other} keeps swans") == [f"{other} keeps swans"]
    assert not any(call.done() for call in silent)
    assert [call.code() for call in silent] == [code, code]
    assert time.monotonic() - started < min(_MODEL_SECONDS, deadline_seconds) + _LOADED_MACHINE_SECONDS
    # Whoever gave up first: the server let go of the model, too.
    assert all(request.gone.wait(_LOADED_MACHINE_SECONDS) for request in asked)
    assert len(stub.chat.requests) == 2
    assert [api.texts(user) for user in users] == [[], []]


def test_B39_a_silent_embedding_server_ends_with_the_callers_time(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    stub.embeddings.will(Hang())
    call = api.memory.Remember.future(spoken(user, f"I am {user}."), timeout=2.0)
    [asked] = stub.embeddings.wait_for_requests(1)
    assert call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert asked.gone.wait(_LOADED_MACHINE_SECONDS)
    assert [asked_for(r) for r in stub.chat.requests] == ["facts"]
    assert api.texts(user) == []


def test_B39_c_a_throttled_model_is_waited_for(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    stub.chat.will(Throttled(1), Throttled(1))
    api.memory.Remember(spoken(user, "I like tea."), timeout=30)
    assert api.texts(user) == ["I like tea."]
    first, second, third, _ = stub.chat.requests
    assert second.at - first.at >= 1.0
    assert third.at - second.at >= 1.0


@pytest.mark.parametrize(
    ("reply", "code", "reason", "tries"),
    [
        (Throttled(), grpc.StatusCode.RESOURCE_EXHAUSTED, "MODEL_THROTTLED", 4),
        (Throttled(3600), grpc.StatusCode.RESOURCE_EXHAUSTED, "MODEL_THROTTLED", 1),
        (Status(401), grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE", 1),
        (Reset(), grpc.StatusCode.UNAVAILABLE, "MODEL_UNAVAILABLE", 4),
    ],
    ids=["d-429-for-ever", "d-429-for-an-hour", "e-401", "f-reset"],
)
def test_B39_d_e_f_tries_are_bounded(
    api: Api, stub: OpenAIStub, reply: Reply, code: grpc.StatusCode, reason: str, tries: int
) -> None:
    user = api.fresh()
    stub.chat.default = reply
    with pytest.raises(grpc.RpcError) as refused:
        api.memory.Remember(spoken(user, "I like tea."), timeout=30)
    assert refused.value.code() is code
    assert reason_of(refused.value) == reason
    assert 1 <= len(stub.chat.requests) <= tries
    if tries > 1:
        assert len(stub.chat.requests) > 1
    assert api.texts(user) == []


def test_B45_slow_calls_leave_the_rest_free(
    api: Api, server: ServerProcess, stub: OpenAIStub, gates: Callable[..., Gate]
) -> None:
    other = api.fresh("other")
    memory = api.create(other, f"{other} keeps swans")
    gate = gates(every_turn)
    stub.chat.default = model(facts=gate)
    users = [api.fresh() for _ in range(_SLOW_CALLS + 5)]
    calls = [api.memory.Remember.future(spoken(user, "I like tea."), timeout=60) for user in users]
    stub.chat.wait_for_requests(_SLOW_CALLS)
    # The gate is shut: whatever ends now ends without waiting for a model.
    until(lambda: sum(call.done() for call in calls) >= 5)
    refused = [call for call in calls if call.done()]
    assert len(refused) == 5
    for call in refused:
        assert call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(call.exception()) == "OVERLOADED"
    with server.channel() as channel:
        health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
    assert health.status == health_pb2.HealthCheckResponse.SERVING
    assert api.found(other, f"{other} keeps swans") == [f"{other} keeps swans"]
    assert api.live(other) == [memory]
    assert len(stub.chat.requests) == _SLOW_CALLS

    gate.open()
    codes = [call.code() for call in calls]
    assert codes.count(grpc.StatusCode.OK) == _SLOW_CALLS
    with ThreadPoolExecutor(_SLOW_CALLS) as pool:
        list(pool.map(lambda user: api.say(user, "I like tea."), users[:_SLOW_CALLS]))
    assert all(api.texts(user) == ["I like tea."] for user in users[:_SLOW_CALLS])


@pytest.mark.parametrize("step", ["facts", "decisions"])
@pytest.mark.parametrize("how", ["deadline", "cancel"])
def test_B46_nothing_goes_on_after_the_caller_left(
    api: Api, stub: OpenAIStub, gates: Callable[..., Gate], step: str, how: str
) -> None:
    user, request_id = api.fresh(), api.fresh("request")
    gate = gates(every_turn if step == "facts" else new_unless_stored)
    stub.chat.default = model(facts=gate) if step == "facts" else model(decisions=gate)
    request = spoken(user, "I like tea.", request_id)
    steps_before = 1 if step == "facts" else 2
    call = api.memory.Remember.future(request, timeout=1.5 if how == "deadline" else 60)
    asked = stub.chat.wait_for_requests(steps_before)[-1]
    assert asked_for(asked) == step
    if how == "cancel":
        call.cancel()
    assert call.done() or call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    until(asked.left)  # The server knows that its caller left.
    gate.open()
    assert api.texts(user) == []

    stub.chat.default = model()
    for _ in range(2):
        answer = api.memory.Remember(request, timeout=30)
        assert [o.action for o in answer.operations] == [memory_pb2.ACTION_ADD]
    [memory] = api.live(user)
    assert [r.action for r in api.revisions(user, memory.memory_id)] == [memory_pb2.ACTION_ADD]
    # The steps that the first call reached and the two of the one retry that worked, no other.
    assert len(stub.chat.requests) == steps_before + 2


def test_B46_twenty_callers_leave_and_every_place_is_free(
    api: Api, stub: OpenAIStub, gates: Callable[..., Gate]
) -> None:
    gate = gates(every_turn)
    stub.chat.default = model(facts=gate)
    users = [api.fresh() for _ in range(_SLOW_CALLS)]
    calls = [api.memory.Remember.future(spoken(user, "I like tea."), timeout=60) for user in users]
    for asked in stub.chat.wait_for_requests(_SLOW_CALLS):
        assert asked_for(asked) == "facts"
    for call in calls:
        call.cancel()
    gate.open()
    stub.chat.default = model()
    # A place is given back when its call has ended at the server, which follows the client's cancel closely.
    end = time.monotonic() + _LOADED_MACHINE_SECONDS
    while True:
        with ThreadPoolExecutor(_SLOW_CALLS) as pool:
            again = list(pool.map(lambda user: _code(api, user), users))
        if all(code is grpc.StatusCode.OK for code in again):
            break
        assert time.monotonic() < end, again
    assert all(api.texts(user) == ["I like tea."] for user in users)


def _code(api: Api, user_id: str) -> grpc.StatusCode:
    call = api.memory.Remember.future(spoken(user_id, "I like tea."), timeout=30)
    code: grpc.StatusCode = call.code()
    return code
