"""Composition of what asks a model, from the settings. Imported only where a model is configured: the client's own
types are a fifth of what a start imports."""

from collections.abc import Callable

from memlane_core.adapters.openai.chat import OpenAIChatModel
from memlane_core.adapters.openai.client import ChatClient
from memlane_core.adapters.openai.decider import ModelDecider
from memlane_core.adapters.openai.extractor import ModelExtractor
from memlane_core.adapters.openai.settings import ChatSettings, TokenParameter
from memlane_core.adapters.openai_embedder import OpenAIEmbedder
from memlane_core.domain.errors import NotConfigured
from memlane_core.ports.chat_model import ChatModel
from memlane_core.ports.decider import Decider
from memlane_core.ports.extractor import Extractor
from memlane_core.ports.model_observer import ModelObserver

from .config import EmbeddingSettings, ModelSettings


class ChatEndpoint:
    """What one chat-completions endpoint does here; its dialect is found out once for all of it."""

    def __init__(
        self, settings: ModelSettings, observer: ModelObserver | None, redact: Callable[[str], str]
    ) -> None:
        """`redact` takes out of every text what may not leave the process."""
        self._redact = redact
        self._client = ChatClient(
            ChatSettings(
                base_url=settings.base_url,
                api_key=settings.api_key.get_secret_value(),
                model=settings.model,
                temperature=settings.temperature,
                timeout_seconds=settings.timeout_seconds,
                token_parameter=TokenParameter(settings.token_parameter),
                max_output_tokens=settings.max_output_tokens,
            ),
            observer=observer,
        )

    def chat(self) -> ChatModel:
        return OpenAIChatModel(self._client, redact=self._redact)

    def extractor(self) -> Extractor:
        return ModelExtractor(self._client, redact=self._redact)

    def decider(self, fallback: Decider) -> Decider:
        """`fallback` decides what the model leaves open."""
        return ModelDecider(self._client, fallback=fallback, redact=self._redact)

    async def close(self) -> None:
        await self._client.close()


def open_embedder(settings: EmbeddingSettings, observer: ModelObserver | None) -> OpenAIEmbedder:
    """Raises NotConfigured naming the setting that is missing."""
    if not settings.base_url:
        raise NotConfigured("embedding.provider = openai", "embedding.base_url (MEMLANE_EMBEDDING__BASE_URL)")
    return OpenAIEmbedder(
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value(),
        model=settings.model,
        dimension=settings.dimension,
        timeout_seconds=settings.timeout_seconds,
        observer=observer,
    )
