"""Bad input for every field of every RPC: a clear INVALID_ARGUMENT that names the field, and nothing written."""

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from memlane.v1 import (
    compliance_service_pb2 as compliance,
)
from memlane.v1 import (
    consistency_pb2,
    memory_pb2,
)
from memlane.v1 import (
    context_service_pb2 as context,
)
from memlane.v1 import (
    knowledge_service_pb2 as knowledge,
)
from memlane.v1 import (
    memory_service_pb2 as memory,
)
from memlane.v1 import (
    rule_service_pb2 as rules,
)
from memlane.v1 import (
    session_service_pb2 as session,
)

USER = "careful-user"
F32 = struct.pack("<512f", *([0.1] * 512))
LONG_USER = "中" * 21 + "ab"  # 65 bytes
LONG_TEXT = "中" * 682 + "abc"  # 2049 bytes


@dataclass(frozen=True)
class Bad:
    """A request that is right but for one field."""

    rpc: str
    field: str
    request: Message
    what: str

    def __str__(self) -> str:
        return f"{self.rpc}-{self.field}-{self.what}"


def with_user(rpc: str, make: Callable[[str], Message]) -> Iterator[Bad]:
    for what, user_id in (
        ("empty", ""),
        ("blank", " \t"),
        ("reserved", "global"),
        ("too long by a byte", LONG_USER),
        ("NUL", "a\0b"),
    ):
        yield Bad(rpc, "user_id", make(user_id), what)


def remember(user_id: str = USER, **parts: Any) -> memory.RememberRequest:
    parts = parts or {"facts": memory_pb2.FactList(facts=[memory_pb2.Fact(content="User drinks tea")])}
    return memory.RememberRequest(user_id=user_id, **parts)


def facts(*contents: str) -> memory_pb2.FactList:
    return memory_pb2.FactList(facts=[memory_pb2.Fact(content=c) for c in contents])


def said(content: str, role: Any = memory_pb2.ROLE_USER, **parts: Any) -> memory_pb2.Message:
    return memory_pb2.Message(role=role, content=content, **parts)


def conversation(*messages: memory_pb2.Message) -> memory_pb2.Conversation:
    return memory_pb2.Conversation(messages=messages)


def create(user_id: str = USER, content: str = "User drinks tea", **parts: Any) -> memory.CreateMemoryRequest:
    return memory.CreateMemoryRequest(user_id=user_id, content=content, **parts)


def ttl(request: Any, seconds: int, nanos: int = 0) -> Message:
    request.ttl.seconds = seconds
    request.ttl.nanos = nanos
    return request  # type: ignore[no-any-return]


def search(user_id: str = USER, **parts: Any) -> memory.SearchMemoriesRequest:
    parts = parts or {"query": "tea"}
    return memory.SearchMemoriesRequest(user_id=user_id, **parts)


def f32(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def bad_searches() -> Iterator[Bad]:
    rpc = "MemoryService/SearchMemories"
    yield from with_user(rpc, search)
    yield Bad(rpc, "input", memory.SearchMemoriesRequest(user_id=USER), "missing")
    yield Bad(rpc, "query", search(query=""), "empty")
    yield Bad(rpc, "query", search(query="  "), "blank")
    yield Bad(rpc, "query", search(query="中" * 2731), "too long by a byte")
    yield Bad(rpc, "embedding_f32", search(embedding_f32=b""), "empty")
    yield Bad(rpc, "embedding_f32", search(embedding_f32=F32[:-4]), "wrong size")
    yield Bad(rpc, "embedding_f32", search(embedding_f32=F32[:-1]), "not whole floats")
    yield Bad(rpc, "embedding_f32", search(embedding_f32=f32(math.nan) + F32[4:]), "NaN")
    yield Bad(rpc, "embedding_f32", search(embedding_f32=f32(math.inf) + F32[4:]), "infinite")
    yield Bad(rpc, "embedding_f32", search(embedding_f32=bytes(2048)), "zero")
    yield Bad(rpc, "embedding", search(embedding=memory_pb2.Embedding()), "empty")
    yield Bad(rpc, "embedding", search(embedding=memory_pb2.Embedding(values=[0.1] * 511)), "wrong size")
    yield Bad(rpc, "embedding", search(embedding=memory_pb2.Embedding(values=[math.nan] * 512)), "NaN")
    yield Bad(rpc, "top_k", search(query="tea", top_k=-1), "negative")
    yield Bad(rpc, "top_k", search(query="tea", top_k=101), "huge")
    yield Bad(rpc, "min_score", search(query="tea", min_score=math.nan), "NaN")
    token = consistency_pb2.ConsistencyToken(token="made up")
    yield Bad(
        rpc,
        "consistency",
        search(query="tea", consistency=consistency_pb2.Consistency(at_least_as_fresh=token)),
        "foreign token",
    )


def bad_writes() -> Iterator[Bad]:
    rpc = "MemoryService/Remember"
    yield from with_user(rpc, remember)
    yield Bad(rpc, "source", memory.RememberRequest(user_id=USER), "missing")
    yield Bad(rpc, "facts", remember(facts=memory_pb2.FactList()), "empty")
    yield Bad(rpc, "facts.facts[1].content", remember(facts=facts("User drinks tea", "")), "empty")
    yield Bad(rpc, "facts.facts[0].content", remember(facts=facts(" ")), "blank")
    yield Bad(rpc, "facts.facts[0].content", remember(facts=facts(LONG_TEXT)), "too long by a byte")
    yield Bad(rpc, "facts", remember(facts=facts(*["User drinks tea"] * 101)), "too many")
    yield Bad(rpc, "conversation", remember(conversation=memory_pb2.Conversation()), "empty")
    yield Bad(rpc, "conversation.messages[0].content", remember(conversation=conversation(said(""))), "empty")
    yield Bad(
        rpc,
        "conversation.messages[0].role",
        remember(conversation=conversation(said("tea", memory_pb2.ROLE_UNSPECIFIED))),
        "missing",
    )
    yield Bad(
        rpc,
        "conversation.messages[0].role",
        remember(conversation=conversation(said("tea", 99))),
        "unknown enum",
    )
    yield Bad(
        rpc,
        "conversation.messages[0].time_zone",
        remember(conversation=conversation(said("tea", time_zone="Mars/Base"))),
        "unknown zone",
    )
    yield Bad(rpc, "mode", remember(facts=facts("User drinks tea"), mode=99), "unknown enum")
    yield Bad(rpc, "request_id", remember(facts=facts("User drinks tea"), request_id="中" * 43), "too long")
    rpc = "MemoryService/CreateMemory"
    yield from with_user(rpc, create)
    yield Bad(rpc, "content", create(content=""), "empty")
    yield Bad(rpc, "content", create(content="\n"), "blank")
    yield Bad(rpc, "content", create(content=LONG_TEXT), "too long by a byte")
    yield Bad(rpc, "ttl", ttl(create(), 0), "zero")
    yield Bad(rpc, "ttl", ttl(create(), -5), "negative")
    yield Bad(rpc, "ttl", ttl(create(), 10**12), "huge")
    yield Bad(rpc, "metadata", create(metadata={"user_id": "bob"}), "reserved key")
    yield Bad(rpc, "metadata", create(metadata={"k" * 65: "v"}), "long key")
    yield Bad(rpc, "metadata", create(metadata={"k": "中" * 342}), "long value")
    yield Bad(rpc, "metadata", create(metadata={f"k{n}": "v" for n in range(33)}), "too many")
    yield Bad(rpc, "metadata", create(metadata={"": "v"}), "empty key")
    yield Bad(rpc, "reason", create(reason="中" * 342), "too long")
    rpc = "MemoryService/UpdateMemory"
    yield from with_user(
        rpc, lambda u: memory.UpdateMemoryRequest(user_id=u, memory_id="m", content="User drinks tea")
    )
    update = memory.UpdateMemoryRequest
    yield Bad(rpc, "memory_id", update(user_id=USER, content="x"), "empty")
    yield Bad(rpc, "memory_id", update(user_id=USER, memory_id="中" * 22, content="x"), "too long")
    yield Bad(rpc, "content", update(user_id=USER, memory_id="m", content=LONG_TEXT), "too long by a byte")
    yield Bad(rpc, "revision", update(user_id=USER, memory_id="m", content="x", revision=-1), "negative")
    yield Bad(rpc, "ttl", ttl(update(user_id=USER, memory_id="m"), -1), "negative")
    rpc = "MemoryService/DeleteMemory"
    yield from with_user(rpc, lambda u: memory.DeleteMemoryRequest(user_id=u, memory_id="m"))
    yield Bad(rpc, "memory_id", memory.DeleteMemoryRequest(user_id=USER), "empty")
    yield Bad(
        rpc, "revision", memory.DeleteMemoryRequest(user_id=USER, memory_id="m", revision=-1), "negative"
    )


def bad_reads() -> Iterator[Bad]:
    yield from with_user(
        "MemoryService/GetMemory", lambda u: memory.GetMemoryRequest(user_id=u, memory_id="m")
    )
    yield Bad("MemoryService/GetMemory", "memory_id", memory.GetMemoryRequest(user_id=USER), "empty")
    rpc = "MemoryService/ListMemories"
    yield from with_user(rpc, lambda u: memory.ListMemoriesRequest(user_id=u))
    yield Bad(rpc, "page_size", memory.ListMemoriesRequest(user_id=USER, page_size=-1), "negative")
    yield Bad(rpc, "page_token", memory.ListMemoriesRequest(user_id=USER, page_token="?"), "not ours")
    yield Bad(rpc, "order", memory.ListMemoriesRequest(user_id=USER, order=77), "unknown enum")
    yield Bad(rpc, "memory_type", memory.ListMemoriesRequest(user_id=USER, memory_type=77), "unknown enum")
    rpc = "MemoryService/ListMemoryRevisions"
    yield from with_user(rpc, lambda u: memory.ListMemoryRevisionsRequest(user_id=u, memory_id="m"))
    yield Bad(rpc, "memory_id", memory.ListMemoryRevisionsRequest(user_id=USER), "empty")
    rpc = "MemoryService/GetIngestion"
    yield from with_user(rpc, lambda u: memory.GetIngestionRequest(user_id=u, ingestion_id="i"))
    yield Bad(rpc, "ingestion_id", memory.GetIngestionRequest(user_id=USER), "empty")
    yield from with_user("MemoryService/ListIngestions", lambda u: memory.ListIngestionsRequest(user_id=u))
    yield from with_user(
        "MemoryService/RetryIngestion", lambda u: memory.RetryIngestionRequest(user_id=u, ingestion_id="i")
    )
    rpc = "SessionService/AppendMessages"
    yield from with_user(
        rpc, lambda u: session.AppendMessagesRequest(user_id=u, session_id="s", messages=[said("tea")])
    )
    append = session.AppendMessagesRequest
    yield Bad(rpc, "session_id", append(user_id=USER, messages=[said("tea")]), "empty")
    yield Bad(
        rpc, "session_id", append(user_id=USER, session_id="中" * 43, messages=[said("tea")]), "too long"
    )
    yield Bad(rpc, "messages", append(user_id=USER, session_id="s"), "empty")
    yield Bad(
        rpc,
        "messages[0].content",
        append(user_id=USER, session_id="s", messages=[said("中" * 10923)]),
        "too long by a byte",
    )
    yield from with_user(
        "SessionService/GetWindow", lambda u: session.GetWindowRequest(user_id=u, session_id="s")
    )
    yield Bad(
        "SessionService/GetWindow",
        "max_rounds",
        session.GetWindowRequest(user_id=USER, session_id="s", max_rounds=-1),
        "negative",
    )
    yield from with_user(
        "SessionService/EndSession", lambda u: session.EndSessionRequest(user_id=u, session_id="s")
    )
    rpc = "ContextService/BuildContext"
    yield from with_user(rpc, lambda u: context.BuildContextRequest(user_id=u, query="tea"))
    build = context.BuildContextRequest
    yield Bad(rpc, "budget_tokens", build(user_id=USER, query="tea", budget_tokens=-1), "negative")
    yield Bad(rpc, "budget_tokens", build(user_id=USER, query="tea", budget_tokens=10**7), "huge")
    yield Bad(rpc, "top_k", build(user_id=USER, query="tea", top_k=-1), "negative")
    yield Bad(rpc, "language", build(user_id=USER, query="tea", language=9), "unknown enum")
    yield Bad(rpc, "embedding_f32", build(user_id=USER, embedding_f32=F32[:-4]), "wrong size")


def bad_rest() -> Iterator[Bad]:
    rpc = "KnowledgeService/UpsertKnowledge"
    upsert = knowledge.UpsertKnowledgeRequest
    yield Bad(rpc, "content", upsert(knowledge_id="k"), "empty")
    yield Bad(rpc, "content", upsert(knowledge_id="k", content=LONG_TEXT), "too long by a byte")
    yield Bad(rpc, "knowledge_id", upsert(knowledge_id="中" * 22, content="x"), "too long")
    yield Bad(rpc, "ttl", ttl(upsert(knowledge_id="k", content="x"), -1), "negative")
    yield Bad(
        rpc, "metadata", upsert(knowledge_id="k", content="x", metadata={"user_id": "x"}), "reserved key"
    )
    yield Bad("KnowledgeService/GetKnowledge", "knowledge_id", knowledge.GetKnowledgeRequest(), "empty")
    yield Bad("KnowledgeService/DeleteKnowledge", "knowledge_id", knowledge.DeleteKnowledgeRequest(), "empty")
    yield Bad(
        "KnowledgeService/ListKnowledge",
        "page_size",
        knowledge.ListKnowledgeRequest(page_size=-1),
        "negative",
    )
    yield Bad(
        "KnowledgeService/SearchKnowledge",
        "top_k",
        knowledge.SearchKnowledgeRequest(query="x", top_k=-1),
        "negative",
    )
    yield Bad(
        "KnowledgeService/SearchKnowledge", "query", knowledge.SearchKnowledgeRequest(query=" "), "blank"
    )
    yield Bad("RuleService/PutRules", "source", rules.PutRulesRequest(), "missing")
    yield Bad("RuleService/PutRules", "text", rules.PutRulesRequest(text="中" * 21846), "too long")
    yield Bad("RuleService/PutRules", "revision", rules.PutRulesRequest(text="x", revision=-1), "negative")
    yield Bad("RuleService/GetRules", "revision", rules.GetRulesRequest(revision=-1), "negative")
    yield Bad(
        "RuleService/ListRuleRevisions", "page_size", rules.ListRuleRevisionsRequest(page_size=-1), "negative"
    )
    rpc = "ComplianceService/ForgetUser"
    yield from with_user(rpc, lambda u: compliance.ForgetUserRequest(user_id=u, operator="o", reason="r"))
    yield Bad(rpc, "operator", compliance.ForgetUserRequest(user_id=USER, reason="r"), "empty")
    yield Bad(rpc, "reason", compliance.ForgetUserRequest(user_id=USER, operator="o"), "empty")
    yield Bad(
        rpc, "reason", compliance.ForgetUserRequest(user_id=USER, operator="o", reason="中" * 342), "too long"
    )
    rpc = "ComplianceService/SetLegalHold"
    yield from with_user(
        rpc, lambda u: compliance.SetLegalHoldRequest(user_id=u, active=True, operator="o", reason="r")
    )
    yield from with_user(
        "ComplianceService/GetLegalHold", lambda u: compliance.GetLegalHoldRequest(user_id=u)
    )
    rpc = "ComplianceService/ListAuditEvents"
    yield Bad(rpc, "user_id", compliance.ListAuditEventsRequest(user_id=""), "empty")
    yield Bad(rpc, "page_size", compliance.ListAuditEventsRequest(page_size=-1), "negative")
    yield Bad(rpc, "page_token", compliance.ListAuditEventsRequest(page_token="?"), "not ours")
    yield Bad(
        "ComplianceService/PurgeExpired", "operator", compliance.PurgeExpiredRequest(reason="r"), "empty"
    )


CASES = [*bad_searches(), *bad_writes(), *bad_reads(), *bad_rest()]


def call(channel: grpc.Channel, rpc: str, body: bytes) -> bytes:
    return channel.unary_unary(f"/memlane.v1.{rpc}", lambda b: b, lambda b: b)(body, timeout=20)  # type: ignore[no-any-return]


def details(error: grpc.RpcError) -> tuple[error_details_pb2.ErrorInfo, error_details_pb2.BadRequest]:
    status = status_pb2.Status()
    status.ParseFromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for packed in status.details:
        packed.Unpack(info)
        packed.Unpack(bad)
    return info, bad


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_bad_field_is_named(channel: grpc.Channel, case: Bad) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, case.rpc, case.request.SerializeToString())
    error = refused.value
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT, error.details()
    info, bad = details(error)
    assert info.reason == "ERROR_REASON_INVALID_FIELD" or info.reason == "INVALID_FIELD"
    fields = [v.field for v in bad.field_violations]
    assert any(f.startswith(case.field) for f in fields), fields
    assert all(v.description for v in bad.field_violations)


def test_nothing_was_written(channel: grpc.Channel) -> None:
    for case in CASES:
        with pytest.raises(grpc.RpcError):
            call(channel, case.rpc, case.request.SerializeToString())
    answer = call(
        channel, "MemoryService/ListMemories", memory.ListMemoriesRequest(user_id=USER).SerializeToString()
    )
    assert not memory.ListMemoriesResponse.FromString(answer).memories


def test_all_violations_are_told_at_once(channel: grpc.Channel) -> None:
    request = create("", "", metadata={"ttl": "x"})
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, "MemoryService/CreateMemory", request.SerializeToString())
    _, bad = details(refused.value)
    assert {v.field.split(".")[0].split("[")[0] for v in bad.field_violations} == {
        "user_id",
        "content",
        "metadata",
    }


@pytest.mark.parametrize("field", [1, 2])
def test_invalid_utf8_is_refused(channel: grpc.Channel, field: int) -> None:
    good = {1: b"careful-user", 2: b"User drinks tea"}
    body = b"".join(
        bytes([n << 3 | 2, len(value)]) + value for n, value in (good | {field: b"\xff\xfe\xfa"}).items()
    )
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, "MemoryService/CreateMemory", body)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_garbage_is_refused(channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, "MemoryService/CreateMemory", b"\x0a\xff\xff\xff\xff\x0f")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_B44_a_huge_message_is_refused_before_any_work(channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, "MemoryService/CreateMemory", create(content="a" * 5 * 2**20).SerializeToString())
    assert refused.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)
    with pytest.raises(grpc.RpcError) as refused:
        call(channel, "MemoryService/CreateMemory", create(content="a" * 2 * 2**20).SerializeToString())
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
