"""Deciding without a model: read both sentences, compare subject, attribute, value and polarity, weigh, choose."""

from .rules import RulesDecider, decide_fact

__all__ = ["RulesDecider", "decide_fact"]
