"""Counts for Prometheus: calls, stages, decisions, guards. Never content, never users."""

from prometheus_client import CollectorRegistry, Counter, ProcessCollector, disable_created_metrics

from memlane_core.domain.decision import Operation
from memlane_core.guards import GUARD_NAMES

from .tally import Tallies, Tally

SECONDS = (
    0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0,
    120.0,
)  # fmt: skip
"""Upper bounds of the buckets: fine where a warm search lies, coarse where models do."""
STAGES = ("embed", "search", "load", "journal", "store", "extract", "decide", "blocking")
"""Parts of a call whose time is taken. `load` = a cold user's memories read and built, `blocking` = what else runs in
a thread. Journal and store include the wait for a thread."""


class Metrics:
    """One registry per server, so that nothing of the interpreter leaks into it unasked. Fed on the event loop."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # When a counter was made is a series more for each, and a restart shows in its value.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        ProcessCollector(registry=self.registry)
        self._rpcs = self._seconds(
            "memlane_rpc_seconds", "Time of calls, by RPC and status; a stream is one call", "method", "code"
        )
        self._stages = self._seconds("memlane_stage_seconds", "Time of the parts of calls", "stage")
        self._model_calls = self._seconds(
            "memlane_model_seconds",
            "Time of calls of language and embedding models, retries included",
            "operation",
            "outcome",
        )
        self.lag = self._seconds(
            "memlane_event_loop_lag_seconds", "How late the event loop is, twenty times a second"
        ).labels()
        self._rpc: dict[tuple[str, str], Tally] = {}
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
        self._tokens = Counter(
            "memlane_model_tokens",
            "Tokens as the providers counted them",
            ("operation", "direction"),
            registry=self.registry,
        )
        for name in GUARD_NAMES:
            # Shown from the start: a rate needs the zero before the first one.
            self._guards.labels(guard=name)
        for stage in STAGES:
            self._stages.labels(stage)

    def ended(self, path: str, status: str, seconds: float) -> None:
        """A call is over. `path` is one of the contract's, `status` a gRPC status by name."""
        histogram = self._rpc.get((path, status))
        if histogram is None:
            name = path.rsplit(".", 1)[-1]
            histogram = self._rpc[path, status] = self._rpcs.labels(name, status)
        histogram.observe(seconds)

    def stage(self, name: str) -> Tally:
        return self._stages.labels(name)

    def model_call(self, operation: str, outcome: str) -> Tally:
        """`outcome`: "ok", or the reason of an error."""
        return self._model_calls.labels(operation, outcome)

    def model_tokens(self, operation: str, input_tokens: int, output_tokens: int) -> None:
        self._tokens.labels(operation=operation, direction="input").inc(input_tokens)
        self._tokens.labels(operation=operation, direction="output").inc(output_tokens)

    def _seconds(self, name: str, help_: str, *labels: str) -> Tallies:
        tallies = Tallies(name, help_, labels, SECONDS)
        self.registry.register(tallies)
        return tallies

    def operation(self, operation: Operation) -> None:
        self._operations.labels(action=operation.action.value, decider=operation.decider.value).inc()

    def guard(self, name: str) -> None:
        self._guards.labels(guard=name).inc()
