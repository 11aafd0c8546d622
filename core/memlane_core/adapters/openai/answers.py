"""From a model's text to the items it lists: reading, and one second chance.

A failure is never an empty list: what cannot be read raises ModelAnswerUnusable, what was cut is marked.
"""

import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pydantic import ValidationError

from ...domain.errors import ModelAnswerUnusable
from ...ports.chat_model import FinishReason
from ...prompts import Language, load_prompt
from .calls import CallTime
from .client import AnswerSchema, ChatClient, Completion, PromptMessage
from .lenient_json import parse_at
from .reasoning import CLOSING, OPENING

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_QUOTED_CHARACTERS = 8000
"""Of an answer that is sent back for repair."""
_BEGIN = re.compile(r"\{(?=\s*[\"}])|\[(?=\s*[{\]])")
"""Where an object or a list of objects may begin."""
_MAX_ATTEMPTS = 500
"""At reading JSON in one answer: text made of brackets must not keep the event loop."""
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A prompt whose answer is a JSON object with one list."""

    messages: tuple[PromptMessage, ...]
    schema: AnswerSchema
    key: str
    """Name of the list."""
    item_keys: frozenset[str]
    """Names by which an item is known where the model leaves the object around the list out."""
    read: Callable[[object], T]
    """One item; raises pydantic's ValidationError."""
    language: Language
    redact: Callable[[str], str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """What a model listed."""

    items: tuple[T, ...]
    unreadable: int = 0
    """Items that did not follow the schema."""
    complete: bool = True
    """False: the answer was cut; these are the whole ones."""


@dataclass(frozen=True, slots=True)
class RawItems:
    items: list[object]
    complete: bool


async def ask(client: ChatClient, question: Question[T], call_time: CallTime) -> Items[T]:
    """The items of the model's answer, after at most one second attempt.

    The second attempt repairs an unreadable answer, repeats the question after an empty one, and gives
    twice the room to one that was cut before its first whole item.

    Raises ModelAnswerUnusable, ModelUnavailable, ModelThrottled or DeadlineExceeded.
    """
    budget = client.settings.max_output_tokens
    messages = question.messages
    for attempt in (1, 2):
        completion = await client.complete(
            messages, schema=question.schema, call_time=call_time, max_output_tokens=budget
        )
        found = _items(completion, question)
        if found is not None:
            return found
        problem = _problem(completion)
        logger.warning("model server %s: %s, attempt %d of 2", client.server, problem, attempt)
        if completion.refused or completion.finish_reason is FinishReason.CONTENT_FILTER:
            break
        if completion.finish_reason is FinishReason.LENGTH:
            budget = None if budget is None else budget * 2
        elif completion.content.strip():
            messages = (*question.messages, *_repair(completion, question))
    raise ModelAnswerUnusable(
        f"the model's answer cannot be used: {problem}", metadata={"server": client.server}
    )


def read_items(text: str, key: str, item_keys: frozenset[str]) -> RawItems | None:
    """The list named `key` in a model's text, wherever it stands; None when there is none.

    Fences, prose and reasoning around it do not matter, nor do braces in the prose. Of several lists the
    last counts.
    """
    found: RawItems | None = None
    loose: list[object] = []
    cut = False
    at = attempts = 0
    while at < len(text):
        begins = _BEGIN.search(text, at)
        start = begins.start() if begins and attempts < _MAX_ATTEMPTS else len(text)
        opening, closing = OPENING.search(text, at, start), CLOSING.search(text, at, start)
        if closing and not (opening and opening.start() < closing.start()):
            # Everything so far was reasoning whose opening tag is missing or mangled.
            found, loose, at = None, [], closing.end()
            continue
        if opening:
            closing = CLOSING.search(text, opening.end())
            if closing is None:
                break
            at = closing.end()
            continue
        if start == len(text):
            break
        attempts += 1
        value, at, complete = _value_at(text, start)
        listed = _listed(value, key, item_keys)
        if listed is not None:
            found = RawItems(listed, complete)
        elif complete and isinstance(value, dict) and item_keys & value.keys():
            loose.append(value)
        cut = not complete
    if found is None and loose:
        return RawItems(loose, complete=not cut)
    return found


def _value_at(text: str, start: int) -> tuple[object, int, bool]:
    """(value, position behind it, whether it is whole); (None, start + 1, True) where no JSON begins."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return value, end, True
    except (ValueError, RecursionError):
        pass
    try:
        parsed = parse_at(text, start)
    except ValueError:
        return None, start + 1, True
    return parsed.value, parsed.end, parsed.complete


def _listed(value: object, key: str, item_keys: frozenset[str]) -> list[object] | None:
    if isinstance(value, dict):
        if key in value:
            inner = value[key]
            if inner is None:
                return []
            return inner if isinstance(inner, list) else [inner]
        wrapped = [v for v in value.values() if isinstance(v, dict) and key in v]
        return _listed(wrapped[0], key, item_keys) if len(wrapped) == 1 else None
    if isinstance(value, list) and value and all(isinstance(v, dict) and item_keys & v.keys() for v in value):
        return value
    return None


def _items(completion: Completion, question: Question[T]) -> Items[T] | None:
    """The readable items; None when the answer as a whole is of no use."""
    raw = read_items(completion.content, question.key, question.item_keys)
    if raw is None:
        return None
    items: list[T] = []
    unreadable = 0
    for item in raw.items:
        try:
            items.append(question.read(item))
        except ValidationError:
            unreadable += 1
    if not items and (unreadable or not raw.complete):
        return None
    return Items(tuple(items), unreadable, raw.complete)


def _problem(completion: Completion) -> str:
    if completion.refused:
        return "the model refused"
    if completion.finish_reason is FinishReason.CONTENT_FILTER:
        return "the provider's filter stopped it"
    if completion.finish_reason is FinishReason.LENGTH:
        return "it was cut by the output limit before anything was whole"
    if not completion.content.strip():
        return "it holds only reasoning" if completion.reasoned else "it is empty"
    return "it holds no JSON that follows the schema"


def _repair(completion: Completion, question: Question[T]) -> Sequence[PromptMessage]:
    quoted = question.redact(completion.content[:_MAX_QUOTED_CHARACTERS])
    return (
        PromptMessage("assistant", quoted),
        PromptMessage("user", load_prompt("repair", question.language).text),
    )
