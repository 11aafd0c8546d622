"""What a browser sends: parameters of an address and fields of a form, read strictly."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from urllib.parse import parse_qsl

from google.protobuf.timestamp_pb2 import Timestamp
from starlette.requests import Request

from .problems import FieldWrong, TooLarge

MAX_FORM_BYTES = 64 * 1024
"""A query of 8 KiB takes three times that in a form."""
_MAX_FIELDS = 64


class Fields(Mapping[str, str]):
    """Fields by name. One that was not sent reads as empty; of one that was sent twice the last counts."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        return self._values.get(name, "")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def line(self, name: str) -> str:
        """Without the spaces around it, which are hard to see and never meant."""
        return self[name].strip()

    def number(self, name: str) -> int:
        """A whole number; 0 for an empty field. Raises FieldWrong."""
        text = self.line(name)
        try:
            number = int(text or "0")
        except ValueError:
            raise FieldWrong(name, "problem.not_whole") from None
        if abs(number) >= 2**31:
            raise FieldWrong(name, "problem.not_whole")
        return number

    def decimal(self, name: str) -> float | None:
        """Raises FieldWrong."""
        text = self.line(name)
        try:
            return float(text) if text else None
        except ValueError:
            raise FieldWrong(name, "problem.not_number") from None

    def moment(self, name: str, zone: tzinfo) -> Timestamp | None:
        """A local date and time, as a browser's field for one gives it. Raises FieldWrong."""
        text = self.line(name)
        if not text:
            return None
        try:
            local = datetime.fromisoformat(text)
            moment = local.replace(tzinfo=local.tzinfo or zone).astimezone(UTC)
        except (ValueError, OverflowError):
            raise FieldWrong(name, "problem.not_moment") from None
        stamp = Timestamp()
        stamp.FromDatetime(moment)
        return stamp


def query_of(request: Request) -> Fields:
    """Parameters of the address. Raises FieldWrong."""
    return _fields(request.url.query)


async def form_of(request: Request) -> Fields:
    """Fields of an ordinary form. Raises FieldWrong, TooLarge."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge(MAX_FORM_BYTES)
    try:
        return _fields(body.decode("ascii"))
    except UnicodeDecodeError:
        raise FieldWrong("form", "problem.malformed") from None


def _fields(encoded: str) -> Fields:
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        # A user id that is not UTF-8 must not be read as another one.
        raise FieldWrong("form", "problem.malformed") from None
    return Fields(dict(pairs))
