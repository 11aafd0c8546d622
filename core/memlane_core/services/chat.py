"""One turn of an assistant: context, model, window."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from ..domain.conversation import Message, Role
from ..domain.errors import InvalidArgument, NotConfigured
from ..ports.chat_model import ChatDelta, ChatModel, ChatPrompt, FinishReason, TokenUsage
from ..ports.journal import RequestStamp
from .call import Call
from .context import BuiltContext, ContextCommand, ContextService
from .sessions import SessionService

MODEL_SETTING = "chat.base_url and chat.model (MEMLANE_CHAT__BASE_URL, MEMLANE_CHAT__MODEL)"


@dataclass(frozen=True, slots=True)
class ChatCommand:
    context: ContextCommand
    message: Message
    """The user's new message; also what the context is looked up for unless `context` says otherwise."""
    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    request: RequestStamp | None = None


@dataclass(frozen=True, slots=True)
class ChatDone:
    message: Message
    finish_reason: FinishReason
    usage: TokenUsage
    model: str
    first_delta_us: int
    total_us: int


class ChatService:
    def __init__(self, *, context: ContextService, sessions: SessionService, model: ChatModel | None) -> None:
        self._context = context
        self._sessions = sessions
        self._model = model

    @property
    def configured(self) -> bool:
        return self._model is not None

    async def chat(
        self, call: Call, command: ChatCommand
    ) -> AsyncGenerator[BuiltContext | ChatDelta | ChatDone, None]:
        """The context, then the answer piece by piece, then its end. The window gets question and answer together,
        after the model has finished: a turn that failed leaves no half round. A turn that was finished before under the
        same request_id gives its recorded answer. Raises NotConfigured without a model."""
        if self._model is None:
            raise NotConfigured("a chat model", MODEL_SETTING)
        if command.model not in (None, self._model.model):
            raise InvalidArgument.of(
                "model_options.model", f"is not offered; this server has {self._model.model}"
            )
        started = time.perf_counter_ns()
        context = command.context
        if context.query is None and context.embedding is None:
            context = replace(context, query=command.message.content)
        built = await self._context.build(call, context)
        yield built
        if command.request is not None and (recorded := await self._recorded(call, command, started)):
            yield ChatDelta(recorded.message.content)
            yield recorded
            return
        system = Message(Role.SYSTEM, built.assembled.system_prompt)
        prompt = ChatPrompt(
            messages=(
                *((system,) if system.content else ()),
                *built.assembled.messages,
                command.message,
            ),
            model=command.model,
            temperature=command.temperature,
            top_p=command.top_p,
            max_output_tokens=command.max_output_tokens,
            stop=command.stop,
            timeout_seconds=call.deadline.timeout_seconds(600.0),
        )
        pieces: list[str] = []
        first_delta_us = 0
        async with aclosing(self._model.stream(prompt)) as stream:
            async for event in stream:
                if isinstance(event, ChatDelta):
                    if not pieces:
                        first_delta_us = (time.perf_counter_ns() - started) // 1000
                    pieces.append(event.text)
                    yield event
                else:
                    answer = Message(Role.ASSISTANT, "".join(pieces))
                    if context.session_id:
                        await self._sessions.append(
                            call,
                            context.user_id,
                            context.session_id,
                            (command.message, answer),
                            command.request,
                        )
                    yield ChatDone(
                        message=answer,
                        finish_reason=event.finish_reason,
                        usage=event.usage,
                        model=event.model,
                        first_delta_us=first_delta_us,
                        total_us=(time.perf_counter_ns() - started) // 1000,
                    )

    async def _recorded(self, call: Call, command: ChatCommand, started: int) -> ChatDone | None:
        """End of this turn where it was finished before; the provider's counts are not kept."""
        assert command.request is not None and self._model is not None
        context = command.context
        said = await self._sessions.appended(call, context.user_id, context.session_id, command.request)
        if not said:
            return None
        elapsed_us = (time.perf_counter_ns() - started) // 1000
        return ChatDone(
            said[-1], FinishReason.UNKNOWN, TokenUsage(), self._model.model, elapsed_us, elapsed_us
        )
