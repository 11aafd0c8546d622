"""MemoryService, defined once for both clients. The contract of each call is its comment in
`proto/memlane/v1`; the docstrings here say what a Python caller needs."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar

from google.protobuf.field_mask_pb2 import FieldMask

from memlane.v1 import memory_pb2
from memlane.v1 import memory_service_pb2 as pb

from ._bind import Bound, unary
from ._calls import Call
from ._values import Value
from ._wire import to_duration, to_timestamp
from .enums import IngestionState, MemoryOrder, MemoryType, RememberMode
from .errors import from_status
from .inputs import (
    NEVER,
    Consistency,
    Fact,
    MessageLike,
    Never,
    Search,
    VectorLike,
    to_consistency,
    to_fact,
    to_message,
)
from .results import (
    Ingestion,
    IngestionResult,
    Memory,
    MemoryRead,
    MemoryRevision,
    MemoryWritten,
    Page,
    RememberResult,
    RetriedIngestion,
    SearchOutcome,
    SearchResult,
)

V = TypeVar("V", bound=Value)


def page_of(field: str, kind: type[V]) -> Callable[[Any], Page[V]]:
    """Parser of the response of a list call whose items stand in `field`."""

    def parse(response: Any) -> Page[V]:
        return Page(
            items=tuple(kind.from_proto(item) for item in getattr(response, field)),
            next_page_token=response.next_page_token,
            read_at=response.read_at.token,
            proto=response,
        )

    return parse


def search_outcome(outcome: Any) -> SearchOutcome:
    """From a SearchOutcome or a StreamSearchMemoriesResponse."""
    error = from_status(outcome.status)
    return SearchOutcome(
        result=SearchResult.from_proto(outcome.response) if error is None else None,
        error=error,
        correlation_id=getattr(outcome, "correlation_id", ""),
        proto=outcome,
    )


def _batch(response: Any) -> tuple[SearchOutcome, ...]:
    return tuple(map(search_outcome, response.responses))


class MemoryMethods(Bound):
    """What is known about one user."""

    @unary
    def remember(
        self,
        user_id: str,
        messages: Iterable[MessageLike] | None = None,
        *,
        facts: Iterable[Fact | str] | None = None,
        session_id: str | None = None,
        recalled: Iterable[str] = (),
        mode: str = RememberMode.WAIT,
        validate_only: bool = False,
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[RememberResult]:
        """Learn from a conversation, from stated facts, or from the window of a session: exactly one of `messages`,
        `facts` and `session_id`. `recalled` are memories that were in the assistant's prompt; only with `messages`.

        Example:
            >>> client.remember("c-1001", [("user", "我有两个孩子，住在杭州")])
            >>> client.remember("c-1001", facts=["Prefers e-mail", Fact("预算 50 万", ttl=timedelta(days=30))])
        """
        if [messages is None, facts is None, session_id is None].count(False) != 1:
            raise ValueError("give exactly one of messages, facts and session_id")
        request = pb.RememberRequest(
            user_id=user_id,
            mode=RememberMode.to_wire(mode),
            validate_only=validate_only,
        )
        if session_id is not None:
            request.session_id = session_id
        if messages is not None:
            said = [to_message(m) for m in messages]
            request.conversation.CopyFrom(memory_pb2.Conversation(messages=said, recalled=list(recalled)))
        if facts is not None:
            request.facts.CopyFrom(memory_pb2.FactList(facts=[to_fact(f) for f in facts]))
        return Call("Remember", request, RememberResult.from_proto, (user_id,), request_id, timeout)

    @unary
    def get_ingestion(
        self,
        user_id: str,
        ingestion_id: str,
        *,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[IngestionResult]:
        """State and outcome of a `remember` or `end_session` in ASYNC mode. Raises NotFound."""
        request = pb.GetIngestionRequest(
            user_id=user_id, ingestion_id=ingestion_id, consistency=to_consistency(consistency)
        )
        return Call("GetIngestion", request, IngestionResult.from_proto, (user_id,), timeout=timeout)

    @unary
    def list_ingestions(
        self,
        user_id: str,
        *,
        state: str = IngestionState.UNSPECIFIED,
        page_size: int = 0,
        page_token: str = "",
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Page[Ingestion]]:
        """A user's ingestions, newest first."""
        request = pb.ListIngestionsRequest(
            user_id=user_id,
            state=IngestionState.to_wire(state),
            page_size=page_size,
            page_token=page_token,
            consistency=to_consistency(consistency),
        )
        return Call("ListIngestions", request, page_of("ingestions", Ingestion), timeout=timeout)

    @unary
    def retry_ingestion(
        self, user_id: str, ingestion_id: str, *, request_id: str | None = None, timeout: float | None = None
    ) -> Call[RetriedIngestion]:
        """Put a FAILED ingestion back into the queue. Raises NotFound."""
        request = pb.RetryIngestionRequest(user_id=user_id, ingestion_id=ingestion_id)
        return Call(
            "RetryIngestion", request, RetriedIngestion.from_proto, (user_id,), request_id, timeout=timeout
        )

    @unary
    def create_memory(
        self,
        user_id: str,
        content: str,
        *,
        metadata: Mapping[str, str] | None = None,
        ttl: timedelta | None = None,
        reason: str = "",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[MemoryWritten]:
        """Store one memory as told: nothing is extracted or decided. `ttl` None = it never expires.

        Example:
            >>> client.create_memory("c-1001", "客户偏好电子邮件联系", metadata={"channel": "app"}).memory.memory_id
        """
        request = pb.CreateMemoryRequest(
            user_id=user_id, content=content, metadata=metadata, ttl=to_duration(ttl), reason=reason
        )
        return Call("CreateMemory", request, MemoryWritten.from_proto, (user_id,), request_id, timeout)

    @unary
    def get_memory(
        self,
        user_id: str,
        memory_id: str,
        *,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[MemoryRead]:
        """One memory by its id. Raises NotFound: unknown, deleted, expired, or another user's."""
        request = pb.GetMemoryRequest(
            user_id=user_id, memory_id=memory_id, consistency=to_consistency(consistency)
        )
        return Call("GetMemory", request, MemoryRead.from_proto, (user_id,), timeout=timeout)

    @unary
    def update_memory(
        self,
        user_id: str,
        memory_id: str,
        *,
        content: str | None = None,
        metadata: Mapping[str, str] | None = None,
        ttl: timedelta | Never | None = None,
        revision: int = 0,
        reason: str = "",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[MemoryWritten]:
        """Change what is given and leave what is None. `metadata` replaces the old labels as a whole, `{}` clears
        them; `ttl=NEVER` takes the expiry away. With a `revision`, raises RevisionMismatch unless it is the current
        one.

        Example:
            >>> memory = client.get_memory("c-1001", memory_id).memory
            >>> client.update_memory("c-1001", memory_id, content="有三个孩子", revision=memory.revision)
        """
        given = {"content": content, "metadata": metadata, "ttl": ttl}
        paths = [name for name, value in given.items() if value is not None]
        if not paths:
            raise ValueError("give at least one of content, metadata and ttl")
        request = pb.UpdateMemoryRequest(
            user_id=user_id,
            memory_id=memory_id,
            metadata=metadata,
            ttl=None if ttl is NEVER else to_duration(ttl),
            revision=revision,
            update_mask=FieldMask(paths=paths),
            reason=reason,
        )
        if content is not None:
            request.content = content
        return Call("UpdateMemory", request, MemoryWritten.from_proto, (user_id,), request_id, timeout)

    @unary
    def delete_memory(
        self,
        user_id: str,
        memory_id: str,
        *,
        revision: int = 0,
        reason: str = "",
        request_id: str | None = None,
        timeout: float | None = None,
    ) -> Call[MemoryWritten]:
        """Soft-delete one memory: invisible to every read when this returns. Raises NotFound, RevisionMismatch."""
        request = pb.DeleteMemoryRequest(
            user_id=user_id, memory_id=memory_id, revision=revision, reason=reason
        )
        return Call("DeleteMemory", request, MemoryWritten.from_proto, (user_id,), request_id, timeout)

    @unary
    def list_memories(
        self,
        user_id: str,
        *,
        memory_type: str = MemoryType.UNSPECIFIED,
        order: str = MemoryOrder.CREATE_TIME_DESC,
        metadata_filter: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        as_of: datetime | None = None,
        page_size: int = 0,
        page_token: str = "",
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Page[Memory]]:
        """One page of a user's memories; `iterate` walks through all of them. `as_of` gives the list as it stood
        at a moment.

        Example:
            >>> for memory in client.iterate(client.list_memories, "c-1001"):
            ...     print(memory.create_time.date(), memory.content)
        """
        request = pb.ListMemoriesRequest(
            user_id=user_id,
            memory_type=MemoryType.to_wire(memory_type),
            order=MemoryOrder.to_wire(order),
            metadata_filter=metadata_filter,
            created_after=to_timestamp(created_after),
            created_before=to_timestamp(created_before),
            as_of=to_timestamp(as_of),
            page_size=page_size,
            page_token=page_token,
            consistency=to_consistency(consistency),
        )
        return Call("ListMemories", request, page_of("memories", Memory), timeout=timeout)

    @unary
    def list_memory_revisions(
        self,
        user_id: str,
        memory_id: str,
        *,
        page_size: int = 0,
        page_token: str = "",
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[Page[MemoryRevision]]:
        """History of one memory, oldest first, also of a deleted or expired one. Raises NotFound."""
        request = pb.ListMemoryRevisionsRequest(
            user_id=user_id,
            memory_id=memory_id,
            page_size=page_size,
            page_token=page_token,
            consistency=to_consistency(consistency),
        )
        return Call("ListMemoryRevisions", request, page_of("revisions", MemoryRevision), timeout=timeout)

    @unary
    def search_memories(
        self,
        user_id: str,
        query: str | None = None,
        *,
        embedding: VectorLike | None = None,
        top_k: int = 0,
        min_score: float | None = None,
        metadata_filter: Mapping[str, str] | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        as_of: datetime | None = None,
        include_score_parts: bool = False,
        consistency: Consistency | None = None,
        timeout: float | None = None,
    ) -> Call[SearchResult]:
        """The memories of one user that matter for a text or a vector, best first. `top_k` 0 = 5.

        Example:
            >>> for hit in client.search_memories("c-1001", "孩子上学", top_k=3):
            ...     print(f"{hit.score:.2f} {hit.memory.content}")
        """
        search = Search(
            user_id,
            query,
            embedding=embedding,
            top_k=top_k,
            min_score=min_score,
            metadata_filter=metadata_filter,
            created_after=created_after,
            created_before=created_before,
            as_of=as_of,
            include_score_parts=include_score_parts,
            consistency=consistency,
        )
        return Call("SearchMemories", search.to_proto(), SearchResult.from_proto, (user_id,), timeout=timeout)

    @unary
    def batch_search_memories(
        self, searches: Iterable[Search], *, timeout: float | None = None
    ) -> Call[tuple[SearchOutcome, ...]]:
        """Many searches, also of many users, in one call. One outcome per search, in their order: one that fails
        does not fail the others.

        Example:
            >>> outcomes = client.batch_search_memories([Search("c-1001", "预算"), Search("c-1002", "budget")])
            >>> [outcome.unwrap()[0].memory.content for outcome in outcomes]
        """
        request = pb.BatchSearchMemoriesRequest(searches=[s.to_proto() for s in searches])
        for search in request.searches:
            self._core.fill_consistency(search, (search.user_id,))
        return Call("BatchSearchMemories", request, _batch, timeout=timeout)
