"""What is known while one conversation is read."""

from dataclasses import dataclass, field, replace
from datetime import datetime

from ...domain.conversation import RejectedFact
from ..text.secrets import SecretPolicy


@dataclass(slots=True)
class Draft:
    """A fact in the making: later turns may complete or correct it."""

    content: str
    source: int
    """Index of the message."""
    chinese: bool
    expires_at: int | None = None
    retraction: bool = False
    open_topic: bool = True
    """A short answer that names no topic of its own may still be joined to it."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone (or some firm) that the customer spoke of."""

    label: str
    """How facts name them: "用户的母亲", "User's dad Bertram"."""
    gender: str = ""
    """"f", "m" or "" where it is not told."""
    plural: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message in its place."""

    text: str
    index: int
    said: datetime
    """Aware; the day and zone that "yesterday" counts from."""
    question: str
    """What the assistant had asked last, "" if nothing."""
    answer_to: str
    """The whole last assistant message."""
    proposals: tuple[str, ...] = ()
    """The assistant's messages so far, newest first."""


@dataclass(slots=True)
class Memo:
    """Mutable notes over one conversation."""

    policy: SecretPolicy
    drafts: list[Draft] = field(default_factory=list)
    rejected: list[RejectedFact] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    company: str = ""
    business: bool = False

    def reject(self, content: str, reason: str) -> None:
        self.rejected.append(RejectedFact(content, reason))

    def meet(self, person: Person) -> None:
        """The person just spoken of becomes the one that a pronoun means."""
        for known in self.people:
            if known.label == person.label or (person.name and known.name == person.name):
                self.people.remove(known)
                person = replace(
                    known, gender=known.gender or person.gender, label=max(known.label, person.label, key=len)
                )
                break
        self.people.append(person)

    def rename(self, old: Person, new: Person) -> None:
        if old in self.people:
            self.people[self.people.index(old)] = new

    def who(self, gender: str = "", *, plural: bool = False) -> Person | None:
        """The last one spoken of that the pronoun fits; None when it is not safe to say."""
        for person in reversed(self.people):
            if plural and person.plural:
                return person
            if (
                not plural
                and not person.plural
                and (not gender or not person.gender or person.gender == gender)
            ):
                return person
        return self.people[-1] if plural and self.people else None

    def last(self, before: int | None = None) -> Draft | None:
        """The newest draft; with `before`, the newest of an earlier message."""
        for draft in reversed(self.drafts):
            if before is None or draft.source < before:
                return draft
        return None
