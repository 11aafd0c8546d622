"""Yes or no, taken back, changed, one more: in both languages, and where the words only look like it."""

import pytest

from memlane_core.builtin.text import markers
from memlane_core.builtin.text.negation import negations, negative
from memlane_core.builtin.text.normalise import fold


@pytest.mark.parametrize(
    "text",
    [
        "境外转账未开通",
        "用户不是美国税务居民",
        "用户讨厌早上收到推送",
        "用户拒绝用房产抵押",
        "用户本人不会说粤语",
        "封闭期超过一年的产品用户一概不碰",
        "用户不同意接收营销短信",
        "用户对花生不过敏",
        "用户目前没收入",
        "Overseas transfers are not allowed",
        "User can't stand Sichuan food",
        "User refuses to pledge her home",
        "User has no dependants",
        "The company is debt-free",
        "User is a non-smoker",
    ],
)
def test_negative(text: str) -> None:
    assert negative(text)


@pytest.mark.parametrize(
    "text",
    [
        "境外转账已开通",
        "用户不仅喜欢茶，还喜欢咖啡",
        "公司在无锡有一处不动产",
        "用户未来三年打算买房",
        "用户特别喜欢川菜",
        "两份合同的条款不同",
        "罚款已被没收",
        "用户不反对抵押",
        "Overseas transfers are allowed",
        "No buyer takes more from the company than a Spanish chain",
        "The deposit runs for no more than a year",
        "User does not dislike bonds",
    ],
)
def test_not_negative(text: str) -> None:
    assert not negative(text)


def test_a_refusal_of_two_words_counts_once() -> None:
    assert [n.text for n in negations("I can't stand queues")] == ["can't stand"]


@pytest.mark.parametrize(
    "text",
    [
        "用户取消了8月去瑞士的旅行",
        "用户说换车的事作罢",
        "贷款担保已经解除",
        "用户收回了弟弟的查询授权",
        "The plan to open a branch is off",
        "User no longer wants the reminder",
        "Forget what I said about food",
        "The meeting has been called off",
    ],
)
def test_retracts(text: str) -> None:
    assert markers.retracts(fold(text))


@pytest.mark.parametrize(
    "text",
    [
        "公司通常60天内收回货款",
        "用户计划8月去瑞士",
        "User plans to open a branch",
        "User turned off the heating",
    ],
)
def test_retracts_nothing(text: str) -> None:
    assert not markers.retracts(fold(text))


def test_change_and_addition() -> None:
    assert markers.becomes(fold("客户经理换成了梁嘉蔚"))
    assert markers.becomes(fold("The limit was raised to 5 million"))
    assert not markers.becomes(fold("用户的客户经理是程予"))
    assert markers.adds(fold("公司也有英镑敞口"))
    assert markers.adds(fold("The company also has an exposure in rupees"))
    assert not markers.adds(fold("用户想在三年内还清房贷"))
    assert not markers.adds(fold("Weekly updates are too much"))
