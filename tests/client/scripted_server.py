"""A memlane server that answers by a script: over a real socket, and remembers every request."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2, status_pb2

from memlane.v1 import (
    compliance_service_pb2,
    context_service_pb2,
    diagnostics_service_pb2,
    knowledge_service_pb2,
    memory_service_pb2,
    rule_service_pb2,
    session_service_pb2,
)

MODULES: tuple[Any, ...] = (
    memory_service_pb2,
    session_service_pb2,
    context_service_pb2,
    knowledge_service_pb2,
    rule_service_pb2,
    compliance_service_pb2,
    diagnostics_service_pb2,
)
RPCS: Mapping[str, MethodDescriptor] = {
    rpc.name: rpc
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for rpc in service.methods
}
Step = Callable[[Any, grpc.ServicerContext], Any]
"""From a request and the call's context to a response, or to the responses of a stream."""


@dataclass
class Seen:
    """One request as it arrived."""

    rpc: str
    request: Any
    metadata: Mapping[str, str | bytes]
    seconds_left: float | None
    """Of its deadline; None = it had none."""


@dataclass
class ScriptedServer:
    """`script[rpc]` holds what to do with the next calls of an RPC, one step each; then comes the empty answer."""

    credentials: grpc.ServerCredentials | None = None
    script: dict[str, deque[Step]] = field(default_factory=lambda: defaultdict(deque))
    seen: list[Seen] = field(default_factory=list)
    target: str = ""

    def start(self) -> "ScriptedServer":
        self._server = grpc.server(ThreadPoolExecutor(8), handlers=[_Handlers(self)])
        if self.credentials is None:
            port = self._server.add_insecure_port("127.0.0.1:0")
        else:
            port = self._server.add_secure_port("127.0.0.1:0", self.credentials)
        self.target = f"127.0.0.1:{port}"
        self._server.start()
        return self

    def stop(self) -> None:
        self._server.stop(0).wait()

    def then(self, rpc: str, *steps: Step) -> None:
        self.script[rpc].extend(steps)

    def requests(self, rpc: str) -> list[Any]:
        return [call.request for call in self.seen if call.rpc == rpc]


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, server: ScriptedServer) -> None:
        self._scripted = server

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        rpc = RPCS.get(handler_call_details.method.rpartition("/")[2])
        if rpc is None:
            return None
        coding = {
            "request_deserializer": GetMessageClass(rpc.input_type).FromString,
            "response_serializer": GetMessageClass(rpc.output_type).SerializeToString,
        }
        if rpc.client_streaming:
            return grpc.stream_stream_rpc_method_handler(self._bidi(rpc), **coding)
        if rpc.server_streaming:
            return grpc.unary_stream_rpc_method_handler(self._streaming(rpc), **coding)
        return grpc.unary_unary_rpc_method_handler(self._unary(rpc), **coding)

    def _note(self, rpc: MethodDescriptor, request: Any, context: grpc.ServicerContext) -> Step:
        metadata = dict(context.invocation_metadata())
        left = context.time_remaining()
        # A call without a deadline is told as one of many years.
        self._scripted.seen.append(
            Seen(rpc.name, request, metadata, None if left is None or left > 1e8 else left)
        )
        steps = self._scripted.script[rpc.name]
        return steps.popleft() if steps else _empty(rpc)

    def _unary(self, rpc: MethodDescriptor) -> Any:
        return lambda request, context: self._note(rpc, request, context)(request, context)

    def _streaming(self, rpc: MethodDescriptor) -> Any:
        def run(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            yield from self._note(rpc, request, context)(request, context)

        return run

    def _bidi(self, rpc: MethodDescriptor) -> Any:
        def run(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            for request in requests:
                yield self._note(rpc, request, context)(request, context)

        return run


def _empty(rpc: MethodDescriptor) -> Step:
    answer = GetMessageClass(rpc.output_type)()
    streamed = rpc.server_streaming and not rpc.client_streaming
    return lambda request, context: [] if streamed else answer


def answer(message: Any) -> Step:
    """A canned answer: a message, or a list of messages for a stream."""
    return lambda request, context: message


def failure(
    code: grpc.StatusCode,
    reason: str = "",
    message: str = "told by the script",
    *,
    metadata: Mapping[str, str] | None = None,
    violations: Mapping[str, str] | None = None,
    retry_after: timedelta | None = None,
    after: Iterable[Message] = (),
) -> Step:
    """An error with details as the server sends them; in a stream after the messages `after`."""
    details: list[Message] = []
    if reason:
        details.append(error_details_pb2.ErrorInfo(reason=reason, domain="memlane.io", metadata=metadata))
    if violations:
        fields = [
            error_details_pb2.BadRequest.FieldViolation(field=f, description=d) for f, d in violations.items()
        ]
        details.append(error_details_pb2.BadRequest(field_violations=fields))
    if retry_after is not None:
        delay = Duration()
        delay.FromTimedelta(retry_after)
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    status = status_pb2.Status(code=code.value[0], message=message, details=[_packed(d) for d in details])

    def step(request: Any, context: grpc.ServicerContext) -> Any:
        if details:
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        if after:
            return _then_abort(after, context, code, message)
        return context.abort(code, message)

    return step


def _then_abort(
    messages: Iterable[Message], context: grpc.ServicerContext, code: grpc.StatusCode, message: str
) -> Iterator[Message]:
    yield from messages
    context.abort(code, message)


def unavailable(reason: str = "UNAVAILABLE") -> Step:
    return failure(grpc.StatusCode.UNAVAILABLE, reason)


def hang(request: Any, context: grpc.ServicerContext) -> Any:
    """No answer until the client gives up."""
    ended = threading.Event()
    if context.add_callback(ended.set):
        ended.wait()
    context.abort(grpc.StatusCode.CANCELLED, "the client gave up")


def _packed(message: Message) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(message)
    return packed
