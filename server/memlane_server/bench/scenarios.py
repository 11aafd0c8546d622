"""What `memlane bench` can put on a server, by the names that operators use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scenario:
    """Calls that are measured together."""

    name: str
    plan: str
    """As memload knows it."""
    about: str
    reads: bool = False
    """Needs memory:read, and memories to find."""
    writes: bool = False
    """Needs memory:write, and users to write to."""
    decides: bool = False
    """Lets the server decide on facts, by its model where it has one."""


SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("echo", "echo", "null round trip: transport, authentication, interceptors"),
        Scenario("search", "search", "SearchMemories, the vector given", reads=True),
        Scenario("text", "search_new_text", "SearchMemories, a text not seen before", reads=True),
        Scenario("cached", "search_cached_text", "SearchMemories, a text seen before", reads=True),
        Scenario("stream", "stream", "StreamSearchMemories, one search at a time on each stream", reads=True),
        Scenario("batch", "batch", "BatchSearchMemories, --batch searches a call", reads=True),
        Scenario("context", "context", "BuildContext", reads=True),
        Scenario("create", "create", "CreateMemory", writes=True),
        Scenario("remember", "remember", "Remember, one stated fact a call", writes=True, decides=True),
        Scenario(
            "mixed",
            "search=90,remember=10",
            "90 searches to 10 Remember",
            reads=True,
            writes=True,
            decides=True,
        ),
    )
}
DEFAULT = "echo,search,text,stream,batch,remember,mixed"
_NAMES = {scenario.plan: scenario.name for scenario in SCENARIOS.values() if "=" not in scenario.plan}


def series_name(series: str) -> str:
    """The operator's name for one of memload's series."""
    return _NAMES[series]


def choose(text: str) -> list[Scenario]:
    """Those that a list with commas names, in its order. Raises ValueError."""
    chosen: dict[str, Scenario] = {}
    for name in _parts(text):
        if name not in SCENARIOS:
            raise ValueError(f"there is no scenario {name!r}; there are {', '.join(SCENARIOS)}")
        chosen[name] = SCENARIOS[name]
    return list(chosen.values())


def counts(text: str) -> list[int]:
    """Whole numbers above 0 with commas between, sorted, each once. Raises ValueError."""
    found = set()
    for part in _parts(text):
        if not part.isdecimal() or int(part) < 1:
            raise ValueError(f"{part!r} is not a whole number above 0")
        found.add(int(part))
    return sorted(found)


def number(text: str) -> float:
    """A finite number above 0. Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} is not a number above 0")
    return value


@dataclass(frozen=True, slots=True)
class Targets:
    """Milliseconds that the p99 of a kind of call may have."""

    general: float
    special: Mapping[str, float]

    @classmethod
    def parse(cls, text: str) -> "Targets":
        """From "25" or "25,remember=250". Raises ValueError."""
        general: float | None = None
        special: dict[str, float] = {}
        for part in _parts(text):
            name, equals, value = part.partition("=")
            if not equals:
                if general is not None:
                    raise ValueError("only one number may stand without the name of a scenario")
                general = number(part)
            elif name not in SCENARIOS or name == "mixed":
                known = ", ".join(one for one in SCENARIOS if one != "mixed")
                raise ValueError(f"there is no kind of call {name!r}; there are {known}")
            else:
                special[name] = number(value)
        if general is None:
            raise ValueError("a number for the calls that are not named is missing")
        return cls(general, special)

    def of(self, name: str) -> float:
        return self.special.get(name, self.general)


def _parts(text: str) -> Sequence[str]:
    """Raises ValueError for an empty list or an empty part."""
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError(f"{text!r} is not a list with commas between")
    return parts
