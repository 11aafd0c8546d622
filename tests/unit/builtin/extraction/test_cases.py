"""Field reports (the case ids) at the level of the extractor."""

from datetime import datetime

import pytest

from memlane_core.builtin.extraction import RulesExtractor
from memlane_core.domain.conversation import Extraction, Message, Role
from memlane_core.ports.extractor import ExtractionRequest

NOW = datetime.fromisoformat("2025-07-02T10:00:00+08:00")


async def extract(
    *turns: tuple[str, str], at: str | None = None, recalled: tuple[str, ...] = ()
) -> Extraction:
    said = datetime.fromisoformat(at) if at else None
    messages = tuple(Message(Role(role), text, said) for role, text in turns)
    return await RulesExtractor().extract(ExtractionRequest(messages, NOW, recalled))


def contents(extraction: Extraction) -> list[str]:
    return [fact.content for fact in extraction.facts]


@pytest.mark.parametrize(
    "text",
    ["How do I cook rice?", "hi", "👍", "", "   ", "怎么做饭？", "你好", "谢谢啦", "ok thanks", "哈哈"],
)
async def test_b13_nothing_to_remember(text: str) -> None:
    assert (await extract(("user", text))).facts == ()


async def test_b13_empty_conversation() -> None:
    assert await extract() == Extraction(())


async def test_b14_advice_that_is_not_accepted_is_nobodys_fact() -> None:
    turns = [
        ("assistant", "You seem low-risk; a 3-year deposit suits you."),
        ("user", "I'll think about it."),
    ]
    assert contents(await extract(*turns)) == []
    turns.append(("user", "yes, I prefer low risk"))
    assert contents(await extract(*turns)) == ["User prefers low risk"]


async def test_b14_friend_stays_the_subject() -> None:
    facts = contents(await extract(("user", "My friend Jack dislikes football, his father signed him up.")))
    assert facts == ["User's friend Jack dislikes football, his father signed him up"]


async def test_b14_father_stays_the_subject() -> None:
    assert contents(await extract(("user", "我爸的工资卡在别的银行"))) == ["用户的父亲的工资卡在别的银行"]


async def test_b15_prompts_and_recalled_memories_are_no_facts() -> None:
    turns = [
        ("system", "You are the assistant of Harbour Bank. The customer John Doe prefers gold cards."),
        ("tool", "【用户历史信息】\n- 用户住在上海（记录于 2025-01-01）"),
        ("assistant", "You live in Shanghai and like short answers."),
        ("user", "ok thanks"),
    ]
    assert (await extract(*turns * 10)).facts == ()


async def test_b15_restated_memory_is_not_new() -> None:
    found = await extract(("user", "我住在上海"), recalled=("用户住在上海",))
    assert found.facts == ()
    assert [r.reason for r in found.rejected] == ["already known"]
    moved = await extract(("user", "我住在深圳"), recalled=("用户住在上海",))
    assert contents(moved) == ["用户住在深圳"]


async def test_b15_changed_number_or_negation_is_new() -> None:
    number = await extract(
        ("user", "I can save GBP 500 a month"), recalled=("User can save GBP 400 a month",)
    )
    assert contents(number) == ["User can save GBP 500 a month"]
    negated = await extract(("user", "我不喜欢电话通知"), recalled=("用户喜欢电话通知",))
    assert contents(negated) == ["用户不喜欢电话通知"]


async def test_b32_dates_count_from_the_message_in_its_own_zone() -> None:
    paris = await extract(("user", "I went to Paris yesterday"), at="2023-05-24T00:30:00+08:00")
    assert contents(paris) == ["User went to Paris on 2023-05-23"]
    branch = await extract(("user", "明天下午三点去网点"), at="2023-05-24T00:30:00+08:00")
    assert contents(branch) == ["用户2023-05-25 15:00去网点"]


async def test_b32_without_a_time_the_servers_counts() -> None:
    assert contents(await extract(("user", "我昨天换了工作"))) == ["用户2025-07-01换了工作"]


async def test_b51_only_the_preference_is_kept() -> None:
    found = await extract(("user", "My card is 4111 1111 1111 1111, CVV 123, PIN 9876, prefer SMS"))
    assert contents(found) == ["User prefers SMS"]
    assert all("4111 1111" not in r.content and "9876" not in r.content for r in found.rejected)
    assert found.rejected[0].reason


async def test_b51_chinese() -> None:
    found = await extract(("user", "我的网银密码是 abc12345，喜欢短信通知"))
    assert contents(found) == ["用户喜欢短信通知"]
    assert "abc12345" not in repr(found)


async def test_b51_code_given_in_answer_to_a_question() -> None:
    found = await extract(("assistant", "What is the code on your token?"), ("user", "660217"))
    assert found.facts == ()
    found = await extract(("assistant", "请问您的验证码是多少？"), ("user", "482913"))
    assert "482913" not in repr(found)
