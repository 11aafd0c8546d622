"""One chat-completions endpoint: requests in the dialect that its server turned out to speak."""

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, cast

import openai
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam

from ...ports.chat_model import FinishReason, TokenUsage
from ...ports.model_observer import ModelAnswer, ModelObserver, NoObserver
from .calls import CallTime, RetryPolicy, open_client, request_timeout, server_of, with_retries
from .settings import ChatSettings, TokenParameter

logger = logging.getLogger(__name__)

_FORMAT_WORDS = (
    "response_format",
    "response format",
    "json_schema",
    "json schema",
    "json_object",
    "structured output",
)
_UNSUPPORTED_WORDS = (
    "unsupported", "not support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed",
    "deprecated", "only the default", "instead",
)  # fmt: skip


_NOT_COUNTED = TokenUsage()


class AnswerFormat(IntEnum):
    """How a server can be held to JSON, best last."""

    TEXT = 0
    """Not at all: the prompt asks for it."""
    JSON_OBJECT = 1
    JSON_SCHEMA = 2


@dataclass(frozen=True, slots=True)
class PromptMessage:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """JSON schema that an answer has to follow."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Completion:
    """One whole answer of a model."""

    content: str
    """Its text as sent, inline reasoning included; "" when there was none."""
    reasoned: bool
    """Reasoning came in a field of its own; it is never used."""
    refused: bool
    finish_reason: FinishReason
    usage: TokenUsage = _NOT_COUNTED
    model: str = ""
    """Who answered, as the server named it."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which optional parts of the protocol a server takes. A refusal of one leads to the next poorer
    dialect."""

    answer_format: AnswerFormat
    token_parameter: TokenParameter
    token_parameter_settled: bool = False
    """The other name was tried already."""
    temperature: bool = True
    stream_usage: bool = True

    def without(self, refused: openai.APIStatusError, *, streaming: bool) -> "Dialect | None":
        """The dialect that leaves out what the server complained about; None when it complained about
        else."""
        text = f"{refused.message} {refused.param or ''} {refused.body}".lower()
        if self.answer_format > AnswerFormat.TEXT and any(word in text for word in _FORMAT_WORDS):
            return replace(self, answer_format=AnswerFormat(self.answer_format - 1))
        if not any(word in text for word in _UNSUPPORTED_WORDS):
            return None
        if streaming and self.stream_usage and "stream_options" in text:
            return replace(self, stream_usage=False)
        if not self.token_parameter_settled and self.token_parameter.value in text:
            return replace(self, token_parameter=self.token_parameter.other, token_parameter_settled=True)
        if self.temperature and "temperature" in text:
            return replace(self, temperature=False)
        return None


class ChatClient:
    """Shared by extraction, decision and chat of one endpoint, so that its dialect is found out once."""

    def __init__(
        self,
        settings: ChatSettings,
        *,
        retry: RetryPolicy | None = None,
        observer: ModelObserver | None = None,
    ) -> None:
        self.settings = settings
        self.observer = observer or NoObserver()
        self.server = server_of(settings.base_url)
        self._retry = retry or RetryPolicy()
        self._client = open_client(
            base_url=settings.base_url,
            api_key=settings.api_key,
            timeout_seconds=settings.timeout_seconds,
            extra_headers=settings.extra_headers,
        )
        self._dialect = Dialect(AnswerFormat.JSON_SCHEMA, settings.token_parameter)

    @property
    def answer_format(self) -> AnswerFormat:
        """The best form of JSON output that the server has not refused so far."""
        return self._dialect.answer_format

    async def close(self) -> None:
        await self._client.close()

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        schema: AnswerSchema,
        call_time: CallTime,
        max_output_tokens: int | None,
    ) -> Completion:
        """One whole answer. Raises ModelUnavailable, ModelThrottled or DeadlineExceeded."""
        body: dict[str, Any] = {"model": self.settings.model, "messages": _params(messages)}

        async def send(remaining_seconds: float) -> Completion:
            answer = await self._create(
                body, schema, max_output_tokens, self.settings.temperature, remaining_seconds, streaming=False
            )
            return _completion(answer)

        with self.observer.watch("chat", self.settings.model, self.server) as watch:
            completion = await with_retries(send, server=self.server, call_time=call_time, policy=self._retry)
            watch.answered(answer_of(completion.model, completion.usage, completion.finish_reason))
            return completion

    async def open_stream(
        self,
        messages: Sequence[PromptMessage],
        *,
        call_time: CallTime,
        model: str,
        temperature: float | None,
        max_output_tokens: int | None,
        options: Mapping[str, Any],
    ) -> "OpenStream":
        """A stream whose first chunk has arrived; until then failures are retried, afterwards they are not.

        Raises ModelUnavailable, ModelThrottled or DeadlineExceeded.
        """
        body: dict[str, Any] = {"model": model, "messages": _params(messages), "stream": True, **options}

        async def send(remaining_seconds: float) -> OpenStream:
            stream = cast(
                "openai.AsyncStream[ChatCompletionChunk]",
                await self._create(
                    body, None, max_output_tokens, temperature, remaining_seconds, streaming=True
                ),
            )
            opened = False
            try:
                first = await anext(stream, None)
                opened = True
            finally:
                if not opened:
                    await stream.close()
            return OpenStream(stream, first)

        return await with_retries(send, server=self.server, call_time=call_time, policy=self._retry)

    async def _create(
        self,
        body: Mapping[str, Any],
        schema: AnswerSchema | None,
        max_output_tokens: int | None,
        temperature: float | None,
        remaining_seconds: float,
        *,
        streaming: bool,
    ) -> object:
        """The SDK's answer, asked again in a poorer dialect as often as the server names a part it does
        not take."""
        while True:
            dialect = self._dialect
            options: dict[str, Any] = dict(body)
            if max_output_tokens is not None:
                options[dialect.token_parameter.value] = max_output_tokens
            if temperature is not None and dialect.temperature:
                options["temperature"] = temperature
            if streaming and dialect.stream_usage:
                options["stream_options"] = {"include_usage": True}
            if schema is not None:
                options.update(_response_format(dialect.answer_format, schema))
            try:
                return await self._client.chat.completions.create(
                    **options, timeout=request_timeout(remaining_seconds)
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                poorer = dialect.without(error, streaming=streaming)
                if poorer is None:
                    raise
            # Another call may have found out the same meanwhile; then its finding stands.
            if self._dialect == dialect:
                self._dialect = poorer
                logger.info("model server %s takes %s", self.server, poorer)


@dataclass(frozen=True, slots=True)
class OpenStream:
    """A streamed answer under way; whoever holds it closes it."""

    stream: "openai.AsyncStream[ChatCompletionChunk]"
    first: ChatCompletionChunk | None
    """None when the stream ended without a chunk."""

    async def chunks(self) -> AsyncIterator[ChatCompletionChunk]:
        if self.first is not None:
            yield self.first
            async for chunk in self.stream:
                yield chunk

    async def close(self) -> None:
        await self.stream.close()


def finish_reason_of(name: object) -> FinishReason:
    return FinishReason(name) if isinstance(name, str) and name in set(FinishReason) else FinishReason.UNKNOWN


def usage_of(usage: object) -> TokenUsage:
    """Counts of an answer, whose parts the SDK does not check."""
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    return TokenUsage(*(count if isinstance(count, int) else 0 for count in counts))


def answer_of(model: str, usage: TokenUsage, finish_reason: FinishReason) -> ModelAnswer:
    return ModelAnswer(model, usage.prompt_tokens, usage.completion_tokens, finish_reason.value)


def text_of(content: object) -> str:
    """The text of a message's content, which some servers send as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _params(messages: Sequence[PromptMessage]) -> list[ChatCompletionMessageParam]:
    return [
        cast(ChatCompletionMessageParam, {"role": m.role, "content": encodable(m.content)}) for m in messages
    ]


def encodable(text: str) -> str:
    """The text without lone surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _response_format(answer_format: AnswerFormat, schema: AnswerSchema) -> dict[str, Any]:
    match answer_format:
        case AnswerFormat.JSON_SCHEMA:
            json_schema = {"name": schema.name, "strict": True, "schema": dict(schema.schema)}
            return {"response_format": {"type": "json_schema", "json_schema": json_schema}}
        case AnswerFormat.JSON_OBJECT:
            return {"response_format": {"type": "json_object"}}
        case AnswerFormat.TEXT:
            return {}


def _completion(answer: object) -> Completion:
    """Reads what the SDK built without checking it: any part may be missing or of another type."""
    choices = answer.choices if isinstance(answer, ChatCompletion) else None
    if not choices:
        return Completion("", reasoned=False, refused=False, finish_reason=FinishReason.UNKNOWN)
    message = getattr(choices[0], "message", None)
    return Completion(
        content=text_of(getattr(message, "content", None)),
        reasoned=bool(getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)),
        refused=bool(getattr(message, "refusal", None)),
        finish_reason=finish_reason_of(getattr(choices[0], "finish_reason", None)),
        usage=usage_of(getattr(answer, "usage", None)),
        model=model if isinstance(model := getattr(answer, "model", None), str) else "",
    )
