"""What calls about contexts, knowledge, rules and the server itself return."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime

from memlane.v1 import (
    context_service_pb2,
    diagnostics_service_pb2,
    knowledge_service_pb2,
    rule_service_pb2,
)

from ._values import Value, value
from .enums import DeciderKind, FinishReason, Language, SectionKind
from .inputs import Message
from .results import ScoredMemory, SearchTiming


@value(knowledge_service_pb2.Knowledge)
class Knowledge(Value):
    """One piece of knowledge that all users of the tenant share."""

    knowledge_id: str
    content: str
    title: str
    source: str
    metadata: Mapping[str, str] = field(hash=False)
    create_time: datetime
    update_time: datetime
    expire_time: datetime | None
    """Visible only before this; None = never expires."""
    revision: int
    delete_time: datetime | None
    """Set only in the answer to a delete."""


@value(knowledge_service_pb2.ScoredKnowledge)
class ScoredKnowledge(Value):
    """A piece of knowledge with its rank among the results."""

    knowledge: Knowledge
    score: float
    """Cosine, -1 to 1, higher is better."""


@value(knowledge_service_pb2.UpsertKnowledgeResponse)
class KnowledgeUpserted(Value):
    """Answer to `upsert_knowledge`."""

    knowledge: Knowledge
    created: bool
    """It did not exist before."""
    written_at: str


@value(knowledge_service_pb2.DeleteKnowledgeResponse)
class KnowledgeDeleted(Value):
    """Answer to `delete_knowledge`."""

    knowledge: Knowledge
    written_at: str


@value(knowledge_service_pb2.GetKnowledgeResponse)
class KnowledgeRead(Value):
    """Answer to `get_knowledge`."""

    knowledge: Knowledge
    read_at: str


@value(knowledge_service_pb2.SearchKnowledgeResponse)
class KnowledgeSearchResult(Value):
    """The pieces nearest to a text or vector, best first. Iterates over its results."""

    results: tuple[ScoredKnowledge, ...]
    read_at: str
    timing: SearchTiming

    def __iter__(self) -> Iterator[ScoredKnowledge]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)


@value(rule_service_pb2.RuleSet)
class RuleSet(Value):
    """The rules at one revision."""

    revision: int
    """1 for the first; 0 = there are none yet."""
    rules: tuple[str, ...]
    create_time: datetime | None
    """None for revision 0."""
    actor: str


@value(rule_service_pb2.PutRulesResponse)
class RulesPut(Value):
    """Answer to `put_rules`."""

    rule_set: RuleSet
    written_at: str


@value(rule_service_pb2.GetRulesResponse)
class RulesRead(Value):
    """Answer to `get_rules`."""

    rule_set: RuleSet
    read_at: str


@value(context_service_pb2.ContextSection)
class ContextSection(Value):
    """One part of a context."""

    kind: SectionKind
    text: str
    tokens: int
    """By the server's estimate."""
    item_count: int
    dropped_count: int
    """How many more there were that the budget left out."""


@value(context_service_pb2.ContextTiming)
class ContextTiming(Value):
    """Where the time of a context went, in microseconds of the server's clock."""

    embed_us: int
    search_us: int
    knowledge_us: int
    window_us: int
    assemble_us: int
    total_us: int
    embed_cached: bool


@value(context_service_pb2.BuildContextResponse)
class Context(Value):
    """Everything that the assistant should know for its next answer."""

    system_prompt: str
    """Rules, memories and knowledge, rendered."""
    messages: tuple[Message, ...]
    """The window, oldest first."""
    sections: tuple[ContextSection, ...]
    memories: tuple[ScoredMemory, ...]
    knowledge: tuple[ScoredKnowledge, ...]
    total_tokens: int
    timing: ContextTiming
    read_at: str
    rules_revision: int
    """0 = none."""
    language: Language

    def chat_messages(self) -> list[dict[str, str]]:
        """The context in the form that chat completion endpoints take; add the user's message after it."""
        system = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        return system + [{"role": m.role.lower(), "content": m.content} for m in self.messages]


@value(context_service_pb2.Usage)
class Usage(Value):
    """Tokens as the model's provider counted them; 0 where it did not say."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@value(context_service_pb2.ChatResponse, kw_only=False)
class ChatDelta(Value):
    """A further piece of the model's answer."""

    delta: str


@value(context_service_pb2.ChatDone)
class ChatDone(Value):
    """End of a turn: the round is in the window."""

    message: Message
    """The whole answer."""
    finish_reason: FinishReason
    usage: Usage
    written_at: str
    model: str
    first_delta_us: int
    total_us: int


ChatEvent = Context | ChatDelta | ChatDone
"""One `Context` first, then any number of `ChatDelta`, one `ChatDone` last."""


@value(diagnostics_service_pb2.EmbedderInfo)
class EmbedderInfo(Value):
    """The embedder of a server."""

    model: str
    dimension: int
    nomination_threshold: float


@value(diagnostics_service_pb2.Limits)
class Limits(Value):
    """What a server accepts. Bytes are UTF-8 bytes."""

    max_user_id_bytes: int
    max_memory_id_bytes: int
    max_session_id_bytes: int
    max_request_id_bytes: int
    max_content_bytes: int
    max_knowledge_id_bytes: int
    max_metadata_bytes: int
    max_metadata_entries: int
    max_metadata_key_bytes: int
    max_metadata_value_bytes: int
    max_message_bytes: int
    max_messages: int
    max_conversation_bytes: int
    max_facts: int
    max_query_bytes: int
    max_top_k: int
    default_top_k: int
    max_batch_searches: int
    max_page_size: int
    default_page_size: int
    max_page_bytes: int
    max_rules_bytes: int
    max_reason_bytes: int
    max_budget_tokens: int
    max_ttl_seconds: int
    max_request_message_bytes: int
    max_response_message_bytes: int


@value(diagnostics_service_pb2.GetServerInfoResponse)
class ServerInfo(Value):
    """What a server runs and what it accepts."""

    version: str
    embedder: EmbedderInfo
    decider_kinds: tuple[DeciderKind, ...]
    vector_store_engine: str
    journal_engine: str
    limits: Limits
