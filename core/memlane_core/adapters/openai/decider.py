"""Decisions over facts by a model, all facts of a Remember in one call."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator

from ...builtin.text.negation import negations
from ...builtin.text.normalise import is_chinese
from ...domain.decision import Decision, FactToDecide
from ...domain.memory import Action, DeciderKind, Memory
from ...ports.decider import Decider, DecisionRequest
from ...prompts import load_prompt
from .answers import Items, Question, ask
from .calls import CallTime
from .client import AnswerSchema, ChatClient, PromptMessage
from .grounding import Evidence, Source, why_ungrounded
from .transcript import data_block, language_of

logger = logging.getLogger(__name__)

_DECIDABLE = (Action.ADD, Action.UPDATE, Action.DELETE, Action.NOOP)
_ALIASES = {
    "NONE": "NOOP",
    "NO_OP": "NOOP",
    "INSERT": "ADD",
    "CREATE": "ADD",
    "REMOVE": "DELETE",
    "REPLACE": "UPDATE",
}
_MAX_REASON_CHARACTERS = 200
_ID = re.compile(r"[A-Za-z0-9_.:\-]{1,64}\Z")
"""What may go into logs and reports as the id that a model named: text must not get there this way."""

_SCHEMA = AnswerSchema(
    "decisions",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["decisions"],
        "properties": {
            "decisions": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["fact", "action", "target", "text", "reason"],
                    "properties": {
                        "fact": {"type": "integer"},
                        "action": {"type": "string", "enum": [a.value for a in _DECIDABLE]},
                        "target": {"type": ["integer", "null"]},
                        "text": {"type": ["string", "null"]},
                        "reason": {"type": "string"},
                    },
                },
            }
        },
    },
)


class ProposedDecision(BaseModel):
    """A decision as the model writes it; also read where it names the fields a little differently."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    fact: int | None = None
    action: Action = Field(validation_alias=AliasChoices("action", "event"))
    target: str | None = Field(None, validation_alias=AliasChoices("target", "id", "memory", "memory_id"))
    text: str | None = None
    reason: str = ""

    @field_validator("action", mode="before")
    @classmethod
    def _known_action(cls, value: object) -> object:
        name = value.strip().upper() if isinstance(value, str) else value
        name = _ALIASES.get(name, name) if isinstance(name, str) else name
        if name not in {a.value for a in _DECIDABLE}:
            raise ValueError("no such action")
        return name

    @field_validator("reason", mode="before")
    @classmethod
    def _no_reason(cls, value: object) -> object:
        return "" if value is None else value


class _Offer:
    """The memories of one call under small numbers: models copy those reliably, and can name no others."""

    def __init__(self, facts: Sequence[FactToDecide]) -> None:
        self.memories: list[Memory] = []
        self._numbers: dict[str, int] = {}
        for entry in facts:
            for candidate in entry.candidates:
                if candidate.memory.memory_id not in self._numbers:
                    self._numbers[candidate.memory.memory_id] = len(self.memories)
                    self.memories.append(candidate.memory)

    def number(self, memory: Memory) -> int:
        return self._numbers[memory.memory_id]

    def memory(self, number: str | None) -> Memory | None:
        text = (number or "").strip()
        valid = text.isascii() and text.isdigit() and len(text) <= 6 and int(text) < len(self.memories)
        return self.memories[int(text)] if valid else None

    def unknown(self, number: str | None) -> str | None:
        """What the model named instead of an offered number, made sure to be no memory's id."""
        text = (number or "").strip()
        if not text:
            return None
        if not _ID.match(text):
            return "(not an id)"
        return f"#{text}" if text in self._numbers else text


class ModelDecider:
    """Implements the port `Decider` by a chat model."""

    def __init__(self, client: ChatClient, *, fallback: Decider, redact: Callable[[str], str]) -> None:
        """`fallback` decides what the model leaves undecided; `redact` cuts secrets out of what is sent
        and of new texts that come back."""
        self._client = client
        self._fallback = fallback
        self._redact = redact

    @property
    def kind(self) -> DeciderKind:
        return DeciderKind.MODEL

    async def decide(self, request: DecisionRequest) -> tuple[Decision, ...]:
        """See the port.

        A number that was not offered is passed on as it is: the guards refuse it, and say so. A fact
        without a usable decision is decided by the fallback, and its reason says so.
        """
        if not request.facts:
            return ()
        call_time = CallTime(self._client.settings.timeout_seconds, request.timeout_seconds)
        offer = _Offer(request.facts)
        items = await self._ask(request.facts, offer, call_time)
        proposed = _by_fact(items, len(request.facts))
        decisions: dict[int, Decision] = {}
        for i, entry in enumerate(request.facts):
            if i in proposed:
                decisions[i] = self._decision(proposed[i], entry, offer)
        missing = [i for i in range(len(request.facts)) if i not in decisions]
        if missing:
            decisions.update(await self._by_rules(request, missing, call_time))
        return tuple(decisions[i] for i in range(len(request.facts)))

    async def _ask(
        self, facts: Sequence[FactToDecide], offer: _Offer, call_time: CallTime
    ) -> Items[ProposedDecision]:
        language = language_of(f.fact.content for f in facts)
        records: list[dict[str, object]] = [
            {"memory": n, "text": self._redact(m.content), "recorded": _day(m)}
            for n, m in enumerate(offer.memories)
        ]
        records.extend(
            {
                "fact": i,
                "text": self._redact(entry.fact.content),
                "retraction": entry.fact.retraction,
                "candidates": [offer.number(c.memory) for c in entry.candidates],
            }
            for i, entry in enumerate(facts)
        )
        question = Question(
            messages=(
                PromptMessage("system", load_prompt("decision", language).text),
                PromptMessage("user", data_block(records)),
            ),
            schema=_SCHEMA,
            key="decisions",
            item_keys=frozenset(("action", "event")),
            read=ProposedDecision.model_validate,
            language=language,
            redact=self._redact,
        )
        return await ask(self._client, question, call_time)

    def _decision(self, proposed: ProposedDecision, entry: FactToDecide, offer: _Offer) -> Decision:
        reason = self._redact(proposed.reason.strip()[:_MAX_REASON_CHARACTERS])
        if proposed.action is Action.ADD:
            # A new memory is the fact as it was extracted and checked; a rewording of it is not needed.
            return Decision(Action.ADD, reason=reason)
        target = offer.memory(proposed.target)
        if target is None:
            unknown = offer.unknown(proposed.target)
            logger.warning(
                "model server %s decided on memory %r, which was not offered", self._client.server, unknown
            )
            return Decision(proposed.action, unknown, reason=reason)
        content = self._merged(proposed, entry, target) if proposed.action is Action.UPDATE else None
        return Decision(proposed.action, target.memory_id, content, reason)

    def _merged(self, proposed: ProposedDecision, entry: FactToDecide, target: Memory) -> str | None:
        """The model's text for both memory and fact; None, for the fact's own text, where it loses or adds
        something."""
        text = self._redact((proposed.text or "").strip())
        fact = entry.fact.content
        if not text or text == fact:
            return None
        if negations(fact) and not negations(text):
            return None
        merged, parts = Evidence.of(text), (Evidence.of(fact), Evidence.of(target.content))
        if why_ungrounded(fact, Source((merged,))) or why_ungrounded(text, Source(parts)):
            return None
        return text

    async def _by_rules(
        self, request: DecisionRequest, missing: Sequence[int], call_time: CallTime
    ) -> dict[int, Decision]:
        logger.warning(
            "model server %s left %d of %d facts undecided",
            self._client.server,
            len(missing),
            len(request.facts),
        )
        facts = tuple(request.facts[i] for i in missing)
        remaining = max(0.0, call_time.remaining_seconds())
        decisions = await self._fallback.decide(DecisionRequest(facts, remaining))
        return {
            i: replace(d, reason=_by_rules_reason(request.facts[i].fact.content, d.reason))
            for i, d in zip(missing, decisions, strict=True)
        }


def _by_fact(items: Items[ProposedDecision], facts: int) -> dict[int, ProposedDecision]:
    """The decision on each fact. Without numbers they stand for the facts in order, if there are as many."""
    listed = list(items.items)
    if all(d.fact is None for d in listed):
        in_order = len(listed) == facts and items.unreadable == 0 and items.complete
        return dict(enumerate(listed)) if in_order else {}
    found: dict[int, ProposedDecision] = {}
    for decision in listed:
        number = decision.fact
        if number is None or not 0 <= number < facts:
            continue
        found[number] = _together(found[number], decision) if number in found else decision
    return found


def _together(first: ProposedDecision, second: ProposedDecision) -> ProposedDecision:
    """Two decisions on one fact: to delete the old and add the new is an update, otherwise the first one
    stands."""
    by_action = {d.action: d for d in (first, second)}
    if by_action.keys() == {Action.DELETE, Action.ADD}:
        return by_action[Action.DELETE].model_copy(
            update={"action": Action.UPDATE, "text": None, "reason": by_action[Action.ADD].reason}
        )
    return first


def _day(memory: Memory) -> str:
    return datetime.fromtimestamp(memory.updated_at or memory.created_at, UTC).date().isoformat()


def _by_rules_reason(fact: str, reason: str) -> str:
    if is_chinese(fact):
        return f"模型未给出可用的决定，改由规则决定：{reason}"
    return f"the model gave no usable decision, the rules decided: {reason}"
