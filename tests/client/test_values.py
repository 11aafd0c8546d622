"""Values: nothing of the contract is lost, Python types come out, vectors go in."""

import dataclasses
import pickle
import struct
from array import array
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import numpy as np
import pytest

import memlane
from memlane import _values, enums
from memlane._wire import to_datetime, to_duration, to_f32, to_timestamp
from memlane.v1 import memory_pb2, memory_service_pb2
from tests.client.scripted_server import MODULES

CLASSES: dict[str, Any] = dict(_values._CLASSES)
ENUMS = {
    name: descriptor
    for module in (memory_pb2, *MODULES)
    for name, descriptor in module.DESCRIPTOR.enum_types_by_name.items()
}


def descriptor_of(name: str) -> Any:
    short = name.rpartition(".")[2]
    modules = (memory_pb2, *MODULES)
    return next(getattr(m, short).DESCRIPTOR for m in modules if hasattr(m, short))


@pytest.mark.parametrize("name", [n for n in CLASSES if not n.endswith("ChatResponse")])
def test_a_value_shows_every_field_of_its_message(name: str) -> None:
    shown = {field.name for field in dataclasses.fields(CLASSES[name])} - {"proto"}
    assert shown == {field.name for field in descriptor_of(name).fields}


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations_have_the_numbers_of_the_contract(name: str) -> None:
    members: Any = getattr(enums, name)
    prefix = "".join("_" + c if c.isupper() else c for c in name).strip("_").upper() + "_"
    for value in ENUMS[name].values:
        member = members.from_wire(value.number)
        assert member == value.name.removeprefix(prefix)
        assert members.to_wire(member.lower()) == value.number
    assert len(members) == len(ENUMS[name].values)
    assert members.from_wire(999) == "UNSPECIFIED" and issubclass(members, StrEnum)


def test_a_memory_in_python_types() -> None:
    message = memory_pb2.Memory(
        memory_id="m-1",
        user_id="客户-1",
        content="她有三个孩子 👶",
        memory_type=memory_pb2.MEMORY_TYPE_EPISODIC,
        metadata={"渠道": "app"},
        revision=2,
    )
    message.create_time.FromJsonString("2026-03-01T00:00:00.123456Z")
    message.expire_time.FromJsonString("2026-03-31T00:00:00Z")
    memory = memlane.Memory.from_proto(message)
    assert memory.content == "她有三个孩子 👶" and memory.memory_type is memlane.MemoryType.EPISODIC
    assert memory.create_time == datetime(2026, 3, 1, 0, 0, 0, 123456, tzinfo=UTC)
    assert memory.expire_time == datetime(2026, 3, 31, tzinfo=UTC) and memory.delete_time is None
    assert memory.metadata == {"渠道": "app"} and type(memory.metadata) is dict
    assert memory.proto is message and "proto" not in repr(memory)
    assert memory == dataclasses.replace(memory, proto=None) and hash(memory) == hash(memory)
    assert pickle.loads(pickle.dumps(memory)) == memory
    with pytest.raises(dataclasses.FrozenInstanceError):
        memory.content = "x"  # type: ignore[misc]


def test_what_is_unset_is_none() -> None:
    revision = memlane.MemoryRevision.from_proto(memory_pb2.MemoryRevision(content=""))
    assert (revision.content, revision.previous_content, revision.valid_until) == ("", None, None)
    operation = memlane.Operation.from_proto(
        memory_pb2.RememberOperation(action=memory_pb2.ACTION_NOOP, guards=["digits"])
    )
    assert (operation.previous, operation.similarity, operation.guards) == (None, None, ("digits",))


def test_an_ingestion_that_failed_tells_why_as_an_error() -> None:
    message = memory_service_pb2.GetIngestionResponse(state=memory_service_pb2.INGESTION_STATE_FAILED)
    message.error.code = 14
    message.error.message = "the model does not answer"
    result = memlane.IngestionResult.from_proto(message)
    assert result.state == "FAILED" and isinstance(result.error, memlane.Unavailable)


def test_search_results_are_a_sequence() -> None:
    message = memory_service_pb2.SearchMemoriesResponse()
    message.results.add(score=0.5).memory.content = "甲"
    message.results.add(score=0.25).memory.content = "b"
    result = memlane.SearchResult.from_proto(message)
    assert [hit.memory.content for hit in result] == ["甲", "b"]
    assert (len(result), result[1].score, result[0].cosine) == (2, 0.25, None)


def test_times_keep_their_moment() -> None:
    shanghai = datetime(2026, 3, 1, 8, 0, 0, 123456, tzinfo=timezone(timedelta(hours=8)))
    for moment in (shanghai, datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)):
        timestamp = to_timestamp(moment)
        assert timestamp is not None and timestamp.ToDatetime(UTC) == moment
        assert to_datetime(timestamp) == moment


@pytest.mark.parametrize(
    "span", [timedelta(days=36_600), timedelta(microseconds=1), timedelta(seconds=-1.5), timedelta(0)]
)
def test_durations_keep_their_length(span: timedelta) -> None:
    duration = to_duration(span)
    assert duration is not None and duration.ToTimedelta() == span


WANT = struct.pack("<3f", 1.0, -0.5, 0.25)


@pytest.mark.parametrize(
    "vector",
    [
        [1.0, -0.5, 0.25],
        (1, -0.5, 0.25),
        WANT,
        bytearray(WANT),
        memoryview(WANT),
        array("f", [1.0, -0.5, 0.25]),
        array("d", [1.0, -0.5, 0.25]),
        np.array([1.0, -0.5, 0.25], np.float32),
        np.array([1.0, -0.5, 0.25], np.float64),
        np.array([1.0, -0.5, 0.25], np.float16),
        np.array([1.0, -0.5, 0.25], ">f4"),
        np.array([1.0, 9.0, -0.5, 9.0, 0.25], np.float32)[::2],
        [np.float32(1.0), np.float64(-0.5), 0.25],
    ],
    ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', getattr(v, 'typecode', ''))}",
)
def test_vectors_become_little_endian_float32(vector: Any) -> None:
    assert to_f32(vector) == WANT


def test_integers_are_numbers_too() -> None:
    assert to_f32(np.array([1, 2], np.int64)) == struct.pack("<2f", 1, 2)


@pytest.mark.parametrize(
    ("vector", "error"),
    [
        (b"123", ValueError),
        (np.zeros((2, 2), np.float32), ValueError),
        ("一段文字", TypeError),
        (["1.0"], TypeError),
        (np.zeros(2, np.complex64), TypeError),
    ],
)
def test_what_is_no_vector_is_refused(vector: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        to_f32(vector)
