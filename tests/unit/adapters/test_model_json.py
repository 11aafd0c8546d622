"""The lenient JSON reader against the strict one, and on every way to cut a text."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlane_core.adapters.openai.answers import read_items
from memlane_core.adapters.openai.lenient_json import NotJson, parse_at

TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
FACTS = st.lists(
    st.fixed_dictionaries({"text": TEXTS.filter(bool), "source": st.integers(0, 99)}), max_size=4
)


@given(st.lists(VALUES, max_size=4), st.booleans())
def test_what_is_json_is_read_as_json(value: list[Any], ascii_only: bool) -> None:
    parsed = parse_at(json.dumps(value, ensure_ascii=ascii_only) + " ", 0)
    # A quote that JSON escapes is never taken for the end, so nothing differs.
    assert (parsed.value, parsed.complete) == (value, True)


@given(FACTS, st.data())
def test_a_cut_answer_gives_whole_facts_only(facts: list[dict[str, Any]], data: st.DataObject) -> None:
    text = json.dumps({"facts": facts})
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    found = read_items(cut, "facts", frozenset(("text",)))
    if found is not None:
        assert found.items == facts[: len(found.items)]
        assert not found.complete


@given(FACTS, TEXTS, TEXTS)
def test_a_fenced_answer_is_found_between_any_prose(
    facts: list[dict[str, Any]], before: str, after: str
) -> None:
    text = f"{before}\n```json\n{json.dumps({'facts': facts})}\n```\n{after}"
    found = read_items(text, "facts", frozenset(("text",)))
    assert found is not None and found.items == facts


@given(st.text(max_size=200))
def test_nothing_breaks_the_reader(text: str) -> None:
    found = read_items(text, "facts", frozenset(("text",)))
    assert found is None or isinstance(found.items, list)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"facts":' * 5000, '{"facts":[1' + "0" * 5000 + "]}", '{"a":"' * 3000]
)
def test_absurd_answers_are_refused_quickly(text: str) -> None:
    found = read_items(text, "facts", frozenset(("text",)))
    assert found is None or found.items == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2,]", [1, 2]),
        ('{"a": True, "b": None,}', {"a": True, "b": None}),
        ('["line\nbreak"]', ["line\nbreak"]),
        (r'["\d+ C:\x"]', [r"\d+ C:\x"]),
        (r'["\u4f60\ud83d\ude00\u"]', ["你😀\\u"]),
        ('["she said "hi" to me"]', ['she said "hi" to me']),
        ("[]", []),
    ],
)
def test_what_models_write_is_forgiven(text: str, value: object) -> None:
    parsed = parse_at(text, 0)
    assert (parsed.value, parsed.complete) == (value, True)


@pytest.mark.parametrize("text", ["{about trips}", "[see below]", "{1: 2}", "[,]", "[" * 30])
def test_prose_is_not_json(text: str) -> None:
    with pytest.raises(NotJson):
        parse_at(text, 0)
