"""Field reports about keeping a memory true, with the built-in rules, over the wire."""

import grpc
import pytest

from memlane.v1 import memory_pb2

from .conftest import Api

ADD, UPDATE, DELETE, NOOP = (
    memory_pb2.ACTION_ADD,
    memory_pb2.ACTION_UPDATE,
    memory_pb2.ACTION_DELETE,
    memory_pb2.ACTION_NOOP,
)


@pytest.mark.parametrize(
    ("before", "after", "query", "word"),
    [
        ("I love Sichuan food.", "I can't stand Sichuan food.", "Sichuan food", "stand"),
        ("我喜欢川菜。", "我不喜欢川菜了。", "川菜", "不"),
    ],
)
def test_B01_reversed_preference_leaves_one_row(
    api: Api, before: str, after: str, query: str, word: str
) -> None:
    user = api.fresh()
    [first] = api.say(user, before)
    operations = api.say(user, after)
    assert {o.action for o in operations} <= {UPDATE, DELETE, ADD}
    [left] = api.texts(user)
    assert word in left
    assert api.found(user, query) == [left]
    history = api.revisions(user, first.memory.memory_id)
    assert history[0].content == first.memory.content


@pytest.mark.parametrize(
    ("before", "after", "kept", "gone"),
    [
        ("我不喜欢这位歌手。", "我现在喜欢这位歌手了。", "喜欢这位歌手", "不喜欢"),
        ("I don't like that singer.", "I like that singer now.", "like", "n't"),
    ],
)
def test_B02_changed_liking_is_not_a_duplicate(
    api: Api, before: str, after: str, kept: str, gone: str
) -> None:
    user = api.fresh()
    api.say(user, before)
    api.say(user, after)
    [left] = api.texts(user)
    assert kept in left
    assert gone not in left


@pytest.mark.parametrize(
    ("before", "after", "query", "old", "new"),
    [
        ("我住在上海。", "我上个月搬到深圳了。", "我住哪里", "上海", "深圳"),
        ("I live in Boston.", "I moved to Denver last month.", "Where do I live?", "Boston", "Denver"),
    ],
)
def test_B03_a_move_is_an_update(api: Api, before: str, after: str, query: str, old: str, new: str) -> None:
    user = api.fresh()
    [first] = api.say(user, before)
    api.move_clock(60)
    [second] = api.say(user, after)
    assert second.action == UPDATE
    assert second.memory.memory_id == first.memory.memory_id
    assert second.memory.create_time == first.memory.create_time
    assert second.memory.update_time.seconds > first.memory.update_time.seconds
    [answer] = api.found(user, query)
    assert new in answer
    assert old not in answer
    history = api.revisions(user, first.memory.memory_id)
    assert [r.action for r in history] == [ADD, UPDATE]
    assert old in history[1].previous_content
    assert new in history[1].content


@pytest.mark.parametrize("fact", ["用户有两个孩子", "User prefers to be called in the morning"])
def test_B04_the_same_fact_again_changes_nothing(api: Api, fact: str) -> None:
    user = api.fresh()
    [first] = api.state(user, fact).operations
    for _ in range(4):
        [again] = api.state(user, fact).operations
        assert again.action == NOOP
        assert again.reason
    assert [m.memory_id for m in api.live(user)] == [first.memory.memory_id]
    assert len(api.revisions(user, first.memory.memory_id)) == 1
    assert api.live(user)[0].create_time == first.memory.create_time


def test_B04_promotion_from_the_window_compares_too(api: Api) -> None:
    user = api.fresh()
    for session in ("s1", "s2", "s3"):
        api.append(user, session, "我有两个孩子。", "I prefer email over phone calls.")
        api.end(user, session)
    assert len(api.live(user)) == 2


@pytest.mark.parametrize(
    ("before", "after", "number"),
    [
        (
            "User's payment is due on the 15th of each month",
            "User's payment is due on the 16th of each month",
            "16",
        ),
        ("User's transfer limit is 5,000 dollars", "User's transfer limit is 50,000 dollars", "50,000"),
        ("用户的月供是三千元", "用户的月供是三万元", "三万"),
        ("用户的月供是３０００元", "用户的月供是４０００元", "４０００"),
    ],
)
def test_B06_a_number_makes_the_difference(api: Api, before: str, after: str, number: str) -> None:
    user = api.fresh()
    api.state(user, before)
    [operation] = api.state(user, after).operations
    assert operation.action == UPDATE
    assert api.texts(user) == [after]
    assert number in api.texts(user)[0]


def test_B06_two_cards_are_two_memories(api: Api) -> None:
    user = api.fresh()
    api.state(user, "User's card ending 1234 is for travel")
    api.state(user, "User's card ending 5678 is for travel")
    assert len(api.live(user)) == 2


@pytest.mark.parametrize(
    ("before", "after", "query"),
    [
        (
            "Overseas transfers are allowed on User's account",
            "Overseas transfers are not allowed on User's account",
            "overseas transfers",
        ),
        ("用户已开通网上银行", "用户未开通网上银行", "网上银行"),
    ],
)
def test_B07_a_negation_is_never_lost(api: Api, before: str, after: str, query: str) -> None:
    user = api.fresh()
    api.state(user, before)
    [operation] = api.state(user, after).operations
    assert operation.action != NOOP
    assert api.texts(user) == [after]
    assert api.found(user, query)[0] == after


@pytest.mark.parametrize(
    "text",
    ["How do I cook rice?", "hi", "👍", "你好", "请问定期存款利率是多少？", "今天天气真好", "谢谢，再见"],
)
def test_B13_small_talk_and_questions_are_no_facts(api: Api, text: str) -> None:
    user = api.fresh()
    response = api.converse(user, (memory_pb2.ROLE_USER, text))
    assert not response.operations
    assert not response.partial
    assert api.texts(user) == []


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_B13_empty_input_is_an_error(api: Api, text: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        api.say(api.fresh(), text)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_B14_advice_is_not_a_preference_until_it_is_accepted(api: Api) -> None:
    user = api.fresh()
    advice = (memory_pb2.ROLE_ASSISTANT, "You seem low-risk; a 3-year deposit suits you.")
    api.converse(user, advice, (memory_pb2.ROLE_USER, "I'll think about it."))
    assert api.texts(user) == []
    api.converse(user, advice, (memory_pb2.ROLE_USER, "Yes, I prefer low risk."))
    [left] = api.texts(user)
    assert "low risk" in left


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("My friend Jack dislikes football, his father signed him up.", "Jack"),
        ("我爸的工资卡在别的银行。", "父亲|爸"),
    ],
)
def test_B14_others_stay_others(api: Api, text: str, subject: str) -> None:
    user = api.fresh()
    api.say(user, text)
    texts = api.texts(user)
    assert texts
    for stored in texts:
        assert any(s in stored for s in subject.split("|"))


def test_B15_recalled_and_system_text_is_never_extracted(api: Api) -> None:
    user = api.fresh()
    for _ in range(10):
        api.converse(
            user,
            (memory_pb2.ROLE_SYSTEM, "The user is called Maria and works as a nurse in Lyon."),
            (memory_pb2.ROLE_TOOL, "balance: 12,000 EUR"),
            (memory_pb2.ROLE_ASSISTANT, "You told us that you like hiking."),
            (memory_pb2.ROLE_USER, "ok thanks"),
            recalled=["User likes hiking"],
        )
    assert api.texts(user) == []


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("用户对花生过敏", "花生"),
        ("用户对花生过敏", "我对什么过敏"),
        ("認証方式を変更した", "認証方式"),
        ("用户的卡是 ABC123", "ＡＢＣ１２３卡"),
    ],
)
def test_B17_words_of_every_script_are_found(api: Api, stored: str, query: str) -> None:
    user = api.fresh()
    for other in ("用户喜欢短信通知", "User lives in Leeds", "用户打算明年买房", "User owns a bakery"):
        api.create(user, other)
    api.create(user, stored)
    assert stored in api.found(user, query, top_k=3)


def test_B17_full_width_restatement_is_no_news(api: Api) -> None:
    user = api.fresh()
    api.state(user, "用户的合同号是 ABC123")
    [operation] = api.state(user, "用户的合同号是 ＡＢＣ１２３").operations
    assert operation.action == NOOP
    assert api.texts(user) == ["用户的合同号是 ABC123"]
