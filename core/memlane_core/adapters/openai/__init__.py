"""Extraction, decision and chat by a model behind an OpenAI-compatible chat-completions endpoint."""

from .chat import OpenAIChatModel
from .client import AnswerFormat, ChatClient
from .decider import ModelDecider
from .extractor import ModelExtractor
from .settings import ChatSettings, TokenParameter

__all__ = [
    "AnswerFormat",
    "ChatClient",
    "ChatSettings",
    "ModelDecider",
    "ModelExtractor",
    "OpenAIChatModel",
    "TokenParameter",
]
