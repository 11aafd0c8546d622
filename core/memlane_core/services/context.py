"""What a conversation's next prompt is built from, and how long each part took."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

import numpy as np
from numpy.typing import NDArray

from ..context import Assembled, ContextTemplates, Ingredients, assemble, top_k_for_budget
from ..domain.conversation import Role, StoredMessage
from ..domain.errors import InvalidArgument
from ..domain.language import Language, detect
from ..index import Hit
from ..ports.rule_store import RuleSet
from ..ports.session_store import Window
from ..ports.vector_store import KnowledgeHit
from .call import Call
from .consistency import MINIMIZE_LATENCY, Consistency
from .knowledge import KnowledgeService
from .rules import RulesService
from .search import SearchCommand, SearchService
from .sessions import SessionService


@dataclass(frozen=True, slots=True)
class ContextCommand:
    """`query` or `embedding` says what the prompt is about; with neither, the window's newest user message does."""

    user_id: str
    session_id: str = ""
    query: str | None = None
    embedding: NDArray[np.float32] | None = None
    budget_tokens: int = 0
    """0 = no bound."""
    top_k: int = 0
    """0 = by the budget."""
    language: Language | None = None
    """None = that of the user's own words."""
    rules: bool = True
    memories: bool = True
    knowledge: bool = True
    window: bool = True
    consistency: Consistency = MINIMIZE_LATENCY


@dataclass(frozen=True, slots=True)
class ContextTiming:
    """Microseconds."""

    embed_us: int
    search_us: int
    knowledge_us: int
    window_us: int
    assemble_us: int
    total_us: int
    embed_cached: bool


@dataclass(frozen=True, slots=True)
class BuiltContext:
    assembled: Assembled
    memories: Sequence[Hit]
    knowledge: Sequence[KnowledgeHit]
    rules_version: int
    language: Language
    timing: ContextTiming


@dataclass(frozen=True, slots=True)
class ContextPolicy:
    templates: Mapping[Language, ContextTemplates]
    zone: tzinfo = UTC
    """In which a memory's date is shown."""
    knowledge_top_k: int = 3
    knowledge_min_score: float = 0.3
    """Knowledge below this is not about the question."""
    rounds: int = 10


_NO_WINDOW = Window((), 0, False)
_NO_RULES = RuleSet(0, (), "", 0)


class ContextService:
    def __init__(
        self,
        *,
        search: SearchService,
        knowledge: KnowledgeService,
        rules: RulesService,
        sessions: SessionService,
        policy: ContextPolicy,
    ) -> None:
        self._search = search
        self._knowledge = knowledge
        self._rules = rules
        self._sessions = sessions
        self._policy = policy

    async def build(self, call: Call, command: ContextCommand) -> BuiltContext:
        """Raises what the parts raise: a context with a part silently missing would be worse than none. InvalidArgument
        where nothing says what the prompt is about, and for a budget below rules and newest user message."""
        started = time.perf_counter_ns()
        looks_up = command.memories or command.knowledge
        query_given = command.query is not None or command.embedding is not None
        window = _NO_WINDOW
        if command.session_id and (command.window or (looks_up and not query_given)):
            window = await self._sessions.window(
                call, command.user_id, command.session_id, self._policy.rounds
            )
        if looks_up and not query_given:
            command = replace(command, query=_newest_words(window.messages))
        if not command.window:
            window = _NO_WINDOW
        window_done = time.perf_counter_ns()
        rules = await self._rules.get(call) if command.rules else _NO_RULES
        hits: Sequence[Hit] = ()
        found: Sequence[KnowledgeHit] = ()
        embed_us = search_us = 0
        cached = False
        knowledge_from = time.perf_counter_ns()
        if looks_up:
            lookup = SearchCommand(
                user_id=command.user_id,
                query=command.query,
                embedding=command.embedding,
                top_k=command.top_k or top_k_for_budget(command.budget_tokens),
                consistency=command.consistency,
            )
            embedded = await self._search.embed(call, lookup)
            cached = embedded.cached
            if command.embedding is None:
                embed_us = (time.perf_counter_ns() - knowledge_from) // 1000
            if command.memories:
                result = await self._search.search_embedded(call, lookup, embedded)
                hits, search_us = result.hits, result.timing.search_us
            knowledge_from = time.perf_counter_ns()
            if command.knowledge and not self._knowledge.known_empty(call.tenant):
                nearest = await self._knowledge.nearest(
                    call, embedded.embedding, self._policy.knowledge_top_k
                )
                found = [h for h in nearest if h.score >= self._policy.knowledge_min_score]
        assemble_from = time.perf_counter_ns()
        language = command.language or detect(_own_words(command.query, window.messages))
        assembled = assemble(
            Ingredients(rules.rules, [h.memory for h in hits], [h.memory for h in found], window.messages),
            self._policy.templates[language],
            budget_tokens=command.budget_tokens,
            zone=self._policy.zone,
        )
        _check_budget(command.budget_tokens, assembled, window.messages)
        done = time.perf_counter_ns()
        return BuiltContext(
            assembled=assembled,
            memories=hits[: assembled.memories],
            knowledge=found[: assembled.knowledge],
            rules_version=rules.version,
            language=language,
            timing=ContextTiming(
                embed_us=embed_us,
                search_us=search_us,
                knowledge_us=(assemble_from - knowledge_from) // 1000,
                window_us=(window_done - started) // 1000,
                assemble_us=(done - assemble_from) // 1000,
                total_us=(done - started) // 1000,
                embed_cached=cached,
            ),
        )


def _newest_words(window: Sequence[StoredMessage]) -> str:
    for stored in reversed(window):
        if stored.message.role is Role.USER:
            return stored.message.content
    raise InvalidArgument.of("input", "nothing to look for: give a query or a session with a user message")


def _check_budget(budget_tokens: int, assembled: Assembled, window: Sequence[StoredMessage]) -> None:
    spoken = any(m.message.role is Role.USER for m in window)
    kept = any(m.role is Role.USER for m in assembled.messages)
    if budget_tokens and (assembled.total_tokens > budget_tokens or (spoken and not kept)):
        raise InvalidArgument.of("budget_tokens", "cannot hold the rules and the newest user message")


def _own_words(query: str | None, window: Sequence[StoredMessage]) -> str:
    if query:
        return query
    return " ".join(m.message.content for m in window if m.message.role.value == "user")[-2000:]
