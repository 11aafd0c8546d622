"""What callers hand over: messages, facts, searches, freshness."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Protocol, Self

from memlane.v1 import consistency_pb2, context_service_pb2, memory_pb2, memory_service_pb2

from ._values import Value, value
from ._wire import to_duration, to_f32, to_timestamp
from .enums import Role


class VectorLike(Protocol):
    """A list or tuple of numbers, bytes of little-endian float32, or a one-dimensional buffer (a numpy array)."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any, /) -> Any: ...


class Never(Enum):
    """Type of `memlane.NEVER`."""

    NEVER = "never"


NEVER = Never.NEVER
"""As the `ttl` of an update: the memory no longer expires."""


@value(memory_pb2.Message, kw_only=False)
class Message(Value):
    """One message of a conversation.

    Example:
        >>> Message("user", "我下周要去上海出差", create_time=datetime.now(UTC), time_zone="Asia/Shanghai")
    """

    role: str
    """A `Role`, or its name in either case."""
    content: str
    create_time: datetime | None = None
    """When it was said; aware. Relative dates ("yesterday", 上周) are worked out from it."""
    time_zone: str = ""
    """Zone in which the speaker means "yesterday": an IANA name or an offset. Empty = the server's."""

    def to_proto(self) -> memory_pb2.Message:
        return memory_pb2.Message(
            role=Role.to_wire(self.role),
            content=self.content,
            create_time=to_timestamp(self.create_time),
            time_zone=self.time_zone,
        )


MessageLike = Message | tuple[str, str] | Mapping[str, Any]
"""A Message, a pair (role, content), or a mapping with the fields of a Message."""


def to_message(given: MessageLike) -> memory_pb2.Message:
    if isinstance(given, Message):
        return given.to_proto()
    made = Message(**given) if isinstance(given, Mapping) else Message(*given)
    return made.to_proto()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that the caller states itself: nothing is extracted, but it is decided and guarded like any other.

    Example:
        >>> Fact("预算 50 万元", ttl=timedelta(days=30), metadata={"channel": "branch"})
    """

    content: str
    ttl: timedelta | None = None
    """Lifetime from now; None = never expires."""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)

    def to_proto(self) -> memory_pb2.Fact:
        return memory_pb2.Fact(content=self.content, ttl=to_duration(self.ttl), metadata=self.metadata)


def to_fact(given: "Fact | str") -> memory_pb2.Fact:
    return (Fact(given) if isinstance(given, str) else given).to_proto()


@dataclass(frozen=True, slots=True)
class Consistency:
    """How fresh a read must be.

    A client sends the right one by itself, so that it reads its own writes. Give one to read another process's
    write (`at_least`), to see everything acknowledged so far (`full`), or to ask for the least latency
    (`minimize_latency`).
    """

    token: str = ""
    fully: bool = False

    @classmethod
    def minimize_latency(cls) -> Self:
        """From what the replica has applied already."""
        return cls()

    @classmethod
    def at_least(cls, token: str) -> Self:
        """From a state that holds at least the write that gave this `written_at`."""
        return cls(token=token)

    @classmethod
    def full(cls) -> Self:
        """From a state that holds every write acknowledged before the call."""
        return cls(fully=True)

    def to_proto(self) -> consistency_pb2.Consistency:
        if self.fully:
            return consistency_pb2.Consistency(fully_consistent=True)
        if self.token:
            return consistency_pb2.Consistency(
                at_least_as_fresh=consistency_pb2.ConsistencyToken(token=self.token)
            )
        return consistency_pb2.Consistency(minimize_latency=True)


def to_consistency(given: Consistency | None) -> consistency_pb2.Consistency | None:
    return None if given is None else given.to_proto()


@dataclass(frozen=True, slots=True)
class Search:
    """One search: what `search_memories` takes as arguments, as a value for batches and streams.

    Example:
        >>> Search("c-1001", "她孩子多大了？", top_k=3)
        >>> Search("c-1001", embedding=model.encode("loan for a car"))
    """

    user_id: str
    query: str | None = None
    """A text in any language; scored by meaning and by words."""
    embedding: VectorLike | None = field(default=None, kw_only=True)
    """A vector of the server's embedder, instead of `query`; scored by cosine alone."""
    top_k: int = field(default=0, kw_only=True)
    """How many results at most; 0 = 5."""
    min_score: float | None = field(default=None, kw_only=True)
    metadata_filter: Mapping[str, str] | None = field(default=None, kw_only=True, hash=False)
    """Only memories whose metadata holds all of these entries."""
    created_after: datetime | None = field(default=None, kw_only=True)
    """At or after this; aware."""
    created_before: datetime | None = field(default=None, kw_only=True)
    """Before this; aware."""
    as_of: datetime | None = field(default=None, kw_only=True)
    """What was known at this moment; aware. None = now."""
    include_score_parts: bool = field(default=False, kw_only=True)
    consistency: Consistency | None = field(default=None, kw_only=True)
    correlation_id: str = field(default="", kw_only=True)
    """The caller's mark; only in streams."""

    def to_proto(self) -> memory_service_pb2.SearchMemoriesRequest:
        return memory_service_pb2.SearchMemoriesRequest(
            user_id=self.user_id,
            **one_input(self.query, self.embedding, required=True),
            top_k=self.top_k,
            min_score=self.min_score,
            metadata_filter=self.metadata_filter,
            created_after=to_timestamp(self.created_after),
            created_before=to_timestamp(self.created_before),
            as_of=to_timestamp(self.as_of),
            include_score_parts=self.include_score_parts,
            consistency=to_consistency(self.consistency),
        )


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How to ask the model in `chat`. What is not given is left to the server's settings."""

    model: str = ""
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int = 0
    """0 = the server's setting."""
    stop: Iterable[str] = ()

    def to_proto(self) -> context_service_pb2.ModelOptions:
        return context_service_pb2.ModelOptions(
            model=self.model,
            temperature=self.temperature,
            top_p=self.top_p,
            max_output_tokens=self.max_output_tokens,
            stop=list(self.stop),
        )


def one_input(query: str | None, embedding: VectorLike | None, *, required: bool = False) -> dict[str, Any]:
    """The field of a request that holds what to look for. Raises ValueError where a query and an embedding are given,
    or neither though one is required."""
    if query is not None and embedding is not None:
        raise ValueError("give a query or an embedding, not both")
    if query is not None:
        return {"query": query}
    if embedding is not None:
        return {"embedding_f32": to_f32(embedding)}
    if required:
        raise ValueError("give a query or an embedding")
    return {}
