"""BuildContext and Chat."""

from collections.abc import Sequence
from typing import Any

from memlane.v1 import context_service_pb2
from memlane_core.context import SectionKind
from memlane_core.domain import limits
from memlane_core.domain.conversation import Role
from memlane_core.domain.errors import Exhausted
from memlane_core.domain.language import Language
from memlane_core.ports.chat_model import FinishReason
from memlane_core.ports.journal import RequestStamp
from memlane_core.services.chat import ChatCommand, ChatDone
from memlane_core.services.context import BuiltContext, ContextCommand

from .. import validate
from ..validate import Violations
from . import wire
from .common import consistency, token
from .knowledge import scored_knowledge
from .remember import Received, message_message, message_of
from .search import query_or_vector

_LANGUAGES = {
    Language.ZH: context_service_pb2.LANGUAGE_ZH,
    Language.EN: context_service_pb2.LANGUAGE_EN,
}
_LANGUAGES_BY_NUMBER: dict[int, Language] = {number: language for language, number in _LANGUAGES.items()}
_SECTIONS = {k: context_service_pb2.SectionKind.Value(f"SECTION_KIND_{k.name}") for k in SectionKind}
_FINISH = {
    FinishReason.UNKNOWN: context_service_pb2.FINISH_REASON_UNSPECIFIED,
    FinishReason.STOP: context_service_pb2.FINISH_REASON_STOP,
    FinishReason.LENGTH: context_service_pb2.FINISH_REASON_LENGTH,
    FinishReason.CONTENT_FILTER: context_service_pb2.FINISH_REASON_CONTENT_FILTER,
}
_MAX_OUTPUT_TOKENS = 1_000_000
_ANSWER_BYTES = limits.MAX_RESPONSE_MESSAGE_BYTES - 64 * 1024
"""What an answer may have so that it stays under the limit with its frame."""


def context_command(request: context_service_pb2.BuildContextRequest, dimension: int) -> ContextCommand:
    v = Violations()
    command = _command(v, request, dimension)
    v.check()
    return command


def chat_command(
    request: context_service_pb2.ChatRequest, stamp: RequestStamp | None, dimension: int, received: Received
) -> ChatCommand:
    v = Violations()
    context = _command(v, request, dimension)
    validate.session_id(v, request.session_id)
    validate.request_id(v, request.request_id)
    message = message_of(v, "message", request.message, received)
    if message.role is not Role.USER:
        v.add("message.role", "must be ROLE_USER")
    options = request.model_options
    command = ChatCommand(
        context=context,
        message=message,
        model=validate.note(v, "model_options.model", options.model, 256) or None,
        temperature=validate.between(v, "model_options.temperature", options.temperature, 0, 2)
        if options.HasField("temperature")
        else None,
        top_p=validate.between(v, "model_options.top_p", options.top_p, 0, 1, above=True)
        if options.HasField("top_p")
        else None,
        max_output_tokens=validate.whole(
            v,
            "model_options.max_output_tokens",
            options.max_output_tokens,
            default=0,
            at_most=_MAX_OUTPUT_TOKENS,
        )
        or None,
        stop=_stops(v, options.stop),
        request=stamp,
    )
    v.check()
    return command


def context_message(built: BuiltContext, read_at: str) -> bytes:
    """A serialised BuildContextResponse. Raises Exhausted for a context that is larger than an answer may be."""
    assembled, timing = built.assembled, built.timing
    window = "\n".join(m.message.content for m in assembled.window)
    rest = context_service_pb2.BuildContextResponse(
        system_prompt=assembled.system_prompt,
        sections=[
            context_service_pb2.ContextSection(
                kind=_SECTIONS[s.kind],
                text=window if s.kind is SectionKind.WINDOW else s.text,
                tokens=s.tokens,
                item_count=len(assembled.window) if s.kind is SectionKind.WINDOW else s.items,
                dropped_count=s.dropped,
            )
            for s in assembled.sections
            if s.items
        ],
        knowledge=[scored_knowledge(k) for k in built.knowledge],
        total_tokens=assembled.total_tokens,
        read_at=token(read_at),
        rules_revision=built.rules_version,
        language=_LANGUAGES[built.language],
        timing=context_service_pb2.ContextTiming(
            embed_us=timing.embed_us,
            search_us=timing.search_us,
            knowledge_us=timing.knowledge_us,
            window_us=timing.window_us,
            assemble_us=timing.assemble_us,
            total_us=timing.total_us,
            embed_cached=timing.embed_cached,
        ),
    )
    answer = wire.context_response(rest, assembled.window, built.memories)
    if len(answer) > _ANSWER_BYTES:
        raise Exhausted(f"the context is larger than {_ANSWER_BYTES} bytes: set budget_tokens")
    return answer


def done_message(done: ChatDone, written_at: str) -> context_service_pb2.ChatDone:
    usage = done.usage
    return context_service_pb2.ChatDone(
        message=message_message(done.message),
        finish_reason=_FINISH[done.finish_reason],
        usage=context_service_pb2.Usage(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.total_tokens,
        ),
        written_at=token(written_at),
        model=done.model,
        first_delta_us=done.first_delta_us,
        total_us=done.total_us,
    )


def _command(v: Violations, request: Any, dimension: int) -> ContextCommand:
    """What BuildContext and Chat have in common."""
    query, embedding = query_or_vector(v, request, dimension, required=False)
    validate.enumerated(v, "language", request.language, context_service_pb2.Language.values())

    def wanted(part: str) -> bool:
        field = f"include_{part}"
        return not request.HasField(field) or getattr(request, field)

    return ContextCommand(
        user_id=validate.user_id(v, request.user_id),
        session_id=validate.session_id(v, request.session_id, required=False),
        query=query,
        embedding=embedding,
        budget_tokens=validate.whole(
            v, "budget_tokens", request.budget_tokens, default=0, at_most=limits.MAX_BUDGET_TOKENS
        ),
        top_k=validate.top_k(v, request.top_k, default=0),
        language=_LANGUAGES_BY_NUMBER.get(request.language),
        rules=wanted("rules"),
        memories=wanted("memories"),
        knowledge=wanted("knowledge"),
        window=wanted("window"),
        consistency=consistency(v, request),
    )


def _stops(v: Violations, stops: Sequence[str]) -> tuple[str, ...]:
    field = "model_options.stop"
    if len(stops) > validate.MAX_STOPS:
        v.add(field, f"must not hold more than {validate.MAX_STOPS} texts")
    for i, stop in enumerate(stops):
        if not stop:
            v.add(f"{field}[{i}]", "must not be empty")
        validate.note(v, f"{field}[{i}]", stop, validate.MAX_STOP_BYTES)
    return tuple(stops)
