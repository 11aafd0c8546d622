"""Requests to commands, and values to messages."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp

from memlane.v1 import (
    compliance_service_pb2,
    consistency_pb2,
    context_service_pb2,
    knowledge_service_pb2,
    memory_pb2,
    rule_service_pb2,
)
from memlane.v1 import memory_service_pb2 as pb
from memlane_core.domain import limits
from memlane_core.domain.decision import Operation, RememberResult
from memlane_core.domain.errors import InvalidArgument
from memlane_core.domain.memory import Action, DeciderKind, Memory, MemoryType
from memlane_core.guards.secrets import SecretPolicy
from memlane_core.ports.ingestion_queue import Ingestion, IngestionState
from memlane_core.services.consistency import Freshness
from memlane_server.translate.compliance import anchors_of, audit_query
from memlane_server.translate.context import chat_command, context_command
from memlane_server.translate.knowledge import knowledge_message, upsert_command
from memlane_server.translate.memories import create_command, list_query, page, update_command
from memlane_server.translate.remember import Received, ingestion_message, remember_request, result_fields
from memlane_server.translate.rules import rules_of
from memlane_server.translate.search import search_command
from memlane_server.validate import Violations

NOW = 1_700_000_000.0
RECEIVED = Received(NOW, ZoneInfo("Asia/Shanghai"))
SECRETS = SecretPolicy()
VECTOR = np.array([3, 0, 4], "<f4").tobytes()


def wrong_fields(translate: Callable[[], Any]) -> list[str]:
    with pytest.raises(InvalidArgument) as caught:
        translate()
    return [v.field for v in caught.value.violations]


def checked(rule: Callable[[Violations], Any]) -> Any:
    v = Violations()
    result = rule(v)
    v.check()
    return result


def conversation(*messages: memory_pb2.Message, **changes: Any) -> pb.RememberRequest:
    return pb.RememberRequest(
        user_id="张三", conversation=memory_pb2.Conversation(messages=messages), **changes
    )


def said(content: str = "我搬家了", **changes: Any) -> memory_pb2.Message:
    return memory_pb2.Message(**{"role": memory_pb2.ROLE_USER, "content": content, **changes})


class TestSearch:
    def test_the_fast_form(self) -> None:
        command = search_command(pb.SearchMemoriesRequest(user_id="a", embedding_f32=VECTOR), 3, NOW)
        assert command.embedding is not None and command.query is None
        np.testing.assert_allclose(command.embedding, [0.6, 0, 0.8], rtol=1e-6)
        assert (command.top_k, command.min_score, command.metadata, command.as_of_us) == (5, None, None, None)
        assert command.consistency.freshness is Freshness.MINIMIZE_LATENCY

    def test_everything_set(self) -> None:
        request = pb.SearchMemoriesRequest(
            user_id="a", query="利率", top_k=7, min_score=-0.5, metadata_filter={"k": "v"},
            created_after=Timestamp(seconds=10, nanos=1), created_before=Timestamp(seconds=20),
            as_of=Timestamp(seconds=30, nanos=5000),
            consistency=consistency_pb2.Consistency(fully_consistent=True),
        )  # fmt: skip
        command = search_command(request, 3, NOW)
        assert (command.query, command.top_k, command.min_score, command.metadata) == (
            "利率",
            7,
            -0.5,
            {"k": "v"},
        )
        assert (command.created_after, command.created_before, command.as_of_us) == (11, 20, 30_000_005)
        assert command.consistency.freshness is Freshness.FULL

    def test_all_that_is_wrong_is_named(self) -> None:
        request = pb.SearchMemoriesRequest(
            user_id="", query=" ", top_k=101, min_score=float("nan"), metadata_filter={"ttl": "x"},
            created_after=Timestamp(nanos=-1), as_of=Timestamp(seconds=int(NOW) + 1),
        )  # fmt: skip
        assert wrong_fields(lambda: search_command(request, 3, NOW)) == [
            "user_id", "query", "top_k", "min_score", 'metadata_filter["ttl"]', "created_after", "as_of",
        ]  # fmt: skip

    def test_an_input_is_required(self) -> None:
        assert wrong_fields(lambda: search_command(pb.SearchMemoriesRequest(user_id="a"), 3, NOW)) == [
            "input"
        ]

    @pytest.mark.parametrize(
        ("token", "freshness"), [("", Freshness.MINIMIZE_LATENCY), ("abc", Freshness.AT_LEAST)]
    )
    def test_an_empty_token_is_no_token(self, token: str, freshness: Freshness) -> None:
        wanted = consistency_pb2.Consistency(at_least_as_fresh=consistency_pb2.ConsistencyToken(token=token))
        request = pb.SearchMemoriesRequest(user_id="a", query="b", consistency=wanted)
        assert search_command(request, 3, NOW).consistency.freshness is freshness


class TestMemories:
    def test_an_update_changes_what_is_set(self) -> None:
        command = update_command(
            pb.UpdateMemoryRequest(user_id="a", memory_id="m", content="c"), None, SECRETS
        )
        assert (command.content, command.metadata, command.ttl_seconds, command.clear_ttl) == (
            "c",
            None,
            None,
            False,
        )

    def test_an_update_clears_what_is_named_and_not_set(self) -> None:
        request = pb.UpdateMemoryRequest(
            user_id="a", memory_id="m", update_mask=FieldMask(paths=["metadata", "ttl"])
        )
        command = update_command(request, None, SECRETS)
        assert (command.content, command.metadata, command.clear_ttl) == (None, {}, True)

    @pytest.mark.parametrize(
        ("changes", "fields"),
        [
            ({}, ["update_mask"]),
            ({"update_mask": FieldMask(paths=["content"])}, ["content"]),
            ({"update_mask": FieldMask(paths=["user_id"]), "content": "x"}, ["update_mask"]),
            ({"content": "x", "revision": -1}, ["revision"]),
            ({"content": "我的密码是 hunter2secret!!"}, ["content"]),
        ],
    )
    def test_updates_that_are_refused(self, changes: dict[str, Any], fields: list[str]) -> None:
        request = pb.UpdateMemoryRequest(user_id="a", memory_id="m", **changes)
        assert wrong_fields(lambda: update_command(request, None, SECRETS)) == fields

    def test_a_secret_is_refused_where_texts_are_stored_as_told(self) -> None:
        request = pb.CreateMemoryRequest(user_id="a", content="My PIN is 4921")
        assert wrong_fields(lambda: create_command(request, None, SECRETS)) == ["content"]

    def test_unknown_enum_values_are_refused(self) -> None:
        request = pb.ListMemoriesRequest(user_id="a", order=99, memory_type=77)  # type: ignore[arg-type]
        assert wrong_fields(lambda: checked(lambda v: list_query(v, request, None, NOW))) == [
            "order",
            "memory_type",
        ]

    @pytest.mark.parametrize(
        ("order", "by_update_time", "descending"),
        [(0, False, True), (1, False, True), (2, False, False), (3, True, True), (4, True, False)],
    )
    def test_orders(self, order: int, by_update_time: bool, descending: bool) -> None:
        request = pb.ListMemoriesRequest(user_id="a", order=order, page_size=9)  # type: ignore[arg-type]
        query = checked(lambda v: list_query(v, request, (5, 6), NOW))
        assert (query.by_update_time, query.descending, query.limit) == (by_update_time, descending, 10)
        assert query.after_key == (5, 6)

    def test_a_page_ends_by_number_or_by_bytes_and_is_never_empty(self) -> None:
        half = limits.MAX_PAGE_BYTES // 2
        assert page([1, 2, 3], 3, lambda row: 1) == ([1, 2, 3], False)
        assert page([1, 2, 3], 2, lambda row: 1) == ([1, 2], True)
        assert page([1, 2, 3], 3, lambda row: half) == ([1, 2], True)
        assert page([1, 2], 3, lambda row: 3 * half) == ([1], True)
        assert page([], 3, lambda row: 1) == ([], False)


class TestRemember:
    def test_messages_have_the_time_and_zone_of_their_speaker(self) -> None:
        moment = Timestamp(seconds=int(NOW), nanos=5000)
        asked = remember_request(
            conversation(said(create_time=moment, time_zone="-05:00"), said(create_time=moment)),
            None,
            RECEIVED,
        )
        assert asked.wait and asked.assumed_time is None and asked.command.messages is not None
        first, second = (m.create_time for m in asked.command.messages)
        assert first == second == datetime.fromtimestamp(NOW, UTC) + timedelta(microseconds=5)
        assert first is not None and first.utcoffset() == timedelta(hours=-5)
        assert second is not None and second.utcoffset() == timedelta(hours=8)

    def test_a_message_without_time_is_said_now_and_the_answer_says_so(self) -> None:
        asked = remember_request(conversation(said()), None, RECEIVED)
        assert asked.assumed_time == datetime.fromtimestamp(NOW, UTC)
        assert (
            asked.command.messages is not None and asked.command.messages[0].create_time == asked.assumed_time
        )

    def test_facts_expire_from_now(self) -> None:
        facts = memory_pb2.FactList(facts=[memory_pb2.Fact(content="a", ttl=Duration(seconds=5, nanos=1))])
        asked = remember_request(pb.RememberRequest(user_id="a", facts=facts), None, RECEIVED)
        assert asked.command.facts is not None and asked.command.facts[0].expires_at == int(NOW) + 6

    @pytest.mark.parametrize(
        ("request_", "fields"),
        [
            (pb.RememberRequest(user_id="a"), ["source"]),
            (conversation(), ["conversation.messages"]),
            (conversation(said(role=0)), ["conversation.messages[0].role"]),
            (conversation(said(), said(role=9)), ["conversation.messages[1].role"]),
            (conversation(said(" ")), ["conversation.messages[0].content"]),
            (conversation(said("中" * 10_923)), ["conversation.messages[0].content"]),
            (conversation(said(time_zone="nowhere")), ["conversation.messages[0].time_zone"]),
            (conversation(*[said("中" * 10_000)] * 36), ["conversation.messages"]),
            (conversation(*[said("a")] * 501), ["conversation.messages"]),
            (pb.RememberRequest(user_id="a", facts=memory_pb2.FactList()), ["facts.facts"]),
            (pb.RememberRequest(user_id="a", session_id="s", mode=7), ["mode"]),  # type: ignore[arg-type]
            (
                pb.RememberRequest(
                    user_id="a", session_id="s", mode=memory_pb2.REMEMBER_MODE_ASYNC, validate_only=True
                ),
                ["validate_only"],
            ),
            (
                pb.RememberRequest(
                    user_id="a",
                    facts=memory_pb2.FactList(
                        facts=[
                            memory_pb2.Fact(content="a"),
                            memory_pb2.Fact(content="", ttl=Duration()),
                            memory_pb2.Fact(content="b", metadata={"user_id": "c"}),
                        ]
                    ),
                ),
                ["facts.facts[1].content", "facts.facts[1].ttl", 'facts.facts[2].metadata["user_id"]'],
            ),
        ],
    )
    def test_what_is_refused(self, request_: pb.RememberRequest, fields: list[str]) -> None:
        assert wrong_fields(lambda: remember_request(request_, None, RECEIVED)) == fields

    def test_an_operation_that_was_only_decided_has_no_new_id(self) -> None:
        memory = Memory("m_1", "a", "x", updated_at=9)
        operations = (
            Operation(Action.ADD, memory, None, "new", DeciderKind.RULES, None),
            Operation(Action.DELETE, memory, memory, "gone", DeciderKind.MODEL, 0.5, ("digits",)),
        )
        result = RememberResult(operations, (), True, 1)
        decided = pb.RememberResponse(**result_fields(result, validate_only=True))
        assert [o.memory.memory_id for o in decided.operations] == ["", "m_1"]
        applied = pb.RememberResponse(**result_fields(result))
        assert [o.memory.memory_id for o in applied.operations] == ["m_1", "m_1"]
        assert not applied.operations[0].HasField("similarity") and not applied.operations[0].memory.HasField(
            "delete_time"
        )
        assert applied.operations[1].memory.delete_time.seconds == 9 and applied.partial
        assert list(applied.operations[1].guards) == ["digits"]

    def test_a_failed_ingestion_says_why(self) -> None:
        ingestion = Ingestion(
            "i",
            "t",
            "a",
            "",
            IngestionState.FAILED,
            "",
            "",
            "x",
            3,
            "MODEL_UNAVAILABLE",
            "no answer",
            0,
            1,
            2,
            3,
        )
        error = ingestion_message(ingestion).error
        assert (error.code, error.message) == (14, "no answer")


class TestContext:
    def test_parts_are_in_unless_they_are_switched_off(self) -> None:
        command = context_command(
            context_service_pb2.BuildContextRequest(user_id="a", query="q", include_rules=False), 3
        )
        assert (command.rules, command.memories, command.knowledge, command.window) == (
            False,
            True,
            True,
            True,
        )
        assert (command.budget_tokens, command.top_k, command.language) == (0, 0, None)

    def test_what_a_turn_refuses(self) -> None:
        options = context_service_pb2.ModelOptions(
            temperature=3, top_p=0, max_output_tokens=-1, stop=["", *"abcd"]
        )
        request = context_service_pb2.ChatRequest(
            user_id="global",
            message=said("hi", role=memory_pb2.ROLE_ASSISTANT),
            model_options=options,
            budget_tokens=-1,
        )
        assert wrong_fields(lambda: chat_command(request, None, 3, RECEIVED)) == [
            "user_id", "budget_tokens", "session_id", "message.role", "model_options.temperature",
            "model_options.top_p", "model_options.max_output_tokens", "model_options.stop", "model_options.stop[0]",
        ]  # fmt: skip


class TestShared:
    def test_title_and_source_travel_among_the_labels(self) -> None:
        request = knowledge_service_pb2.UpsertKnowledgeRequest(
            content="五年期利率2.75%", title="利率", source="官网", metadata={"a": "b"}
        )
        command = upsert_command(request, None)
        memory = Memory("k", "global", command.content, MemoryType.SEMANTIC, command.metadata)
        message = knowledge_message(memory)
        assert (message.title, message.source, dict(message.metadata)) == ("利率", "官网", {"a": "b"})

    def test_names_of_the_service_are_not_for_callers(self) -> None:
        request = knowledge_service_pb2.UpsertKnowledgeRequest(content="x", metadata={"memlane.title": "b"})
        assert wrong_fields(lambda: upsert_command(request, None)) == ["metadata"]

    def test_rules_may_be_none_and_may_not_be_blank(self) -> None:
        def put(**source: Any) -> Any:
            return checked(lambda v: rules_of(v, rule_service_pb2.PutRulesRequest(**source)))

        assert put(rules=rule_service_pb2.RuleList()) == ()
        assert put(text="一\n二") == ("一\n二",)
        assert wrong_fields(lambda: put(rules=rule_service_pb2.RuleList(rules=["a", " "]))) == [
            "rules.rules[1]"
        ]
        assert wrong_fields(lambda: put(rules=rule_service_pb2.RuleList(rules=["则" * 20_000] * 2))) == [
            "rules.rules"
        ]
        assert wrong_fields(put) == ["source"]

    def test_an_empty_user_of_the_audit_log_is_not_everybody(self) -> None:
        def query(**fields: Any) -> Any:
            request = compliance_service_pb2.ListAuditEventsRequest(**fields)
            return checked(lambda v: audit_query(v, request, "t", None))

        assert query().user_id is None
        assert query(actions=["FORGET"], operations=["Sweep"]).actions == ("FORGET",)
        assert wrong_fields(lambda: query(user_id="")) == ["user_id"]

    def test_anchors(self) -> None:
        def anchors(*pairs: tuple[int, str]) -> Any:
            given = [compliance_service_pb2.AuditAnchor(seq=seq, hash=hash_) for seq, hash_ in pairs]
            request = compliance_service_pb2.VerifyAuditLogRequest(anchors=given)
            return checked(lambda v: anchors_of(v, request))

        good = "0a" * 32
        assert anchors((1, good), (1, good)) == {1: good}
        assert wrong_fields(lambda: anchors((0, good), (1, "xyz"))) == ["anchors[0].seq", "anchors[1].hash"]
        assert wrong_fields(lambda: anchors((1, good), (1, "0b" * 32))) == ["anchors[1]"]
