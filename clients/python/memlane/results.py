"""What calls about memories and sessions return."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from memlane.v1 import memory_pb2, memory_service_pb2, session_service_pb2

from ._values import Value, value
from .enums import Action, DeciderKind, IngestionState, MemoryType
from .errors import MemlaneError
from .inputs import Message

T = TypeVar("T")


@value(memory_pb2.Memory)
class Memory(Value):
    """One memory as it stands at one revision. Times are aware and in UTC."""

    memory_id: str
    user_id: str
    content: str
    memory_type: MemoryType
    metadata: Mapping[str, str] = field(hash=False)
    create_time: datetime
    """When revision 1 was recorded."""
    update_time: datetime
    """When this revision was recorded."""
    expire_time: datetime | None
    """Visible only before this; None = never expires."""
    revision: int
    """Hand it back as the optimistic lock of an update or delete."""
    delete_time: datetime | None
    """Set only in the answer to a delete and in exports."""


@value(memory_pb2.MemoryRevision)
class MemoryRevision(Value):
    """One step of a memory's history."""

    memory_id: str
    revision: int
    action: Action
    content: str | None
    """The text from this step on; None once the texts were erased."""
    previous_content: str | None
    """The text before this step; None for an ADD and once the texts were erased."""
    time: datetime
    actor: str
    """Name of the credential that caused it, or `system`."""
    reason: str
    decider: DeciderKind
    valid_from: datetime
    valid_until: datetime | None
    """Exclusive; None while it is the newest."""
    metadata: Mapping[str, str] = field(hash=False)
    expire_time: datetime | None


@value(memory_pb2.RememberOperation)
class Operation(Value):
    """One decided step of a `remember`."""

    action: Action
    memory: Memory
    """As it stands afterwards; for DELETE and NOOP the memory concerned."""
    previous: Memory | None
    """As it stood before an UPDATE or DELETE."""
    reason: str
    decider: DeciderKind
    similarity: float | None
    """Cosine between the fact and the memory concerned; None where nothing was compared."""
    guards: tuple[str, ...]
    """Guards that changed the decision, in the order they ran."""


@value(memory_pb2.RejectedFact)
class RejectedFact(Value):
    """A fact that was found and not kept."""

    fact: str
    reason: str


@value(memory_service_pb2.RememberResponse)
class RememberResult(Value):
    """What a `remember` brought."""

    operations: tuple[Operation, ...]
    """In order. Empty in ASYNC mode."""
    rejected: tuple[RejectedFact, ...]
    partial: bool
    """Part of the model's answer was lost: further facts may have been said."""
    ingestion_id: str
    """ASYNC only: for `get_ingestion`."""
    written_at: str
    assumed_create_time: datetime | None
    """Set when a message carried no time: the one that relative dates were worked out from."""


@value(memory_service_pb2.Ingestion)
class Ingestion(Value):
    """An ingestion without its input and operations."""

    ingestion_id: str
    state: IngestionState
    error: MemlaneError | None
    """Why it FAILED."""
    create_time: datetime
    update_time: datetime
    attempt_count: int


@value(memory_service_pb2.GetIngestionResponse)
class IngestionResult(Value):
    """State and outcome of an ingestion."""

    ingestion_id: str
    state: IngestionState
    operations: tuple[Operation, ...]
    """What was applied, once SUCCEEDED."""
    rejected: tuple[RejectedFact, ...]
    partial: bool
    error: MemlaneError | None
    """Why it FAILED."""
    create_time: datetime
    update_time: datetime
    attempt_count: int
    written_at: str
    """Token of its operations, once SUCCEEDED."""
    read_at: str


@value(memory_service_pb2.RetryIngestionResponse)
class RetriedIngestion(Value):
    """Answer to `retry_ingestion`."""

    ingestion: Ingestion
    written_at: str


@value(memory_service_pb2.CreateMemoryResponse)
class MemoryWritten(Value):
    """Answer to a create, update or delete."""

    memory: Memory
    """As it stands now; after a delete as it stood, with delete_time."""
    written_at: str
    """Consistency token of the state after the call."""


@value(memory_service_pb2.GetMemoryResponse)
class MemoryRead(Value):
    """Answer to `get_memory`."""

    memory: Memory
    read_at: str


@value(memory_pb2.ScoredMemory)
class ScoredMemory(Value):
    """A memory with its rank among the results."""

    memory: Memory
    score: float
    """Higher is better."""
    cosine: float | None
    """-1 to 1; only where the parts were asked for."""
    lexical: float | None
    """0 to 1; only where the parts were asked for and the search was made with a text."""


@value(memory_pb2.SearchTiming)
class SearchTiming(Value):
    """Where the time of a search went, in microseconds of the server's clock."""

    embed_us: int
    search_us: int
    total_us: int
    embed_cached: bool


@value(memory_service_pb2.SearchMemoriesResponse)
class SearchResult(Value):
    """The memories that matter, best first. Iterates over its results.

    Example:
        >>> for hit in client.search_memories("c-1001", "孩子"):
        ...     print(f"{hit.score:.2f} {hit.memory.content}")
    """

    results: tuple[ScoredMemory, ...]
    read_at: str
    timing: SearchTiming

    def __iter__(self) -> Iterator[ScoredMemory]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> ScoredMemory:
        return self.results[index]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome(Value):
    """Outcome of one search of a batch or stream: a result or an error."""

    result: SearchResult | None
    error: MemlaneError | None
    correlation_id: str = ""
    """The mark of the search; only in streams."""

    def unwrap(self) -> SearchResult:
        """The result. Raises the error where there is one."""
        if self.error is not None:
            raise self.error
        if self.result is None:
            raise ValueError("an outcome without result and error")
        return self.result


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Value, Generic[T]):
    """One page of a list. Iterates over its items; `client.iterate` walks through all pages."""

    items: tuple[T, ...]
    next_page_token: str
    """Empty at the end."""
    read_at: str

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@value(session_service_pb2.AppendMessagesResponse)
class Appended(Value):
    """Answer to `append_messages`."""

    message_count: int
    """Messages of the session so far, those outside the window included."""
    round_count: int
    """Rounds that the window holds now."""
    written_at: str


@value(session_service_pb2.GetWindowResponse)
class Window(Value):
    """The last rounds of a session, oldest message first."""

    messages: tuple[Message, ...]
    round_count: int
    ended: bool
    read_at: str


@value(session_service_pb2.EndSessionResponse)
class SessionEnded(Value):
    """What the end of a session brought."""

    already_ended: bool
    operations: tuple[Operation, ...]
    """What was learned. Empty in ASYNC mode."""
    rejected: tuple[RejectedFact, ...]
    partial: bool
    ingestion_id: str
    """Empty when there was nothing to offer."""
    written_at: str
