"""The measurements of `memlane bench`: closed loops, then the highest rate that keeps to the target."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .load import Generator, Load, Outcome, Series, Target
from .population import Population
from .scenarios import SCENARIOS, Scenario, Targets, series_name

OUTSTANDING = 1_000
"""Calls of an open loop that may be under way. More would wait for longer than any target."""
_TIMEOUT_SECONDS = 10.0
_WARM_UP_SECONDS = 0.5
_FIRST_SHARE = 0.75
"""Of what a closed loop got: the first rate that is tried."""
_GROWTH = 1.5
_LATE_SHARE = 0.5
"""Of the target. When the generator itself begins calls later than this, the figures are its own."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for all measurements."""

    target: Target
    seconds: float
    targets: Targets
    connections: Sequence[int]
    rates: Sequence[float] | None
    """Open loops at these rates; None = look for the highest that holds; empty = none."""
    steps: int
    """Rates to try while looking."""
    top_k: int = 5
    batch: int = 64
    seed: int = 1

    @property
    def point_seconds(self) -> float:
        """That one measurement takes, about."""
        return self.seconds + min(_WARM_UP_SECONDS, self.seconds) + 0.5

    @property
    def points(self) -> int:
        """Measurements of one scenario, at most."""
        return len(self.connections) + (self.steps if self.rates is None else len(self.rates))


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement."""

    scenario: str
    connections: int
    rate: float | None
    """Calls a second that were due; None = a closed loop of one caller for each connection."""
    outcome: Outcome
    against: tuple[str, ...] = ()
    """Open loop: what speaks against this rate, in words. Empty = it holds."""

    @property
    def series(self) -> Mapping[str, Series]:
        """By the operator's name of the kind of call, in the order of the plan."""
        plan = SCENARIOS[self.scenario].plan
        ordered = sorted(self.outcome.series.items(), key=lambda one: plan.index(one[0]))
        return {series_name(name): series for name, series in ordered}

    @property
    def holds(self) -> bool:
        return self.rate is not None and not self.against


@dataclass(frozen=True, slots=True)
class Verdict:
    """What rate a scenario sustains."""

    scenario: str
    connections: int
    highest: Point | None
    """None = no rate that was tried holds."""
    refused: Point | None
    """The lowest rate above it that does not hold; None = none was met."""


Next = Callable[[Scenario, int, float | None], None]
"""Told what is measured next."""


class Sizing:
    """Measures scenarios one after the other; what was measured stays in `points`, also when it is broken off."""

    def __init__(
        self, generator: Generator, settings: Settings, population: Population, begins: Next
    ) -> None:
        self._generator = generator
        self._settings = settings
        self._population = population
        self._begins = begins
        self.points: list[Point] = []
        self.verdicts: list[Verdict] = []

    def measure(self, scenario: Scenario) -> Iterator[Point]:
        """Each point as it is there. Raises GeneratorFailed."""
        settings = self._settings
        capacity = 0.0
        for connections in settings.connections:
            point = self._point(scenario, connections, None)
            capacity = max(capacity, point.outcome.ok_per_s)
            yield point
        most = settings.connections[-1]
        tried: list[Point] = []
        rates = settings.rates
        if rates is None:
            search = RateSearch(_FIRST_SHARE * capacity)
            for _ in range(settings.steps if capacity > 0 else 0):
                tried.append(self._point(scenario, most, search.rate))
                search.told(holds=tried[-1].holds)
                yield tried[-1]
        else:
            for rate in rates:
                tried.append(self._point(scenario, most, rate))
                yield tried[-1]
        if tried:
            self.verdicts.append(verdict(scenario.name, tried))

    def _point(self, scenario: Scenario, connections: int, rate: float | None) -> Point:
        self._begins(scenario, connections, rate)
        settings = self._settings
        load = Load(
            scenario=scenario.plan,
            users=self._population.readers,
            write_users=self._population.writers() if scenario.writes else (),
            seconds=settings.seconds,
            warm_up_seconds=min(_WARM_UP_SECONDS, settings.seconds),
            connections=connections,
            rate=rate,
            outstanding=OUTSTANDING,
            poisson=rate is not None,
            timeout_seconds=_TIMEOUT_SECONDS,
            top_k=settings.top_k,
            batch=settings.batch,
            seed=settings.seed,
        )
        outcome = self._generator.run(settings.target, load)
        against = () if rate is None else tuple(_objections(outcome, settings.targets))
        self.points.append(Point(scenario.name, connections, rate, outcome, against))
        return self.points[-1]


def _objections(outcome: Outcome, targets: Targets) -> Iterator[str]:
    """Why an open loop's rate is not sustained."""
    for plan_name, series in outcome.series.items():
        name = series_name(plan_name)
        target = targets.of(name)
        if series.latency_us is not None and series.latency_us["p99"] > 1000 * target:
            yield f"p99 of {name} {series.latency_us['p99'] / 1000:,.1f} ms is over {target:g} ms"
        for code, count in sorted(series.errors.items()):
            yield f"{count:,} {name} ended with {code}"
    if outcome.not_started:
        yield f"{outcome.not_started:,} calls could not begin, {OUTSTANDING:,} were under way"
    if not any(series.calls for series in outcome.series.values()):
        yield "no call was due in this time: give more --seconds"
    strictest = min(targets.of(series_name(name)) for name in outcome.series)
    delay = outcome.start_delay_us
    if delay is not None and delay["p99"] > 1000 * strictest * _LATE_SHARE:
        yield f"the load generator itself began calls late (p99 {delay['p99'] / 1000:,.1f} ms)"


class RateSearch:
    """The highest rate that holds: upwards until one does not, then halfway between the two."""

    def __init__(self, first: float) -> None:
        self.rate = _rounded(first)
        self._holds = 0.0
        self._refused: float | None = None

    def told(self, *, holds: bool) -> None:
        """How `rate` went; sets the next one."""
        if holds:
            self._holds = max(self._holds, self.rate)
        else:
            self._refused = self.rate if self._refused is None else min(self.rate, self._refused)
        upper = self._refused
        self.rate = _rounded(self._holds * _GROWTH if upper is None else (self._holds + upper) / 2)


def _rounded(rate: float) -> float:
    """Three significant digits are more than a measurement has."""
    return float(f"{rate:.3g}")


def verdict(scenario: str, tried: Sequence[Point]) -> Verdict:
    """Of the open loops of one scenario. A rate counts only when all lower ones hold, too."""
    highest: Point | None = None
    refused: Point | None = None
    for point in sorted(tried, key=lambda one: one.rate or 0.0):
        if not point.holds:
            refused = point
            break
        highest = point
    return Verdict(scenario, tried[0].connections, highest, refused)
