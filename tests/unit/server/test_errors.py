"""The one table from domain errors to gRPC: complete, within a trailer's size, without anybody's text."""

from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from memlane.v1 import error_reason_pb2
from memlane_core.domain import errors as domain
from memlane_core.domain.errors import FieldViolation, InvalidArgument, MemlaneError, NotConfigured, NotFound
from memlane_server import errors
from memlane_server.errors import Internal, Overloaded, code_of, code_of_reason, to_status, to_wire


def every_error(root: type[MemlaneError] = MemlaneError) -> list[type[MemlaneError]]:
    return [kind for child in root.__subclasses__() for kind in (child, *every_error(child))]


def documented_codes() -> dict[str, str]:
    """Reason to status code, as the comments of ErrorReason promise."""
    source = Path(errors.__file__).parents[2] / "proto/memlane/v1/error_reason.proto"
    codes: dict[str, str] = {}
    code = ""
    for line in map(str.strip, source.read_text(encoding="utf-8").splitlines()):
        if line.startswith("// Status "):
            code = line.removeprefix("// Status ").rstrip(".")
        elif line.startswith("ERROR_REASON_") and code:
            codes[line.split(" ")[0].removeprefix("ERROR_REASON_")] = code
    return codes


def details(wire: errors.WireError) -> dict[str, Message]:
    found: dict[str, Message] = {}
    for packed in status_pb2.Status.FromString(wire.details).details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo):
            if packed.Is(kind.DESCRIPTOR):
                message = kind()
                packed.Unpack(message)
                found[kind.DESCRIPTOR.name] = message
    return found


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_every_error_has_the_documented_code_and_reason(kind: type[MemlaneError]) -> None:
    error = kind.__new__(kind)
    assert code_of(error).name == documented_codes()[kind.reason]
    assert code_of_reason(kind.reason) is code_of(error)


def test_an_unknown_reason_of_the_past_is_internal() -> None:
    assert code_of_reason("") is grpc.StatusCode.INTERNAL
    assert errors.reason_value("NEVER_HEARD_OF") == error_reason_pb2.ERROR_REASON_INTERNAL


def test_violations_metadata_and_pauses_come_as_details() -> None:
    wrong = details(to_wire(InvalidArgument(FieldViolation("facts.facts[2].content", "must not be blank"))))
    assert wrong["ErrorInfo"] == error_details_pb2.ErrorInfo(reason="INVALID_FIELD", domain="memlane.io")
    assert [v.field for v in wrong["BadRequest"].field_violations] == ["facts.facts[2].content"]  # type: ignore[attr-defined]
    unset = details(to_wire(NotConfigured("a chat model", "chat.model")))
    assert unset["ErrorInfo"].metadata == {"setting": "chat.model"}  # type: ignore[attr-defined]
    full = details(to_wire(Overloaded("full", retry_after_seconds=0.5)))
    assert full["RetryInfo"].retry_delay.nanos == 500_000_000  # type: ignore[attr-defined]


def test_the_status_of_a_part_says_the_same() -> None:
    status = to_status(domain.ModelThrottled("wait", retry_after_seconds=2, metadata={"server": "x"}))
    assert (status.code, status.message) == (grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], "wait")
    assert status.reason == error_reason_pb2.ERROR_REASON_MODEL_THROTTLED
    assert (status.metadata["server"], status.retry_after.seconds) == ("x", 2)
    status = to_status(InvalidArgument.of("user_id", "must not be empty"))
    assert [v.field for v in status.field_violations] == ["user_id"]


def test_texts_are_ascii_and_details_may_be_chinese() -> None:
    wire = to_wire(NotFound("memory", "记忆😀"))
    assert wire.message.isascii()
    assert details(wire)["ErrorInfo"].metadata["id"] == "记忆😀"  # type: ignore[attr-defined]
    assert to_wire(domain.FailedPrecondition("数据目录")).message.isascii()


def test_a_thousand_violations_still_fit_into_a_trailer() -> None:
    many = [FieldViolation(f"searches[{i}].metadata_filter", "must not have 中文" * 5) for i in range(1000)]
    wire = to_wire(InvalidArgument(*many))
    assert len(wire.details) + len(wire.message) < 6000
    violations = details(wire)["BadRequest"].field_violations  # type: ignore[attr-defined]
    assert violations[-1].description == f"and {1000 - len(violations) + 1} more"


def test_an_unforeseen_error_tells_its_id_and_nothing_else() -> None:
    wire = to_wire(Internal("c0ffee"))
    assert wire.message == "internal error; correlation id c0ffee"
    assert details(wire)["ErrorInfo"].metadata == {"correlation_id": "c0ffee"}  # type: ignore[attr-defined]
