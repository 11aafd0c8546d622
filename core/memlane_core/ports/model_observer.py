"""Who is told of each call of a model: names and numbers, never what was said."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What is known of an answer besides its text."""

    model: str
    """As the provider named it; "" where it did not say."""
    input_tokens: int
    """As the provider counted them; 0 where it did not say."""
    output_tokens: int
    finish_reason: str = ""


class ModelWatch(Protocol):
    def answered(self, answer: ModelAnswer) -> None: ...


class ModelObserver(Protocol):
    def watch(self, operation: str, model: str, server: str) -> AbstractContextManager[ModelWatch]:
        """Around one call, its retries included. `operation`: "chat" or "embeddings"; `server`: host and port."""
        ...


class NoWatch:
    def answered(self, answer: ModelAnswer) -> None:
        """Nobody listens."""


class NoObserver:
    """Implements ModelObserver for nobody."""

    def watch(self, operation: str, model: str, server: str) -> AbstractContextManager[ModelWatch]:
        return nullcontext(NoWatch())
