"""A prompt to a streamed answer."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ..domain.conversation import Message


class FinishReason(StrEnum):
    """Why the model stopped."""

    UNKNOWN = "unknown"
    """It gave no reason, or one that is none of these."""
    STOP = "stop"
    LENGTH = "length"
    """The output limit was reached: the answer is cut."""
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider counted them; 0 where it did not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """What to ask; None leaves an option to the settings of the model."""

    messages: tuple[Message, ...]
    """The system prompt first, then the window, the newest user message last."""
    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    stop: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    """What the caller has left for the whole answer."""


@dataclass(frozen=True, slots=True)
class ChatDelta:
    """A further piece of the answer; never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """The answer is complete, or as complete as `finish_reason` says."""

    finish_reason: FinishReason
    usage: TokenUsage
    model: str
    """Name of the model that answered, as the provider gave it."""


class ChatModel(Protocol):
    @property
    def model(self) -> str:
        """Name of the model that is asked unless a prompt names another."""
        ...

    def stream(self, prompt: ChatPrompt) -> AsyncGenerator[ChatDelta | ChatEnd, None]:
        """Any number of deltas, then one end. A stream without an end failed.

        Closing the generator early (`contextlib.aclosing`), cancelling its consumer and the end of the
        time all close the request. What the model merely thought is not part of the answer.

        Raises ModelUnavailable, ModelThrottled, ModelAnswerUnusable (nothing was answered) or
        DeadlineExceeded.
        """
        ...
