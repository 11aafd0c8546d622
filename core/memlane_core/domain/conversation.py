"""Messages, rounds and the facts taken from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str
    create_time: datetime | None = None
    """Aware; its tzinfo is the zone in which the speaker means "yesterday". None = not told."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something worth keeping, one sentence, in the language it was said in, dates absolute."""

    content: str
    expires_at: int | None = None
    """Unix second at which it stops being true, where the speaker said so; None = lasting."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    source: int | None = None
    """Index of the user message that it was taken from; None for facts given as such."""
    retraction: bool = False
    """The speaker takes something back ("forget what I said about food") rather than states something new."""


@dataclass(frozen=True, slots=True)
class RejectedFact:
    """A fact that was not kept, and why. `content` is already free of secrets."""

    content: str
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """Outcome of reading one conversation. No facts and nothing rejected is a valid answer."""

    facts: tuple[Fact, ...]
    rejected: tuple[RejectedFact, ...] = ()
    partial: bool = False
    """Part of the model's answer was lost; the facts here are whole, others may be missing."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message in the short-term window of a session."""

    seq: int
    message: Message
    time_us: int
    tokens: int | None = None
    """What it costs in a prompt, where that was counted already."""
    record: object = None
    """What the record factory of the windows made of the message, ready to be sent."""


def rounds(messages: tuple[StoredMessage, ...]) -> int:
    """Number of rounds: a round is one user message and its answers."""
    return sum(1 for m in messages if m.message.role is Role.USER)
