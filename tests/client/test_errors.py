"""Errors as callers meet them, built from what stands on the wire."""

import pickle
import re
from datetime import timedelta

import grpc
import pytest

import memlane
from memlane import errors
from memlane._google_rpc import parse_details
from memlane.v1 import error_reason_pb2, memory_pb2
from tests.client.callers import Caller
from tests.client.scripted_server import ScriptedServer, failure

TREE: dict[grpc.StatusCode, type[memlane.MemlaneError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: memlane.InvalidArgument,
    grpc.StatusCode.NOT_FOUND: memlane.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: memlane.AlreadyExists,
    grpc.StatusCode.ABORTED: memlane.Aborted,
    grpc.StatusCode.FAILED_PRECONDITION: memlane.FailedPrecondition,
    grpc.StatusCode.RESOURCE_EXHAUSTED: memlane.ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: memlane.Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: memlane.DeadlineExceeded,
    grpc.StatusCode.UNAUTHENTICATED: memlane.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: memlane.PermissionDenied,
    grpc.StatusCode.UNIMPLEMENTED: memlane.Unimplemented,
    grpc.StatusCode.DATA_LOSS: memlane.DataLoss,
    grpc.StatusCode.INTERNAL: memlane.Internal,
    grpc.StatusCode.UNKNOWN: memlane.MemlaneError,
    grpc.StatusCode.OUT_OF_RANGE: memlane.MemlaneError,
}


@pytest.mark.parametrize("code", TREE, ids=lambda code: code.name)
def test_every_code_has_its_class(caller: Caller, server: ScriptedServer, code: grpc.StatusCode) -> None:
    server.then("GetMemory", *[failure(code, message="told")] * 4)
    with pytest.raises(memlane.MemlaneError) as raised:
        caller.call("get_memory", "c-1", "m-1")
    assert type(raised.value) is TREE[code]
    assert (raised.value.code, raised.value.message, raised.value.reason) == (code, "told", "")


def test_field_violations(caller: Caller, server: ScriptedServer) -> None:
    wrong = {"user_id": "must not be empty", 'metadata["渠道"]': "at most 1024 bytes"}
    server.then("CreateMemory", failure(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD", violations=wrong))
    with pytest.raises(memlane.InvalidArgument) as raised:
        caller.call("create_memory", "", "x")
    assert {v.field: v.description for v in raised.value.violations} == wrong
    assert str(raised.value).startswith("INVALID_FIELD: ")


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED", memlane.RequestIdReused),
        (grpc.StatusCode.ABORTED, "USER_FORGOTTEN", memlane.UserForgotten),
        (grpc.StatusCode.ABORTED, "ABORTED", memlane.Aborted),
        (grpc.StatusCode.FAILED_PRECONDITION, "NOT_CONFIGURED", memlane.NotConfigured),
        (grpc.StatusCode.FAILED_PRECONDITION, "LEGAL_HOLD", memlane.LegalHold),
        (grpc.StatusCode.FAILED_PRECONDITION, "A_REASON_OF_TOMORROW", memlane.FailedPrecondition),
        # Never sent by a server that keeps the contract: the code is what callers act on.
        (grpc.StatusCode.NOT_FOUND, "LEGAL_HOLD", memlane.NotFound),
    ],
)
def test_reasons_refine_the_class(
    caller: Caller,
    server: ScriptedServer,
    code: grpc.StatusCode,
    reason: str,
    kind: type[memlane.MemlaneError],
) -> None:
    server.then("UpdateMemory", failure(code, reason, metadata={"setting": "chat.model"}))
    with pytest.raises(memlane.MemlaneError) as raised:
        caller.call("update_memory", "c-1", "m-1", content="x")
    assert type(raised.value) is kind
    assert raised.value.reason == reason and raised.value.metadata == {"setting": "chat.model"}


def test_a_revision_mismatch_tells_the_current_one(caller: Caller, server: ScriptedServer) -> None:
    server.then(
        "DeleteMemory",
        failure(grpc.StatusCode.ABORTED, "REVISION_MISMATCH", metadata={"current": "4"}),
    )
    with pytest.raises(memlane.RevisionMismatch) as raised:
        caller.call("delete_memory", "c-1", "m-1", revision=3)
    assert raised.value.current_revision == 4


def test_details_that_are_no_status_do_not_hide_the_error(caller: Caller, server: ScriptedServer) -> None:
    def cut(request: object, context: grpc.ServicerContext) -> None:
        context.set_trailing_metadata((("grpc-status-details-bin", b"\x0a\xff\xff"),))
        context.abort(grpc.StatusCode.NOT_FOUND, "no such memory")

    server.then("GetMemory", cut)
    with pytest.raises(memlane.NotFound, match="no such memory"):
        caller.call("get_memory", "c-1", "m-1")
    assert parse_details(None) == parse_details(b"\x0a\xff\xff")


def test_no_server_is_unavailable(server: ScriptedServer) -> None:
    server.stop()
    with memlane.Client(server.target) as client, pytest.raises(memlane.Unavailable):
        client.echo(b"x", timeout=30.0)


def test_the_status_of_a_part_is_the_same_error() -> None:
    status = memory_pb2.Status(
        code=3,
        message="m",
        reason=error_reason_pb2.ERROR_REASON_INVALID_FIELD,
        metadata={"what": "memory"},
        field_violations=[memory_pb2.FieldViolation(field="top_k", description="too many")],
    )
    status.retry_after.seconds = 2
    error = errors.from_status(status)
    assert isinstance(error, memlane.InvalidArgument)
    assert error.reason == "INVALID_FIELD" and error.metadata == {"what": "memory"}
    assert error.violations == (memlane.FieldViolation("top_k", "too many"),)
    assert error.retry_after == timedelta(seconds=2)
    assert errors.from_status(memory_pb2.Status()) is None
    unknown = errors.from_status(memory_pb2.Status(code=5, reason=9999))  # type: ignore[arg-type]
    assert isinstance(unknown, memlane.NotFound) and unknown.reason == ""


def test_errors_survive_pickling() -> None:
    error = memlane.RevisionMismatch("m", reason="REVISION_MISMATCH", metadata={"current": "2"})
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is memlane.RevisionMismatch
    assert (copy.current_revision, str(copy)) == (2, str(error))


def test_the_drawing_shows_the_whole_tree() -> None:
    def below(kind: type[memlane.MemlaneError]) -> set[str]:
        return {kind.__name__}.union(*(below(sub) for sub in kind.__subclasses__()))

    drawn = set(
        re.findall(r"^[ │├└─]*([A-Z]\w+)", (errors.__doc__ or "").split("Reasons are")[0], re.MULTILINE)
    )
    assert below(memlane.MemlaneError) == drawn - {"Every"}
