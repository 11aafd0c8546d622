"""Tokens: Chinese, Japanese and English, codes, amounts, concepts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlane_core import kernels
from memlane_core.lexical import query_tokens, row_tokens, tokenize
from memlane_core.lexical.concept_table import CONCEPTS
from memlane_core.lexical.concepts import CONCEPT_BIT
from memlane_core.lexical.numbers import amounts
from memlane_core.lexical.tokens import MAX_TOKENS


def words(text: str) -> list[str]:
    return tokenize(text)[0]


def meanings(text: str) -> list[str]:
    return tokenize(text)[1]


def shared(one: str, other: str) -> int:
    return len(set(query_tokens(one).ids.tolist()) & set(row_tokens(other).ids.tolist()))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("花生", "我对花生过敏"),
        ("我对什么过敏", "我对花生过敏"),
        ("認証方式", "認証方式を変更した"),
        ("カード", "新しいカードを申し込んだ"),
        ("ABC123卡", "ＡＢＣ１２３卡"),
        ("ａｂｃ１２３卡", "ABC123卡"),
        ("카드 한도", "카드 한도를 올렸다"),
    ],
)
def test_field_report_b17(query: str, text: str) -> None:
    assert shared(query, text) >= 1
    assert shared(text, query) >= 1


@pytest.mark.parametrize(
    "query", ["FWD-2231", "fwd2231", "ＦＷＤ－２２３１", "fwd 2231", "FWD/2231号合约", "2231"]
)
def test_a_code_is_found_however_it_is_written(query: str) -> None:
    right = shared(query, "公司持有远期结汇合约FWD-2231")
    assert right > shared(query, "公司持有远期结汇合约FWD-2213")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("50万", "500,000"),
        ("五十万", "50万"),
        ("两百万元", "200万"),
        ("三千五百", "3500"),
        ("1.8亿", "180 million"),
        ("GBP 3.8 million", "3,800,000"),
        ("5k", "5000"),
        ("1.2bn", "12亿"),
        ("六成", "60%"),
        ("２０万", "200000"),
    ],
)
def test_amounts_meet_however_they_are_written(one: str, other: str) -> None:
    assert set(words(one)) & set(words(other))


@pytest.mark.parametrize("text", ["万一", "一一", "千万别忘了", "亿", "10 mm", "a380 m", "3 men", "h50m"])
def test_what_only_looks_like_an_amount_is_none(text: str) -> None:
    assert list(amounts(text)) == []


def test_differing_numbers_stay_apart() -> None:
    assert not set(words("三千")) & set(words("三万"))
    assert not set(words("5,000")) & set(words("50,000"))
    assert "3.65%" in words("利率3.65%")
    assert "3.65%" not in words("利率3.6%")


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("我们最大的客户是谁", "Brightwater's largest customer is the Corbel Institute"),
        ("Which currency do we leave unhedged?", "公司目前没有对冲加元敞口"),
        ("how is the loan secured", "贷款的抵押物是三号厂房"),
        ("我的人寿保险受益人", "Callum wants the life policy rewritten in favour of Morag"),
        ("Who signs off payments?", "单笔付款需董事长签字"),
    ],
)
def test_the_other_language_meets_in_concepts(question: str, fact: str) -> None:
    assert shared(question, fact) >= 1
    ids = set(query_tokens(question).ids.tolist()) & set(row_tokens(fact).ids.tolist())
    assert all(i & CONCEPT_BIT for i in ids)


def test_a_concept_counts_once_and_not_for_length() -> None:
    text = "借款 贷款 loan loans"
    tokens = row_tokens(text)
    of_concepts = (tokens.ids & np.uint32(CONCEPT_BIT)) != 0
    assert (tokens.frequencies[of_concepts] == 1).all()
    assert tokens.length == len(words(text))
    assert CONCEPT_BIT == kernels.CONCEPT_BIT


def test_a_code_names_no_concept() -> None:
    assert meanings("FX-4471") == []
    assert "汇率" in meanings("fx rates")


def test_the_table_is_well_formed() -> None:
    for line in CONCEPTS.strip().splitlines():
        chinese, bar, english = line.partition(" | ")
        assert bar and chinese.split() and english.split(), line
        assert all("\u4e00" <= c <= "\u9fff" for c in chinese.replace(" ", "")), line
        assert english.isascii() and english == english.lower(), line


@pytest.mark.parametrize("text", ["", "   ", "👍", "，。！", "the of and", "\ud800"])
def test_texts_without_a_word_have_no_tokens(text: str) -> None:
    assert len(query_tokens(text).ids) == 0
    assert len(row_tokens(text).ids) == 0
    assert row_tokens(text).length == 0


@given(st.text(max_size=400))
def test_any_text_gives_sorted_distinct_tokens(text: str) -> None:
    for ids in (row_tokens(text).ids, query_tokens(text).ids):
        assert ids.dtype == np.uint32
        assert (np.diff(ids.astype(np.int64)) > 0).all()
    assert set(query_tokens(text).ids.tolist()) == set(row_tokens(text).ids.tolist())


def test_a_very_long_text_keeps_to_the_limit() -> None:
    assert MAX_TOKENS == kernels.MAX_TOKENS
    text = " ".join(f"word{i}" for i in range(3_000))
    assert len(row_tokens(text).ids) == MAX_TOKENS
    assert len(query_tokens(text).ids) == MAX_TOKENS
