"""The rules about fields: what is refused, under which name, and what passes."""

import math
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memlane_core.domain import limits
from memlane_core.domain.errors import InvalidArgument
from memlane_core.guards.secrets import SecretPolicy
from memlane_server import validate
from memlane_server.validate import Violations


def fields(rule: Callable[[Violations], Any]) -> list[str]:
    """Names of the fields that a rule complains about."""
    v = Violations()
    rule(v)
    try:
        v.check()
    except InvalidArgument as error:
        return [violation.field for violation in error.violations]
    return []


def moment(seconds: int, nanos: int = 0) -> SimpleNamespace:
    return SimpleNamespace(seconds=seconds, nanos=nanos)


@pytest.mark.parametrize(
    "user_id",
    [
        "a",
        "张三",
        'o\'brien "x" \\ \n😀',
        " padded ",
        "GLOBAL",
        "x" * 64,
        "中" * 21,
        "%_*",
        "1 or 1=1",
        "\u200bx",
    ],
)
def test_any_text_is_a_user_id_as_it_stands(user_id: str) -> None:
    v = Violations()
    assert validate.user_id(v, user_id) == user_id
    v.check()


@pytest.mark.parametrize("user_id", ["", " ", "\u3000\t", "global", "x" * 65, "中" * 22, "😀" * 17, "a\0b"])
def test_user_ids_that_are_refused(user_id: str) -> None:
    assert fields(lambda v: validate.user_id(v, user_id)) == ["user_id"]


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("x" * 2048, False), ("x" * 2049, True), ("中" * 682 + "ab", False), ("中" * 683, True),
        ("😀" * 512, False), ("😀" * 512 + "a", True), ("", True), (" \n\u3000", True), ("\u200b\u200d", True),
        ("a\0b", True), ("。", False),
    ],
)  # fmt: skip
def test_contents_are_measured_in_bytes_and_must_say_something(content: str, wrong: bool) -> None:
    found = fields(lambda v: validate.text(v, "content", content, limits.MAX_CONTENT_BYTES))
    assert found == (["content"] if wrong else [])


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"来源": "柜台"}, []),
        ({"user_id": "x"}, ['metadata["user_id"]']),
        ({"": "x"}, ["metadata"]),
        ({"k" * 65: "x"}, ['metadata["' + "k" * 40 + '..."]']),
        ({"中" * 22: ""}, ['metadata["' + "\\u4e2d" * 22 + '"]']),
        ({"k": "v" * 1025}, ['metadata["k"]']),
        ({"k": "中" * 342}, ['metadata["k"]']),
        ({f"k{i}": "" for i in range(32)}, []),
        ({f"k{i}": "" for i in range(33)}, ["metadata"]),
        ({f"k{i}": "v" * 1000 for i in range(5)}, ["metadata"]),
        ({"k": "a\0"}, ['metadata["k"]']),
    ],
)
def test_labels(metadata: dict[str, str], expected: list[str]) -> None:
    assert fields(lambda v: validate.metadata(v, "metadata", metadata)) == expected


@pytest.mark.parametrize(
    ("seconds", "nanos", "expected"),
    [
        (1, 0, 1),
        (0, 1, 1),
        (1, 1, 2),
        (59, 999_999_999, 60),
        (limits.MAX_TTL_SECONDS, 0, limits.MAX_TTL_SECONDS),
    ],
)
def test_a_ttl_is_rounded_up_to_whole_seconds(seconds: int, nanos: int, expected: int) -> None:
    v = Violations()
    assert validate.ttl_seconds(v, "ttl", moment(seconds, nanos)) == expected
    v.check()


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [(0, 0), (-1, 0), (0, -1), (1, -1), (0, 1_000_000_000), (limits.MAX_TTL_SECONDS, 1), (2**62, 0)],
)
def test_ttls_that_are_refused(seconds: int, nanos: int) -> None:
    assert fields(lambda v: validate.ttl_seconds(v, "ttl", moment(seconds, nanos))) == ["ttl"]


@pytest.mark.parametrize(
    ("seconds", "nanos"), [(-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000)]
)
def test_moments_outside_of_the_calendar_are_refused(seconds: int, nanos: int) -> None:
    assert fields(lambda v: validate.timestamp_us(v, "t", moment(seconds, nanos))) == ["t"]
    assert fields(lambda v: validate.second_from(v, "t", moment(seconds, nanos))) == ["t"]


def test_a_bound_between_two_seconds_starts_at_the_later_one() -> None:
    v = Violations()
    assert validate.second_from(v, "created_after", moment(10, 0)) == 10
    assert validate.second_from(v, "created_after", moment(10, 1)) == 11
    v.check()


def test_the_past_may_be_asked_for_and_the_future_may_not() -> None:
    assert fields(lambda v: validate.as_of_us(v, moment(100), now=100.0)) == []
    assert fields(lambda v: validate.as_of_us(v, moment(100, 1_000_000), now=100.0)) == ["as_of"]


@pytest.mark.parametrize(
    ("name", "hours"), [("Asia/Shanghai", 8.0), ("+08:00", 8.0), ("-05:30", -5.5), ("+14:00", 14.0)]
)
def test_zones(name: str, hours: float) -> None:
    v = Violations()
    zone = validate.time_zone(v, "z", name)
    assert zone is not None
    time = validate.local_time(v, "t", 1_700_000_000_000_000, zone)
    assert time is not None and time.utcoffset() == timedelta(hours=hours)
    v.check()


@pytest.mark.parametrize(
    "name", ["Mars/Olympus", "+8", "+15:00", "+08:60", "../../etc/passwd", "/etc/localtime", "北京", "a\0b"]
)
def test_zones_that_are_refused(name: str) -> None:
    assert fields(lambda v: validate.time_zone(v, "z", name)) == ["z"]


def test_a_moment_at_the_end_of_the_calendar_may_not_exist_in_a_zone() -> None:
    zone = validate.time_zone(Violations(), "z", "+08:00")
    assert zone is not None
    assert fields(lambda v: validate.local_time(v, "t", 253_402_300_799_000_000, zone)) == ["t"]


def test_vectors_are_brought_to_unit_length() -> None:
    v = Violations()
    for scale in (1e-30, 1e-3, 1.0, 1e3, 1e30):
        raw = (np.array([3.0, 4.0]) * scale).astype("<f4").tobytes()
        unit = validate.unit_vector_from_bytes(v, "e", raw, 2)
        assert unit.dtype == np.float32 and unit.flags.c_contiguous
        np.testing.assert_allclose(unit, [0.6, 0.8], rtol=1e-6)
    v.check()


def test_both_forms_of_a_vector_give_the_same() -> None:
    v = Violations()
    values = np.random.default_rng(7).normal(size=64).astype("<f4")
    one = validate.unit_vector_from_bytes(v, "e", values.tobytes(), 64)
    other = validate.unit_vector_from_values(v, "e", values.tolist(), 64)
    assert one.tobytes() == other.tobytes()
    v.check()


@pytest.mark.parametrize(
    "values", [[math.nan, 1.0], [math.inf, 1.0], [-math.inf, math.inf], [0.0, 0.0], [-0.0, 0.0]]
)
def test_vectors_without_a_direction_are_refused(values: list[float]) -> None:
    raw = np.array(values, "<f4").tobytes()
    assert fields(lambda v: validate.unit_vector_from_bytes(v, "embedding_f32", raw, 2)) == ["embedding_f32"]
    assert fields(lambda v: validate.unit_vector_from_values(v, "embedding.values", values, 2)) == [
        "embedding.values"
    ]


@pytest.mark.parametrize("size", [0, 1, 7, 9, 12])
def test_vectors_of_another_size_are_refused(size: int) -> None:
    assert fields(lambda v: validate.unit_vector_from_bytes(v, "e", b"\1" * size, 2)) == ["e"]


@pytest.mark.parametrize(("value", "expected"), [(0, 5), (1, 1), (100, 100)])
def test_zero_means_the_default(value: int, expected: int) -> None:
    v = Violations()
    assert validate.top_k(v, value) == expected
    v.check()


@pytest.mark.parametrize("value", [-1, 101, -(2**31), 2**31 - 1])
def test_numbers_out_of_bounds(value: int) -> None:
    assert fields(lambda v: validate.top_k(v, value)) == ["top_k"]


def test_secrets_are_named_by_kind_and_never_repeated() -> None:
    v = Violations()
    validate.no_secret(v, "content", "我的银行卡号是6222020200112230016", SecretPolicy())
    with pytest.raises(InvalidArgument) as caught:
        v.check()
    assert [x.field for x in caught.value.violations] == ["content"]
    assert "bank_card" in caught.value.message and "6222" not in caught.value.message


def test_all_that_is_wrong_is_told_at_once() -> None:
    def everything(v: Violations) -> None:
        validate.user_id(v, "")
        validate.text(v, "content", "", 10)
        validate.request_id(v, "r" * 129)
        validate.reason(v, "原" * 342)

    assert fields(everything) == ["user_id", "content", "request_id", "reason"]
