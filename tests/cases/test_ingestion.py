"""What is accepted for later: it takes effect once, through failures, kills and repeated ends, or says why not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from memlane.v1 import error_reason_pb2, memory_pb2, memory_service_pb2, session_service_pb2
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import Chat, OpenAIStub, Status

from .conftest import Api
from .model_server_fixture import (
    Gate,
    asked_for,
    every_turn,
    model,
    reason_of,
    reset,
    scripted_server,
    until,
)

_ATTEMPTS = 2
_BACKLOG = 3
_ASYNC = memory_pb2.REMEMBER_MODE_ASYNC
PENDING, RUNNING, SUCCEEDED, FAILED, CANCELLED = (
    memory_service_pb2.INGESTION_STATE_PENDING,
    memory_service_pb2.INGESTION_STATE_RUNNING,
    memory_service_pb2.INGESTION_STATE_SUCCEEDED,
    memory_service_pb2.INGESTION_STATE_FAILED,
    memory_service_pb2.INGESTION_STATE_CANCELLED,
)


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
        INGESTION__MAX_ATTEMPTS=str(_ATTEMPTS),
        INGESTION__MAX_BACKLOG_PER_USER=str(_BACKLOG),
    ) as process:
        yield process


@pytest.fixture
def stub(running_stub: OpenAIStub) -> OpenAIStub:
    reset(running_stub)
    return running_stub


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A model that is slow to extract; open at the end also where a test failed."""
    gate = Gate(every_turn)
    yield gate
    gate.open()


def submit(api: Api, user_id: str, text: str, request_id: str = "") -> str:
    request = memory_service_pb2.RememberRequest(user_id=user_id, mode=_ASYNC, request_id=request_id)
    request.conversation.messages.add(role=memory_pb2.ROLE_USER, content=text)
    response = api.memory.Remember(request, timeout=30)
    assert response.ingestion_id
    assert not response.operations
    ingestion_id: str = response.ingestion_id
    return ingestion_id


def status(api: Api, user_id: str, ingestion_id: str) -> memory_service_pb2.GetIngestionResponse:
    response: memory_service_pb2.GetIngestionResponse = api.memory.GetIngestion(
        memory_service_pb2.GetIngestionRequest(user_id=user_id, ingestion_id=ingestion_id), timeout=30
    )
    return response


def finished(api: Api, user_id: str, ingestion_id: str) -> memory_service_pb2.GetIngestionResponse:
    until(lambda: status(api, user_id, ingestion_id).state not in (PENDING, RUNNING))
    return status(api, user_id, ingestion_id)


def test_an_ingestion_tells_its_state_and_its_operations(api: Api, stub: OpenAIStub, gate: Gate) -> None:
    user = api.fresh()
    stub.chat.default = model(facts=gate)
    ingestion_id = submit(api, user, "我有两个孩子。")
    stub.chat.wait_for_requests(1)
    assert status(api, user, ingestion_id).state == RUNNING
    assert api.texts(user) == []
    gate.open()
    done = finished(api, user, ingestion_id)
    assert done.state == SUCCEEDED
    assert done.attempt_count == 1
    assert done.error.code == 0
    [operation] = done.operations
    assert operation.action == memory_pb2.ACTION_ADD
    assert api.live(user) == [operation.memory]
    with pytest.raises(grpc.RpcError) as refused:
        status(api, api.fresh(), ingestion_id)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_B39_a_failed_ingestion_says_why_and_can_be_tried_again(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    stub.chat.default = Status(401, "I like tea: no such key")
    ingestion_id = submit(api, user, "I like tea.")
    failed = finished(api, user, ingestion_id)
    assert failed.state == FAILED
    assert failed.attempt_count == _ATTEMPTS
    assert failed.error.code == grpc.StatusCode.UNAVAILABLE.value[0]
    assert failed.error.reason == error_reason_pb2.ERROR_REASON_MODEL_UNAVAILABLE
    assert "tea" not in str(failed)
    assert len(stub.chat.requests) == _ATTEMPTS
    assert api.texts(user) == []

    stub.chat.default = model()
    retried = api.memory.RetryIngestion(
        memory_service_pb2.RetryIngestionRequest(user_id=user, ingestion_id=ingestion_id), timeout=30
    )
    assert retried.ingestion.ingestion_id == ingestion_id
    done = finished(api, user, ingestion_id)
    assert done.state == SUCCEEDED
    assert done.error.code == 0
    assert api.texts(user) == ["I like tea."]


def test_B39_a_passing_failure_is_tried_again_by_itself(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    unreadable = Chat("Nothing that could be read.")
    stub.chat.will(unreadable, unreadable)
    done = finished(api, user, submit(api, user, "I like tea."))
    assert done.state == SUCCEEDED
    assert done.attempt_count == 2
    assert api.texts(user) == ["I like tea."]


def test_an_ingestion_killed_on_the_way_takes_effect_once(
    api: Api, server: ServerProcess, stub: OpenAIStub, clock_file: Path, gate: Gate
) -> None:
    user, request_id = api.fresh(), api.fresh("request")
    stub.chat.default = model(facts=gate)
    ingestion_id = submit(api, user, "I like tea.", request_id)
    stub.chat.wait_for_requests(1)
    server.kill()
    stub.chat.default = model()
    server.start()
    with server.channel() as channel:
        again = Api(channel, clock_file)
        done = finished(again, user, ingestion_id)
        assert done.state == SUCCEEDED
        [operation] = done.operations
        assert again.live(user) == [operation.memory]
        assert submit(again, user, "I like tea.", request_id) == ingestion_id
        assert [r.action for r in again.revisions(user, operation.memory.memory_id)] == [
            memory_pb2.ACTION_ADD
        ]
        assert [asked_for(r) for r in stub.chat.requests] == ["facts", "facts", "decisions"]


def test_the_backlog_of_a_user_is_bounded(api: Api, stub: OpenAIStub, gate: Gate) -> None:
    user, other = api.fresh(), api.fresh("other")
    stub.chat.default = model(facts=gate)
    texts = ["I like tea.", "I own a boat.", "I keep bees."]
    accepted = [submit(api, user, text) for text in texts]
    with pytest.raises(grpc.RpcError) as refused:
        submit(api, user, "I play the violin.")
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert reason_of(refused.value) == "BACKLOG_FULL"
    others = submit(api, other, "I like coffee.")
    gate.open()
    assert {finished(api, user, i).state for i in accepted} == {SUCCEEDED}
    assert finished(api, other, others).state == SUCCEEDED
    in_order = sorted(api.live(user), key=lambda m: first_event(api, user, m))
    assert [m.content for m in in_order] == texts
    finished(api, user, submit(api, user, "I play the violin."))
    assert len(api.texts(user)) == 4


def first_event(api: Api, user_id: str, memory: memory_pb2.Memory) -> int:
    """Place of a memory's first event in the user's audit log."""
    return next(e.seq for e in api.audit(user_id) if e.memory_id == memory.memory_id)


def test_one_request_id_is_one_ingestion(api: Api, stub: OpenAIStub) -> None:
    user, request_id = api.fresh(), api.fresh("request")
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda _: submit(api, user, "I like tea.", request_id), range(8)))
    [ingestion_id] = ids
    assert finished(api, user, ingestion_id).state == SUCCEEDED
    assert api.texts(user) == ["I like tea."]
    assert [asked_for(r) for r in stub.chat.requests] == ["facts", "decisions"]


def test_B29_an_ingestion_of_a_forgotten_user_is_cancelled(api: Api, stub: OpenAIStub, gate: Gate) -> None:
    user = api.fresh()
    stub.chat.default = model(facts=gate)
    running = submit(api, user, "I like tea.")
    waiting = submit(api, user, "I own a boat.")
    stub.chat.wait_for_requests(1)
    api.forget(user)
    gate.open()
    for ingestion_id in (running, waiting):
        assert _gone(api, user, ingestion_id)
    finished(api, user, submit(api, user, "I keep bees."))
    assert api.texts(user) == ["I keep bees."]


def _gone(api: Api, user_id: str, ingestion_id: str) -> bool:
    """Cancelled, or erased with the user."""
    try:
        return finished(api, user_id, ingestion_id).state == CANCELLED
    except grpc.RpcError as error:
        return error.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize(("callers", "mode"), [(2, memory_pb2.REMEMBER_MODE_WAIT), (8, _ASYNC)])
def test_a_session_ended_again_is_offered_once(
    api: Api, stub: OpenAIStub, callers: int, mode: "memory_pb2.RememberMode"
) -> None:
    user = api.fresh()
    api.append(user, "s1", "I like tea.", "我有两个孩子。")
    end = session_service_pb2.EndSessionRequest(user_id=user, session_id="s1", mode=mode)
    with ThreadPoolExecutor(callers) as pool:
        answers = list(pool.map(lambda _: api.session.EndSession(end, timeout=30), range(callers)))
    assert [a.already_ended for a in answers].count(False) == 1
    [ingestion_id] = {a.ingestion_id for a in answers}
    assert finished(api, user, ingestion_id).state == SUCCEEDED
    assert api.session.EndSession(end, timeout=30).already_ended
    assert sorted(api.texts(user)) == ["I like tea.", "我有两个孩子。"]
    assert [asked_for(r) for r in stub.chat.requests] == ["facts", "decisions"]
