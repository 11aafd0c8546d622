"""How many memories belong into a prompt: what one more costs in time and tokens, and what it brings in recall.

    python -m benchmarks.prompt_budget [--seconds 60]

Real calls to a real server that holds the public retrieval set (benchmarks/data/eval: users of 60 memories with 12
questions each, Chinese and English apart), with rules and a window of ten rounds in every context, and the questions'
vectors in the cache. Numbers of memories (top_k 1 to 10; the default is 5) and token budgets take turns call by call.
Recall is the share of the relevant memories that are among those returned or, for a budget, in the prompt.

Keys: prompt_budget.<zh|en>.top<k>.<figure>, prompt_budget.<zh|en>.budget<tokens>.<figure>, and what the sixth memory
adds to the default of five: prompt_budget.<zh|en>.sixth_memory.<figure>; times a memory are the slope over top_k.
"""

import argparse
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from memlane.v1 import (
    context_service_pb2,
    context_service_pb2_grpc,
    memory_pb2,
    memory_service_pb2,
    memory_service_pb2_grpc,
    rule_service_pb2,
    rule_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)
from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.domain.memory import Memory
from memlane_core.evaluation.retrieval import load_cases
from memlane_core.ports.vector_store import StoredRow
from tests.support.memlane_server import running_server

from .report import merge_results
from .seed import put
from .timing import Progress, interleaved, percentiles

DATA = Path(__file__).parent / "data" / "eval" / "retrieval_public.jsonl"
LANGUAGES = ("zh", "en")
TOP_KS = tuple(range(1, 11))
DEFAULT_TOP_K = 5
SHOWN_TOP_KS = (3, 5, 8)
BUDGETS = (400, 600, 800, 1200, 2000, 4000)
SESSION = "prompt-budget"
ROUNDS = 10

_RULES = (
    "先确认公司的注册地，再谈开户材料。",
    "金额、利率与日期以查询到的资料为准，不作推测。",
    "Confirm the customer's identity before speaking about balances.",
    "Quote amounts, rates and dates as they are recorded; never guess.",
)
_SAID = {
    "zh": ("我想了解一下本月的汇率走势和结汇安排。", "好的，我先核对您的合约与额度，再给您几个可选的方案。"),
    "en": (
        "I would like to understand this month's rates and what we should hedge.",
        "Certainly. Let me look at your contracts and limits first, then I will give you some options.",
    ),
}


@dataclass(frozen=True, slots=True)
class Question:
    user_id: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Stubs:
    memories: memory_service_pb2_grpc.MemoryServiceStub
    contexts: context_service_pb2_grpc.ContextServiceStub

    def search(self, question: Question, top_k: int) -> list[str]:
        """Ids, best first."""
        request = memory_service_pb2.SearchMemoriesRequest(
            user_id=question.user_id, query=question.text, top_k=top_k
        )
        return [r.memory.memory_id for r in self.memories.SearchMemories(request).results]

    def context(
        self, question: Question, *, top_k: int = 0, budget_tokens: int = 0
    ) -> context_service_pb2.BuildContextResponse:
        answer: context_service_pb2.BuildContextResponse = self.contexts.BuildContext(
            context_service_pb2.BuildContextRequest(
                user_id=question.user_id,
                session_id=SESSION,
                query=question.text,
                top_k=top_k,
                budget_tokens=budget_tokens,
            )
        )
        return answer


def rows_of(cases: Sequence[dict[str, Any]]) -> list[StoredRow]:
    """The memories of the set, each with its vector."""
    embedder = LocalEmbedder()
    rows = []
    for case in cases:
        vectors = embedder.encode([m["content"] for m in case["memories"]])
        for n, memory in enumerate(case["memories"]):
            recorded = int(datetime.fromisoformat(memory["created_at"]).timestamp())
            rows.append(
                StoredRow(
                    Memory(
                        memory["id"],
                        case["user_id"],
                        memory["content"],
                        created_at=recorded,
                        updated_at=recorded,
                        position=n + 1,
                    ),
                    vectors[n],
                )
            )
    return rows


def questions_of(cases: Sequence[dict[str, Any]], language: str) -> list[Question]:
    return [
        Question(case["user_id"], q["query"], frozenset(q["relevant"]))
        for case in cases
        if case["lang"] == language
        for q in case["queries"]
    ]


@contextmanager
def served(cases: Sequence[dict[str, Any]]) -> Iterator[Stubs]:
    """A server that holds the set, rules, and a window of ten rounds for each user."""
    with tempfile.TemporaryDirectory(prefix="memlane-bench-") as folder:
        put(Path(folder) / "data", rows_of(cases))
        with (
            running_server(Path(folder) / "data") as server,
            grpc.insecure_channel(server.address) as channel,
        ):
            rule_service_pb2_grpc.RuleServiceStub(channel).PutRules(
                rule_service_pb2.PutRulesRequest(rules=rule_service_pb2.RuleList(rules=_RULES))
            )
            sessions = session_service_pb2_grpc.SessionServiceStub(channel)
            for case in cases:
                asked, answered = _SAID[case["lang"]]
                messages = [
                    memory_pb2.Message(role=role, content=content)
                    for _ in range(ROUNDS)
                    for role, content in (
                        (memory_pb2.ROLE_USER, asked),
                        (memory_pb2.ROLE_ASSISTANT, answered),
                    )
                ]
                sessions.AppendMessages(
                    session_service_pb2.AppendMessagesRequest(
                        user_id=case["user_id"], session_id=SESSION, messages=messages
                    )
                )
            yield Stubs(
                memory_service_pb2_grpc.MemoryServiceStub(channel),
                context_service_pb2_grpc.ContextServiceStub(channel),
            )


def recall(found: Sequence[str], relevant: frozenset[str]) -> float:
    return len(relevant & set(found)) / len(relevant)


def qualities(stubs: Stubs, questions: Sequence[Question]) -> dict[str, float]:
    """Recall and tokens; also brings every question's vector into the server's cache."""
    figures: dict[str, float] = {}
    ranked = [stubs.search(q, TOP_KS[-1]) for q in questions]
    for top_k in TOP_KS:
        hits = [recall(ids[:top_k], q.relevant) for ids, q in zip(ranked, questions, strict=True)]
        contexts = [stubs.context(q, top_k=top_k) for q in questions]
        figures[f"top{top_k}.recall"] = _mean(hits)
        figures[f"top{top_k}.memory_tokens"] = _mean([_memory_tokens(c) for c in contexts])
        figures[f"top{top_k}.prompt_tokens"] = _mean([c.total_tokens for c in contexts])
    for budget in BUDGETS:
        contexts = [stubs.context(q, budget_tokens=budget) for q in questions]
        in_prompt = [[m.memory.memory_id for m in c.memories] for c in contexts]
        kept = [recall(ids, q.relevant) for ids, q in zip(in_prompt, questions, strict=True)]
        figures[f"budget{budget}.recall"] = _mean(kept)
        figures[f"budget{budget}.memories"] = _mean([len(ids) for ids in in_prompt])
        figures[f"budget{budget}.memory_tokens"] = _mean([_memory_tokens(c) for c in contexts])
        figures[f"budget{budget}.prompt_tokens"] = _mean([c.total_tokens for c in contexts])
    return figures


def latencies(stubs: Stubs, questions: Sequence[Question], seconds: float) -> dict[str, float]:
    """Microseconds, seen by the client."""
    turns = itertools.cycle(questions)
    calls: dict[str, Callable[[], object]] = {}
    for top_k in TOP_KS:
        calls[f"top{top_k}.search"] = partial(_search_next, stubs, turns, top_k)
        calls[f"top{top_k}.context"] = partial(_context_next, stubs, turns, top_k=top_k)
    for budget in BUDGETS:
        calls[f"budget{budget}.context"] = partial(_context_next, stubs, turns, budget_tokens=budget)
    taken = interleaved(calls, seconds, warm_ups=20)
    figures = {
        f"{name}_{percentile}_us": round(value, 1)
        for name, values in taken.items()
        for percentile, value in percentiles(values).items()
    }
    for call in ("search", "context"):
        medians = [figures[f"top{top_k}.{call}_p50_us"] for top_k in TOP_KS]
        slope = float(np.polyfit(TOP_KS, medians, 1)[0])
        figures[f"sixth_memory.{call}_us"] = round(slope, 2)
    return figures


def run(*, seconds: float, progress: Progress) -> dict[str, float]:
    """All figures, flat, measuring times for about `seconds` in all."""
    cases = load_cases(DATA)
    figures: dict[str, float] = {}
    progress("prompt budget: loading the retrieval set")
    with served(cases) as stubs:
        for language in LANGUAGES:
            questions = questions_of(cases, language)
            progress(f"prompt budget: {language}, {len(questions)} questions")
            found = qualities(stubs, questions) | latencies(stubs, questions, seconds / len(LANGUAGES))
            for figure in ("recall", "memory_tokens"):
                more = found[f"top{DEFAULT_TOP_K + 1}.{figure}"] - found[f"top{DEFAULT_TOP_K}.{figure}"]
                found[f"sixth_memory.{figure}"] = round(more, 4)
            figures |= {f"prompt_budget.{language}.{key}": value for key, value in found.items()}
    return figures


def _search_next(stubs: Stubs, turns: Iterator[Question], top_k: int) -> None:
    stubs.search(next(turns), top_k)


def _context_next(stubs: Stubs, turns: Iterator[Question], *, top_k: int = 0, budget_tokens: int = 0) -> None:
    stubs.context(next(turns), top_k=top_k, budget_tokens=budget_tokens)


def table(figures: dict[str, float]) -> str:
    """By language and number of memories, then by budget, as Markdown."""
    lines = [
        "| language | memories | recall | memory tokens | prompt tokens | search p50 µs | context p50 µs |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for language, top_k in itertools.product(LANGUAGES, TOP_KS):
        of = _reader(figures, f"prompt_budget.{language}.top{top_k}")
        lines.append(
            f"| {language} | {top_k} | {of('recall'):.3f} | {of('memory_tokens'):.0f} | {of('prompt_tokens'):.0f} "
            f"| {of('search_p50_us'):.0f} | {of('context_p50_us'):.0f} |"
        )
    lines += [
        "",
        "| language | budget, tokens | memories | recall | memory tokens | prompt tokens | context p50 µs |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for language, budget in itertools.product(LANGUAGES, BUDGETS):
        of = _reader(figures, f"prompt_budget.{language}.budget{budget}")
        lines.append(
            f"| {language} | {budget:,} | {of('memories'):.1f} | {of('recall'):.3f} | {of('memory_tokens'):.0f} "
            f"| {of('prompt_tokens'):.0f} | {of('context_p50_us'):.0f} |"
        )
    lines.append("")
    for language in LANGUAGES:
        of = _reader(figures, f"prompt_budget.{language}.sixth_memory")
        lines.append(
            f"{language}: a sixth memory costs {of('memory_tokens'):.1f} tokens, {of('search_us'):.1f} µs of a search "
            f"and {of('context_us'):.1f} µs of a context, and brings {of('recall'):+.3f} recall.  "
        )
    return "\n".join(lines)


def _reader(figures: dict[str, float], prefix: str) -> Callable[[str], float]:
    return lambda name: figures[f"{prefix}.{name}"]


def _memory_tokens(context: context_service_pb2.BuildContextResponse) -> int:
    return sum(s.tokens for s in context.sections if s.kind == context_service_pb2.SECTION_KIND_MEMORIES)


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    figures = run(seconds=options.seconds, progress=lambda message: print(message, flush=True))
    merge_results("prompt_budget", figures)
    print(table(figures))


if __name__ == "__main__":
    main()
