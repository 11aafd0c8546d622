"""Texts that a reader calls the same fold to the same string; clauses keep their places."""

import pytest

from memlane_core.builtin.text.normalise import clauses, fold, is_chinese, to_simplified


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("用戶在香港有一家全資子公司", "用户在香港有一家全资子公司"),
        ("ＡＢＣ１２３卡", "abc123卡"),
        ("GBP 500,000", "gbp  500000"),
        ("User’s card", "user's card"),
        ("銀行\u200b賬戶", "银行账户"),
    ],
)
def test_fold(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_fold_survives_lone_surrogates_and_keeps_case_on_request() -> None:
    assert fold("a\ud800b") == "ab"
    assert fold("Lives in Leeds", keep_case=True) == "Lives in Leeds"


def test_a_comma_that_is_no_thousands_comma_stays() -> None:
    assert fold("1,2 and 3,000") == "1,2 and 3000"


def test_to_simplified_keeps_positions() -> None:
    text = "用戶的帳戶 in 臺灣"
    assert len(to_simplified(text)) == len(text)
    assert to_simplified(text) == "用户的帐户 in 台湾"


def test_clauses_are_stretches_of_the_text() -> None:
    text = "用户不想再接电话，要求用微信；每月3,000.50元. Fine, thanks"
    found = list(clauses(text))
    assert [c.text for c in found] == ["用户不想再接电话", "要求用微信", "每月3,000.50元", "Fine", "thanks"]
    assert all(text[c.start : c.end] == c.text for c in found)


def test_one_chinese_character_makes_a_text_chinese() -> None:
    assert is_chinese("Brückmeier是最大客户")
    assert not is_chinese("Brückmeier is the biggest customer")
