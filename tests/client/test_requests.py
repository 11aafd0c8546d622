"""Every RPC of the contract: that both clients have it, and the request that its arguments make."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf import text_format

import memlane
from memlane import NEVER, AuditAnchor, Fact, Message, ModelOptions, Search
from memlane.v1 import compliance_service_pb2, context_service_pb2
from tests.client.callers import Caller
from tests.client.scripted_server import RPCS, ScriptedServer, answer

SAID = datetime(2026, 3, 1, 8, 0, tzinfo=timezone(timedelta(hours=8)))
ORDER = {"operator": "合规部", "reason": "客户要求 📄"}

CASES: Mapping[str, tuple[tuple[Any, ...], dict[str, Any], str]] = {
    "Remember": (
        ("客户-1", [("user", "我有两个孩子👶"), Message("Assistant", "好的", SAID, "Asia/Shanghai")]),
        {"recalled": ["住在杭州"], "mode": "async", "request_id": "r"},
        """user_id: "客户-1" request_id: "r" mode: REMEMBER_MODE_ASYNC conversation {
             messages { role: ROLE_USER content: "我有两个孩子👶" }
             messages { role: ROLE_ASSISTANT content: "好的" create_time { seconds: 1772323200 }
                        time_zone: "Asia/Shanghai" }
             recalled: "住在杭州" }""",
    ),
    "GetIngestion": (("c", "i"), {}, 'user_id: "c" ingestion_id: "i"'),
    "ListIngestions": (
        ("c",),
        {"state": "failed", "page_size": 7},
        'user_id: "c" state: INGESTION_STATE_FAILED page_size: 7 consistency { fully_consistent: true }',
    ),
    "RetryIngestion": (("c", "i"), {"request_id": "r"}, 'user_id: "c" ingestion_id: "i" request_id: "r"'),
    "CreateMemory": (
        ("c", "预算 50 万元"),
        {"metadata": {"渠道": "app"}, "ttl": timedelta(days=30, microseconds=5), "request_id": "r"},
        """user_id: "c" content: "预算 50 万元" metadata { key: "渠道" value: "app" } request_id: "r"
           ttl { seconds: 2592000 nanos: 5000 }""",
    ),
    "GetMemory": (("c", "m"), {}, 'user_id: "c" memory_id: "m"'),
    "UpdateMemory": (
        ("c", "m"),
        {"metadata": {}, "ttl": NEVER, "revision": 3, "request_id": "r", "reason": "更正"},
        """user_id: "c" memory_id: "m" revision: 3 request_id: "r" reason: "更正"
           update_mask { paths: "metadata" paths: "ttl" }""",
    ),
    "DeleteMemory": (
        ("c", "m"),
        {"revision": 2, "request_id": "r"},
        'user_id: "c" memory_id: "m" revision: 2 request_id: "r"',
    ),
    "ListMemories": (
        ("c",),
        {"order": memlane.MemoryOrder.UPDATE_TIME_ASC, "memory_type": "episodic", "as_of": SAID},
        """user_id: "c" order: MEMORY_ORDER_UPDATE_TIME_ASC memory_type: MEMORY_TYPE_EPISODIC
           as_of { seconds: 1772323200 } consistency { fully_consistent: true }""",
    ),
    "ListMemoryRevisions": (
        ("c", "m"),
        {"page_token": "p"},
        'user_id: "c" memory_id: "m" page_token: "p" consistency { fully_consistent: true }',
    ),
    "SearchMemories": (
        ("c", "孩子"),
        {
            "top_k": 3,
            "min_score": 0.0,
            "metadata_filter": {"a": "b"},
            "created_after": SAID,
            "created_before": datetime(2026, 4, 1, tzinfo=UTC),
            "include_score_parts": True,
        },
        """user_id: "c" query: "孩子" top_k: 3 min_score: 0 metadata_filter { key: "a" value: "b" }
           created_after { seconds: 1772323200 } created_before { seconds: 1775001600 }
           include_score_parts: true""",
    ),
    "BatchSearchMemories": (
        ([Search("c", "q"), Search("d", embedding=[1.0, 0.5])],),
        {},
        r"""searches { user_id: "c" query: "q" }
            searches { user_id: "d" embedding_f32: "\000\000\200?\000\000\000?" }""",
    ),
    "StreamSearchMemories": (
        ([Search("c", "q", correlation_id="甲")],),
        {},
        'correlation_id: "甲" search { user_id: "c" query: "q" }',
    ),
    "AppendMessages": (
        ("c", "s", [{"role": "user", "content": "早上好"}, ("TOOL", "{}")]),
        {"request_id": "r"},
        """user_id: "c" session_id: "s" request_id: "r" messages { role: ROLE_USER content: "早上好" }
           messages { role: ROLE_TOOL content: "{}" }""",
    ),
    "GetWindow": (("c", "s"), {"max_rounds": 2}, 'user_id: "c" session_id: "s" max_rounds: 2'),
    "EndSession": (
        ("c", "s"),
        {"request_id": "r"},
        'user_id: "c" session_id: "s" request_id: "r" mode: REMEMBER_MODE_WAIT',
    ),
    "BuildContext": (
        ("c", "推荐什么？"),
        {"session_id": "s", "budget_tokens": 900, "language": "zh", "include_rules": False},
        """user_id: "c" query: "推荐什么？" session_id: "s" budget_tokens: 900 language: LANGUAGE_ZH
           include_rules: false""",
    ),
    "Chat": (
        ("c", "s", "你好"),
        {
            "embedding": b"\0\0\0\0",
            "request_id": "r",
            "model_options": ModelOptions(model="m", temperature=0.0, stop=["。"]),
        },
        r"""user_id: "c" session_id: "s" message { role: ROLE_USER content: "你好" } request_id: "r"
            embedding_f32: "\000\000\000\000" language: LANGUAGE_AUTO
            consistency { fully_consistent: true }
            model_options { model: "m" temperature: 0 stop: "。" }""",
    ),
    "UpsertKnowledge": (
        ("年利率 3.1%",),
        {"knowledge_id": "k", "title": "利率", "source": "官网", "revision": 1, "request_id": "r"},
        """knowledge_id: "k" content: "年利率 3.1%" title: "利率" source: "官网" revision: 1
           request_id: "r" """,
    ),
    "GetKnowledge": (("k",), {}, 'knowledge_id: "k"'),
    "DeleteKnowledge": (("k",), {"request_id": "r"}, 'knowledge_id: "k" request_id: "r"'),
    "ListKnowledge": ((), {"page_size": 9}, "page_size: 9 consistency { fully_consistent: true }"),
    "SearchKnowledge": (("利率",), {"top_k": 2}, 'query: "利率" top_k: 2'),
    "PutRules": (
        (["先核实身份", "No promises"],),
        {"revision": 4, "request_id": "r"},
        'rules { rules: "先核实身份" rules: "No promises" } revision: 4 request_id: "r"',
    ),
    "GetRules": ((), {"revision": 2}, "revision: 2"),
    "ListRuleRevisions": ((), {}, "consistency { fully_consistent: true }"),
    "ForgetUser": (
        ("c",),
        {**ORDER, "purge_now": True, "request_id": "r"},
        'user_id: "c" operator: "合规部" reason: "客户要求 📄" purge_now: true request_id: "r"',
    ),
    "ExportUser": (("c",), ORDER, 'user_id: "c" operator: "合规部" reason: "客户要求 📄"'),
    "SetLegalHold": (
        ("c", True),
        {**ORDER, "request_id": "r"},
        'user_id: "c" active: true operator: "合规部" reason: "客户要求 📄" request_id: "r"',
    ),
    "GetLegalHold": (("c",), {}, 'user_id: "c"'),
    "ListAuditEvents": (
        (),
        {"whole_tenant": True, "actions": ["FORGET"], "start_time": SAID},
        'actions: "FORGET" start_time { seconds: 1772323200 } consistency { fully_consistent: true }',
    ),
    "VerifyAuditLog": (
        ([AuditAnchor(7, "ab")],),
        {},
        'anchors { seq: 7 hash: "ab" } consistency { fully_consistent: true }',
    ),
    "PurgeExpired": (
        (),
        {**ORDER, "request_id": "r"},
        'operator: "合规部" reason: "客户要求 📄" request_id: "r"',
    ),
    "Echo": ((b"\0\xff",), {}, r'payload: "\000\377"'),
    "GetServerInfo": ((), {}, ""),
}
STREAMS: Mapping[str, Any] = {
    "Chat": [context_service_pb2.ChatResponse(done=context_service_pb2.ChatDone())],
    "ExportUser": [compliance_service_pb2.ExportUserResponse(summary=compliance_service_pb2.ExportSummary())],
}


def method_name(rpc: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", rpc).lower()


def test_every_rpc_is_covered() -> None:
    assert set(CASES) == set(RPCS)


@pytest.mark.parametrize("rpc", CASES)
def test_arguments_become_the_request(caller: Caller, server: ScriptedServer, rpc: str) -> None:
    arguments, named, expected = CASES[rpc]
    if rpc in STREAMS:
        server.then(rpc, answer(STREAMS[rpc]))
    if RPCS[rpc].server_streaming:
        assert len(caller.collect(method_name(rpc), *arguments, **named)) == 1
    else:
        caller.call(method_name(rpc), *arguments, **named)
    (seen,) = server.seen
    assert seen.rpc == rpc
    assert seen.request == text_format.Parse(expected, type(seen.request)())


@pytest.mark.parametrize("rpc", [n for n, m in RPCS.items() if "request_id" in m.input_type.fields_by_name])
def test_every_mutation_gets_a_request_id(caller: Caller, server: ScriptedServer, rpc: str) -> None:
    arguments, named, _ = CASES[rpc]
    named = {name: value for name, value in named.items() if name != "request_id"}
    if rpc in STREAMS:
        server.then(rpc, answer(STREAMS[rpc]))
        caller.collect(method_name(rpc), *arguments, **named)
    else:
        caller.call(method_name(rpc), *arguments, **named)
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", server.requests(rpc)[0].request_id)


def test_a_text_of_rules_stays_one_rule(caller: Caller, server: ScriptedServer) -> None:
    caller.call("put_rules", "先核实身份\n再回答")
    assert server.requests("PutRules")[0].text == "先核实身份\n再回答"


def test_remember_from_facts_and_from_a_session(caller: Caller, server: ScriptedServer) -> None:
    facts = ["Lives in Hangzhou", Fact("预算 50 万", ttl=timedelta(days=30), metadata={"k": "v"})]
    caller.call("remember", "c", facts=facts)
    caller.call("remember", "c", session_id="s", validate_only=True)
    from_facts, from_session = server.requests("Remember")
    assert [f.content for f in from_facts.facts.facts] == ["Lives in Hangzhou", "预算 50 万"]
    assert from_facts.facts.facts[1].ttl.seconds == 2_592_000
    assert from_facts.facts.facts[1].metadata == {"k": "v"}
    assert from_session.session_id == "s" and from_session.validate_only


MISTAKES: Mapping[str, Callable[[Any], Any]] = {
    "nothing to remember": lambda c: c.call("remember", "c"),
    "two sources": lambda c: c.call("remember", "c", [("user", "x")], facts=["y"]),
    "no query": lambda c: c.call("search_memories", "c"),
    "query and embedding": lambda c: c.call("search_knowledge", "q", embedding=[1.0]),
    "naive time": lambda c: c.call("search_memories", "c", "q", as_of=datetime(2026, 1, 1)),
    "unknown role": lambda c: c.call("append_messages", "c", "s", [("robot", "x")]),
    "nothing to change": lambda c: c.call("update_memory", "c", "m"),
    "a lost id": lambda c: c.call("list_audit_events", None),
    "everyone and one": lambda c: c.call("list_audit_events", "c", whole_tenant=True),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_the_caller_are_told_without_a_call(
    caller: Caller, server: ScriptedServer, mistake: str
) -> None:
    with pytest.raises(ValueError):
        MISTAKES[mistake](caller)
    assert server.seen == []
