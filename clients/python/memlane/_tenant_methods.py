"""ContextService, KnowledgeService, RuleService and DiagnosticsService, defined once for both clients."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from memlane.v1 import context_service_pb2 as context_pb
from memlane.v1 import diagnostics_service_pb2 as diagnostics_pb
from memlane.v1 import knowledge_service_pb2 as knowledge_pb
from memlane.v1 import rule_service_pb2 as rule_pb

from ._bind import Bound, stream, unary
from ._calls import Call
from ._freshness import TENANT
from ._memory_methods import page_of
from ._wire import to_duration
from .contexts import (
    ChatDelta,
    ChatDone,
    ChatEvent,
    Context,
    Knowledge,
    KnowledgeDeleted,
    KnowledgeRead,
    KnowledgeSearchResult,
    KnowledgeUpserted,
    RuleSet,
    RulesPut,
    RulesRead,
    ServerInfo,
)
from .enums import Language
from .inputs import (
    Consistency,
    Message,
    MessageLike,
    ModelOptions,
    VectorLike,
    one_input,
    to_consistency,
    to_message,
)
from .results import Page


def _chat_event(response: Any) -> ChatEvent:
    event = response.WhichOneof("event")
    if event == "delta":
        return ChatDelta(response.delta, proto=response)
    if event == "done":
        return ChatDone.from_proto(response.done)
    return Context.from_proto(response.context)


def _payload(response: Any) -> bytes:
    payload: bytes = response.payload
    return payload


class ContextMethods(Bound):
    """Everything that the assistant should know for its next answer."""

    @unary
    def build_context(
        self,
        user_id: str,
        query: str | None = None,
        *,
        session_id: str = "",
        embedding: VectorLike | None = None,
        budget_tokens: int = 0,
        top_k: int = 0,
        language: str = Language.AUTO,
        include_rules: bool | None = None,
        include_memories: bool | None = None,
        include_knowledge: bool | None = None,
        include_window: bool | None = None,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Context]:
        """Assemble rules, memories, knowledge and window for one turn, within a token budget. Without a query the
        newest user message of the window is searched by. 0 = the server's default.

        Example:
            >>> context = client.build_context("c-1001", "适合我的理财产品？", session_id="s-7", budget_tokens=2000)
            >>> messages = [*context.chat_messages(), {"role": "user", "content": "适合我的理财产品？"}]
        """
        request = context_pb.BuildContextRequest(
            user_id=user_id,
            session_id=session_id,
            **one_input(query, embedding),
            budget_tokens=budget_tokens,
            top_k=top_k,
            language=Language.to_wire(language),
            include_rules=include_rules,
            include_memories=include_memories,
            include_knowledge=include_knowledge,
            include_window=include_window,
            consistency=to_consistency(consistency),
        )
        return Call("BuildContext", request, Context.from_proto, (user_id, TENANT), timeout=timeout)

    @stream
    def chat(
        self,
        user_id: str,
        session_id: str,
        message: str | MessageLike,
        *,
        query: str | None = None,
        embedding: VectorLike | None = None,
        budget_tokens: int = 0,
        top_k: int = 0,
        language: str = Language.AUTO,
        include_rules: bool | None = None,
        include_memories: bool | None = None,
        include_knowledge: bool | None = None,
        include_window: bool | None = None,
        consistency: Consistency | None = None,
        model_options: ModelOptions | None = None,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[ChatEvent]:
        """One turn of the assistant: a `Context`, then `ChatDelta` after `ChatDelta`, then `ChatDone`. `message` is
        what the user says now. Searched by is `query` or `embedding`, otherwise the message.

        Example:
            >>> with client.chat("c-1001", "s-7", "帮我看看新的方案") as events:
            ...     for event in events:
            ...         if isinstance(event, memlane.ChatDelta):
            ...             print(event.delta, end="")
        """
        request = context_pb.ChatRequest(
            user_id=user_id,
            session_id=session_id,
            message=to_message(Message("user", message) if isinstance(message, str) else message),
            **one_input(query, embedding),
            budget_tokens=budget_tokens,
            top_k=top_k,
            language=Language.to_wire(language),
            include_rules=include_rules,
            include_memories=include_memories,
            include_knowledge=include_knowledge,
            include_window=include_window,
            consistency=to_consistency(consistency),
            model_options=None if model_options is None else model_options.to_proto(),
        )
        return Call("Chat", request, _chat_event, request_id=request_id, timeout=timeout, last=ChatDone)


class KnowledgeMethods(Bound):
    """What holds for everyone of the tenant. Writing needs the scope `knowledge:write`."""

    @unary
    def upsert_knowledge(
        self,
        content: str,
        *,
        knowledge_id: str = "",
        title: str = "",
        source: str = "",
        metadata: Mapping[str, str] | None = None,
        ttl: timedelta | None = None,
        revision: int = 0,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[KnowledgeUpserted]:
        """Create a piece of knowledge, or replace it as a whole. Without an id the server makes one. Raises
        RevisionMismatch, PermissionDenied."""
        request = knowledge_pb.UpsertKnowledgeRequest(
            knowledge_id=knowledge_id,
            content=content,
            title=title,
            source=source,
            metadata=metadata,
            ttl=to_duration(ttl),
            revision=revision,
        )
        return Call("UpsertKnowledge", request, KnowledgeUpserted.from_proto, (TENANT,), request_id, timeout)

    @unary
    def get_knowledge(
        self, knowledge_id: str, *, consistency: Consistency | None = None, timeout: float | None = None
    ) -> Call[KnowledgeRead]:
        """One piece by its id. Raises NotFound."""
        request = knowledge_pb.GetKnowledgeRequest(
            knowledge_id=knowledge_id, consistency=to_consistency(consistency)
        )
        return Call("GetKnowledge", request, KnowledgeRead.from_proto, (TENANT,), timeout=timeout)

    @unary
    def delete_knowledge(
        self,
        knowledge_id: str,
        *,
        revision: int = 0,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[KnowledgeDeleted]:
        """Soft-delete one piece. Raises NotFound, RevisionMismatch, PermissionDenied."""
        request = knowledge_pb.DeleteKnowledgeRequest(knowledge_id=knowledge_id, revision=revision)
        return Call("DeleteKnowledge", request, KnowledgeDeleted.from_proto, (TENANT,), request_id, timeout)

    @unary
    def list_knowledge(
        self,
        *,
        page_size: int = 0,
        page_token: str = "",
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Page[Knowledge]]:
        """One page of the tenant's knowledge, newest first."""
        request = knowledge_pb.ListKnowledgeRequest(
            page_size=page_size, page_token=page_token, consistency=to_consistency(consistency)
        )
        return Call("ListKnowledge", request, page_of("knowledge", Knowledge), timeout=timeout)

    @unary
    def search_knowledge(
        self,
        query: str | None = None,
        *,
        embedding: VectorLike | None = None,
        top_k: int = 0,
        min_score: float | None = None,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[KnowledgeSearchResult]:
        """The pieces nearest to a text or vector, best first. `top_k` 0 = 5."""
        request = knowledge_pb.SearchKnowledgeRequest(
            **one_input(query, embedding, required=True),
            top_k=top_k,
            min_score=min_score,
            consistency=to_consistency(consistency),
        )
        return Call("SearchKnowledge", request, KnowledgeSearchResult.from_proto, (TENANT,), timeout=timeout)


class RuleMethods(Bound):
    """How the assistant should act. Writing needs the scope `rules:write`."""

    @unary
    def put_rules(
        self,
        rules: str | Iterable[str],
        *,
        revision: int = 0,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[RulesPut]:
        """Replace the rules as a whole: one text, kept word for word, or a list. An empty list = no rules. Raises
        RevisionMismatch, PermissionDenied."""
        request = rule_pb.PutRulesRequest(revision=revision)
        if isinstance(rules, str):
            request.text = rules
        else:
            request.rules.CopyFrom(rule_pb.RuleList(rules=list(rules)))
        return Call("PutRules", request, RulesPut.from_proto, (TENANT,), request_id, timeout)

    @unary
    def get_rules(
        self, *, revision: int = 0, consistency: Consistency | None = None, timeout: float | None = None
    ) -> Call[RulesRead]:
        """The rules as of one revision; 0 = the current one. Raises NotFound."""
        request = rule_pb.GetRulesRequest(revision=revision, consistency=to_consistency(consistency))
        return Call("GetRules", request, RulesRead.from_proto, (TENANT,), timeout=timeout)

    @unary
    def list_rule_revisions(
        self,
        *,
        page_size: int = 0,
        page_token: str = "",
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Page[RuleSet]]:
        """All revisions, newest first, with their texts."""
        request = rule_pb.ListRuleRevisionsRequest(
            page_size=page_size, page_token=page_token, consistency=to_consistency(consistency)
        )
        return Call("ListRuleRevisions", request, page_of("revisions", RuleSet), timeout=timeout)


class DiagnosticsMethods(Bound):
    """Is the server there, and what is it made of."""

    @unary
    def echo(self, payload: bytes = b"", *, timeout: float | None = None) -> Call[bytes]:
        """The payload, back from the server: a null round trip."""
        return Call("Echo", diagnostics_pb.EchoRequest(payload=payload), _payload, timeout=timeout)

    @unary
    def get_server_info(self, *, timeout: float | None = None) -> Call[ServerInfo]:
        """What the server runs and what it accepts."""
        request = diagnostics_pb.GetServerInfoRequest()
        return Call("GetServerInfo", request, ServerInfo.from_proto, timeout=timeout)
