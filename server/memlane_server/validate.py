"""Every rule about a request's fields, in one place.

A rule takes the collector, the path of the field and its value; it returns the value as the domain wants it. What is
wrong is collected, so that one answer names all of it; `Violations.check` raises. A value that was refused is replaced
by a harmless one, which never gets past `check`. Descriptions name limits, never a caller's text.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from memlane_core.domain import limits
from memlane_core.domain.errors import FieldViolation, InvalidArgument
from memlane_core.guards.secrets import SecretPolicy, redact
from memlane_core.kernels import SAFE_SQUARED_NORMS, UNIT_TOLERANCE, squared_norm

from .errors import quoted

Vector = NDArray[np.float32]

MAX_CORRELATION_ID_BYTES = 128
MAX_OPERATOR_BYTES = 64
MAX_TOKEN_BYTES = 128
MAX_PAGE_TOKEN_BYTES = 512
MAX_ECHO_BYTES = 1024 * 1024
MAX_RECALLED = 100
MAX_ANCHORS = 100
MAX_STOPS = 4
MAX_STOP_BYTES = 256
MAX_TITLE_BYTES = 1024

_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
"""0001-01-01 and 9999-12-31T23:59:59, the range of google.protobuf.Timestamp."""
_MAX_DURATION_SECONDS = 315_576_000_000
_OFFSET = re.compile(r"([+-])(\d{2}):(\d{2})", re.ASCII)
_NO_VECTOR = np.zeros(0, np.float32)


class Violations:
    """What is wrong with one request."""

    __slots__ = ("_found",)

    def __init__(self) -> None:
        self._found: list[FieldViolation] = []

    def add(self, field: str, description: str) -> None:
        self._found.append(FieldViolation(field, description))

    def check(self) -> None:
        """Raises InvalidArgument with all that was found."""
        if self._found:
            raise InvalidArgument(*self._found)


class SecondsAndNanos(Protocol):
    """Timestamp or Duration."""

    @property
    def seconds(self) -> int: ...

    @property
    def nanos(self) -> int: ...


def user_id(v: Violations, value: str, field: str = "user_id") -> str:
    # Four bytes a character at most, so short ids need not be encoded to be measured.
    if not value:
        v.add(field, "must not be empty")
    elif len(value) > limits.MAX_USER_ID_BYTES // 4 and _bytes(value) > limits.MAX_USER_ID_BYTES:
        v.add(field, f"must not be longer than {limits.MAX_USER_ID_BYTES} bytes")
    elif "\0" in value:
        v.add(field, "must not hold NUL")
    elif value == limits.GLOBAL_USER_ID:
        v.add(field, f"`{limits.GLOBAL_USER_ID}` is reserved")
    elif value.isspace():
        v.add(field, "must not be blank")
    return value


def identifier(v: Violations, field: str, value: str, max_bytes: int, *, required: bool = True) -> str:
    """An id that the caller chose or was given."""
    if not value:
        if required:
            v.add(field, "must not be empty")
        return value
    _line(v, field, value, max_bytes)
    if required and value.isspace():
        v.add(field, "must not be blank")
    return value


def memory_id(v: Violations, value: str) -> str:
    return identifier(v, "memory_id", value, limits.MAX_MEMORY_ID_BYTES)


def session_id(v: Violations, value: str, *, required: bool = True) -> str:
    return identifier(v, "session_id", value, limits.MAX_SESSION_ID_BYTES, required=required)


def request_id(v: Violations, value: str) -> str:
    return identifier(v, "request_id", value, limits.MAX_REQUEST_ID_BYTES, required=False)


def text(v: Violations, field: str, value: str, max_bytes: int) -> str:
    """A text that must say something."""
    if not value:
        v.add(field, "must not be empty")
    elif blank(value):
        v.add(field, "must not be blank")
    else:
        _line(v, field, value, max_bytes)
    return value


def note(v: Violations, field: str, value: str, max_bytes: int, *, required: bool = False) -> str:
    """A short text that may be absent: a reason, a title."""
    if required and blank(value):
        v.add(field, "must not be empty")
    else:
        _line(v, field, value, max_bytes)
    return value


def reason(v: Violations, value: str, *, required: bool = False) -> str:
    return note(v, "reason", value, limits.MAX_REASON_BYTES, required=required)


def operator(v: Violations, value: str) -> str:
    return note(v, "operator", value, MAX_OPERATOR_BYTES, required=True)


def no_secret(v: Violations, field: str, value: str, policy: SecretPolicy) -> None:
    """Secrets are not stored where the caller's words are stored as told."""
    found = redact(value, policy).kinds
    if found:
        v.add(field, f"holds a secret ({', '.join(found)}); leave it out")


def blank(value: str) -> bool:
    """Nothing but spaces and characters that cannot be seen."""
    return not any(c.isprintable() and not c.isspace() for c in value)


def metadata(
    v: Violations, field: str, value: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Labels. `extra` are entries of the service's own that count towards the limits."""
    entries = dict(value)
    if not entries and not extra:
        return entries
    for key, label in entries.items():
        if key in limits.RESERVED_METADATA_KEYS:
            v.add(f"{field}[{quoted(key)}]", "is the name of a memory's own column")
        elif not key:
            v.add(field, "keys must not be empty")
        elif "\0" in key or "\0" in label:
            v.add(f"{field}[{quoted(key)}]", "must not hold NUL")
        if _bytes(key) > limits.MAX_METADATA_KEY_BYTES:
            v.add(
                f"{field}[{quoted(key)}]",
                f"keys must not be longer than {limits.MAX_METADATA_KEY_BYTES} bytes",
            )
        if _bytes(label) > limits.MAX_METADATA_VALUE_BYTES:
            v.add(
                f"{field}[{quoted(key)}]",
                f"values must not be longer than {limits.MAX_METADATA_VALUE_BYTES} bytes",
            )
    every = {**entries, **(extra or {})}
    if len(every) > limits.MAX_METADATA_ENTRIES:
        v.add(field, f"must not have more than {limits.MAX_METADATA_ENTRIES} entries")
    elif len(json.dumps(every, ensure_ascii=False).encode()) > limits.MAX_METADATA_BYTES:
        v.add(field, f"must not be larger than {limits.MAX_METADATA_BYTES} bytes as JSON")
    return entries


def ttl_seconds(v: Violations, field: str, value: SecondsAndNanos) -> int:
    """A lifetime in whole seconds, rounded up."""
    seconds, nanos = value.seconds, value.nanos
    if abs(seconds) > _MAX_DURATION_SECONDS or abs(nanos) > 999_999_999 or seconds * nanos < 0:
        v.add(field, "is not a valid duration")
        return 1
    if seconds < 0 or nanos < 0 or seconds == nanos == 0:
        v.add(field, "must be more than zero; leave it out for a memory that never expires")
        return 1
    whole = seconds + (nanos > 0)
    if whole > limits.MAX_TTL_SECONDS:
        v.add(field, f"must not be longer than {limits.MAX_TTL_SECONDS // 86_400} days")
    return whole


def timestamp_us(v: Violations, field: str, value: SecondsAndNanos) -> int:
    """Unix microseconds; finer parts are cut."""
    if not (_FIRST_SECOND <= value.seconds <= _LAST_SECOND and 0 <= value.nanos <= 999_999_999):
        v.add(field, "is not a valid timestamp (years 1 to 9999)")
        return 0
    return value.seconds * 1_000_000 + value.nanos // 1000


def second_from(v: Violations, field: str, value: SecondsAndNanos) -> int:
    """First whole Unix second that is not before the moment: rows are dated in whole seconds."""
    if not (_FIRST_SECOND <= value.seconds <= _LAST_SECOND and 0 <= value.nanos <= 999_999_999):
        v.add(field, "is not a valid timestamp (years 1 to 9999)")
        return 0
    return value.seconds + (value.nanos > 0)


def as_of_us(v: Violations, value: SecondsAndNanos, now: float) -> int:
    """A moment that is not in the future."""
    moment = timestamp_us(v, "as_of", value)
    if moment > now * 1_000_000:
        v.add("as_of", "must not be later than now")
    return moment


def local_time(v: Violations, field: str, moment_us: int, zone: tzinfo) -> datetime | None:
    """An aware time in a zone; None where the zone's calendar does not reach."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment_us)).astimezone(zone)
    except OverflowError:
        v.add(field, "is too near to the end of the calendar")
        return None


def time_zone(v: Violations, field: str, name: str) -> tzinfo | None:
    """Zone of an IANA name or an offset as +08:00; None for an empty name."""
    if not name:
        return None
    if offset := _OFFSET.fullmatch(name):
        sign, hours, minutes = offset[1], int(offset[2]), int(offset[3])
        if hours <= 14 and minutes < 60:
            delta = timedelta(hours=hours, minutes=minutes)
            return timezone(-delta if sign == "-" else delta)
    else:
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    v.add(field, "is neither an IANA time zone nor an offset as +08:00")
    return None


def whole(v: Violations, field: str, value: int, *, default: int, at_most: int) -> int:
    """A number where 0 means the default."""
    if value < 0:
        v.add(field, "must not be negative")
        return default
    if value > at_most:
        v.add(field, f"must not be more than {at_most}")
        return default
    return value or default


def top_k(v: Violations, value: int, default: int = limits.DEFAULT_TOP_K) -> int:
    return whole(v, "top_k", value, default=default, at_most=limits.MAX_TOP_K)


def page_size(v: Violations, value: int) -> int:
    return whole(v, "page_size", value, default=limits.DEFAULT_PAGE_SIZE, at_most=limits.MAX_PAGE_SIZE)


def revision(v: Violations, value: int) -> int | None:
    """An optimistic lock; None = whatever it is."""
    if value < 0:
        v.add("revision", "must not be negative")
    return value or None


def enumerated(v: Violations, field: str, value: int, known: Sequence[int]) -> int:
    """An enum value that this version knows."""
    if value not in known:
        v.add(field, f"{value} is not a known value")
        return known[0]
    return value


def between(
    v: Violations, field: str, value: float, low: float, high: float, *, above: bool = False
) -> float:
    """A number in [low, high], or in (low, high] with `above`."""
    if not (low < value <= high if above else low <= value <= high):
        v.add(
            field,
            f"must be {'more than' if above else 'from'} {low:g}{', at most' if above else ' to'} {high:g}",
        )
    return value


def not_nan(v: Violations, field: str, value: float) -> float:
    if math.isnan(value):
        v.add(field, "must not be NaN")
    return value


def unit_vector_from_bytes(v: Violations, field: str, raw: bytes, dimension: int) -> Vector:
    """Little-endian float32 values, brought to unit length."""
    if len(raw) != 4 * dimension:
        v.add(field, f"must have {4 * dimension} bytes ({dimension} float32 values), has {len(raw)}")
        return _NO_VECTOR
    return unit_vector(v, field, np.frombuffer(raw, "<f4"))


def unit_vector_from_values(v: Violations, field: str, values: Sequence[float], dimension: int) -> Vector:
    if len(values) != dimension:
        v.add(field, f"must have {dimension} values, has {len(values)}")
        return _NO_VECTOR
    return unit_vector(v, field, np.fromiter(values, np.float32, dimension))


def unit_vector(v: Violations, field: str, vector: Vector) -> Vector:
    """The vector at length 1, float32, C-contiguous, shape (dimension,)."""
    norm_2 = squared_norm(vector)
    if abs(norm_2 - 1.0) <= UNIT_TOLERANCE:
        return vector
    if SAFE_SQUARED_NORMS[0] < norm_2 < SAFE_SQUARED_NORMS[1]:
        unit: Vector = vector * np.float32(1.0 / math.sqrt(norm_2))
        return unit
    if not math.isfinite(norm_2):
        v.add(field, "must hold finite values only")
        return _NO_VECTOR
    if norm_2 == 0.0:
        v.add(field, "must not be all zero")
        return _NO_VECTOR
    return (vector.astype(np.float64) / math.sqrt(norm_2)).astype(np.float32)


def _line(v: Violations, field: str, value: str, max_bytes: int) -> None:
    if len(value) > max_bytes // 4 and _bytes(value) > max_bytes:
        v.add(field, f"must not be longer than {max_bytes} bytes")
    if "\0" in value:
        v.add(field, "must not hold NUL")


def _bytes(value: str) -> int:
    return len(value.encode("utf-8", "surrogatepass"))
