"""Assembly of a prompt from rules, memories, knowledge and window, within a token budget."""

from .assemble import Assembled, Ingredients, Section, SectionKind, assemble, top_k_for_budget
from .templates import DEFAULT_TEMPLATES, ContextTemplates
from .tokens import estimate_tokens

__all__ = [
    "DEFAULT_TEMPLATES",
    "Assembled",
    "ContextTemplates",
    "Ingredients",
    "Section",
    "SectionKind",
    "assemble",
    "estimate_tokens",
    "top_k_for_budget",
]
