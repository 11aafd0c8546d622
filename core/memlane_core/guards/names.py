"""The guards by name, as they appear in operations, logs and metrics."""

from enum import StrEnum


class GuardName(StrEnum):
    UNKNOWN_TARGET = "unknown_target"
    """The decision named a memory that was not offered."""
    MISSING_TARGET = "missing_target"
    """An UPDATE or DELETE named no memory, or an ADD named one."""
    ALREADY_STORED = "already_stored"
    """A fact whose very words are stored would have been stored, replaced or deleted again."""
    CONTENT_EMPTY = "content_empty"
    CONTENT_TOO_LONG = "content_too_long"
    CONTENT_LOST_NUMBER = "content_lost_number"
    """The new text dropped or invented a number."""
    CONTENT_LOST_NEGATION = "content_lost_negation"
    """The new text dropped or invented a negation."""
    DELETE_LOSES_FACT = "delete_loses_fact"
    """A newly stated fact would have vanished with its predecessor."""
    NUMBER_DIFFERS = "number_differs"
    """A fact with another number counted as known."""
    NEGATION_DIFFERS = "negation_differs"
    """A fact that says the opposite counted as known."""
    TOO_MANY_DELETIONS = "too_many_deletions"
    """One Remember would have deleted more memories than allowed."""


GUARD_NAMES: tuple[str, ...] = tuple(name.value for name in GuardName)
"""All names, for metrics that must exist before the first intervention."""
