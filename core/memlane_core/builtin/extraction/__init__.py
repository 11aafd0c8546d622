"""A conversation to facts by rules, in Chinese and English."""

from .extractor import RulesExtractor

__all__ = ["RulesExtractor"]
