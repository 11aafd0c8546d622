"""Facts of a conversation, listed by a model and checked by code.

The model proposes; what it may propose is bounded here: it sees no system or tool text and no recalled
memory, and a fact stands only if it rests on a turn of the user.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from ...builtin.text.normalise import fold
from ...domain.conversation import Extraction, Fact, Message, RejectedFact, Role
from ...domain.limits import MAX_FACTS, MAX_TTL_SECONDS
from ...ports.extractor import ExtractionRequest
from ...prompts import Language, Prompt, load_prompt
from .acceptance import accepted_texts, last_question
from .answers import Items, Question, ask
from .attribution import misattributed
from .calls import CallTime
from .client import AnswerSchema, ChatClient, PromptMessage
from .grounding import Evidence, Source, foreign_name, why_ungrounded
from .recalled import without_recalled
from .relative_dates import RelativeTime, corrected_date, relative_time
from .transcript import Shown, aware, conversation_block, language_of, parts

_MAX_PART_CHARACTERS = 24_000
"""Of one prompt; a longer conversation is read part by part."""
_OVERLAP_MESSAGES = 4
"""Messages of the part before that a part repeats, so that "yes" and "there" keep their meaning."""

_SCHEMA = AnswerSchema(
    "facts",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["facts"],
        "properties": {
            "facts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["source", "subject", "text", "retraction", "expires"],
                    "properties": {
                        "source": {"type": "integer"},
                        "subject": {"type": "string"},
                        "text": {"type": "string"},
                        "retraction": {"type": "boolean"},
                        "expires": {"type": ["string", "null"]},
                    },
                },
            }
        },
    },
)


def _sentence_alone(item: object) -> object:
    """Models that follow no schema may list bare sentences."""
    return {"text": item} if isinstance(item, str) else item


class ProposedFact(BaseModel):
    """A fact as the model writes it; also read where it names the fields a little differently."""

    model_config = ConfigDict(extra="ignore")

    text: str = Field(validation_alias=AliasChoices("text", "fact", "content", "memory"), min_length=1)
    source: int | None = Field(None, validation_alias=AliasChoices("source", "i", "message"))
    subject: str | None = None
    retraction: bool | None = None
    expires: str | None = None


class _Item(BaseModel):
    fact: Annotated[ProposedFact, BeforeValidator(_sentence_alone)]


def _read(item: object) -> ProposedFact:
    return _Item.model_validate({"fact": item}).fact


@dataclass(frozen=True, slots=True)
class _Refused:
    reason: str


class ModelExtractor:
    """Implements the port `Extractor` by a chat model."""

    def __init__(self, client: ChatClient, *, redact: Callable[[str], str]) -> None:
        """`redact` cuts secrets out of a text: of every message before it is sent, of every fact that
        comes back."""
        self._client = client
        self._redact = redact

    async def extract(self, request: ExtractionRequest) -> Extraction:
        """See the port. A conversation too long for one prompt is read in parts, one call each, in order."""
        started = time.monotonic()
        facts: list[Fact] = []
        rejected: list[RejectedFact] = []
        partial = False
        shown = [s for i, m in enumerate(request.messages) if (s := self._shown(i, m, request)) is not None]
        for part in parts(shown, max_characters=_MAX_PART_CHARACTERS, overlap=_OVERLAP_MESSAGES):
            if not any(m.role is Role.USER and not m.context for m in part):
                continue
            caller = request.timeout_seconds
            items = await self._ask(
                part,
                CallTime(
                    self._client.settings.timeout_seconds,
                    None if caller is None else caller - (time.monotonic() - started),
                ),
            )
            # Off the event loop: reading the numbers of a long part takes a tenth of a second.
            found = await asyncio.to_thread(_Reader(part, self._redact, request).facts, items)
            facts.extend(found.facts)
            rejected.extend(found.rejected)
            partial = partial or found.partial
        return _capped(facts, rejected, partial)

    def _shown(self, index: int, message: Message, request: ExtractionRequest) -> Shown | None:
        """The message as the model may see it; None for what it must not see, and for what says nothing."""
        if message.role not in (Role.USER, Role.ASSISTANT):
            return None
        content = self._redact(without_recalled(message.content, request.recalled)).strip()
        if not content:
            return None
        moment, told = aware(message, request.now)
        return Shown(0, index, message.role, content, moment, told)

    async def _ask(self, part: Sequence[Shown], call_time: CallTime) -> Items[ProposedFact]:
        language = language_of(m.content for m in part if m.role is Role.USER)
        question = Question(
            messages=(
                PromptMessage("system", load_prompt("extraction", language).text),
                PromptMessage("user", conversation_block(part)),
            ),
            schema=_SCHEMA,
            key="facts",
            item_keys=frozenset(("text", "fact", "content", "memory")),
            read=_read,
            language=language,
            redact=self._redact,
        )
        return await ask(self._client, question, call_time)


class _Reader:
    """Checks the facts that a model listed for one part of a conversation."""

    def __init__(
        self, part: Sequence[Shown], redact: Callable[[str], str], request: ExtractionRequest
    ) -> None:
        self._part = part
        self._redact = redact
        self._now = request.now
        self._recalled = {fold(text) for text in request.recalled}
        self._conversation = fold("\n".join(m.content for m in part))
        self._names = tuple(n for language in Language for n in _prompt(language).example_names)
        self._seen: set[str] = set()
        self._evidence: dict[str, Evidence] = {}
        self._sources: dict[int, Source] = {}

    def facts(self, items: Items[ProposedFact]) -> Extraction:
        facts: list[Fact] = []
        rejected = [
            RejectedFact("", "the model did not write it in the form that was asked for")
        ] * items.unreadable
        for proposed in items.items:
            text = self._redact(proposed.text.strip())
            fact = self._fact(proposed.model_copy(update={"text": text}))
            if isinstance(fact, _Refused):
                rejected.append(RejectedFact(text, fact.reason))
            elif fact is not None and fold(fact.content) not in self._seen:
                self._seen.add(fold(fact.content))
                facts.append(fact)
        return Extraction(tuple(facts), tuple(rejected), partial=not items.complete or items.unreadable > 0)

    def _fact(self, proposed: ProposedFact) -> Fact | _Refused | None:
        """The fact to keep, or why not; None where an earlier part had it already."""
        if not proposed.text:
            return _Refused("it is empty")
        turn = self._turn(proposed)
        if turn is None:
            return _Refused("it names no message of the user as its source")
        if turn.context:
            return None
        source = self._source(turn)
        text = corrected_date(proposed.text, source.when)
        reason = self._why_not(text, proposed, turn, source)
        if reason is not None:
            return _Refused(reason)
        return Fact(
            content=text,
            expires_at=self._expires_at(proposed, turn, source.when),
            source=turn.index,
            retraction=bool(proposed.retraction),
        )

    def _turn(self, proposed: ProposedFact) -> Shown | None:
        """The user's turn that the fact names; where it names none, the latest one that it rests on."""
        if proposed.source is not None:
            return next((m for m in self._part if m.number == proposed.source and m.role is Role.USER), None)
        turns = [m for m in self._part if m.role is Role.USER]
        resting = [m for m in turns if why_ungrounded(proposed.text, self._alone(m)) is None]
        return (resting or turns)[-1]

    def _source(self, turn: Shown) -> Source:
        """All that a fact of this turn may rest on: what the user said, there and elsewhere in the part."""
        if turn.number not in self._sources:
            alone = self._alone(turn)
            others = (self._read(m.content) for m in self._part if m.role is Role.USER and m is not turn)
            self._sources[turn.number] = replace(alone, said=(*alone.said, *others))
        return self._sources[turn.number]

    def _alone(self, turn: Shown) -> Source:
        """The turn by itself, with what it accepts of the assistant's."""
        before = self._part[: turn.number]
        answers = bool(before) and before[-1].role is Role.ASSISTANT
        assistant = [m.content for m in before if m.role is Role.ASSISTANT] if answers else []
        said = (turn.content, *accepted_texts(turn.content, assistant))
        day = turn.time.date()
        return Source(
            said=tuple(self._read(text) for text in said),
            asked=last_question(assistant[-1]) if assistant else "",
            when=relative_time(fold(turn.content), day),
            turn_date=day,
        )

    def _read(self, text: str) -> Evidence:
        if text not in self._evidence:
            self._evidence[text] = Evidence.of(text)
        return self._evidence[text]

    def _why_not(self, text: str, proposed: ProposedFact, turn: Shown, source: Source) -> str | None:
        if foreign_name(text, self._names, self._conversation) is not None:
            return "it names somebody or something out of the instructions' example"
        if fold(text) in self._recalled:
            return "it repeats a memory that was shown to the assistant"
        if misattributed(text, turn.content):
            return "it says of the user what was said of another person"
        subject = fold(proposed.subject or "")
        if subject not in _USER_SUBJECTS and subject not in fold(text):
            return "it does not name the person whom it is about"
        return why_ungrounded(text, source)

    def _expires_at(self, proposed: ProposedFact, turn: Shown, when: RelativeTime) -> int | None:
        """Unix second; None unless the turn speaks of a time and the moment lies ahead."""
        if proposed.expires is None or not when.any:
            return None
        moment = _moment(proposed.expires.strip(), turn.time)
        if moment is None or not self._now < moment < self._now + timedelta(seconds=MAX_TTL_SECONDS):
            return None
        return int(moment.timestamp())


_USER_SUBJECTS = frozenset(
    ("", "user", "the user", "customer", "the customer", "用户", "客户", "self", "本人")
)


def _prompt(language: Language) -> Prompt:
    return load_prompt("extraction", language)


def _moment(text: str, turn_time: datetime) -> datetime | None:
    """The moment of an ISO 8601 text; a day alone lasts to its end, and without an offset the turn's zone
    holds."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if len(text) == len("2024-01-01") and moment.time() == time_of_day(0):
        try:
            moment += timedelta(days=1)
        except OverflowError:
            return None
    try:
        return moment if moment.tzinfo else moment.replace(tzinfo=turn_time.tzinfo or UTC)
    except OverflowError:
        return None


def _capped(facts: list[Fact], rejected: list[RejectedFact], partial: bool) -> Extraction:
    beyond = facts[MAX_FACTS:]
    rejected = [
        *rejected,
        *(RejectedFact(f.content, f"more than {MAX_FACTS} facts in one conversation") for f in beyond),
    ]
    return Extraction(tuple(facts[:MAX_FACTS]), tuple(rejected), partial or bool(beyond))
