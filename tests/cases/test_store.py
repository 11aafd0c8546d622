"""Field reports about isolation, deletion, time and concurrency, over the wire."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from memlane.v1 import compliance_service_pb2, memory_pb2, memory_service_pb2, session_service_pb2
from tests.support.memlane_server import ServerProcess

from .conftest import Api

HOSTILE_IDS = (
    'o"brien',
    "o'brien",
    '张"三',
    "CORP\\alice",
    "a\\b",
    "a\nb",
    '\\"',
    'x" || user_id != "y',
    '") or true or ("',
    "🙂 客户",
    "%",
    "_",
)


@pytest.mark.parametrize("unit", ["a", "中", "🙂", "ü"])
def test_B19_length_is_counted_in_bytes(api: Api, unit: str) -> None:
    user = api.fresh()
    size = len(unit.encode())
    fits = unit * (2048 // size) + "a" * (2048 % size)
    assert api.create(user, fits).content == fits
    with pytest.raises(grpc.RpcError) as refused:
        api.create(user, fits + "a")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "content" in refused.value.details()
    assert "2048" in refused.value.details()
    assert api.texts(user) == [fits]


def test_B19_user_id_is_counted_in_bytes_too(api: Api) -> None:
    assert api.create("中" * 21 + "a", "用户喜欢茶").user_id == "中" * 21 + "a"
    for user_id in ("中" * 22, "a" * 65):
        with pytest.raises(grpc.RpcError) as refused:
            api.create(user_id, "用户喜欢茶")
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "user_id" in refused.value.details()


@pytest.mark.parametrize("user_id", HOSTILE_IDS)
def test_B21_hostile_user_ids_match_exactly(api: Api, user_id: str) -> None:
    others = [api.fresh("other") for _ in range(3)]
    before = {}
    for other in others:
        api.create(other, "User drinks tea")
        before[other] = [m.SerializeToString(deterministic=True) for m in api.live(other)]
    mine = api.create(user_id, "User drinks coffee")
    assert [m.memory_id for m in api.live(user_id)] == [mine.memory_id]
    assert api.found(user_id, "tea") == ["User drinks coffee"]
    got = api.memory.GetMemory(
        memory_service_pb2.GetMemoryRequest(user_id=user_id, memory_id=mine.memory_id)
    ).memory
    assert got.content == "User drinks coffee"
    api.memory.UpdateMemory(
        memory_service_pb2.UpdateMemoryRequest(
            user_id=user_id, memory_id=mine.memory_id, content="User drinks water"
        )
    )
    assert api.texts(user_id) == ["User drinks water"]
    assert api.forget(user_id).memory_count == 1
    assert api.texts(user_id) == []
    for other in others:
        assert [m.SerializeToString(deterministic=True) for m in api.live(other)] == before[other]


@pytest.mark.parametrize("key", ["user_id", "created_at", "is_deleted", "ttl", "memory_id"])
def test_B23_metadata_cannot_change_the_owner(api: Api, key: str) -> None:
    user = api.fresh()
    with pytest.raises(grpc.RpcError) as refused:
        api.memory.CreateMemory(
            memory_service_pb2.CreateMemoryRequest(
                user_id=user, content="User drinks tea", metadata={key: "bob"}
            )
        )
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert key in refused.value.details()
    assert api.texts(user) == []


def test_B25_one_row_among_two_hundred_of_another(api: Api) -> None:
    a, b = api.fresh(), api.fresh()
    for n in range(200):
        api.create(a, f"User lives in France, house {n}")
    api.create(b, "User lives in France")
    assert api.found(b, "where do I live?") == ["User lives in France"]
    same_a = api.create(a, "用户住在法国")
    same_b = api.create(b, "用户住在法国")
    assert same_a.memory_id != same_b.memory_id
    api.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(user_id=a, memory_id=same_a.memory_id))
    assert "用户住在法国" in api.texts(b)


def test_B25_another_users_memory_is_not_found(api: Api) -> None:
    a, b = api.fresh(), api.fresh()
    memory = api.create(a, "User drinks tea")
    for call, request in (
        (
            api.memory.GetMemory,
            memory_service_pb2.GetMemoryRequest(user_id=b, memory_id=memory.memory_id),
        ),
        (
            api.memory.UpdateMemory,
            memory_service_pb2.UpdateMemoryRequest(user_id=b, memory_id=memory.memory_id, content="x"),
        ),
        (
            api.memory.DeleteMemory,
            memory_service_pb2.DeleteMemoryRequest(user_id=b, memory_id=memory.memory_id),
        ),
        (
            api.memory.ListMemoryRevisions,
            memory_service_pb2.ListMemoryRevisionsRequest(user_id=b, memory_id=memory.memory_id),
        ),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call(request)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert api.texts(a) == ["User drinks tea"]


@pytest.mark.parametrize("user_id", ["", " ", "global"])
def test_B25_B26_no_user_is_never_everyone(api: Api, user_id: str) -> None:
    other = api.fresh()
    api.create(other, "User drinks tea")
    for call in (
        lambda: api.found(user_id, "tea"),
        lambda: api.live(user_id),
        lambda: api.forget(user_id),
        lambda: api.create(user_id, "x"),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert api.texts(other) == ["User drinks tea"]


def test_B26_forgetting_one_user_leaves_the_others(api: Api) -> None:
    users = [api.fresh() for _ in range(3)]
    for user in users:
        for n in range(3):
            api.create(user, f"用户的第 {n} 个愿望")
    before = {u: [m.SerializeToString(deterministic=True) for m in api.live(u)] for u in users}
    response = api.forget(users[0])
    assert response.memory_count == 3
    assert api.live(users[0]) == []
    for user in users[1:]:
        assert [m.SerializeToString(deterministic=True) for m in api.live(user)] == before[user]


def test_B27_deleted_rows_stay_away(api: Api, server: ServerProcess) -> None:
    user = api.fresh()
    with server.channel() as second_channel:
        second = Api(second_channel, server.data_dir)
        for n in range(100):
            memory = api.create(user, f"User likes colour number {n}")
            api.memory.DeleteMemory(
                memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id=memory.memory_id)
            )
            assert second.found(user, "colour") == []
            assert second.live(user) == []
            with pytest.raises(grpc.RpcError) as refused:
                second.memory.GetMemory(
                    memory_service_pb2.GetMemoryRequest(user_id=user, memory_id=memory.memory_id)
                )
            assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    live = [api.create(user, f"User likes colour number {n}").content for n in range(5)]
    assert sorted(api.found(user, "colour", top_k=5)) == sorted(live)
    [again] = api.state(user, "User likes colour number 7").operations
    assert again.action == memory_pb2.ACTION_ADD


def test_B28_nothing_happened_is_said(api: Api) -> None:
    user = api.fresh()
    memory = api.create(user, "User drinks tea")
    delete = memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id=memory.memory_id)
    api.memory.DeleteMemory(delete)
    for call, request in (
        (api.memory.DeleteMemory, delete),
        (
            api.memory.DeleteMemory,
            memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id="m_unknown"),
        ),
        (
            api.memory.UpdateMemory,
            memory_service_pb2.UpdateMemoryRequest(user_id=user, memory_id="m_unknown", content="x"),
        ),
        (
            api.memory.UpdateMemory,
            memory_service_pb2.UpdateMemoryRequest(user_id=user, memory_id=memory.memory_id, content="x"),
        ),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call(request)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert api.texts(user) == []
    assert api.forget(api.fresh("never-seen")).memory_count == 0


def test_B29_forget_takes_window_history_and_answers(api: Api) -> None:
    user = api.fresh()
    memory = api.create(user, "User keeps bees")
    api.memory.UpdateMemory(
        memory_service_pb2.UpdateMemoryRequest(
            user_id=user, memory_id=memory.memory_id, content="User keeps bees and hens"
        )
    )
    api.append(user, "s1", "I keep goats too.")
    response = api.forget(user)
    assert response.memory_count == 1
    assert response.receipt.counts.messages == 1
    assert response.receipt.signature
    assert api.live(user) == []
    window = api.session.GetWindow(session_service_pb2.GetWindowRequest(user_id=user, session_id="s1"))
    assert not window.messages
    for revision in api.revisions(user, memory.memory_id):
        assert not revision.content
        assert not revision.previous_content
    assert api.forget(user).memory_count == 0
    api.create(user, "User keeps cats")
    assert api.texts(user) == ["User keeps cats"]


def test_B30_every_change_leaves_one_event_in_order(api: Api) -> None:
    user = api.fresh()
    memory = api.create(user, "User drinks tea")
    fleeting = api.create(user, "User is in Paris", ttl_seconds=5)
    api.memory.UpdateMemory(
        memory_service_pb2.UpdateMemoryRequest(
            user_id=user, memory_id=memory.memory_id, content="User drinks coffee"
        )
    )
    api.state(user, "User drinks coffee")
    api.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id=memory.memory_id))
    api.move_clock(10)
    api.compliance.PurgeExpired(compliance_service_pb2.PurgeExpiredRequest(operator="tester", reason="sweep"))
    api.forget(user)
    events = api.audit(user)
    by_memory = [(e.memory_id, e.action) for e in events if e.memory_id]
    assert by_memory[:5] == [
        (memory.memory_id, "ADD"),
        (fleeting.memory_id, "ADD"),
        (memory.memory_id, "UPDATE"),
        (memory.memory_id, "DELETE"),
        (fleeting.memory_id, "EXPIRE"),
    ]
    assert [e.seq for e in events] == sorted({e.seq for e in events})
    for event in events:
        assert event.time.seconds > 0
        assert event.actor
        assert event.user_id == user
        assert "tea" not in str(event)
        assert "Paris" not in str(event)
    assert any(e.operation == "ForgetUser" for e in events)
    check = api.compliance.VerifyAuditLog(compliance_service_pb2.VerifyAuditLogRequest())
    assert check.valid


def test_B33_expiry_needs_no_sweeper(api: Api) -> None:
    user = api.fresh()
    memory = api.create(user, "用户这几天在巴黎", ttl_seconds=5)
    assert api.found(user, "在哪里") == ["用户这几天在巴黎"]
    api.move_clock(5)
    assert api.found(user, "在哪里") == []
    assert api.live(user) == []
    with pytest.raises(grpc.RpcError) as refused:
        api.memory.GetMemory(memory_service_pb2.GetMemoryRequest(user_id=user, memory_id=memory.memory_id))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    [again] = api.state(user, "用户这几天在巴黎").operations
    assert again.action == memory_pb2.ACTION_ADD


def test_B35_parallel_adds_make_one_memory(api: Api) -> None:
    user = api.fresh()
    with ThreadPoolExecutor(20) as pool:
        responses = list(pool.map(lambda _: api.state(user, "用户有两个孩子"), range(20)))
    actions = [r.operations[0].action for r in responses]
    assert actions.count(memory_pb2.ACTION_ADD) == 1
    assert actions.count(memory_pb2.ACTION_NOOP) == 19
    assert api.texts(user) == ["用户有两个孩子"]


def test_B35_one_request_id_takes_effect_once(api: Api) -> None:
    user = api.fresh()
    request_id = api.fresh("request")
    with ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(lambda _: api.state(user, "用户喜欢喝茶", request_id=request_id), range(8)))
    assert len({r.operations[0].memory.memory_id for r in responses}) == 1
    assert {r.operations[0].action for r in responses} == {memory_pb2.ACTION_ADD}
    assert api.texts(user) == ["用户喜欢喝茶"]
    with pytest.raises(grpc.RpcError) as refused:
        api.state(user, "用户喜欢喝咖啡", request_id=request_id)
    assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS
    assert api.texts(user) == ["用户喜欢喝茶"]


@pytest.mark.parametrize("text", ["张三 🙂 naïve", "o\u0301 combining", "𠮷野家"])
def test_B49_every_script_arrives_as_it_was_sent(api: Api, text: str) -> None:
    user = api.fresh("客户 🙂")
    assert api.create(user, text).content == text
    assert api.texts(user) == [text]


@pytest.mark.parametrize(
    ("said", "kept", "secrets"),
    [
        (
            "My card is 4111 1111 1111 1111, CVV 123, PIN 9876, and I prefer SMS.",
            "SMS",
            ("4111 1111 1111 1111", "4111111111111111", "PIN 9876"),
        ),
        ("我的网银密码是 abc12345，我喜欢短信通知。", "短信", ("abc12345",)),
        (
            "我的卡号是６２２２ ０２０２ ００１１ ２２３３，我喜欢短信通知。",
            "短信",
            ("６２２２ ０２０２ ００１１ ２２３３",),
        ),
    ],
)
def test_B51_secrets_are_in_no_file(
    api: Api, server: ServerProcess, said: str, kept: str, secrets: tuple[str, ...]
) -> None:
    user = api.fresh()
    api.append(user, "s1", said)
    api.end(user, "s1")
    assert any(kept in t for t in api.texts(user))
    files = [p for p in server.data_dir.rglob("*") if p.is_file()] + [server.log]
    for path in files:
        data = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in data, path


def test_B51_a_given_fact_keeps_what_is_no_secret(api: Api) -> None:
    user = api.fresh()
    answer = api.state(
        user, "User's card is 4111 1111 1111 1111, CVV 123, and User prefers SMS", "用户的网银密码是 abc12345"
    )
    [left] = api.texts(user)
    assert "SMS" in left
    assert "4111" not in left
    [rejected] = answer.rejected
    assert "abc12345" not in rejected.fact
    assert rejected.reason
