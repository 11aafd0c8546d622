"""Rules, memories, knowledge and window to one prompt that fits the budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import lru_cache

from ..domain.conversation import Message, Role, StoredMessage
from ..domain.memory import Memory
from .templates import ContextTemplates
from .tokens import estimate_tokens, message_tokens


class SectionKind(StrEnum):
    RULES = "rules"
    MEMORIES = "memories"
    KNOWLEDGE = "knowledge"
    WINDOW = "window"


@dataclass(frozen=True, slots=True)
class Section:
    kind: SectionKind
    text: str
    """As it stands in the system prompt; "" for the window, which goes as messages."""
    tokens: int
    items: int
    dropped: int
    """Items that there was no room for."""


@dataclass(frozen=True, slots=True)
class Ingredients:
    """What may go into a context, each best or newest first where order matters."""

    rules: Sequence[str] = ()
    memories: Sequence[Memory] = ()
    """Best first."""
    knowledge: Sequence[Memory] = ()
    """Best first."""
    window: Sequence[StoredMessage] = ()
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Assembled:
    system_prompt: str
    window: tuple[StoredMessage, ...]
    """What goes as messages, oldest first."""
    sections: tuple[Section, ...]
    total_tokens: int
    memories: int
    """How many of the offered memories were used (the first ones)."""
    knowledge: int

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(stored.message for stored in self.window)


# Share of what rules leave over that memories and knowledge may take; the window gets the rest and what they leave.
_MEMORY_SHARE = 0.4
_KNOWLEDGE_SHARE = 0.25


def top_k_for_budget(budget_tokens: int) -> int:
    """How many memories a budget carries by default: 3 to 8, 5 in the middle; 0 tokens = no budget = 5."""
    if budget_tokens == 0:
        return 5
    if budget_tokens < 1000:
        return 3
    if budget_tokens < 4000:
        return 5
    return 8


def assemble(
    ingredients: Ingredients, templates: ContextTemplates, *, budget_tokens: int, zone: tzinfo
) -> Assembled:
    """Rules always go in whole, then the newest user message; memories, knowledge and the newest rounds as far as
    `budget_tokens` reaches (0 = no bound). A memory's line breaks are folded, so that no memory can look like a section
    of its own."""
    rules = _rules(tuple(ingredients.rules), templates)
    newest = _newest_cost(ingredients.window)
    left = max(budget_tokens - rules.tokens - newest, 0) if budget_tokens else None
    memories = _section(
        SectionKind.MEMORIES,
        templates.memories_header,
        [
            templates.memory_line.format(content=_one_line(m.content), date=_day(m.updated_at, zone))
            for m in ingredients.memories
        ],
        None if left is None else int(left * _MEMORY_SHARE),
    )
    knowledge = _section(
        SectionKind.KNOWLEDGE,
        templates.knowledge_header,
        [
            templates.knowledge_line.format(content=_one_line(k.content), date="")
            for k in ingredients.knowledge
        ],
        None if left is None else int(left * _KNOWLEDGE_SHARE),
    )
    section, window = _window(
        ingredients.window, None if left is None else left + newest - memories.tokens - knowledge.tokens
    )
    sections = tuple(s for s in (rules, memories, knowledge, section) if s.items or s.dropped)
    return Assembled(
        system_prompt="\n\n".join(s.text for s in sections if s.text),
        window=window,
        sections=sections,
        total_tokens=sum(s.tokens for s in sections),
        memories=memories.items,
        knowledge=knowledge.items,
    )


@lru_cache(maxsize=256)
def _rules(rules: tuple[str, ...], templates: ContextTemplates) -> Section:
    """The same for every turn of a tenant, and no user's words."""
    lines = [templates.rule_line.format(content=rule, date="") for rule in rules]
    return _section(SectionKind.RULES, templates.rules_header, lines, None)


def _section(kind: SectionKind, header: str, lines: Sequence[str], room: int | None) -> Section:
    if not lines:
        return Section(kind, "", 0, 0, 0)
    tokens = _header_tokens(header) + 1
    used = 0
    for line in lines:
        cost = estimate_tokens(line) + 1
        if room is not None and tokens + cost > room:
            break
        tokens += cost
        used += 1
    if not used:
        return Section(kind, "", 0, 0, len(lines))
    return Section(kind, "\n".join([header, *lines[:used]]), tokens, used, len(lines) - used)


@lru_cache(maxsize=64)
def _header_tokens(header: str) -> int:
    return estimate_tokens(header)


def _window(window: Sequence[StoredMessage], room: int | None) -> tuple[Section, tuple[StoredMessage, ...]]:
    """The newest whole rounds that fit, oldest first; of a newest round that does not fit, its beginning."""
    rounds: list[list[StoredMessage]] = []
    for stored in window:
        if stored.message.role is Role.USER or not rounds:
            rounds.append([])
        rounds[-1].append(stored)
    kept: list[list[StoredMessage]] = []
    tokens = 0
    for turn in reversed(rounds):
        cost = sum(map(_cost, turn))
        if room is not None and tokens + cost > room:
            break
        tokens += cost
        kept.append(turn)
    if not kept and rounds and room is not None:
        kept.append([])
        for message in rounds[-1]:
            if tokens + _cost(message) > room:
                break
            tokens += _cost(message)
            kept[-1].append(message)
    section = Section(SectionKind.WINDOW, "", tokens, len(kept), len(rounds) - len(kept))
    return section, tuple(m for turn in reversed(kept) for m in turn)


def _newest_cost(window: Sequence[StoredMessage]) -> int:
    """Tokens of the newest user message; 0 without one."""
    newest = next((m for m in reversed(window) if m.message.role is Role.USER), None)
    return 0 if newest is None else _cost(newest)


def _cost(stored: StoredMessage) -> int:
    return message_tokens(stored.message.content) if stored.tokens is None else stored.tokens


def _one_line(text: str) -> str:
    return " ".join(text.splitlines()) if "\n" in text or "\r" in text else text


@lru_cache(maxsize=4096)
def _day(seconds: int, zone: tzinfo) -> str:
    return datetime.fromtimestamp(seconds, zone).date().isoformat()
