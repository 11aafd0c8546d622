"""Histograms that are fed on one thread and read by another.

prometheus_client's own take two locks and walk their buckets one by one, twice in every search (docs/adr/0007). The
page is still made by the library.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Tally:
    """Counts of one label set."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """By bucket, not added up; the last one has what is above all bounds."""
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Call from one thread only."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class Tallies(Collector):
    """One metric with its label sets."""

    def __init__(self, name: str, help_: str, labels: Sequence[str], bounds: Sequence[float]) -> None:
        """`bounds`: upper ones of the buckets, ascending; a value that equals one is below it."""
        self._name = name
        self._help = help_
        self._labels = tuple(labels)
        self._bounds = tuple(bounds)
        self._names = [*(floatToGoString(bound) for bound in self._bounds), "+Inf"]  # type: ignore[no-untyped-call]
        self._tallies: dict[tuple[str, ...], Tally] = {}

    def labels(self, *values: str) -> Tally:
        """The tally of these values, made at first use. Raises ValueError where their number does not fit."""
        tally = self._tallies.get(values)
        if tally is None:
            if len(values) != len(self._labels):
                raise ValueError(f"{len(values)} values for the labels {', '.join(self._labels)}")
            tally = self._tallies[values] = Tally(self._bounds)
        return tally

    def describe(self) -> list[Metric]:
        return [HistogramMetricFamily(self._name, self._help, labels=self._labels)]

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._help, labels=self._labels)
        for values, tally in list(self._tallies.items()):
            total, counts, below = tally.total, list(tally.counts), 0
            buckets = []
            for name, count in zip(self._names, counts, strict=True):
                below += count
                buckets.append((name, float(below)))
            family.add_metric(values, buckets, total)
        yield family
