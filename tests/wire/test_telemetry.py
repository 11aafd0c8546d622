"""What a whole server tells of itself: metrics, probes and traces with names and numbers, and nothing that was said."""

import base64
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from memlane.v1 import (
    context_service_pb2,
    context_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)
from memlane_server.auth import AuthSettings, issuing
from memlane_server.health import SERVICES
from memlane_server.principal import Principal
from tests.cases.model_server_fixture import model, settings
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess
from tests.support.openai_stub import Chat, Embeddings, OpenAIStub, Raw, Status
from tests.support.otlp_receiver import OtlpReceiver, attributes, otlp_receiver
from tests.support.ports import free_port

SECRET = "a-development-secret-ZQ7SECRETZQ-of-enough-length"
API_KEY = "sk-ZQ7APIKEYZQ"
USER = "客户ZQ7USERZQ"
SAID = ("用户喜欢喝ZQ7龙井茶ZQ", "The user repays ZQ7ENGLISHZQ on the 15th")
MARKERS = (
    "ZQ7SECRETZQ", "ZQ7APIKEYZQ", "ZQ7USERZQ", "ZQ7龙井茶ZQ", "ZQ7ENGLISHZQ", "ZQ7QUERYZQ", "ZQ7汉字ZQ",
    "ZQ7FIELDZQ", "ZQ7MODELZQ", "ZQ7TOKENZQ", "ZQ7ANSWERZQ",
)  # fmt: skip
"""Of a memory, a query, a user id, a secret, a key, every string field of every request, what a model says."""
TRACE_ID, PARENT_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@dataclass
class Observed:
    server: ServerProcess
    stub: OpenAIStub
    receiver: OtlpReceiver
    metrics_port: int

    def page(self, path: str = "/metrics") -> str:
        url = f"http://127.0.0.1:{self.metrics_port}{path}"
        body: bytes = urllib.request.urlopen(url, timeout=10).read()
        return body.decode()

    def value(self, series: str) -> float:
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.page(), re.MULTILINE)
        assert found, f"no {series}"
        return float(found[1])


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    port = free_port()
    with OpenAIStub() as stub, otlp_receiver() as receiver:
        stub.chat.default = model()
        stub.embeddings.default = Embeddings()
        given = settings(stub, tmp_path_factory.mktemp("clock") / "offset") | {
            "MEMLANE_CHAT__API_KEY": API_KEY,
            "MEMLANE_EMBEDDING__API_KEY": API_KEY,
            "MEMLANE_AUTH__HS256_SECRET": SECRET,
            "MEMLANE_METRICS__PORT": str(port),
            "MEMLANE_METRICS__TENANT_LABEL": "true",
            "MEMLANE_TRACING__ENDPOINT": receiver.endpoint,
            "MEMLANE_TRACING__HEADERS": '{"x-collector-token": "ZQ7TOKENZQ"}',
            "MEMLANE_TRACING__SAMPLE_RATIO": "0",
            "MEMLANE_LOG__LEVEL": "debug",
            "MEMLANE_LOG__FORMAT": "json",
            # Exported while the test waits, not only at the end.
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        with running_forked_server(tmp_path_factory.mktemp("memlane") / "data", given) as server:
            yield Observed(server, stub, receiver, port)


@pytest.fixture(scope="module")
def channel(observed: Observed) -> Iterator[grpc.Channel]:
    with observed.server.channel() as channel:
        yield channel


def metadata(*, trace: bool = True, token: str = "", span_id: str = PARENT_ID) -> tuple[tuple[str, str], ...]:
    if not token:
        principal = Principal("bank", "svc-assistant")
        auth = AuthSettings.model_validate({"hs256_secret": SECRET})
        token = issuing.sign(issuing.claims_of(principal, auth, 600), SECRET)
    flag = "01" if trace else "00"
    return (("authorization", f"Bearer {token}"), ("traceparent", f"00-{TRACE_ID}-{span_id}-{flag}"))


def remember(channel: grpc.Channel, user_id: str, *texts: str) -> Any:
    request = memory_service_pb2.RememberRequest(user_id=user_id)
    for text in texts:
        request.conversation.messages.add(role=memory_pb2.ROLE_USER, content=text)
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    return stub.Remember(request, metadata=metadata(), timeout=30)


def test_a_remember_can_be_followed_through_all_its_parts(observed: Observed, channel: grpc.Channel) -> None:
    answer = remember(channel, "跟踪-1", *SAID)
    assert len(answer.operations) == 2
    root = observed.receiver.wait_for("memlane.v1.MemoryService/Remember")
    assert (root.trace_id.hex(), root.parent_span_id.hex()) == (TRACE_ID, PARENT_ID)
    assert attributes(root) == {
        "rpc.system": "grpc",
        "rpc.service": "memlane.v1.MemoryService",
        "rpc.method": "Remember",
        "rpc.response.status_code": "OK",
    }
    spans = {s.span_id: s for s in observed.receiver.spans()}
    names = {s.name for s in spans.values() if s.trace_id == root.trace_id}
    assert {"extract", "decide", "embed", "journal.append", "store.upsert"} <= names
    chat = observed.receiver.wait_for("chat scripted")
    assert spans[chat.parent_span_id].name in {"extract", "decide"}
    shown = attributes(chat)
    assert shown | {"server.address": "", "server.port": 0} == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted",
        "gen_ai.response.model": "scripted",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.response.finish_reasons": ("stop",),
        "server.address": "",
        "server.port": 0,
    }
    embedding = observed.receiver.wait_for("embeddings text-embedding-3-small")
    assert attributes(embedding)["gen_ai.operation.name"] == "embeddings"
    assert observed.receiver.headers["x-collector-token"] == "ZQ7TOKENZQ"


def test_who_did_not_sample_gets_no_spans(observed: Observed, channel: grpc.Channel) -> None:
    stub = memory_service_pb2_grpc.MemoryServiceStub(channel)
    request = memory_service_pb2.GetMemoryRequest(user_id="跟踪-1", memory_id="none")
    for with_trace in (False, True):
        with pytest.raises(grpc.RpcError):
            stub.GetMemory(request, metadata=metadata(trace=with_trace, span_id="1" * 16), timeout=10)
    span = observed.receiver.wait_for("memlane.v1.MemoryService/GetMemory")
    assert attributes(span)["rpc.response.status_code"] == "NOT_FOUND"
    assert span.status.code == 0, "the caller's mistake is no fault of the server"
    assert sum(s.name == span.name for s in observed.receiver.spans()) == 1


def test_a_failing_model_shows_in_trace_and_metrics(observed: Observed, channel: grpc.Channel) -> None:
    observed.stub.chat.will(Raw(b"ZQ7MODELZQ", "text/plain"), *(Status(401, "ZQ7MODELZQ") for _ in range(4)))
    with pytest.raises(grpc.RpcError):
        remember(channel, "跟踪-2", *SAID)
    observed.stub.chat.clear()
    observed.stub.chat.default = model()
    assert observed.value('memlane_model_seconds_count{operation="chat",outcome="MODEL_UNAVAILABLE"}') >= 1

    def failed() -> bool:
        kinds = [
            attributes(s).get("error.type") for s in observed.receiver.spans() if s.name == "chat scripted"
        ]
        return "MODEL_UNAVAILABLE" in kinds

    deadline = time.monotonic() + 20
    while not failed():
        assert time.monotonic() < deadline, "no failed span came"
        time.sleep(0.05)


def test_metrics_tell_of_calls_stages_and_tenants(observed: Observed, channel: grpc.Channel) -> None:
    remember(channel, "指标-1", *SAID)
    page = observed.page()
    for series in (
        'memlane_rpc_seconds_bucket{code="OK",le="0.0001",method="MemoryService/Remember"}',
        'memlane_stage_seconds_count{stage="extract"}',
        'memlane_stage_seconds_count{stage="decide"}',
        'memlane_stage_seconds_count{stage="embed"}',
        'memlane_stage_seconds_count{stage="journal"}',
        'memlane_stage_seconds_count{stage="store"}',
        'memlane_model_tokens_total{direction="input",operation="chat"}',
        'memlane_operations_total{action="ADD",decider="MODEL"}',
        'memlane_calls_in_flight{lane="slow"}',
        'memlane_calls_limit{lane="fast"}',
        'memlane_tenant_calls_total{kind="model_calls",tenant="bank"}',
        "memlane_event_loop_lag_seconds_count",
        "memlane_ingestions_waiting",
        "memlane_ingestions_oldest_seconds",
        "memlane_query_cache_hits_total",
        "memlane_index_bytes",
        "memlane_index_evictions_total",
        "memlane_io_waiting",
        "memlane_limit_users",
        "memlane_store_up",
        "process_resident_memory_bytes",
    ):
        assert f"\n{series} " in page, series
    assert 'memlane_build_info{embedder="text-embedding-3-small' in page
    for stage in ("extract", "decide", "embed", "journal", "store"):
        assert observed.value(f'memlane_stage_seconds_count{{stage="{stage}"}}') > 0


def test_probes_answer_beside_grpc_health(observed: Observed) -> None:
    assert observed.page("/livez") == "ok\n"
    assert observed.page("/readyz") == "ok\n"
    with pytest.raises(urllib.error.HTTPError) as caught:
        observed.page("/else")
    assert caught.value.code == 404


def test_nothing_that_was_said_gets_out(observed: Observed, channel: grpc.Channel) -> None:
    """Every RPC with markers in each of its strings, most of them refused somewhere; the happy way of those that hold
    content; credentials that are wrong; a model that says markers in answers, errors and nonsense."""
    memories = memory_service_pb2_grpc.MemoryServiceStub(channel)
    good = metadata()
    remember(channel, USER, *SAID)
    memories.CreateMemory(
        memory_service_pb2.CreateMemoryRequest(user_id=USER, content=SAID[0], metadata={"k": "ZQ7FIELDZQ"}),
        metadata=good,
    )
    found = memories.SearchMemories(
        memory_service_pb2.SearchMemoriesRequest(user_id=USER, query="ZQ7QUERYZQ ZQ7汉字ZQ"), metadata=good
    )
    assert SAID[0] in [r.memory.content for r in found.results]
    session_service_pb2_grpc.SessionServiceStub(channel).AppendMessages(
        session_service_pb2.AppendMessagesRequest(
            user_id=USER,
            session_id="ZQ7FIELDZQ",
            messages=[memory_pb2.Message(role=memory_pb2.ROLE_USER, content=SAID[1])],
        ),
        metadata=good,
    )
    chat = context_service_pb2.ChatRequest(user_id=USER, session_id="ZQ7FIELDZQ")
    chat.message.role, chat.message.content = memory_pb2.ROLE_USER, "ZQ7QUERYZQ"
    contexts = context_service_pb2_grpc.ContextServiceStub(channel)
    observed.stub.chat.will(
        Chat("ZQ7ANSWERZQ"), Status(500, "ZQ7MODELZQ", error_code="ZQ7MODELZQ"), Raw(b"ZQ7MODELZQ")
    )
    assert "ZQ7ANSWERZQ" in "".join(answer.delta for answer in contexts.Chat(chat, metadata=good, timeout=30))
    observed.stub.embeddings.will(*(Status(400, "ZQ7MODELZQ") for _ in range(3)))
    outcomes: dict[str, set[str]] = {}
    for credential in (good, metadata(token="ZQ7TOKENZQ"), metadata(token=f"{good[0][1][7:]}ZQ7TOKENZQ")):
        for service in SERVICES.values():
            for method in service.methods:
                code = _ask(channel, method, _filled(method), credential)
                outcomes.setdefault(method.name, set()).add(code)
                _ask(channel, method, b"\x0a\x0aZQ7FIELDZQ\xff", credential)
    assert all("UNAUTHENTICATED" in codes and len(codes) > 1 for codes in outcomes.values()), outcomes
    page = observed.page()
    assert observed.server.terminate() == 0, "so that every span is exported"
    # Logs also as JSON escapes, spans as the bytes that came.
    told = observed.server.log.read_text() + page
    told += told.encode().decode("unicode_escape", "replace")
    exported = b"".join(observed.receiver.bodies)
    assert len(observed.receiver.spans()) > 100 and "server.serve" in told
    for marker in MARKERS:
        for form in (marker, json.dumps(marker)[1:-1], base64.b64encode(marker.encode()).decode()[:-4]):
            assert form not in told, marker
            assert form.encode() not in exported, marker


def _ask(channel: grpc.Channel, method: MethodDescriptor, raw: bytes, credential: Any) -> str:
    """Status of a call, by name."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    try:
        if method.client_streaming:
            list(channel.stream_stream(path)(iter([raw]), metadata=credential, timeout=30))
        elif method.server_streaming:
            list(channel.unary_stream(path)(raw, metadata=credential, timeout=30))
        else:
            channel.unary_unary(path)(raw, metadata=credential, timeout=30)
    except grpc.RpcError as error:
        name: str = error.code().name
        return name
    return "OK"


def _filled(method: MethodDescriptor) -> bytes:
    """A request whose every string is a marker; the user exists."""
    message: Message = GetMessageClass(method.input_type)()
    _fill(message, depth=0)
    return message.SerializeToString()


def _fill(message: Any, depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            getattr(message, field.name)["ZQ7FIELDZQ"] = "ZQ7FIELDZQ"
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            if field.message_type.full_name.startswith("memlane.") and depth < 4:
                inner = getattr(message, field.name)
                _fill(inner.add() if field.is_repeated else inner, depth + 1)
        elif field.type == FieldDescriptor.TYPE_STRING:
            value = USER if field.name == "user_id" else f"ZQ7FIELDZQ {SAID[0]}"
            if field.is_repeated:
                getattr(message, field.name).append(value)
            else:
                setattr(message, field.name, value)
