"""Between Python values and the wire: times, durations, vectors."""

import struct
import sys
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_timestamp(moment: datetime | None) -> Timestamp | None:
    """Raises ValueError for a time without a zone: which moment it means would be a guess."""
    if moment is None:
        return None
    if moment.utcoffset() is None:
        raise ValueError(f"{moment!r} has no time zone; use datetime.now(UTC), or .replace(tzinfo=...)")
    elapsed = moment - _EPOCH
    return Timestamp(seconds=elapsed.days * 86_400 + elapsed.seconds, nanos=elapsed.microseconds * 1000)


def to_datetime(timestamp: Timestamp) -> datetime:
    """UTC, to the microsecond."""
    moment = datetime.fromtimestamp(timestamp.seconds, UTC)
    return moment + timedelta(microseconds=timestamp.nanos // 1000) if timestamp.nanos else moment


def to_duration(span: timedelta | None) -> Duration | None:
    if span is None:
        return None
    microseconds = span // timedelta(microseconds=1)
    seconds, rest = divmod(abs(microseconds), 1_000_000)
    sign = -1 if microseconds < 0 else 1
    return Duration(seconds=sign * seconds, nanos=sign * rest * 1000)


def to_f32(vector: Any) -> bytes:
    """A vector as little-endian float32 bytes.

    Takes a sequence of numbers, bytes that already are little-endian float32, or any one-dimensional buffer of
    numbers (a numpy array, an array.array), which is copied at most once. Raises TypeError or ValueError.
    """
    if isinstance(vector, bytes | bytearray):
        return _whole(bytes(vector))
    try:
        view = memoryview(vector)
    except TypeError:
        return _packed(vector)
    if view.ndim != 1:
        raise ValueError(f"an embedding has one dimension, this buffer has {view.ndim}")
    code = view.format.lstrip("@=<>!")
    if code in ("B", "b", "c"):
        return _whole(view.tobytes())
    little = view.format.startswith("<") or (view.format[0] not in ">!" and sys.byteorder == "little")
    if code == "f" and little:
        return view.tobytes()
    if code not in "efdbBhHiIlLqQ":
        raise TypeError(f"cannot read a buffer of format {view.format!r} as numbers")
    order = view.format[0] if view.format[0] in "@=<>!" else "@"
    return _packed(struct.unpack(f"{order}{len(view)}{code}", view.tobytes()))


def _whole(raw: bytes) -> bytes:
    if len(raw) % 4:
        raise ValueError(f"float32 values have 4 bytes each, {len(raw)} bytes are no whole number of them")
    return raw


def _packed(values: Sequence[float]) -> bytes:
    if isinstance(values, str):
        raise TypeError("an embedding is a sequence of numbers; pass a text as `query`")
    packed = array("f", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
