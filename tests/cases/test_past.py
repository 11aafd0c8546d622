"""What did we know on 1 March? `as_of` of lists and searches, with a clock that the test moves."""

from itertools import pairwise

from google.protobuf.timestamp_pb2 import Timestamp

from memlane.v1 import memory_pb2, memory_service_pb2
from tests.support.refusals import refused

from .conftest import Api

_DAY = 86_400
_MARGIN = 10
"""Seconds between a change and the moment asked for: server and test read the same clock, not at the same time."""


def moment(api: Api, user: str) -> Timestamp:
    """The server's time now, with a margin on both sides."""
    api.move_clock(_MARGIN)
    probe = api.create(user + "-clock", "tick").create_time
    api.move_clock(_MARGIN)
    return probe


def listed(api: Api, user: str, at: Timestamp) -> list[str]:
    """In the order of their texts."""
    request = memory_service_pb2.ListMemoriesRequest(user_id=user, as_of=at)
    return sorted(m.content for m in api.memory.ListMemories(request, timeout=30).memories)


def found(api: Api, user: str, query: str, at: Timestamp) -> list[str]:
    request = memory_service_pb2.SearchMemoriesRequest(user_id=user, query=query, as_of=at)
    return [r.memory.content for r in api.memory.SearchMemories(request, timeout=30).results]


def change(api: Api, user: str, memory_id: str, content: str) -> None:
    api.memory.UpdateMemory(
        memory_service_pb2.UpdateMemoryRequest(user_id=user, memory_id=memory_id, content=content)
    )


def delete(api: Api, user: str, memory_id: str) -> None:
    api.memory.DeleteMemory(memory_service_pb2.DeleteMemoryRequest(user_id=user, memory_id=memory_id))


def test_each_moment_shows_what_was_known_then(api: Api) -> None:
    user = api.fresh("客户")
    before = moment(api, user)
    ratio = api.create(user, "外汇套保比例为30%").memory_id
    dog = api.create(user, "Has a dog called Rex").memory_id
    api.move_clock(40 * _DAY)
    first = moment(api, user)
    change(api, user, ratio, "外汇套保比例为50%")
    second = moment(api, user)
    delete(api, user, dog)
    api.move_clock(_DAY)
    third = moment(api, user)
    delete(api, user, ratio)

    assert listed(api, user, before) == []
    assert listed(api, user, first) == ["Has a dog called Rex", "外汇套保比例为30%"]
    assert listed(api, user, second) == ["Has a dog called Rex", "外汇套保比例为50%"]
    assert listed(api, user, third) == ["外汇套保比例为50%"]
    assert api.texts(user) == []

    assert found(api, user, "套保比例是多少", before) == []
    assert found(api, user, "套保比例是多少", first)[0] == "外汇套保比例为30%"
    assert found(api, user, "套保比例是多少", second)[0] == "外汇套保比例为50%"
    assert found(api, user, "what is the dog called", second)[0] == "Has a dog called Rex"
    assert found(api, user, "what is the dog called", third) == ["外汇套保比例为50%"]
    assert api.found(user, "what is the dog called") == []


def test_an_expired_memory_was_there_before_it_expired(api: Api) -> None:
    user = api.fresh()
    api.create(user, "本周在上海出差", ttl_seconds=7 * _DAY)
    during = moment(api, user)
    api.move_clock(8 * _DAY)
    after = moment(api, user)
    assert listed(api, user, during) == found(api, user, "出差", during) == ["本周在上海出差"]
    assert listed(api, user, after) == found(api, user, "出差", after) == []
    assert api.texts(user) == []


def test_a_moment_is_one_state_for_all_pages_and_filters(api: Api) -> None:
    user = api.fresh()
    made = [api.create(user, f"branch visit {n}").memory_id for n in range(5)]
    at = moment(api, user)
    for n, memory_id in enumerate(made):
        change(api, user, memory_id, f"changed {n}")
    texts: list[str] = []
    request = memory_service_pb2.ListMemoriesRequest(user_id=user, as_of=at, page_size=2)
    while True:
        page = api.memory.ListMemories(request, timeout=30)
        texts += [m.content for m in page.memories]
        assert all(m.revision == 1 for m in page.memories)
        request.page_token = page.next_page_token
        if not request.page_token:
            break
    assert sorted(texts) == [f"branch visit {n}" for n in range(5)]


def test_the_future_is_not_known(api: Api) -> None:
    user = api.fresh()
    api.create(user, "a fact")
    at = moment(api, user)
    at.seconds += _DAY
    for call in (lambda: listed(api, user, at), lambda: found(api, user, "fact", at)):
        assert refused(call).reason == "INVALID_FIELD"


def test_erased_texts_stay_erased_in_the_past(api: Api) -> None:
    user = api.fresh()
    api.create(user, "住在成都")
    at = moment(api, user)
    api.forget(user)
    assert listed(api, user, at) == found(api, user, "住在哪里", at) == []


def test_revisions_follow_one_another_without_gap(api: Api) -> None:
    user = api.fresh()
    made = api.create(user, "年收入30万元")
    for income in ("35", "40"):
        api.move_clock(_DAY)
        change(api, user, made.memory_id, f"年收入{income}万元")
    api.move_clock(_DAY)
    delete(api, user, made.memory_id)
    steps = api.revisions(user, made.memory_id)
    assert [s.revision for s in steps] == [1, 2, 3, 4]
    assert [s.action for s in steps] == [
        memory_pb2.ACTION_ADD,
        memory_pb2.ACTION_UPDATE,
        memory_pb2.ACTION_UPDATE,
        memory_pb2.ACTION_DELETE,
    ]
    for step, following in pairwise(steps):
        assert step.valid_until == following.valid_from
        assert step.valid_from.ToMicroseconds() < step.valid_until.ToMicroseconds()
        assert following.valid_from.seconds - step.valid_from.seconds >= _DAY
    assert not steps[-1].HasField("valid_until")
    for step in steps[:-1]:
        assert listed(api, user, step.valid_from) == [step.content], "from this moment on"
    assert listed(api, user, steps[-1].valid_from) == []
