"""Evidence recall on LoCoMo (Maharana et al., 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents").

The file is given by path and never shipped: its licence is non-commercial. Each turn of a conversation is a memory
(who said it, what, on which date); a question counts by the share of its evidence turns among the best 5 and 10.
Nothing is tuned on it.
"""

import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..ports.embedder import Embedder
from .retrieval import Progress, rank

_EVIDENCE = re.compile(r"D\d+:\d+")
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TIME = "%I:%M %p on %d %B, %Y"


def load(path: Path) -> list[dict[str, Any]]:
    """Raises ValueError when the file is not LoCoMo's."""
    try:
        samples: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        if all({"conversation", "qa"} <= sample.keys() for sample in samples):
            return samples
    except (json.JSONDecodeError, AttributeError, TypeError):
        pass
    raise ValueError(f"{path} is not a LoCoMo file: a list of objects with conversation and qa")


def turns(conversation: dict[str, Any]) -> list[tuple[str, str, int]]:
    """(dia_id, "speaker: text (date of the session)", Unix second of the session), in order."""
    rows: list[tuple[str, str, int]] = []
    session = 1
    while f"session_{session}_date_time" in conversation or f"session_{session}" in conversation:
        said_at = conversation.get(f"session_{session}_date_time")
        second = int(datetime.strptime(said_at, _TIME).replace(tzinfo=UTC).timestamp()) if said_at else 0
        date = f" ({said_at.partition(' on ')[2]})" if said_at else ""
        for turn in conversation.get(f"session_{session}", []):
            rows.append((turn["dia_id"], f"{turn['speaker']}: {turn['text']}{date}", second))
        session += 1
    return rows


async def evaluate(
    samples: list[dict[str, Any]], embedder: Embedder, progress: Progress = lambda done, total: None
) -> dict[str, Any]:
    """`samples` as read by `load`. Returns recall_at_5, recall_at_10 and the number of questions, overall and per
    category; questions without evidence in the conversation are left out."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for n, sample in enumerate(samples):
        memories = turns(sample["conversation"])
        known = {dia_id for dia_id, _, _ in memories}
        asked = []
        for question in sample["qa"]:
            evidence = set(_EVIDENCE.findall(" ".join(question.get("evidence", [])))) & known
            if evidence:
                asked.append((question, evidence))
        ranked = await rank(memories, [q["question"] for q, _ in asked], embedder, top_k=10)
        for (question, evidence), ids in zip(asked, ranked, strict=True):
            recalls = (len(evidence & set(ids[:5])) / len(evidence), len(evidence & set(ids)) / len(evidence))
            found["all"].append(recalls)
            found[_CATEGORIES.get(question["category"], str(question["category"]))].append(recalls)
        progress(n + 1, len(samples))
    figures = {
        name: {
            "n": len(values),
            "recall_at_5": round(sum(v[0] for v in values) / len(values), 4),
            "recall_at_10": round(sum(v[1] for v in values) / len(values), 4),
        }
        for name, values in found.items()
    }
    overall = figures.pop("all")
    return {**overall, "categories": figures}
