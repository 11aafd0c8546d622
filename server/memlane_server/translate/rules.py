"""PutRules to ListRuleRevisions."""

from memlane.v1 import rule_service_pb2
from memlane_core.domain import limits
from memlane_core.ports.rule_store import RuleSet

from .. import validate
from ..validate import Violations
from .common import from_us


def rules_of(v: Violations, request: rule_service_pb2.PutRulesRequest) -> tuple[str, ...]:
    source = request.WhichOneof("source")
    if source is None:
        v.add("source", "one of text and rules is required")
        return ()
    if source == "text":
        return (validate.text(v, "text", request.text, limits.MAX_RULES_BYTES),)
    rules = tuple(request.rules.rules)
    for i, rule in enumerate(rules):
        validate.text(v, f"rules.rules[{i}]", rule, limits.MAX_RULES_BYTES)
    if sum(len(rule.encode()) for rule in rules) > limits.MAX_RULES_BYTES:
        v.add("rules.rules", f"must not be larger than {limits.MAX_RULES_BYTES} bytes together")
    return rules


def rule_set_message(rule_set: RuleSet) -> rule_service_pb2.RuleSet:
    message = rule_service_pb2.RuleSet(revision=rule_set.version, rules=rule_set.rules, actor=rule_set.actor)
    if rule_set.version:
        message.create_time.CopyFrom(from_us(rule_set.time_us))
    return message


def rule_set_bytes(rule_set: RuleSet) -> int:
    return 128 + sum(len(rule.encode()) + 4 for rule in rule_set.rules)
