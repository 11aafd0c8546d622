"""When a user's turn makes the assistant's statement his own."""

import pytest

from memlane_core.adapters.openai.acceptance import accepted_texts, last_question

PLAN = "Then I'd put 1 million in the instant access account and ladder the rest over nine months."
STEP = "Around 0.2% more, with less flexibility."


@pytest.mark.parametrize(
    "turn",
    [
        "Yes", "Yes, please.", "That's right.", "Exactly!", "I do.", "Sure, go with that",
        "是的", "对，就这样", "没错，同意", "我选第一个",
    ],
)  # fmt: skip
def test_a_yes_accepts_the_whole_message(turn: str) -> None:
    assert accepted_texts(turn, [STEP, PLAN]) == (PLAN,)


@pytest.mark.parametrize(
    "turn",
    [
        "I'll think about it.", "Maybe", "No.", "Yes. Actually no.", "Yes, maybe.",
        "是的，我再考虑一下", "ok thanks", "I am busy right now",
        "right now I can't",
        "Not really", "Why?", "我考虑一下", "不同意", "好的，谢谢", "不是的", "再说吧", "我还不确定",
    ],
)  # fmt: skip
def test_nothing_else_does(turn: str) -> None:
    assert accepted_texts(turn, [STEP, PLAN]) == ()
    assert accepted_texts("Yes", []) == ()


def test_ok_accepts_the_question_only() -> None:
    asked = "You are in Leeds. Shall I note that you prefer SMS?"
    assert accepted_texts("ok", [asked]) == ("Shall I note that you prefer SMS?",)
    assert accepted_texts("好的", ["您在上海。以后都用短信通知您可以吗？"]) == ("以后都用短信通知您可以吗？",)
    assert accepted_texts("ok", [PLAN]) == ()
    assert last_question(PLAN) == ""


def test_as_you_said_reaches_further_back() -> None:
    turn = "Not worth it. Go with your ladder: three, six and nine months"
    assert accepted_texts(turn, [PLAN, STEP]) == (PLAN, STEP)
    proposal, fee = "建议对其中60%做远期购汇，余下40%观察。", "可以，但期权费大约要多花1.2%。"
    assert accepted_texts("那算了。就照你说的，六成做远期购汇", ["您好", proposal, fee]) == (proposal, fee)
