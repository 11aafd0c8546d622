"""Shorthand of the model tests."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memlane_core.adapters.openai import ChatClient, ChatSettings, ModelExtractor
from memlane_core.adapters.openai.calls import RetryPolicy
from memlane_core.domain.conversation import Extraction, Message, Role
from memlane_core.ports.extractor import ExtractionRequest

from .model_server import ModelServer, model_server

NOW = datetime(2026, 12, 2, 9, 30, tzinfo=UTC)
QUICK = RetryPolicy(max_attempts=3, first_delay_seconds=0.01, max_delay_seconds=0.02)


def unchanged(text: str) -> str:
    return text


@asynccontextmanager
async def scripted(
    retry: RetryPolicy = QUICK, **settings: Any
) -> AsyncIterator[tuple[ModelServer, ChatClient]]:
    """A server and a client of it."""
    async with model_server() as server:
        base = ChatSettings(base_url=server.base_url, api_key="sk-test", model="m", timeout_seconds=10.0)
        client = ChatClient(replace(base, **settings), retry=retry)
        try:
            yield server, client
        finally:
            await client.close()


def user(content: str, time: datetime | None = None) -> Message:
    return Message(Role.USER, content, time)


def assistant(content: str) -> Message:
    return Message(Role.ASSISTANT, content)


def fact(text: str, source: int = 0, **fields: object) -> dict[str, object]:
    """A fact as the schema asks for it."""
    return {"source": source, "subject": "user", "text": text, "retraction": False, "expires": None, **fields}


def facts(*items: object) -> dict[str, object]:
    return {"facts": list(items)}


async def extract(
    client: ChatClient, *messages: Message, recalled: Sequence[str] = (), timeout_seconds: float | None = None
) -> Extraction:
    request = ExtractionRequest(messages, NOW, tuple(recalled), timeout_seconds)
    return await ModelExtractor(client, redact=unchanged).extract(request)


def texts(extraction: Extraction) -> list[str]:
    return [f.content for f in extraction.facts]
