"""Counts for Prometheus: what was decided, by whom, where a guard stepped in. Never content, never users."""

from prometheus_client import CollectorRegistry, Counter, start_http_server

from memlane_core.domain.decision import Operation
from memlane_core.guards import GUARD_NAMES


class Metrics:
    """One registry per server, so that nothing of the process leaks into it unasked."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._operations = Counter(
            "memlane_operations",
            "Operations of Remember, by action and decider",
            ("action", "decider"),
            registry=self.registry,
        )
        self._guards = Counter(
            "memlane_guard_interventions",
            "Decisions that a guard changed or refused",
            ("guard",),
            registry=self.registry,
        )
        for name in GUARD_NAMES:
            # Shown from the start: a rate needs the zero before the first one.
            self._guards.labels(guard=name)

    def operation(self, operation: Operation) -> None:
        self._operations.labels(action=operation.action.value, decider=operation.decider.value).inc()

    def guard(self, name: str) -> None:
        self._guards.labels(guard=name).inc()

    def serve(self, port: int) -> None:
        """Answer /metrics on loopback, in a thread of its own. Raises OSError when the port is taken."""
        start_http_server(port, addr="127.0.0.1", registry=self.registry)
