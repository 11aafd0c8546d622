"""Words for companies that a dictionary cuts in the wrong place."""

import pytest

from memlane_core.builtin.decision import reading


@pytest.mark.parametrize(
    "text", ["用户打算在慕尼黑设一家子公司", "用户的子公司在慕尼黑", "慕尼黑子公司的计划取消了"]
)
def test_a_subsidiary_is_one_word(text: str) -> None:
    assert "@subsidiary" in {w.concept for w in reading.read(text).words}
