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
    answered: bool = False
    """A short answer completed from its question: what the speaker adds in the same breath is about it."""


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


_COUPLES = (
    ({"用户的父亲", "用户的母亲"}, "用户的父母"),
    ({"User's father", "User's mother"}, "User's parents"),
    ({"User's dad", "User's mum"}, "User's parents"),
    ({"User's dad", "User's mom"}, "User's parents"),
)


@dataclass(slots=True)
class Memo:
    """Mutable notes over one conversation."""

    policy: SecretPolicy
    drafts: list[Draft] = field(default_factory=list)
    rejected: list[RejectedFact] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    company: str = ""
    business: bool = False
    subject: str = ""
    """Whom the last fact was about: an answer to a question that names nobody is about the same."""
    correcting: int | None = None
    """Index of the message that just announced a slip ("wait, that was wrong")."""

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
        if plural:
            return self._several()
        for person in reversed(self.people):
            if not person.plural and (not gender or not person.gender or person.gender == gender):
                return person
        return None

    def _several(self) -> Person | None:
        """Whom "they" means: people spoken of together, or the one firm that was spoken of."""
        if not self.people:
            return None
        if self.people[-1].plural or len(self.people) == 1:
            return self.people[-1]
        labels = {p.label for p in self.people}
        for pair, both in _COUPLES:
            if pair <= labels:
                return Person(both, plural=True)
        return next((p for p in reversed(self.people) if p.plural), None)

    def last(self, before: int | None = None) -> Draft | None:
        """The newest draft; with `before`, the newest of an earlier message."""
        for draft in reversed(self.drafts):
            if before is None or draft.source < before:
                return draft
        return None
