"""Composition of what reads, decides and embeds, from the settings. With app.py and openai_models.py the only place
that names adapters."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from memlane_core.adapters.local_embedder import LocalEmbedder
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

from .config import EmbeddingSettings, Settings

Close = Callable[[], Awaitable[None]]


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
    closing: tuple[Close, ...]
    """End connections and threads."""

    async def close(self) -> None:
        for close in self.closing:
            await close()


def minds(settings: Settings, observer: ModelObserver | None = None) -> Minds:
    """`observer` is told of each call of a model. Raises NotConfigured naming the setting that is missing."""
    wanted = settings.memory.decider
    if wanted == "model" and not settings.chat.configured:
        raise NotConfigured("memory.decider = model needs a chat model, which", MODEL_SETTING)
    embedder, close_embedder = _embedder(settings.embedding, observer)
    secrets = SecretPolicy(frozenset(settings.memory.secret_kinds), settings.memory.keep_last_four)
    rules = RulesDecider(nomination_threshold=embedder.nomination_threshold)
    by_rules = RulesExtractor(secrets=secrets)
    if not settings.chat.configured:
        return Minds(embedder, by_rules, rules, rules, None, secrets, (close_embedder,))

    from .openai_models import ChatEndpoint

    endpoint = ChatEndpoint(settings.chat, observer, redact=lambda text: redact(text, secrets).text)
    chat, closing = endpoint.chat(), (close_embedder, endpoint.close)
    if wanted == "rules":
        return Minds(embedder, by_rules, rules, rules, chat, secrets, closing)
    return Minds(embedder, endpoint.extractor(), endpoint.decider(rules), rules, chat, secrets, closing)


def _embedder(settings: EmbeddingSettings, observer: ModelObserver | None) -> tuple[Embedder, Close]:
    if settings.provider == "local":
        local = LocalEmbedder()
        return local, partial(asyncio.to_thread, local.close)

    from .openai_models import open_embedder

    remote = open_embedder(settings, observer)
    return remote, remote.close
