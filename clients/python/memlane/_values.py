"""Values from messages: one decoder for every class, compiled from the message's descriptor on first use.

A value class names its message and declares fields of the same names; `from_proto` turns Timestamp into an aware
datetime, Duration into a timedelta, ConsistencyToken into a string, Status into an error or None, an enum into its
class here, a map into a dict and a repeated field into a tuple. A message field that is unset is None where the
class allows None.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from operator import attrgetter
from types import NoneType
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_args, get_type_hints

from google.protobuf.message import Message

from . import enums
from ._wire import to_datetime
from .errors import from_status

T = TypeVar("T")
Getter = Callable[[Any], Any]
"""From a message to the value of one field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Base of everything that calls return."""

    message_name: ClassVar[str] = ""
    """Full name of the message on the wire."""

    proto: Any = field(default=None, repr=False, compare=False)
    """The message as it came, for what this class does not show; None for a value made by hand."""

    @classmethod
    def from_proto(cls, message: Message) -> Self:
        """The value that a message stands for."""
        decoders = _COMPILED.get(cls)
        if decoders is None:
            decoders = _COMPILED[cls] = _compile(cls, message)
        made: dict[str, Any] = {name: decode(message) for name, decode in decoders}
        return cls(proto=message, **made)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def value(message: type[Message], *, kw_only: bool = True) -> Callable[[type[T]], type[T]]:
    """Declares the value class of a message."""

    def declare(cls: type[T]) -> type[T]:
        made = dataclass(frozen=True, slots=True, kw_only=kw_only)(cls)
        name = message.DESCRIPTOR.full_name
        made.message_name = name  # type: ignore[attr-defined]
        _CLASSES.setdefault(name, made)
        return made

    return declare


_CLASSES: dict[str, Any] = {}
_COMPILED: dict[type[Value], tuple[tuple[str, Getter], ...]] = {}
_SPECIAL: Mapping[str, Callable[[Any], Any]] = {
    "google.protobuf.Timestamp": to_datetime,
    "google.protobuf.Duration": lambda span: timedelta(seconds=span.seconds, microseconds=span.nanos // 1000),
    "memlane.v1.Status": from_status,
}


def _compile(cls: type[Value], message: Message) -> tuple[tuple[str, Getter], ...]:
    hints = get_type_hints(cls)
    by_name = message.DESCRIPTOR.fields_by_name
    return tuple(
        (f.name, _getter(by_name[f.name], NoneType in get_args(hints[f.name])))
        for f in fields(cls)
        if f.name != "proto"
    )


def _getter(descriptor: Any, may_be_none: bool) -> Getter:
    name = descriptor.name
    kind = descriptor.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return lambda m: dict(getattr(m, name))
    if descriptor.enum_type is not None:
        from_wire = getattr(enums, descriptor.enum_type.name).from_wire
        if _is_repeated(descriptor):
            return lambda m: tuple(map(from_wire, getattr(m, name)))
        return lambda m: from_wire(getattr(m, name))
    if kind is None:
        if _is_repeated(descriptor):
            return lambda m: tuple(getattr(m, name))
        if may_be_none:
            return lambda m: getattr(m, name) if m.HasField(name) else None
        return attrgetter(name)
    if kind.full_name == "memlane.v1.ConsistencyToken":
        return attrgetter(f"{name}.token")
    decode = _SPECIAL.get(kind.full_name) or _CLASSES[kind.full_name].from_proto
    if _is_repeated(descriptor):
        return lambda m: tuple(map(decode, getattr(m, name)))
    if may_be_none:
        return lambda m: decode(getattr(m, name)) if m.HasField(name) else None
    return lambda m: decode(getattr(m, name))


def _is_repeated(descriptor: Any) -> bool:
    # `label` is going away in new runtimes, `is_repeated` is missing in old ones.
    repeated = getattr(descriptor, "is_repeated", None)
    return bool(descriptor.label == descriptor.LABEL_REPEATED if repeated is None else repeated)
