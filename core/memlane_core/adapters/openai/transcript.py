"""Texts of others as data in a prompt: one JSON object per line, between delimiters that they cannot
forge."""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ...builtin.text.normalise import is_chinese
from ...domain.conversation import Message, Role
from ...prompts import Language
from .client import encodable

# JSON leaves these as they are, and a reader may take them for line breaks.
_LINE_BREAKS = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True, slots=True)
class Shown:
    """A message as the model is shown it."""

    number: int
    """What the model calls it: small, and valid for one request only."""
    index: int
    """Its place in the conversation that was given."""
    role: Role
    content: str
    """Free of secrets and of recalled memories."""
    time: datetime
    """Its own time and zone, or the server's where it came without."""
    time_told: bool
    context: bool = False
    """Shown for understanding only: it was read with the part before."""


def data_block(records: Iterable[Mapping[str, object]]) -> str:
    """The records, one a line, between two lines that carry the same random code.

    The code is new for each block and each record is one line, so no content can end the block or add a
    record.
    """
    code = secrets.token_hex(8)
    lines = [encodable(json.dumps(r, ensure_ascii=False)).translate(_LINE_BREAKS) for r in records]
    return "\n".join((f"===== begin {code} =====", *lines, f"===== end {code} ====="))


def conversation_block(messages: Sequence[Shown]) -> str:
    return data_block(_record(m) for m in messages)


def language_of(texts: Iterable[str]) -> Language:
    """Chinese where at least half of the texts that have letters are."""
    written = [is_chinese(text) for text in texts if any(c.isalpha() for c in text)]
    return Language.ZH if written and 2 * sum(written) >= len(written) else Language.EN


def aware(message: Message, now: datetime) -> tuple[datetime, bool]:
    """The time that the speaker means by "now", and whether the message told it."""
    told = message.create_time
    return (now, False) if told is None else (told, True)


def parts(messages: Sequence[Shown], *, max_characters: int, overlap: int) -> list[list[Shown]]:
    """Stretches of a conversation that fit a prompt, numbered anew each; each repeats the last `overlap`
    messages."""
    stretches: list[list[Shown]] = [[]]
    size = 0
    for message in messages:
        if stretches[-1] and size + len(message.content) > max_characters:
            stretches.append([replace(m, context=True) for m in stretches[-1][-overlap:]])
            size = sum(len(m.content) for m in stretches[-1])
        stretches[-1].append(message)
        size += len(message.content)
    return [[replace(m, number=i) for i, m in enumerate(stretch)] for stretch in stretches if stretch]


def _record(message: Shown) -> dict[str, object]:
    zone = getattr(message.time.tzinfo, "key", "")
    record: dict[str, object] = {
        "i": message.number,
        "role": message.role.value,
        "time": f"{message.time.isoformat(timespec='seconds')} ({message.time:%A})"
        + (f" {zone}" if zone else ""),
        "content": message.content,
    }
    if not message.time_told:
        record["time_is"] = "when the server received it"
    return record
