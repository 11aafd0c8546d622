"""A conversation to facts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ..domain.conversation import Extraction, Message


@dataclass(frozen=True, slots=True)
class ExtractionRequest:
    messages: tuple[Message, ...]
    now: datetime
    """The server's time (aware), used for messages that carry none."""
    recalled: tuple[str, ...] = ()
    """Texts of memories that were shown to the assistant: what merely repeats them is not a new fact."""
    timeout_seconds: float | None = None


class Extractor(Protocol):
    async def extract(self, request: ExtractionRequest) -> Extraction:
        """Facts worth keeping, in the order they were said. Only user turns are sources.

        Raises ModelUnavailable, ModelThrottled, ModelAnswerUnusable or DeadlineExceeded; an empty result means
        that nothing worth keeping was said, never that something failed.
        """
        ...
