"""What happened in the demo, as values: the console and the report print the same list."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a conversation."""

    speaker: str
    text: str
    from_customer: bool


@dataclass(frozen=True, slots=True)
class Decided:
    """One operation of a Remember."""

    action: str
    text: str
    previous: str
    reason: str
    decider: str
    guards: tuple[str, ...] = ()
    expires: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """Memories, revisions, results: a small table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """What would go to the model."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Note:
    """A plain statement; `passed` says whether what it states was found true, None when nothing was checked."""

    text: str
    passed: bool | None = None


@dataclass(frozen=True, slots=True)
class Took:
    """Time, as the server reported it or as the caller measured it."""

    what: str
    milliseconds: float
    by_server: bool


Item = Said | Decided | Listed | Prompt | Note | Took


@dataclass(slots=True)
class Scene:
    """One scene with one customer."""

    number: int
    title_zh: str
    title_en: str
    language: str
    user_id: str
    items: list[Item] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.title_zh if self.language == "zh" else self.title_en

    @property
    def failed(self) -> bool:
        return any(isinstance(i, Note) and i.passed is False for i in self.items)
