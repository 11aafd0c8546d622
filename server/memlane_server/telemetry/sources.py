"""What other parts count themselves, read when Prometheus asks: it costs a call nothing."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from memlane_core.domain.errors import Unavailable
from memlane_core.index import IndexStats
from memlane_core.services.embedding_cache import CachingEmbedder
from memlane_core.services.offload import Offload

from ..limits import TenantLimiter
from .settings import MetricsSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the numbers are. All of it is read from the thread that answers the page."""

    build: Mapping[str, str]
    """Versions and engines; no address, path or secret."""
    embedder: CachingEmbedder
    index: Callable[[], IndexStats]
    offload: Offload
    limiter: TenantLimiter
    backlog: Callable[[], tuple[int, int | None]]
    """Ingestions not finished, and when the oldest was accepted (Unix microseconds). Blocks."""
    store_up: Callable[[], bool]
    loop_busy: Callable[[], float]
    in_flight: Callable[[], Sequence[tuple[str, int, int | None]]]
    """Name, calls and bound (None = none) of each lane."""
    now: Callable[[], float] = time.time


class SourcesCollector(Collector):
    def __init__(self, sources: Sources, settings: MetricsSettings) -> None:
        self._sources = sources
        self._settings = settings

    def describe(self) -> list[Metric]:
        """Nothing yet: registering must not ask the database."""
        return []

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("memlane_build", "What runs here", value=dict(self._sources.build))
        yield from self._caches()
        yield from self._index()
        yield from self._calls()
        yield from self._limits()
        yield from self._backlog()
        if self._settings.tenant_label:
            yield self._tenants()

    def _caches(self) -> Iterator[Metric]:
        embedder = self._sources.embedder
        yield _counter("memlane_query_cache_hits", "Queries embedded before", embedder.hits)
        yield _counter("memlane_query_cache_misses", "Queries that had to be embedded", embedder.misses)
        yield _gauge("memlane_query_cache_entries", "Queries remembered", len(embedder))

    def _index(self) -> Iterator[Metric]:
        stats = self._sources.index()
        yield _gauge("memlane_index_users", "Users resident in the index", stats.users)
        yield _gauge("memlane_index_rows", "Memories resident in the index", stats.rows)
        yield _gauge("memlane_index_bytes", "What the resident users take", stats.bytes)
        yield _gauge("memlane_index_budget_bytes", "What they may take", stats.budget_bytes)
        yield _counter("memlane_index_hits", "Look-ups of a resident user", stats.hits)
        yield _counter("memlane_index_misses", "Look-ups of a user who is not resident", stats.misses)
        yield _counter("memlane_index_evictions", "Users put out for others", stats.evictions)

    def _calls(self) -> Iterator[Metric]:
        running = GaugeMetricFamily("memlane_calls_in_flight", "Calls under way, by lane", labels=("lane",))
        bound = GaugeMetricFamily("memlane_calls_limit", "Calls that a lane takes at once", labels=("lane",))
        for lane, count, limit in self._sources.in_flight():
            running.add_metric((lane,), count)
            if limit is not None:
                bound.add_metric((lane,), limit)
        yield running
        yield bound
        yield _gauge(
            "memlane_event_loop_busy", "Part of the time that the loop computes", self._sources.loop_busy()
        )
        offload = self._sources.offload
        yield _gauge("memlane_io_running", "Blocking calls that have a thread", offload.running)
        yield _gauge("memlane_io_waiting", "Blocking calls that wait for a thread", offload.waiting)
        yield _gauge("memlane_store_up", "1 while the vector store answers", int(self._sources.store_up()))

    def _limits(self) -> Iterator[Metric]:
        limiter = self._sources.limiter
        refused = CounterMetricFamily(
            "memlane_limit_refusals", "Calls refused by a limit", labels=("scope", "kind", "limit")
        )
        for labels, count in list(limiter.refused.items()):
            refused.add_metric(labels, count)
        yield refused
        yield _gauge("memlane_limit_users", "Users whose rates are remembered", limiter.tracked_users)

    def _backlog(self) -> Iterator[Metric]:
        try:
            waiting, oldest_us = self._sources.backlog()
        except Unavailable as error:
            # The page tells of the rest all the same; a missing number is what an alert sees.
            _log.warning("the backlog cannot be counted", extra={"reason": error.reason})
            return
        age = 0.0 if oldest_us is None else max(self._sources.now() - oldest_us / 1e6, 0.0)
        yield _gauge("memlane_ingestions_waiting", "Ingestions accepted and not finished", waiting)
        yield _gauge("memlane_ingestions_oldest_seconds", "Age of the oldest of them; 0 without one", age)

    def _tenants(self) -> Metric:
        family = CounterMetricFamily(
            "memlane_tenant_calls", "Calls let in; searches of a batch count each", labels=("tenant", "kind")
        )
        others: dict[str, int] = {}
        for number, (tenant, kinds) in enumerate(sorted(self._sources.limiter.admitted().items())):
            for kind, count in kinds.items():
                if number < self._settings.max_tenants:
                    family.add_metric((tenant, kind), count)
                else:
                    others[kind] = others.get(kind, 0) + count
        for kind, count in others.items():
            family.add_metric(("other", kind), count)
        return family


def _counter(name: str, help_: str, value: float) -> Metric:
    return CounterMetricFamily(name, help_, value=value)


def _gauge(name: str, help_: str, value: float) -> Metric:
    return GaugeMetricFamily(name, help_, value=value)
