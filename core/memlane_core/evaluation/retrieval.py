"""Recall of the read path: the index, the kernel and the fusion that the service uses."""

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ..domain.memory import Memory
from ..index import JsonRecords, SearchQuery, UserIndex
from ..lexical import query_tokens
from ..ports.embedder import Embedder
from ..ports.vector_store import StoredRow

Progress = Callable[[int, int], None]
"""Called with (done, all)."""


def load_cases(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSONL file. Raises ValueError naming the line that is not JSON."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}: line {number} is not JSON: {error.msg}") from None
    return rows


async def rank(
    texts: Sequence[tuple[str, str, int]], queries: Iterable[str], embedder: Embedder, *, top_k: int
) -> list[list[str]]:
    """Ids of the best of `texts` (id, text, created_at) for each query, by exactly what SearchMemories does."""
    vectors = await embedder.embed([text for _, text, _ in texts])
    rows = [
        StoredRow(Memory(i, "user", text, created_at=created, position=n), vectors[n])
        for n, (i, text, created) in enumerate(texts)
    ]
    block = UserIndex(embedder.dimension, 1 << 40, JsonRecords()).put_user("eval", "user", rows, 0)
    ranked = []
    for query in queries:
        [vector] = await embedder.embed([query])
        hits = block.search(SearchQuery(vector, query_tokens(query), top_k, now=0.0))
        ranked.append([h.memory.memory_id for h in hits])
    return ranked


async def evaluate(
    cases: Sequence[dict[str, Any]], embedder: Embedder, progress: Progress = lambda done, total: None
) -> list[dict[str, Any]]:
    """Predictions {"id": query id, "ids": ranked memory ids} for users of the retrieval set."""
    predictions = []
    for n, user in enumerate(cases):
        texts = [
            (m["id"], m["content"], int(datetime.fromisoformat(m["created_at"]).timestamp()))
            for m in user["memories"]
        ]
        ranked = await rank(texts, [q["query"] for q in user["queries"]], embedder, top_k=10)
        predictions += [{"id": q["id"], "ids": ids} for q, ids in zip(user["queries"], ranked, strict=True)]
        progress(n + 1, len(cases))
    return predictions
