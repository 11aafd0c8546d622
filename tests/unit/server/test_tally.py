"""Histograms of our own read as the library's own."""

import pytest
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from memlane_server.telemetry.tally import Tallies

BOUNDS = (0.001, 0.5, 2.0)


def page(registry: CollectorRegistry) -> list[str]:
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if "_created" not in line]


def test_the_page_is_that_of_a_histogram_of_the_library() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tallies = Tallies("seconds", "Time", ("rpc", "code"), BOUNDS)
    ours.register(tallies)
    histogram = Histogram("seconds", "Time", ("rpc", "code"), registry=theirs, buckets=BOUNDS)
    for value in (0.0, 0.001, 0.0011, 0.5, 1.0, 2.0, 2.1, 100.0):
        for labels in (("a", "OK"), ("b", '引号"')):
            tallies.labels(*labels).observe(value)
            histogram.labels(*labels).observe(value)
    assert page(ours) == page(theirs)


def test_one_without_labels_shows_its_zero() -> None:
    registry = CollectorRegistry()
    tallies = Tallies("lag", "Lag", (), BOUNDS)
    registry.register(tallies)
    tallies.labels()
    assert "lag_count 0.0" in page(registry)


def test_labels_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="rpc"):
        Tallies("seconds", "Time", ("rpc",), BOUNDS).labels("a", "b")
