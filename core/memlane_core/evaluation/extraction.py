"""Extraction on labelled conversations.

A case is `{"id", "messages": [{"role", "content", "timestamp"}]}`; a prediction is `{"id", "memories": [{"content",
"ttl_days"}]}`, the form that `score.py extraction` reads.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..domain.conversation import Message, Role
from ..domain.errors import InvalidArgument
from ..ports.extractor import ExtractionRequest, Extractor

Case = Mapping[str, Any]
Progress = Callable[[int, int], None]
"""Called with (cases done, cases in all)."""

_SECONDS_A_DAY = 86_400


def load_cases(path: Path) -> list[Case]:
    """Cases of a JSONL file in UTF-8. Raises InvalidArgument naming the line that is no case."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
            messages_of(case)
        except (ValueError, KeyError, TypeError):
            raise InvalidArgument.of(f"cases, line {number}", "not an extraction case") from None
        cases.append(case)
    return cases


def messages_of(case: Case) -> tuple[Message, ...]:
    """The conversation of a case. Raises KeyError, TypeError or ValueError where a field is missing or wrong."""
    return tuple(
        Message(
            Role(m["role"]),
            str(m["content"]),
            datetime.fromisoformat(m["timestamp"]) if m.get("timestamp") else None,
        )
        for m in case["messages"]
    )


async def evaluate(
    cases: Sequence[Case], extractor: Extractor, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Prediction rows, one a case, in order. `ttl_days` counts from the message that the fact was taken from.

    Raises what the extractor raises.
    """
    rows = []
    for done, case in enumerate(cases, 1):
        messages = messages_of(case)
        now = max((m.create_time for m in messages if m.create_time), default=datetime.now(UTC))
        extraction = await extractor.extract(ExtractionRequest(messages, now))
        memories = []
        for fact in extraction.facts:
            said = messages[fact.source].create_time if fact.source is not None else None
            lasts = None
            if fact.expires_at is not None:
                lasts = (fact.expires_at - (said or now).timestamp()) / _SECONDS_A_DAY
            memories.append({"content": fact.content, "ttl_days": lasts})
        rows.append({"id": case["id"], "memories": memories})
        if progress:
            progress(done, len(cases))
    return rows


def write_predictions(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """One JSON object a line."""
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")
