"""Composition of what reads, decides and embeds, from the settings. With app.py the only place that names adapters."""

import asyncio
from dataclasses import dataclass

from memlane_core.adapters.local_embedder import LocalEmbedder
from memlane_core.adapters.openai.chat import OpenAIChatModel
from memlane_core.adapters.openai.client import ChatClient
from memlane_core.adapters.openai.decider import ModelDecider
from memlane_core.adapters.openai.extractor import ModelExtractor
from memlane_core.adapters.openai.settings import ChatSettings, TokenParameter
from memlane_core.adapters.openai_embedder import OpenAIEmbedder
from memlane_core.builtin.decision import RulesDecider
from memlane_core.builtin.extraction import RulesExtractor
from memlane_core.domain.errors import NotConfigured
from memlane_core.guards.secrets import SecretPolicy, redact
from memlane_core.ports.chat_model import ChatModel
from memlane_core.ports.decider import Decider
from memlane_core.ports.embedder import Embedder
from memlane_core.ports.extractor import Extractor
from memlane_core.ports.model_observer import ModelObserver
from memlane_core.services.chat import MODEL_SETTING

from .config import EmbeddingSettings, ModelSettings, Settings


@dataclass(frozen=True, slots=True)
class Minds:
    """Who extracts, who decides, who embeds, who chats."""

    embedder: Embedder
    extractor: Extractor
    decider: Decider
    rules: RulesDecider
    """Decides what a model leaves open, or all."""
    chat: ChatModel | None
    secrets: SecretPolicy
    client: ChatClient | None

    async def close(self) -> None:
        """End connections and threads."""
        if isinstance(self.embedder, OpenAIEmbedder):
            await self.embedder.close()
        elif isinstance(self.embedder, LocalEmbedder):
            await asyncio.to_thread(self.embedder.close)
        if self.client is not None:
            await self.client.close()


def minds(settings: Settings, observer: ModelObserver | None = None) -> Minds:
    """`observer` is told of each call of a model. Raises NotConfigured naming the setting that is missing."""
    embedder = _embedder(settings.embedding, observer)
    secrets = SecretPolicy(frozenset(settings.memory.secret_kinds), settings.memory.keep_last_four)
    rules = RulesDecider(nomination_threshold=embedder.nomination_threshold)
    client = _chat_client(settings.chat, observer) if settings.chat.configured else None

    def cut(text: str) -> str:
        return redact(text, secrets).text

    chat = OpenAIChatModel(client, redact=cut) if client else None
    wanted = settings.memory.decider
    if wanted == "model" and client is None:
        raise NotConfigured("memory.decider = model needs a chat model, which", MODEL_SETTING)
    if client is None or wanted == "rules":
        return Minds(embedder, RulesExtractor(secrets=secrets), rules, rules, chat, secrets, client)
    return Minds(
        embedder,
        ModelExtractor(client, redact=cut),
        ModelDecider(client, fallback=rules, redact=cut),
        rules,
        chat,
        secrets,
        client,
    )


def _embedder(settings: EmbeddingSettings, observer: ModelObserver | None) -> Embedder:
    if settings.provider == "local":
        return LocalEmbedder()
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


def _chat_client(settings: ModelSettings, observer: ModelObserver | None) -> ChatClient:
    return ChatClient(
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
