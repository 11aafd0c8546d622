"""The contract's enumerations as strings: `Action.ADD == "ADD"`.

Members stand in the order of their numbers on the wire. A number that this client does not know (a newer server)
reads as the first member, UNSPECIFIED.
"""

from enum import StrEnum
from functools import cache
from typing import Any, Self


class WireEnum(StrEnum):
    """Base of the enumerations."""

    @classmethod
    def from_wire(cls, number: int) -> Self:
        members = cls.members()
        return members[number] if 0 <= number < len(members) else members[0]

    @classmethod
    @cache
    def members(cls) -> tuple[Self, ...]:
        """In the order of their numbers."""
        return tuple(cls)

    @classmethod
    def to_wire(cls, name: str) -> Any:
        """Number of a member or of its name in either case (the stubs give the numbers of each enumeration a type of
        their own, hence Any). Raises ValueError, naming what there is."""
        try:
            return cls.members().index(cls(name.upper()))
        except ValueError:
            raise ValueError(f"{name!r} is none of {', '.join(cls.members()[1:])}") from None


class MemoryType(WireEnum):
    """Kinds of stored text."""

    UNSPECIFIED = "UNSPECIFIED"
    EPISODIC = "EPISODIC"
    """A fact or event about one user."""
    SEMANTIC = "SEMANTIC"
    """Knowledge that all users of the tenant share."""


class Action(WireEnum):
    """What became of a memory."""

    UNSPECIFIED = "UNSPECIFIED"
    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"
    """The fact was known: nothing changed."""
    EXPIRE = "EXPIRE"
    """Soft-deleted because its time ran out. Only in histories."""
    FORGET = "FORGET"
    """Soft-deleted because its user was forgotten. Only in histories."""
    PURGE = "PURGE"
    """Physically removed after the retention time. Only in histories."""


class DeciderKind(WireEnum):
    """Who decided an operation."""

    UNSPECIFIED = "UNSPECIFIED"
    MODEL = "MODEL"
    """The configured language model."""
    RULES = "RULES"
    """The built-in rules."""
    EXPLICIT = "EXPLICIT"
    """The caller, or the service itself (expiry, erasure)."""


class Role(WireEnum):
    """Who speaks in a message."""

    UNSPECIFIED = "UNSPECIFIED"
    USER = "USER"
    """The customer: the only source of facts."""
    ASSISTANT = "ASSISTANT"
    SYSTEM = "SYSTEM"
    TOOL = "TOOL"


class RememberMode(WireEnum):
    """How far the server works before it answers."""

    UNSPECIFIED = "UNSPECIFIED"
    WAIT = "WAIT"
    """Until every operation is applied and visible."""
    ASYNC = "ASYNC"
    """Until the input is durable; `get_ingestion` tells the outcome."""


class IngestionState(WireEnum):
    """How far an ingestion is."""

    UNSPECIFIED = "UNSPECIFIED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    """Given up after bounded tries; it wrote nothing. `retry_ingestion` tries again."""
    CANCELLED = "CANCELLED"
    """The user was forgotten before it was done; it wrote nothing."""


class MemoryOrder(WireEnum):
    """Order of a list of memories."""

    UNSPECIFIED = "UNSPECIFIED"
    CREATE_TIME_DESC = "CREATE_TIME_DESC"
    """Newest first; the default."""
    CREATE_TIME_ASC = "CREATE_TIME_ASC"
    UPDATE_TIME_DESC = "UPDATE_TIME_DESC"
    UPDATE_TIME_ASC = "UPDATE_TIME_ASC"


class Language(WireEnum):
    """Language of the template around the texts."""

    UNSPECIFIED = "UNSPECIFIED"
    AUTO = "AUTO"
    """The query's language; the default."""
    ZH = "ZH"
    EN = "EN"


class SectionKind(WireEnum):
    """Parts of a context."""

    UNSPECIFIED = "UNSPECIFIED"
    RULES = "RULES"
    MEMORIES = "MEMORIES"
    KNOWLEDGE = "KNOWLEDGE"
    WINDOW = "WINDOW"


class FinishReason(WireEnum):
    """Why the model stopped."""

    UNSPECIFIED = "UNSPECIFIED"
    STOP = "STOP"
    """It was done, or met a stop text."""
    LENGTH = "LENGTH"
    """The output limit was reached: the answer is cut."""
    CONTENT_FILTER = "CONTENT_FILTER"
    """The provider's filter stopped it."""
