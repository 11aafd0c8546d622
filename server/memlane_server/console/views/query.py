"""What the assistant would be given for a question."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from starlette.responses import Response

from memlane.v1 import context_service_pb2, memory_pb2, memory_service_pb2

from ..dispatch import CallRefused
from ..forms import Fields
from ..problems import Problem, problem_of
from ..show import as_json, enum_name
from ..site import Visit
from .users import hold_of

T = TypeVar("T")

_LANGUAGES = ("AUTO", "ZH", "EN")


async def form(visit: Visit) -> Response:
    user_id = visit.user_id
    return visit.page("query.html", user_id=user_id, hold=await hold_of(visit, user_id), languages=_LANGUAGES)


async def attempt(visit: Visit) -> Response:
    """Both calls, each with its own outcome: a search may succeed where a budget is too small for a context."""
    user_id, fields = visit.user_id, visit.form
    search, context = _search_request(user_id, fields), _context_request(user_id, fields)
    found, built = await asyncio.gather(
        visit.call("MemoryService/SearchMemories", search, memory_service_pb2.SearchMemoriesResponse),
        visit.call("ContextService/BuildContext", context, context_service_pb2.BuildContextResponse),
        return_exceptions=True,
    )
    answer, search_problem = _outcome(visit, found)
    built_context, context_problem = _outcome(visit, built)
    prompt = [] if built_context is None else _prompt(built_context, fields["query"])
    return visit.page(
        "attempt.html",
        user_id=user_id,
        hold=await hold_of(visit, user_id),
        answer=answer,
        search_problem=search_problem,
        context=built_context,
        context_problem=context_problem,
        budget_tokens=context.budget_tokens,
        prompt=prompt,
        prompt_json=as_json(prompt),
    )


def _outcome(visit: Visit, outcome: T | BaseException) -> tuple[T | None, Problem | None]:
    if isinstance(outcome, CallRefused) and outcome.reason != "UNAUTHENTICATED":
        return None, problem_of(outcome, visit.texts)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome, None


def _prompt(context: context_service_pb2.BuildContextResponse, query: str) -> list[dict[str, str]]:
    """The messages a model would be sent: the system prompt, the window, and the question unless it stands there."""
    messages = [_message(m) for m in context.messages]
    if context.system_prompt:
        messages.insert(0, {"role": "system", "content": context.system_prompt})
    question = {"role": "user", "content": query}
    return messages if messages[-1:] == [question] else [*messages, question]


def _message(message: memory_pb2.Message) -> dict[str, str]:
    return {"role": enum_name(message, "role").lower(), "content": message.content}


def _search_request(user_id: str, fields: Fields) -> memory_service_pb2.SearchMemoriesRequest:
    request = memory_service_pb2.SearchMemoriesRequest(
        user_id=user_id, query=fields["query"], top_k=fields.number("top_k"), include_score_parts=True
    )
    min_score = fields.decimal("min_score")
    if min_score is not None:
        request.min_score = min_score
    return request


def _context_request(user_id: str, fields: Fields) -> context_service_pb2.BuildContextRequest:
    language = _known(fields["language"], _LANGUAGES)
    return context_service_pb2.BuildContextRequest(
        user_id=user_id,
        session_id=fields.line("session_id"),
        query=fields["query"],
        top_k=fields.number("top_k"),
        budget_tokens=fields.number("budget_tokens"),
        language=context_service_pb2.Language.Value(f"LANGUAGE_{language}"),
    )


def _known(value: str, values: Sequence[str]) -> str:
    return value if value in values else values[0]
