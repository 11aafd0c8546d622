"""Returning customers: how many questions memory spares them in their second session.

Each customer is played twice. Without memory the assistant asks for every slot that the second session needs. With
memory, what was said in the first session went through extract → decide → guards into that user's memories; then each
slot's question is a search over them, and the slot need not be asked when ONE of the memories found holds all its
answer keywords. Keywords spread over several memories do not count: the model would have to put them together.
A slot that the first session does not answer is always asked.

A case is `{"user_id", "lang", "first_session": [str], "required_slots": [{"slot", "question", "answer_keywords",
"memory"}]}`.
"""

import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from ..domain.conversation import Fact, Message, Role
from ..domain.decision import Candidate, FactToDecide
from ..domain.errors import InvalidArgument
from ..domain.ids import new_memory_id
from ..domain.memory import Action, Memory
from ..guards import guard
from ..index import JsonRecords, SearchQuery, UserIndex
from ..lexical import query_tokens
from ..ports.decider import Decider, DecisionRequest
from ..ports.embedder import Embedder, Vectors
from ..ports.extractor import ExtractionRequest, Extractor
from ..ports.vector_store import StoredRow

Case = Mapping[str, Any]
Progress = Callable[[int, int], None]
"""Called with (customers done, customers in all)."""
Search = Callable[[Sequence[StoredRow], str, int], Awaitable[Sequence[Memory]]]
"""(a user's rows, a question, top_k) → the memories found, best first."""

TOP_K = 5
CANDIDATES = 5
"""Memories nominated for one fact, as in `Remember`."""
FIRST_SESSION = datetime.fromisoformat("2025-11-03T10:00:00+08:00")
"""The cases carry no time: "next quarter" counts from here."""


@dataclass(frozen=True, slots=True)
class Played:
    """One customer's second session."""

    user_id: str
    lang: str
    memories: tuple[str, ...]
    known: tuple[str, ...]
    """Slots that memory answers."""
    asked: tuple[str, ...]
    """Slots that the assistant has to ask for with memory; without it, it asks for all."""

    def as_row(self) -> dict[str, Any]:
        without = len(self.known) + len(self.asked)
        return {
            "user_id": self.user_id,
            "lang": self.lang,
            "rounds_without_memory": without,
            "rounds_with_memory": len(self.asked),
            "rounds_saved": len(self.known),
            "known": list(self.known),
            "asked": list(self.asked),
            "memories": list(self.memories),
        }


def load_cases(path: Path) -> list[Case]:
    """Cases of a JSONL file in UTF-8. Raises InvalidArgument naming the line that is no case."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
            _ = case["user_id"], case["first_session"], case["required_slots"]
        except (ValueError, KeyError, TypeError):
            raise InvalidArgument.of(f"cases, line {number}", "not a returning customer") from None
        cases.append(case)
    return cases


async def evaluate(
    cases: Sequence[Case],
    extractor: Extractor,
    decider: Decider,
    embedder: Embedder,
    progress: Progress | None = None,
    *,
    search: Search | None = None,
) -> dict[str, Any]:
    """`{"rounds_saved": mean per customer, "by_language": …, "customers": [a row each]}`.

    `search` defaults to what SearchMemories does: the user index with the fusion of cosine and words.
    Raises what extractor, decider and embedder raise.
    """
    find = search or index_search(embedder)
    played = []
    for done, case in enumerate(cases, 1):
        rows = await remember(case, extractor, decider, embedder)
        played.append(await _play(case, rows, find))
        if progress:
            progress(done, len(cases))
    return {
        "rounds_saved": _mean(played),
        "by_language": {
            lang: _mean([p for p in played if p.lang == lang]) for lang in sorted({p.lang for p in played})
        },
        "customers": [p.as_row() for p in played],
    }


def index_search(embedder: Embedder) -> Search:
    """Search by the index, the kernel and the fusion that the service uses."""

    async def search(rows: Sequence[StoredRow], question: str, top_k: int) -> Sequence[Memory]:
        if not rows:
            return ()
        index = UserIndex(embedder.dimension, 1 << 40, JsonRecords())
        block = index.put_user("evaluation", "user", rows, 0)
        [vector] = await embedder.embed([question])
        hits = block.search(SearchQuery(vector, query_tokens(question), top_k, FIRST_SESSION.timestamp()))
        return [hit.memory for hit in hits]

    return search


async def remember(case: Case, extractor: Extractor, decider: Decider, embedder: Embedder) -> list[StoredRow]:
    """The user's memories after the first session, each fact decided in order and seeing the ones before.

    Raises what extractor, decider and embedder raise.
    """
    messages = tuple(Message(Role.USER, str(text), FIRST_SESSION) for text in case["first_session"])
    extraction = await extractor.extract(ExtractionRequest(messages, FIRST_SESSION))
    rows: list[StoredRow] = []
    if not extraction.facts:
        return rows
    vectors = await embedder.embed([fact.content for fact in extraction.facts])
    for fact, vector in zip(extraction.facts, vectors, strict=True):
        candidates = _nearest(rows, vector)
        (decision,) = await decider.decide(DecisionRequest((FactToDecide(fact, candidates),)))
        guarded = guard(decision, fact, candidates)
        if guarded.rejected:
            continue
        chosen = guarded.decision
        content = chosen.content or fact.content
        if content != fact.content:
            [vector] = await embedder.embed([content])
        _apply(rows, chosen.action, chosen.target_id, fact, content, vector)
    return rows


def _nearest(rows: Sequence[StoredRow], vector: Vectors) -> tuple[Candidate, ...]:
    if not rows:
        return ()
    similarities = np.stack([row.embedding for row in rows]) @ vector
    best = np.argsort(-similarities, kind="stable")[:CANDIDATES]
    return tuple(Candidate(rows[i].memory, float(similarities[i])) for i in best)


def _apply(
    rows: list[StoredRow], action: Action, target_id: str | None, fact: Fact, content: str, vector: Vectors
) -> None:
    place = next((i for i, row in enumerate(rows) if row.memory.memory_id == target_id), None)
    if action is Action.ADD:
        said = int(FIRST_SESSION.timestamp())
        memory = Memory(
            new_memory_id(), "user", content, created_at=said, updated_at=said, expires_at=fact.expires_at
        )
        rows.append(StoredRow(memory, vector))
    elif action is Action.UPDATE and place is not None:
        rows[place] = StoredRow(
            replace(rows[place].memory, content=content, expires_at=fact.expires_at), vector
        )
    elif action is Action.DELETE and place is not None:
        del rows[place]


async def _play(case: Case, rows: Sequence[StoredRow], search: Search) -> Played:
    known: list[str] = []
    asked: list[str] = []
    for slot in case["required_slots"]:
        keywords = slot["answer_keywords"]
        found: Sequence[Memory] = ()
        if keywords:
            found = await search(rows, str(slot["question"]), TOP_K)
        answered = any(holds(memory.content, keywords) for memory in found)
        (known if answered else asked).append(str(slot["slot"]))
    texts = tuple(row.memory.content for row in rows)
    return Played(str(case["user_id"]), str(case["lang"]), texts, tuple(known), tuple(asked))


def holds(text: str, keywords: Sequence[str]) -> bool:
    """Whether all keywords stand in the text; "a|b" means either. The same folding as `score.py`."""
    folded = _norm(text)
    return all(any(_norm(either) in folded for either in keyword.split("|")) for keyword in keywords)


def _norm(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    text = re.sub(r"(?<=\d),(?=\d)", "", text)
    return re.sub(r"\s+", "", text)


def _mean(played: Sequence[Played]) -> float:
    return round(sum(len(p.known) for p in played) / len(played), 4) if played else 0.0
