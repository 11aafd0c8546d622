"""Settings of one chat-completions endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...domain.errors import NotConfigured


class TokenParameter(StrEnum):
    """Name under which a server takes the output limit."""

    MAX_TOKENS = "max_tokens"
    """Most compatible servers, and older models."""
    MAX_COMPLETION_TOKENS = "max_completion_tokens"
    """Newer models, which refuse the other one."""

    @property
    def other(self) -> "TokenParameter":
        return next(p for p in TokenParameter if p is not self)


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Where to ask which model, and how. Independent of the embedder's settings: they may be two
    providers."""

    base_url: str
    """Up to and including the version, e.g. "https://api.example.com/v1"."""
    api_key: str = field(repr=False)
    """Empty for a server without authentication."""
    model: str
    temperature: float | None = 0.0
    """None = not sent: some models take none."""
    timeout_seconds: float = 60.0
    """For one extraction, decision or chat answer, its retries and second attempts included."""
    token_parameter: TokenParameter = TokenParameter.MAX_TOKENS
    max_output_tokens: int | None = 2048
    """None = not sent: the server's own limit holds."""
    extra_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request; not shown by repr, since gateways take keys here."""

    def __post_init__(self) -> None:
        if not self.base_url:
            raise NotConfigured("a chat model", "base_url")
        if not self.model:
            raise NotConfigured("a chat model", "model")
