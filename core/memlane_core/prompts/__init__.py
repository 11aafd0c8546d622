"""Prompts as files: one per task, version and language, e.g. `extraction.v1.zh.md`.

A file begins with lines "key: value" between two lines of dashes. A prompt that changes gets a new
version; the old file stays, so that what was extracted with it can be explained.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources

CURRENT_VERSION = {"extraction": 1, "decision": 1, "repair": 1}
"""Version that is used of each task's prompt."""


class Language(StrEnum):
    """Language of the text around the data; the data stays in its own."""

    ZH = "zh"
    EN = "en"


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    version: int
    language: Language
    text: str
    example_names: tuple[str, ...]
    """Proper names of the examples: an answer may hold them only where the conversation does."""


@cache
def load_prompt(name: str, language: Language, version: int | None = None) -> Prompt:
    """A prompt by task and language, the current version by default. Raises FileNotFoundError."""
    version = CURRENT_VERSION[name] if version is None else version
    file = resources.files(__package__) / f"{name}.v{version}.{language.value}.md"
    _, head, text = file.read_text(encoding="utf-8").split("---\n", 2)
    settings = dict(line.split(":", 1) for line in head.splitlines() if line.strip())
    names = tuple(n.strip() for n in settings.get("example_names", "").split(",") if n.strip())
    return Prompt(name, version, language, text.strip(), names)
