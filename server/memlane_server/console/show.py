"""How values of the API are shown."""

import base64
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from hashlib import blake2b
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from markupsafe import Markup

from .languages import Texts

_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs"})


@dataclass(frozen=True, slots=True)
class Shown:
    """Values in one language and time zone."""

    texts: Texts
    zone: tzinfo

    def when(self, stamp: Timestamp) -> Markup:
        """To the second, machine-readable to the microsecond."""
        moment = stamp.ToDatetime(UTC)
        try:
            local = moment.astimezone(self.zone)
        except OverflowError:
            local = moment
        text = local.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
        return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), text)

    def enum(self, message: Message, field: str) -> str:
        """Word for the value of an enum field."""
        name = enum_name(message, field)
        return self.texts.label(field, name)

    def number(self, value: float) -> str:
        return f"{value:,}"

    def milliseconds(self, microseconds: int) -> str:
        return f"{microseconds / 1000:,.2f} ms"

    def score(self, value: float) -> str:
        return f"{value:.3f}"

    def share(self, part: float, whole: float) -> int:
        """Part of a whole in percent, 0 to 100."""
        return round(100 * min(max(part / whole, 0.0), 1.0)) if whole > 0 else 0


def globals_of(shown: Shown) -> dict[str, Any]:
    """Names that every template knows."""
    return {
        "when": shown.when,
        "enum": shown.enum,
        "enum_name": enum_name,
        "label": shown.texts.label,
        "number": shown.number,
        "milliseconds": shown.milliseconds,
        "score": shown.score,
        "share": shown.share,
        "zone": str(shown.zone),
        "address": address,
        "spelled": spelled,
        "static": static_address,
    }


def enum_name(message: Message, field: str) -> str:
    """Name of an enum field's value without the prefix of its type, as ADD."""
    kind = message.DESCRIPTOR.fields_by_name[field].enum_type
    assert kind is not None
    value = kind.values_by_number.get(getattr(message, field))
    if value is None:
        return str(getattr(message, field))
    prefix = kind.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return value.name.removeprefix(prefix)


def address(path: str, **parameters: str) -> str:
    """An address of this site; empty parameters are left out."""
    query = urlencode({k: v for k, v in parameters.items() if v}, quote_via=quote)
    return f"{path}?{query}" if query else path


def spelled(text: str) -> str:
    r"""The text with characters that cannot be seen or typed as escapes: a line break as \n, a zero-width space as
    \u200b. Texts without such characters stay as they are."""
    return "".join(
        json.dumps(c)[1:-1] if unicodedata.category(c) in _INVISIBLE or (c.isspace() and c != " ") else c
        for c in text
    )


def download(text: str, media_type: str) -> str:
    """A link target that holds the text itself, so that the server need not keep it."""
    return f"data:{media_type};base64,{base64.b64encode(text.encode()).decode()}"


def as_json(messages: Sequence[Mapping[str, str]]) -> str:
    return json.dumps(messages, ensure_ascii=False, indent=2)


def local_second(moment: datetime) -> str:
    """As a browser's field for date and time wants it."""
    return moment.replace(tzinfo=None).isoformat(timespec="minutes")


_DIGESTS: dict[str, str] = {}


def static_address(name: str) -> str:
    """Address of a file of ours; it changes with the file, so that browsers may keep it."""
    digest = _DIGESTS.get(name)
    if digest is None:
        content = files(__package__).joinpath("static", name).read_bytes()
        digest = _DIGESTS[name] = blake2b(content, digest_size=6).hexdigest()
    return f"/static/{name}?v={digest}"
