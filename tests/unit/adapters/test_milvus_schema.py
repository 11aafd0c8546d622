"""Names, quoting and columns of the Milvus adapter, without an engine."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlane_core.adapters.milvus import filters
from memlane_core.adapters.milvus.schema import (
    ALL_COLUMNS,
    CollectionNames,
    collection_schema,
    from_columns,
    to_columns,
)
from memlane_core.domain.errors import DataCorrupt, InvalidArgument
from memlane_core.domain.memory import Memory, MemoryType
from memlane_core.ports.vector_store import StoredRow

NAMES = CollectionNames("memlane")
ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}

unicode_text = st.text(st.characters(exclude_categories=["Cs"]))
short_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=15)


def _read_literal(literal: str) -> str:
    """How both engines read a string literal; fails where it does not end with the text."""
    match = re.fullmatch(r'"((?:[^"\\\n\r]|\\["\\nrt])*)"', literal)
    assert match, literal
    return re.sub(r"\\(.)", lambda escape: ESCAPED[escape.group(1)], match.group(1))


@given(unicode_text)
def test_a_quoted_value_is_one_literal_with_just_that_value(value: str) -> None:
    assert _read_literal(filters.quote(value, field="user_id")) == value


@given(st.lists(unicode_text, min_size=1, max_size=5))
def test_lists_hold_their_values(values: list[str]) -> None:
    expression = filters.any_of("memory_id", values)
    literals = re.findall(r'"(?:[^"\\\n\r]|\\.)*"', expression)
    assert [_read_literal(literal) for literal in literals] == values
    assert re.sub(r'"(?:[^"\\\n\r]|\\.)*"', "", expression).replace(", ", "") == "memory_id in []"


def test_visibility_ends_with_the_second_of_expiry() -> None:
    assert filters.visible_at(100) == "is_deleted == false and (ttl < 0 or ttl > 100)"


@given(short_text, short_text, st.booleans(), st.booleans())
def test_no_two_tenants_share_a_collection(one: str, two: str, of_one: bool, of_two: bool) -> None:
    first, second = NAMES.of(one, knowledge=of_one), NAMES.of(two, knowledge=of_two)
    assert (first == second) == ((one, of_one) == (two, of_two))
    # Nor on a file system that does not tell upper from lower case.
    assert first == first.lower()
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,254}", first)
    assert NAMES.tenant_of(first) == one


@pytest.mark.parametrize(
    "name", ["other_a_memories", "memlane_a_rules", "memlane_A_memories", "memlane__zz_memories"]
)
def test_collections_of_others_are_not_ours(name: str) -> None:
    assert NAMES.tenant_of(name) is None


@pytest.mark.parametrize("tenant", ["", "界" * 30, "\ud800"])
def test_tenants_without_a_name_are_refused(tenant: str) -> None:
    with pytest.raises(InvalidArgument):
        NAMES.of(tenant, knowledge=False)


def test_the_columns_are_the_contract() -> None:
    assert {field.name: field.dtype.name for field in collection_schema(8).fields} == {
        "memory_id": "VARCHAR",
        "user_id": "VARCHAR",
        "memory_type": "VARCHAR",
        "content": "VARCHAR",
        "embedding": "FLOAT_VECTOR",
        "created_at": "INT64",
        "ttl": "INT64",
        "is_deleted": "BOOL",
        "updated_at": "INT64",
        "revision": "INT64",
        "position": "INT64",
        "metadata": "VARCHAR",
    }
    lengths = {field.name: field.params.get("max_length") for field in collection_schema(8).fields}
    assert (lengths["memory_id"], lengths["user_id"]) == (64, 64)
    assert (lengths["memory_type"], lengths["content"]) == (32, 2048)


@given(
    content=unicode_text.filter(lambda t: len(t.encode()) <= 2048),
    expires_at=st.none() | st.integers(0, 2**40),
)
def test_a_row_survives_its_columns(content: str, expires_at: int | None) -> None:
    memory = Memory("m", "u", content, MemoryType.SEMANTIC, {"键": content[:20]}, 1, 2, expires_at, 3, 4)
    written = StoredRow(memory, np.full(4, 0.5, dtype=np.float32), is_deleted=True)
    columns = to_columns(written, 4)
    assert list(columns) == ALL_COLUMNS
    assert columns["ttl"] == (-1 if expires_at is None else expires_at)
    found = from_columns(columns)
    assert found.memory == memory and found.is_deleted and np.array_equal(found.embedding, written.embedding)


@pytest.mark.parametrize(("column", "value"), [("metadata", "{"), ("memory_type", "unheard-of")])
def test_a_row_that_cannot_be_read_is_corrupt(column: str, value: str) -> None:
    columns = to_columns(StoredRow(Memory("m1", "u", "我的秘密"), np.ones(4, dtype=np.float32)), 4)
    with pytest.raises(DataCorrupt) as raised:
        from_columns(columns | {column: value})
    assert raised.value.metadata == {"id": "m1"} and "我的秘密" not in str(raised.value)
