"""What a memory is, and how it changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class MemoryType(StrEnum):
    """Kinds of row in the store."""

    EPISODIC = "episodic"
    """A fact or event about one user."""
    SEMANTIC = "semantic"
    """Knowledge shared by all users of a tenant."""


class Action(StrEnum):
    """What became of a memory. NOOP changes nothing and leaves no event."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"
    EXPIRE = "EXPIRE"
    """Soft-deleted by the sweeper because its time ran out."""
    FORGET = "FORGET"
    """Soft-deleted because its user was forgotten."""
    PURGE = "PURGE"
    """Physically removed after the retention time."""


class DeciderKind(StrEnum):
    """Who decided an operation."""

    MODEL = "MODEL"
    RULES = "RULES"
    EXPLICIT = "EXPLICIT"
    """The caller said so (CreateMemory, UpdateMemory, DeleteMemory)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it stands at one revision. Times are whole Unix seconds (UTC)."""

    memory_id: str
    user_id: str
    content: str
    memory_type: MemoryType = MemoryType.EPISODIC
    metadata: Mapping[str, str] = field(default_factory=dict)
    created_at: int = 0
    updated_at: int = 0
    expires_at: int | None = None
    """Second from which it is no longer visible; None = never expires."""
    revision: int = 1
    """1 at creation, one more with each change."""
    position: int = 0
    """Journal position of its last change; breaks ties between equal seconds (newest first)."""

    @property
    def stated_at(self) -> int:
        """Second of its last change."""
        return max(self.created_at, self.updated_at)

    def visible(self, now: float) -> bool:
        """Whether it may be shown at `now` (Unix seconds): only while now < expires_at."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True)
class Revision:
    """One step of a memory's history. Texts are None once they were erased."""

    memory_id: str
    revision: int
    action: Action
    content: str | None
    previous_content: str | None
    time_us: int
    """When it was recorded, Unix microseconds."""
    actor: str
    decider: DeciderKind
    reason: str
    position: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    expires_at: int | None = None
    valid_from_us: int = 0
    valid_until_us: int | None = None
    """Moment from which the next revision holds; None while this one is the last."""
    created_at: int = 0
