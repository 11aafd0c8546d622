"""Streamed answers of a chat model."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from ...domain.errors import MemlaneError, ModelAnswerUnusable, ModelUnavailable
from ...ports.chat_model import ChatDelta, ChatEnd, ChatPrompt, FinishReason, TokenUsage
from .calls import CallFailure, CallTime, domain_error
from .client import ChatClient, OpenStream, PromptMessage, answer_of, finish_reason_of, text_of, usage_of
from .reasoning import ReasoningFilter


class OpenAIChatModel:
    """Implements the port `ChatModel` by a chat-completions endpoint."""

    def __init__(self, client: ChatClient, *, redact: Callable[[str], str]) -> None:
        """`redact` cuts secrets out of every message before it is sent."""
        self._client = client
        self._redact = redact

    @property
    def model(self) -> str:
        return self._client.settings.model

    async def stream(self, prompt: ChatPrompt) -> AsyncGenerator[ChatDelta | ChatEnd, None]:
        """See the port. Failures are retried until the first chunk has come, never after it."""
        settings = self._client.settings
        call_time = CallTime(settings.timeout_seconds, prompt.timeout_seconds)
        model = prompt.model or settings.model
        with self._client.observer.watch("chat", model, self._client.server) as watch:
            async with aclosing(self._stream(prompt, model, call_time)) as events:
                async for event in events:
                    if isinstance(event, ChatEnd):
                        watch.answered(answer_of(event.model, event.usage, event.finish_reason))
                    yield event

    async def _stream(
        self, prompt: ChatPrompt, model: str, call_time: CallTime
    ) -> AsyncGenerator[ChatDelta | ChatEnd, None]:
        settings = self._client.settings
        opened = await self._client.open_stream(
            [PromptMessage(m.role.value, self._redact(m.content)) for m in prompt.messages],
            call_time=call_time,
            model=model,
            temperature=settings.temperature if prompt.temperature is None else prompt.temperature,
            max_output_tokens=prompt.max_output_tokens or settings.max_output_tokens,
            options=_options(prompt),
        )
        try:
            answer = _Answer(model, self._client.server)
            async for chunk in self._chunks(opened, call_time):
                text = answer.read(chunk)
                if text:
                    yield ChatDelta(text)
            rest = answer.finish()
            if rest:
                yield ChatDelta(rest)
            yield answer.end()
        finally:
            await opened.close()

    async def _chunks(self, opened: OpenStream, call_time: CallTime) -> AsyncIterator[ChatCompletionChunk]:
        """The chunks, each awaited until the end of the call's time; the time that the consumer takes
        counts too."""
        chunks = opened.chunks()
        while True:
            failure: CallFailure | None = None
            timed_out = False
            chunk: ChatCompletionChunk | None = None
            try:
                async with asyncio.timeout(call_time.remaining_seconds()):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                timed_out = True
            except (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError) as error:
                failure = error
            # Outside of the handlers, so that the SDK's error does not hang on ours.
            if timed_out:
                raise call_time.expired(self._client.server)
            if failure is not None:
                raise domain_error(failure, server=self._client.server, call_time=call_time)
            if chunk is None:
                return
            yield chunk


class _Answer:
    """What has come of one answer so far."""

    def __init__(self, model: str, server: str) -> None:
        self._filter = ReasoningFilter()
        self._finish: FinishReason | None = None
        self._usage: TokenUsage | None = None
        self._model = model
        self._server = server
        self._any_text = False

    def read(self, chunk: ChatCompletionChunk) -> str:
        """The text to show of a chunk. The SDK does not check chunks: any part may be missing."""
        self._model = getattr(chunk, "model", None) or self._model
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self._usage = usage_of(usage)
        text = ""
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            if getattr(choice, "finish_reason", None):
                self._finish = finish_reason_of(choice.finish_reason)
            text = text_of(getattr(getattr(choice, "delta", None), "content", None))
        return self._noted(self._filter.feed(text) if text else "")

    def finish(self) -> str:
        return self._noted(self._filter.finish())

    def end(self) -> ChatEnd:
        """Raises ModelUnavailable for a stream that broke off, ModelAnswerUnusable for one without text."""
        error = self._failure()
        if error is not None:
            raise error
        return ChatEnd(self._finish or FinishReason.UNKNOWN, self._usage or TokenUsage(), self._model)

    def _failure(self) -> MemlaneError | None:
        if self._finish is None and self._usage is None:
            # Neither is sent in the middle: without them a broken connection looks like an end.
            return ModelUnavailable(
                f"the model server {self._server} broke off its answer", metadata={"server": self._server}
            )
        if not self._any_text:
            return ModelAnswerUnusable("the model's answer is empty", metadata={"server": self._server})
        return None

    def _noted(self, text: str) -> str:
        self._any_text = self._any_text or bool(text.strip())
        return text


def _options(prompt: ChatPrompt) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if prompt.top_p is not None:
        options["top_p"] = prompt.top_p
    if prompt.stop:
        options["stop"] = list(prompt.stop)
    return options
