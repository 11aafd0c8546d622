"""Field reports about what a model answers: a real server process, a scripted model over real HTTP."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from pathlib import Path

import grpc
import pytest

from memlane.v1 import memory_pb2, memory_service_pb2
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import After, Chat, Embeddings, OpenAIStub, Request

from .conftest import Api
from .model_server_fixture import (
    API_KEY,
    asked_for,
    decided,
    decision,
    fact,
    holds,
    listed,
    model,
    new_unless_stored,
    reason_of,
    records,
    reset,
    scripted_server,
    sent_texts,
)

ADD, UPDATE, DELETE, NOOP = (
    memory_pb2.ACTION_ADD,
    memory_pb2.ACTION_UPDATE,
    memory_pb2.ACTION_DELETE,
    memory_pb2.ACTION_NOOP,
)


@pytest.fixture(scope="module")
def running_stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as stub:
        yield stub


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, running_stub: OpenAIStub, clock_file: Path
) -> Iterator[ServerProcess]:
    with scripted_server(tmp_path_factory.mktemp("memlane") / "data", running_stub, clock_file) as process:
        yield process


@pytest.fixture
def stub(running_stub: OpenAIStub) -> OpenAIStub:
    reset(running_stub)
    return running_stub


def nearly_the_same(similarity: float) -> Callable[[Request], Embeddings]:
    """Embeddings of which any two texts have this cosine, and a text with itself 1."""
    seen: dict[str, int] = {}

    def answer(request: Request) -> Embeddings:
        vectors = []
        for text in request.json["input"]:
            axis = 1 + seen.setdefault(text, len(seen))
            vector = [0.0] * 64
            vector[0], vector[axis] = similarity**0.5, (1.0 - similarity) ** 0.5
            vectors.append(vector)
        return Embeddings(vectors)

    return answer


def test_B01_a_lone_DELETE_does_not_lose_the_fact(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    [first] = api.say(user, "I love Sichuan food.")
    stub.chat.default = model(decisions=lambda _: decided(decision(0, "DELETE", 0)))
    [operation] = api.say(user, "I can't stand Sichuan food.")
    assert operation.action == UPDATE
    assert "delete_loses_fact" in operation.guards
    assert operation.memory.memory_id == first.memory.memory_id
    assert api.texts(user) == ["I can't stand Sichuan food."]
    history = api.revisions(user, first.memory.memory_id)
    assert [r.content for r in history] == ["I love Sichuan food.", "I can't stand Sichuan food."]


def test_B01_delete_and_add_of_one_fact_are_an_update(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    [first] = api.say(user, "我喜欢川菜。")
    both = decided(decision(0, "DELETE", 0), decision(0, "ADD", None))
    stub.chat.default = model(decisions=lambda _: both)
    [operation] = api.say(user, "我受不了川菜。")
    assert operation.action == UPDATE
    assert operation.memory.memory_id == first.memory.memory_id
    assert api.texts(user) == ["我受不了川菜。"]


def test_B01_what_is_taken_back_is_deleted(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    api.say(user, "I love Sichuan food.")
    said = "Forget what I said about Sichuan food."
    stub.chat.default = model(
        facts=lambda _: Chat(listed(fact(said, retraction=True))),
        decisions=lambda _: decided(decision(0, "DELETE", 0)),
    )
    [operation] = api.say(user, said)
    assert operation.action == DELETE
    assert not operation.guards
    assert api.texts(user) == []


@pytest.mark.parametrize("action", ["NOOP", "DELETE", "ADD", "UPDATE"])
@pytest.mark.parametrize("text", ["User has two children", "用户有两个孩子"])
def test_B04_the_same_fact_again_changes_nothing(api: Api, stub: OpenAIStub, text: str, action: str) -> None:
    user = api.fresh()
    [first] = api.state(user, text).operations
    target = None if action == "ADD" else 0
    stub.chat.default = model(decisions=lambda _: decided(decision(0, action, target)))
    for _ in range(4):
        [again] = api.state(user, text).operations
        assert again.action == NOOP
        assert list(again.guards) == ([] if action == "NOOP" else ["already_stored"])
    assert [m.memory_id for m in api.live(user)] == [first.memory.memory_id]
    assert [r.action for r in api.revisions(user, first.memory.memory_id)] == [ADD]
    assert api.live(user)[0].create_time == first.memory.create_time


@pytest.mark.parametrize(
    ("before", "after", "guard", "similarity"),
    [
        ("User's payment is due on the 15th", "User's payment is due on the 16th", "number_differs", 0.99),
        ("User's limit is 5,000 dollars", "User's limit is 50,000 dollars", "number_differs", 0.99),
        ("用户的月供是三千元", "用户的月供是三万元", "number_differs", 0.99),
        ("用户的月供是３０００元", "用户的月供是４０００元", "number_differs", 0.99),
        (
            "Overseas transfers are allowed on User's account",
            "Overseas transfers are not allowed on User's account",
            "negation_differs",
            0.97,
        ),
        ("用户已开通网上银行", "用户未开通网上银行", "negation_differs", 0.97),
    ],
)
def test_B06_B07_a_NOOP_at_high_similarity_becomes_an_UPDATE(
    api: Api, stub: OpenAIStub, before: str, after: str, guard: str, similarity: float
) -> None:
    user = api.fresh()
    stub.embeddings.default = nearly_the_same(similarity)
    api.state(user, before)
    stub.chat.default = model(decisions=lambda _: decided(decision(0, "NOOP", 0)))
    [operation] = api.state(user, after).operations
    assert operation.action == UPDATE
    assert list(operation.guards) == [guard]
    assert operation.similarity == pytest.approx(similarity, abs=0.002)
    assert api.texts(user) == [after]


def test_B06_two_cards_are_both_kept(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    stub.embeddings.default = nearly_the_same(0.99)
    cards = ["User's card ending 1234 is for travel", "User's card ending 5678 is for travel"]
    api.state(user, cards[0])
    stub.chat.default = model(decisions=lambda _: decided(decision(0, "NOOP", 0)))
    [operation] = api.state(user, cards[1]).operations
    assert operation.action == ADD
    assert list(operation.guards) == ["number_differs"]
    assert sorted(api.texts(user)) == cards


def test_B08_ids_that_were_not_offered_are_refused(api: Api, stub: OpenAIStub) -> None:
    other, user = api.fresh("other"), api.fresh()
    [foreign] = api.state(other, "User keeps bees").operations
    before = api.live(other)
    api.state(user, "User likes tea", "User owns a boat", "User plays the violin")

    def answer(request: Request) -> Chat:
        numbers = {r["text"]: r["memory"] for r in records(request) if "memory" in r}
        assert "User keeps bees" not in numbers
        return decided(
            decision(0, "UPDATE", "12"),
            decision(1, "DELETE", foreign.memory.memory_id),
            decision(2, "UPDATE", numbers["User likes tea"]),
            decision(3, "ADD", None),
        )

    stub.chat.default = model(decisions=answer)
    response = api.state(user, "User sails", "User is a doctor", "User likes green tea", "User has a dog")
    assert [o.action for o in response.operations] == [UPDATE, ADD]
    assert [r.fact for r in response.rejected] == ["User sails", "User is a doctor"]
    assert "'12'" in response.rejected[0].reason
    assert foreign.memory.memory_id in response.rejected[1].reason
    assert sorted(api.texts(user)) == [
        "User has a dog",
        "User likes green tea",
        "User owns a boat",
        "User plays the violin",
    ]
    assert api.live(other) == before


def test_B09_a_fence_and_prose_cost_one_call(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    said = "I write ``` around code, and {trips} are my \\hobby\\."
    answer = listed(fact(said))
    fenced = f"As asked {{about trips}}:\n```json\n{answer[:-1]},}}\n```\nThat is all {{I found}}."
    stub.chat.default = model(facts=lambda _: Chat(fenced))
    [operation] = api.say(user, said)
    assert operation.action == ADD
    assert api.texts(user) == [said]
    assert [asked_for(r) for r in stub.chat.requests] == ["facts", "decisions"]


def test_B10_a_cut_reply_keeps_its_whole_facts_and_says_so(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    turns = ["I like tea.", "我有两个孩子。", "I own a red boat."]
    whole = listed(*(fact(t, i) for i, t in enumerate(turns)))
    cut = whole[: whole.index("own a red")]
    stub.chat.default = model(facts=lambda _: Chat(cut, finish_reason="length"))
    response = api.converse(user, *((memory_pb2.ROLE_USER, t) for t in turns))
    assert response.partial
    assert sorted(api.texts(user)) == sorted(turns[:2])


@pytest.mark.parametrize("opening", ["<think>", "<think", ""])
def test_B11_reasoning_is_never_a_fact(api: Api, stub: OpenAIStub, opening: str) -> None:
    user = api.fresh()
    right, wrong = "I like green tea.", "I like green."
    thought = f"{opening}{listed(fact(wrong))}</think>{listed(fact(right))}"
    stub.chat.default = model(facts=lambda _: Chat(thought))
    api.say(user, right)
    assert api.texts(user) == [right]


def test_B11_reasoning_alone_is_a_failure(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    said = "I like green tea."
    stub.chat.default = model(facts=lambda _: Chat("", reasoning_content=listed(fact(said))))
    with pytest.raises(grpc.RpcError) as refused:
        api.say(user, said)
    assert refused.value.code() is grpc.StatusCode.INTERNAL
    assert reason_of(refused.value) == "MODEL_ANSWER_UNUSABLE"
    assert len(stub.chat.requests) == 2
    assert api.texts(user) == []


def test_B13_nothing_found_and_nothing_readable_differ(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    stub.chat.default = model(facts=lambda _: Chat(listed()))
    response = api.converse(user, (memory_pb2.ROLE_USER, "How do I cook rice?"))
    assert not response.operations
    assert not response.rejected
    assert not response.partial
    assert not stub.embeddings.requests

    stub.chat.clear()
    stub.chat.default = Chat("I could not find anything to write down, sorry.")
    with pytest.raises(grpc.RpcError) as refused:
        api.say(user, "I like tea.")
    assert refused.value.code() is grpc.StatusCode.INTERNAL
    assert reason_of(refused.value) == "MODEL_ANSWER_UNUSABLE"
    assert len(stub.chat.requests) == 2
    assert api.texts(user) == []


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_B13_blank_input_never_reaches_the_model(api: Api, stub: OpenAIStub, text: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        api.say(api.fresh(), text)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert not stub.chat.requests
    assert not stub.embeddings.requests


def test_B32_the_prompt_carries_the_messages_own_time_and_zone(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    said = ["I went to Paris yesterday.", "明天下午三点去网点。"]
    request = memory_service_pb2.RememberRequest(user_id=user)
    for text in said:
        message = request.conversation.messages.add(
            role=memory_pb2.ROLE_USER, content=text, time_zone="Asia/Shanghai"
        )
        message.create_time.FromJsonString("2023-05-23T16:30:00Z")
    stub.chat.default = model(
        facts=lambda _: Chat(
            listed(
                fact("User went to Paris on 2023-05-23", 0),
                fact("用户2023-05-25 15:00去网点", 1),
            )
        )
    )
    response = api.memory.Remember(request, timeout=60)
    assert not response.HasField("assumed_create_time")
    extraction = stub.chat.requests[0]
    for record in records(extraction):
        assert record["time"] == "2023-05-24T00:30:00+08:00 (Wednesday) Asia/Shanghai"
    assert sorted(api.texts(user)) == ["User went to Paris on 2023-05-23", "用户2023-05-25 15:00去网点"]


def test_B32_a_message_without_time_says_which_one_was_taken(api: Api, stub: OpenAIStub) -> None:
    response = api.converse(api.fresh(), (memory_pb2.ROLE_USER, "I like tea."))
    assert response.assumed_create_time.seconds > 0
    [record] = records(stub.chat.requests[0])
    assumed = response.assumed_create_time.ToDatetime(UTC)
    assert record["time"].startswith(assumed.isoformat(timespec="seconds"))


def test_B35_parallel_adds_of_one_fact_make_one_memory(api: Api, stub: OpenAIStub) -> None:
    user = api.fresh()
    stub.chat.default = lambda request: After(0.1, new_unless_stored(request))
    with ThreadPoolExecutor(20) as pool:
        responses = list(pool.map(lambda _: api.state(user, "用户有两个孩子"), range(20)))
    actions = [r.operations[0].action for r in responses]
    assert (actions.count(ADD), actions.count(NOOP)) == (1, 19)
    [memory] = api.live(user)
    assert len(api.revisions(user, memory.memory_id)) == 1


def test_B35_twenty_users_are_with_the_model_at_once(api: Api, stub: OpenAIStub) -> None:
    """No lock stands between users: the answers come only when all twenty questions are there."""
    users = [api.fresh() for _ in range(20)]
    together = threading.Barrier(20, timeout=25.0)

    def answer(request: Request) -> Chat:
        together.wait()
        return new_unless_stored(request)

    stub.chat.default = answer
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda user: api.state(user, "User likes tea"), users))
    assert [api.texts(user) for user in users] == [["User likes tea"]] * 20


@pytest.mark.parametrize(
    ("said", "kept", "secrets"),
    [
        (
            "My card is 4111 1111 1111 1111, CVV 123, PIN 9876, and I prefer SMS.",
            "SMS",
            ("4111 1111 1111 1111", "4111111111111111", "9876"),
        ),
        ("我的网银密码是 abc12345，我喜欢短信通知。", "短信", ("abc12345",)),
        (
            "我的卡号是６２２２ ０２０２ ００１１ ２２３３，我喜欢短信通知。",
            "短信",
            ("６２２２ ０２０２ ００１１ ２２３３", "6222 0202 0011 2233"),
        ),
    ],
)
def test_B51_secrets_reach_neither_model_nor_files_nor_logs(
    api: Api, server: ServerProcess, stub: OpenAIStub, said: str, kept: str, secrets: tuple[str, ...]
) -> None:
    user = api.fresh()
    # A model that remembers the secret from elsewhere, first in an answer that has to be repaired.
    stub.chat.will(Chat(f"The user said: {said}"), Chat(listed(fact(said))))
    api.say(user, said)
    [left] = api.texts(user)
    assert kept in left
    sent = sent_texts(stub)
    assert len(stub.chat.requests) == 3
    files = [p for p in server.data_dir.rglob("*") if p.is_file()] + [server.log]
    for secret in secrets:
        assert secret not in sent
        assert secret not in left
        for path in files:
            assert not holds(path.read_bytes(), secret), path


def test_B51_the_key_of_the_model_is_written_nowhere(
    api: Api, server: ServerProcess, stub: OpenAIStub
) -> None:
    api.say(api.fresh(), "I like tea.")
    assert stub.chat.requests[0].headers["authorization"] == f"Bearer {API_KEY}"
    for path in [p for p in server.data_dir.rglob("*") if p.is_file()] + [server.log]:
        assert API_KEY.encode() not in path.read_bytes(), path
