"""Each RPC answers for real. One that has no test here fails `test_every_rpc_has_a_test`."""

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from memlane.v1 import (
    compliance_service_pb2 as compliance,
)
from memlane.v1 import (
    compliance_service_pb2_grpc,
    consistency_pb2,
    context_service_pb2_grpc,
    diagnostics_service_pb2_grpc,
    knowledge_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2_grpc,
    rule_service_pb2_grpc,
    session_service_pb2_grpc,
)
from memlane.v1 import (
    context_service_pb2 as context,
)
from memlane.v1 import (
    diagnostics_service_pb2 as diagnostics,
)
from memlane.v1 import (
    knowledge_service_pb2 as knowledge,
)
from memlane.v1 import (
    memory_service_pb2 as memory,
)
from memlane.v1 import (
    rule_service_pb2 as rule,
)
from memlane.v1 import (
    session_service_pb2 as session,
)
from tests.support.refusals import refused

_MODULES = (memory, session, context, knowledge, rule, compliance, diagnostics)
RPCS = frozenset(
    f"{service.name}/{method.name}"
    for module in _MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
_tested: set[str] = set()
_called_by: dict[str, tuple[str, ...]] = {}
_ORDER = {"operator": "auditor", "reason": "yearly review"}


def answers(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The RPCs that a test calls; that it does so is checked after it."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        assert not _tested & set(names)
        _tested.update(names)
        _called_by[test.__name__] = names
        return test

    return mark


class _Calls(
    grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor
):
    """Writes down which RPCs were called."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def _note(self, proceed: Any, details: Any, request: Any) -> Any:
        self.names.add(details.method.removeprefix("/memlane.v1."))
        return proceed(details, request)

    intercept_unary_unary = intercept_unary_stream = intercept_stream_stream = _note


class Stubs:
    def __init__(self, channel: grpc.Channel) -> None:
        self.memory = memory_service_pb2_grpc.MemoryServiceStub(channel)
        self.session = session_service_pb2_grpc.SessionServiceStub(channel)
        self.context = context_service_pb2_grpc.ContextServiceStub(channel)
        self.knowledge = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
        self.rule = rule_service_pb2_grpc.RuleServiceStub(channel)
        self.compliance = compliance_service_pb2_grpc.ComplianceServiceStub(channel)
        self.diagnostics = diagnostics_service_pb2_grpc.DiagnosticsServiceStub(channel)

    def create(self, user_id: str, content: str, **more: Any) -> memory_pb2.Memory:
        return self.memory.CreateMemory(
            memory.CreateMemoryRequest(user_id=user_id, content=content, **more)
        ).memory

    def say(self, user_id: str, session_id: str, *texts: str) -> session.AppendMessagesResponse:
        """Append user messages, each with an answer."""
        request = session.AppendMessagesRequest(user_id=user_id, session_id=session_id)
        for text in texts:
            request.messages.add(role=memory_pb2.ROLE_USER, content=text)
            request.messages.add(role=memory_pb2.ROLE_ASSISTANT, content="OK")
        return self.session.AppendMessages(request)


@pytest.fixture
def stubs(channel: grpc.Channel, request: pytest.FixtureRequest) -> Iterator[Stubs]:
    calls = _Calls()
    yield Stubs(grpc.intercept_channel(channel, calls))
    assert set(_called_by[request.function.__name__]) <= calls.names, "marked and not called"


@pytest.fixture
def user_id() -> str:
    return f"user-{uuid.uuid4().hex}"


def _pages(call: Callable[[Any], Any], request: Any, rows: str) -> list[list[Any]]:
    pages = []
    while True:
        answer = call(request)
        pages.append(list(getattr(answer, rows)))
        request.page_token = answer.next_page_token
        if not request.page_token:
            return pages


def test_every_rpc_has_a_test() -> None:
    assert _tested == RPCS


# --- MemoryService


@answers("MemoryService/Remember")
def test_remember(stubs: Stubs, user_id: str) -> None:
    def remember(*texts: str, **more: Any) -> list[memory_pb2.RememberOperation]:
        messages = [memory_pb2.Message(role=memory_pb2.ROLE_USER, content=t) for t in texts]
        request = memory.RememberRequest(
            user_id=user_id, conversation=memory_pb2.Conversation(messages=messages), **more
        )
        return list(stubs.memory.Remember(request).operations)

    dry = remember("我在招商银行工作，月收入两万元", validate_only=True)
    assert dry and all(not o.memory.memory_id for o in dry)
    assert not stubs.memory.ListMemories(memory.ListMemoriesRequest(user_id=user_id)).memories

    learned = remember("我们公司注册在开曼群岛", "My risk tolerance is low.")
    assert {o.action for o in learned} == {memory_pb2.ACTION_ADD}
    texts = " ".join(o.memory.content for o in learned)
    assert "开曼" in texts and "risk tolerance" in texts
    assert all(o.decider == memory_pb2.DECIDER_KIND_RULES and o.reason for o in learned)

    facts = memory_pb2.FactList(facts=[memory_pb2.Fact(content=learned[0].memory.content)])
    again = stubs.memory.Remember(memory.RememberRequest(user_id=user_id, facts=facts)).operations
    assert [o.action for o in again] == [memory_pb2.ACTION_NOOP]


@answers("MemoryService/GetIngestion", "MemoryService/ListIngestions", "MemoryService/RetryIngestion")
def test_ingestion(stubs: Stubs, user_id: str) -> None:
    facts = memory_pb2.FactList(facts=[memory_pb2.Fact(content="客户偏好短期理财产品")])
    taken = stubs.memory.Remember(
        memory.RememberRequest(user_id=user_id, facts=facts, mode=memory_pb2.REMEMBER_MODE_ASYNC)
    )
    wanted = memory.GetIngestionRequest(user_id=user_id, ingestion_id=taken.ingestion_id)
    deadline = time.monotonic() + 60
    while (found := stubs.memory.GetIngestion(wanted)).state in (
        memory.INGESTION_STATE_PENDING,
        memory.INGESTION_STATE_RUNNING,
    ):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert found.state == memory.INGESTION_STATE_SUCCEEDED
    assert [o.memory.content for o in found.operations] == ["客户偏好短期理财产品"]

    listed = stubs.memory.ListIngestions(memory.ListIngestionsRequest(user_id=user_id)).ingestions
    assert [i.ingestion_id for i in listed] == [taken.ingestion_id]
    retried = stubs.memory.RetryIngestion(
        memory.RetryIngestionRequest(user_id=user_id, ingestion_id=taken.ingestion_id)
    ).ingestion
    assert retried.state == memory.INGESTION_STATE_SUCCEEDED, "only a failed one is tried again"
    unknown = memory.GetIngestionRequest(user_id="someone-else", ingestion_id=taken.ingestion_id)
    assert refused(lambda: stubs.memory.GetIngestion(unknown)).code is grpc.StatusCode.NOT_FOUND


@answers("MemoryService/CreateMemory", "MemoryService/GetMemory")
def test_create_and_get(stubs: Stubs, user_id: str) -> None:
    request = memory.CreateMemoryRequest(
        user_id=user_id, content="孩子今年上小学", metadata={"topic": "family"}, request_id="once"
    )
    request.ttl.FromSeconds(3600)
    first, replay = (stubs.memory.CreateMemory(request) for _ in range(2))
    assert first.memory == replay.memory, "a replay returns the first answer"
    made = first.memory
    assert (made.content, dict(made.metadata), made.revision) == ("孩子今年上小学", {"topic": "family"}, 1)
    assert made.expire_time.seconds - made.create_time.seconds in (3600, 3601)
    found = stubs.memory.GetMemory(memory.GetMemoryRequest(user_id=user_id, memory_id=made.memory_id))
    assert found.memory == made
    request.content = "孩子今年上中学"
    assert refused(lambda: stubs.memory.CreateMemory(request)).reason == "REQUEST_ID_REUSED"


@answers("MemoryService/UpdateMemory")
def test_update(stubs: Stubs, user_id: str) -> None:
    made = stubs.create(user_id, "Monthly income is USD 9,000", metadata={"a": "1"})

    def update(*mask: str, **fields: Any) -> memory_pb2.Memory:
        request = memory.UpdateMemoryRequest(user_id=user_id, memory_id=made.memory_id, **fields)
        request.update_mask.paths.extend(mask)
        return stubs.memory.UpdateMemory(request).memory

    second = update("content", content="Monthly income is USD 12,000", metadata={"b": "2"}, revision=1)
    assert second.content == "Monthly income is USD 12,000"
    assert dict(second.metadata) == {"a": "1"}, "what the mask does not name stays"
    assert (second.revision, second.create_time) == (2, made.create_time)
    third = update("metadata")
    assert (dict(third.metadata), third.content, third.revision) == ({}, second.content, 3)

    lost = refused(lambda: update(content="Monthly income is unknown", revision=1))
    assert (lost.code, lost.reason) == (grpc.StatusCode.ABORTED, "REVISION_MISMATCH")
    found = stubs.memory.GetMemory(memory.GetMemoryRequest(user_id=user_id, memory_id=made.memory_id))
    assert found.memory == third
    assert refused(lambda: update("content")).reason == "INVALID_FIELD"


@answers("MemoryService/DeleteMemory", "MemoryService/ListMemoryRevisions")
def test_delete_and_history(stubs: Stubs, user_id: str) -> None:
    made = stubs.create(user_id, "偏好电话联系")
    stubs.memory.UpdateMemory(
        memory.UpdateMemoryRequest(user_id=user_id, memory_id=made.memory_id, content="偏好邮件联系")
    )
    stale = memory.DeleteMemoryRequest(user_id=user_id, memory_id=made.memory_id, revision=1)
    assert refused(lambda: stubs.memory.DeleteMemory(stale)).reason == "REVISION_MISMATCH"
    request = memory.DeleteMemoryRequest(user_id=user_id, memory_id=made.memory_id, reason="told so")
    assert stubs.memory.DeleteMemory(request).memory.HasField("delete_time")
    assert refused(lambda: stubs.memory.DeleteMemory(request)).code is grpc.StatusCode.NOT_FOUND

    history = memory.ListMemoryRevisionsRequest(user_id=user_id, memory_id=made.memory_id, page_size=2)
    pages = _pages(stubs.memory.ListMemoryRevisions, history, "revisions")
    assert [len(p) for p in pages] == [2, 1]
    steps = [r for p in pages for r in p]
    assert [(r.revision, r.action, r.content) for r in steps] == [
        (1, memory_pb2.ACTION_ADD, "偏好电话联系"),
        (2, memory_pb2.ACTION_UPDATE, "偏好邮件联系"),
        (3, memory_pb2.ACTION_DELETE, "偏好邮件联系"),
    ]
    assert steps[1].previous_content == "偏好电话联系"
    assert steps[2].reason == "told so"


@answers("MemoryService/ListMemories")
def test_list_pages(stubs: Stubs, user_id: str) -> None:
    made = [stubs.create(user_id, f"fact number {n}").memory_id for n in range(7)]
    newest_first = _pages(
        stubs.memory.ListMemories, memory.ListMemoriesRequest(user_id=user_id, page_size=3), "memories"
    )
    assert [len(p) for p in newest_first] == [3, 3, 1]
    assert [m.memory_id for p in newest_first for m in p] == made[::-1]
    request = memory.ListMemoriesRequest(
        user_id=user_id, page_size=3, order=memory.MEMORY_ORDER_CREATE_TIME_ASC
    )
    first = stubs.memory.ListMemories(request)
    assert [m.memory_id for m in first.memories] == made[:3]

    request.page_token, request.page_size = first.next_page_token, 2
    assert [m.memory_id for m in stubs.memory.ListMemories(request).memories] == made[3:5]
    for field, value in (("user_id", "someone-else"), ("order", memory.MEMORY_ORDER_CREATE_TIME_DESC)):
        other = memory.ListMemoriesRequest()
        other.CopyFrom(request)
        setattr(other, field, value)
        assert refused(lambda other=other: stubs.memory.ListMemories(other)).reason == "INVALID_FIELD"


@answers("MemoryService/SearchMemories")
def test_search(stubs: Stubs, user_id: str) -> None:
    for text in ("公司主营跨境电商业务", "每年三月去日本滑雪", "Prefers to be called in the evening"):
        stubs.create(user_id, text, metadata={"language": "en" if text.isascii() else "zh"})
    answer = stubs.memory.SearchMemories(
        memory.SearchMemoriesRequest(user_id=user_id, query="什么时候去滑雪", include_score_parts=True)
    )
    assert answer.results[0].memory.content == "每年三月去日本滑雪"
    scores = [r.score for r in answer.results]
    assert scores == sorted(scores, reverse=True)
    assert all(r.HasField("cosine") and r.HasField("lexical") for r in answer.results)
    only_english = memory.SearchMemoriesRequest(
        user_id=user_id, query="什么时候去滑雪", metadata_filter={"language": "en"}
    )
    found = stubs.memory.SearchMemories(only_english).results
    assert [r.memory.content for r in found] == ["Prefers to be called in the evening"]


@answers("MemoryService/BatchSearchMemories")
def test_batch_search(stubs: Stubs, user_id: str) -> None:
    other = f"{user_id}-2"
    stubs.create(user_id, "有一笔房贷")
    stubs.create(other, "has a car loan")
    searches = [
        memory.SearchMemoriesRequest(user_id=user_id, query="房贷"),
        memory.SearchMemoriesRequest(user_id="", query="房贷"),
        memory.SearchMemoriesRequest(user_id=other, query="loan"),
    ]
    answer = stubs.memory.BatchSearchMemories(memory.BatchSearchMemoriesRequest(searches=searches))
    good, bad, also_good = answer.responses
    assert [r.memory.content for r in good.response.results] == ["有一笔房贷"]
    assert bad.status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert [v.field for v in bad.status.field_violations] and not bad.HasField("response")
    assert [r.memory.content for r in also_good.response.results] == ["has a car loan"]


@answers("MemoryService/StreamSearchMemories")
def test_stream_search(stubs: Stubs, user_id: str) -> None:
    stubs.create(user_id, "养了一只猫")
    marks = [f"mark-{n}" for n in range(50)]

    def requests() -> Iterator[memory.StreamSearchMemoriesRequest]:
        for n, mark in enumerate(marks):
            top_k = -1 if n % 10 == 3 else 1
            search = memory.SearchMemoriesRequest(user_id=user_id, query=f"猫 {n}", top_k=top_k)
            yield memory.StreamSearchMemoriesRequest(correlation_id=mark, search=search)

    got = list(stubs.memory.StreamSearchMemories(requests()))
    assert [r.correlation_id for r in got] == marks
    for n, answer in enumerate(got):
        if n % 10 == 3:
            assert answer.status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
            assert not answer.HasField("response")
        else:
            assert [r.memory.content for r in answer.response.results] == ["养了一只猫"]


# --- SessionService


@answers("SessionService/AppendMessages", "SessionService/GetWindow")
def test_window(stubs: Stubs, user_id: str) -> None:
    said = stubs.say(user_id, "s", *(f"第{n}轮" for n in range(12)))
    assert (said.message_count, said.round_count) == (24, 10)
    window = stubs.session.GetWindow(session.GetWindowRequest(user_id=user_id, session_id="s"))
    assert window.round_count == 10 and not window.ended
    assert [m.content for m in window.messages[::2]] == [f"第{n}轮" for n in range(2, 12)]
    short = stubs.session.GetWindow(session.GetWindowRequest(user_id=user_id, session_id="s", max_rounds=2))
    assert [m.content for m in short.messages] == ["第10轮", "OK", "第11轮", "OK"]
    other = stubs.session.GetWindow(session.GetWindowRequest(user_id=f"{user_id}-2", session_id="s"))
    assert not other.messages


@answers("SessionService/EndSession")
def test_end_session(stubs: Stubs, user_id: str) -> None:
    stubs.say(user_id, "s", "我们公司注册在开曼群岛")
    request = session.EndSessionRequest(user_id=user_id, session_id="s")
    first = stubs.session.EndSession(request)
    assert any("开曼" in o.memory.content for o in first.operations)
    again = stubs.session.EndSession(request)
    assert again.already_ended and not again.operations
    assert again.ingestion_id == first.ingestion_id != ""
    assert stubs.session.GetWindow(session.GetWindowRequest(user_id=user_id, session_id="s")).ended


# --- ContextService


@answers("ContextService/BuildContext")
def test_context(stubs: Stubs, user_id: str) -> None:
    stubs.rule.PutRules(rule.PutRulesRequest(rules=rule.RuleList(rules=["先确认公司注册地"])))
    for n in range(8):
        stubs.create(user_id, f"公司第{n}季度外汇套保比例为{n}0%")
    stubs.say(user_id, "s", *(f"之前谈到的第{n}个问题" for n in range(6)))

    def build(query: str, **more: Any) -> context.BuildContextResponse:
        return stubs.context.BuildContext(
            context.BuildContextRequest(user_id=user_id, session_id="s", query=query, **more)
        )

    chinese = build("外汇套保比例是多少？")
    assert chinese.language == context.LANGUAGE_ZH
    assert "先确认公司注册地" in chinese.system_prompt
    assert "【用户历史信息】" in chinese.system_prompt
    assert "记录于 " in chinese.system_prompt
    english = build("What is the hedging ratio?")
    assert english.language == context.LANGUAGE_EN
    assert "[USER HISTORY]" in english.system_prompt and "(recorded " in english.system_prompt

    kinds = [s.kind for s in chinese.sections]
    assert kinds == sorted(kinds)
    assert {context.SECTION_KIND_RULES, context.SECTION_KIND_MEMORIES, context.SECTION_KIND_WINDOW} <= {
        *kinds
    }
    tight = build("外汇套保比例是多少？", budget_tokens=220)
    assert tight.total_tokens <= 220 < chinese.total_tokens
    assert sum(s.dropped_count for s in tight.sections) > 0 or len(tight.sections) < len(kinds)
    assert tight.messages[-2].content == "之前谈到的第5个问题", "the newest user message always stays"
    assert len(build("套保", top_k=1).memories) == 1
    assert not build("套保", include_memories=False).memories


@answers("ContextService/Chat")
def test_chat_without_a_model(stubs: Stubs, user_id: str) -> None:
    message = memory_pb2.Message(role=memory_pb2.ROLE_USER, content="你好")
    request = context.ChatRequest(user_id=user_id, session_id="s", message=message)
    refusal = refused(lambda: list(stubs.context.Chat(request)))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "NOT_CONFIGURED")
    assert "chat.base_url" in refusal.metadata["setting"]
    window = stubs.session.GetWindow(session.GetWindowRequest(user_id=user_id, session_id="s"))
    assert not window.messages, "a failed turn leaves the window as it was"


# --- KnowledgeService


@answers(
    "KnowledgeService/UpsertKnowledge",
    "KnowledgeService/GetKnowledge",
    "KnowledgeService/ListKnowledge",
    "KnowledgeService/SearchKnowledge",
    "KnowledgeService/DeleteKnowledge",
)
def test_knowledge(stubs: Stubs, user_id: str) -> None:
    stub = stubs.knowledge
    first = stub.UpsertKnowledge(
        knowledge.UpsertKnowledgeRequest(
            knowledge_id="rate", content="一年期定期存款利率为1.5%", title="利率", source="官网"
        )
    )
    stub.UpsertKnowledge(
        knowledge.UpsertKnowledgeRequest(knowledge_id="card", content="A lost card is replaced in 3 days")
    )
    second = stub.UpsertKnowledge(
        knowledge.UpsertKnowledgeRequest(knowledge_id="rate", content="一年期定期存款利率为1.4%", revision=1)
    )
    assert (first.created, second.created) == (True, False)
    assert (second.knowledge.revision, second.knowledge.title) == (2, ""), "replaced as a whole"
    stale = knowledge.UpsertKnowledgeRequest(knowledge_id="rate", content="1.3%", revision=1)
    assert refused(lambda: stub.UpsertKnowledge(stale)).reason == "REVISION_MISMATCH"

    get = knowledge.GetKnowledgeRequest(knowledge_id="rate")
    assert stub.GetKnowledge(get).knowledge.content == "一年期定期存款利率为1.4%"
    pages = _pages(stub.ListKnowledge, knowledge.ListKnowledgeRequest(page_size=1), "knowledge")
    assert sorted(k.knowledge_id for p in pages for k in p) == ["card", "rate"]
    found = stub.SearchKnowledge(knowledge.SearchKnowledgeRequest(query="定期存款利率"))
    assert found.results[0].knowledge.knowledge_id == "rate"
    assert not stubs.memory.SearchMemories(
        memory.SearchMemoriesRequest(user_id=user_id, query="定期存款利率")
    ).results, "knowledge is no memory"

    deleted = stub.DeleteKnowledge(knowledge.DeleteKnowledgeRequest(knowledge_id="rate", revision=2))
    assert deleted.knowledge.HasField("delete_time")
    assert refused(lambda: stub.GetKnowledge(get)).code is grpc.StatusCode.NOT_FOUND
    left = stub.SearchKnowledge(knowledge.SearchKnowledgeRequest(query="定期存款利率")).results
    assert [r.knowledge.knowledge_id for r in left] == ["card"]


# --- RuleService


@answers("RuleService/PutRules", "RuleService/GetRules", "RuleService/ListRuleRevisions")
def test_rules(stubs: Stubs) -> None:
    before = stubs.rule.GetRules(rule.GetRulesRequest()).rule_set.revision
    first = stubs.rule.PutRules(rule.PutRulesRequest(rules=rule.RuleList(rules=["说中文", "Be brief"])))
    assert first.rule_set.revision == before + 1
    text = "Never promise a rate.\n不得承诺收益。"
    second = stubs.rule.PutRules(rule.PutRulesRequest(text=text, revision=before + 1)).rule_set
    assert list(second.rules) == [text]
    stale = rule.PutRulesRequest(text="too late", revision=before + 1)
    assert refused(lambda: stubs.rule.PutRules(stale)).reason == "REVISION_MISMATCH"

    assert stubs.rule.GetRules(rule.GetRulesRequest()).rule_set == second
    old = stubs.rule.GetRules(rule.GetRulesRequest(revision=before + 1)).rule_set
    assert list(old.rules) == ["说中文", "Be brief"]
    pages = _pages(stubs.rule.ListRuleRevisions, rule.ListRuleRevisionsRequest(page_size=1), "revisions")
    assert [r.revision for p in pages for r in p] == list(range(before + 2, 0, -1))
    unknown = rule.GetRulesRequest(revision=before + 99)
    assert refused(lambda: stubs.rule.GetRules(unknown)).code is grpc.StatusCode.NOT_FOUND


# --- ComplianceService


@answers("ComplianceService/ForgetUser")
def test_forget(stubs: Stubs, user_id: str) -> None:
    stubs.create(user_id, "有一只狗")
    request = compliance.ForgetUserRequest(user_id=user_id, request_id="once", **_ORDER)
    first = stubs.compliance.ForgetUser(request)
    assert (first.memory_count, first.receipt.counts.memories) == (1, 1)
    assert first.receipt.user_id == user_id and first.receipt.signature
    assert not stubs.memory.ListMemories(memory.ListMemoriesRequest(user_id=user_id)).memories
    assert stubs.compliance.ForgetUser(request).receipt == first.receipt


@answers("ComplianceService/ExportUser")
def test_export(stubs: Stubs, user_id: str) -> None:
    made = stubs.create(user_id, "住在杭州")
    stubs.memory.UpdateMemory(
        memory.UpdateMemoryRequest(user_id=user_id, memory_id=made.memory_id, content="住在上海")
    )
    stubs.say(user_id, "s", "你好")
    records = list(stubs.compliance.ExportUser(compliance.ExportUserRequest(user_id=user_id, **_ORDER)))
    kinds = [r.WhichOneof("record") for r in records]
    assert kinds[-1] == "summary" and kinds.count("summary") == 1
    order = ["memory", "revision", "message", "ingestion", "audit_event", "summary"]
    assert kinds == sorted(kinds, key=order.index)
    summary = records[-1].summary
    assert (summary.memory_count, summary.revision_count, summary.message_count) == (1, 2, 2)
    assert summary.audit_event_count == kinds.count("audit_event") > 0
    assert [r.memory.content for r in records if r.HasField("memory")] == ["住在上海"]
    unknown = compliance.ExportUserRequest(user_id=f"{user_id}-2", **_ORDER)
    assert [r.WhichOneof("record") for r in stubs.compliance.ExportUser(unknown)] == ["summary"]


@answers("ComplianceService/SetLegalHold", "ComplianceService/GetLegalHold")
def test_legal_hold(stubs: Stubs, user_id: str) -> None:
    get = compliance.GetLegalHoldRequest(user_id=user_id)
    assert not stubs.compliance.GetLegalHold(get).legal_hold.active
    for active in (True, False):
        put = stubs.compliance.SetLegalHold(
            compliance.SetLegalHoldRequest(user_id=user_id, active=active, **_ORDER)
        )
        hold = stubs.compliance.GetLegalHold(get).legal_hold
        assert hold == put.legal_hold
        assert (hold.active, hold.operator, hold.reason) == (active, "auditor", "yearly review")


@answers("ComplianceService/ListAuditEvents")
def test_audit_events(stubs: Stubs, user_id: str) -> None:
    for n in range(5):
        stubs.create(user_id, f"fact {n}")
    request = compliance.ListAuditEventsRequest(user_id=user_id, page_size=2)
    pages = _pages(stubs.compliance.ListAuditEvents, request, "events")
    assert [len(p) for p in pages] == [2, 2, 1]
    events = [e for p in pages for e in p]
    assert [e.seq for e in events] == sorted({e.seq for e in events})
    assert {(e.user_id, e.operation, e.action) for e in events} == {(user_id, "CreateMemory", "ADD")}
    everyone = compliance.ListAuditEventsRequest(user_id="")
    assert refused(lambda: stubs.compliance.ListAuditEvents(everyone)).reason == "INVALID_FIELD"


@answers("ComplianceService/VerifyAuditLog")
def test_verify_audit_log(stubs: Stubs, user_id: str) -> None:
    stubs.create(user_id, "a fact")
    whole = stubs.compliance.VerifyAuditLog(compliance.VerifyAuditLogRequest())
    assert whole.valid and whole.events_checked == whole.head_seq > 0
    stubs.create(user_id, "another fact")
    anchor = compliance.AuditAnchor(seq=whole.head_seq, hash=whole.head_hash)
    assert stubs.compliance.VerifyAuditLog(compliance.VerifyAuditLogRequest(anchors=[anchor])).valid
    anchor.hash = "0" * 64
    bad = stubs.compliance.VerifyAuditLog(compliance.VerifyAuditLogRequest(anchors=[anchor]))
    assert (bad.valid, bad.first_bad_seq) == (False, whole.head_seq)


@answers("ComplianceService/PurgeExpired")
def test_purge_expired(stubs: Stubs, user_id: str) -> None:
    request = memory.CreateMemoryRequest(user_id=user_id, content="valid for a second")
    request.ttl.FromSeconds(1)
    made = stubs.memory.CreateMemory(request).memory
    deadline = time.monotonic() + 30
    while stubs.memory.ListMemories(memory.ListMemoriesRequest(user_id=user_id)).memories:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    stubs.compliance.PurgeExpired(compliance.PurgeExpiredRequest(**_ORDER))
    history = stubs.memory.ListMemoryRevisions(
        memory.ListMemoryRevisionsRequest(user_id=user_id, memory_id=made.memory_id)
    ).revisions
    assert [r.action for r in history] == [memory_pb2.ACTION_ADD, memory_pb2.ACTION_EXPIRE]


# --- DiagnosticsService


@answers("DiagnosticsService/Echo")
def test_echo(stubs: Stubs) -> None:
    payload = bytes(range(256)) * 4096
    assert stubs.diagnostics.Echo(diagnostics.EchoRequest(payload=payload)).payload == payload
    over = diagnostics.EchoRequest(payload=payload + b"x")
    assert refused(lambda: stubs.diagnostics.Echo(over)).reason == "INVALID_FIELD"


@answers("DiagnosticsService/GetServerInfo")
def test_server_info(stubs: Stubs, user_id: str) -> None:
    info = stubs.diagnostics.GetServerInfo(diagnostics.GetServerInfoRequest())
    assert info.version and info.vector_store_engine.startswith("milvus") and info.journal_engine
    assert list(info.decider_kinds) == [memory_pb2.DECIDER_KIND_RULES]
    assert (info.limits.max_content_bytes, info.limits.default_top_k) == (2048, 5)
    vector = memory_pb2.Embedding(values=[1.0] * info.embedder.dimension)
    stubs.memory.SearchMemories(memory.SearchMemoriesRequest(user_id=user_id, embedding=vector))
    vector.values.append(1.0)
    wrong = memory.SearchMemoriesRequest(user_id=user_id, embedding=vector)
    assert refused(lambda: stubs.memory.SearchMemories(wrong)).reason == "INVALID_FIELD"


def test_a_token_of_another_installation_is_refused(channel: grpc.Channel) -> None:
    request = memory.ListMemoriesRequest(user_id="someone")
    request.consistency.at_least_as_fresh.CopyFrom(consistency_pb2.ConsistencyToken(token="made-up"))
    assert refused(lambda: Stubs(channel).memory.ListMemories(request)).reason == "INVALID_FIELD"
