"""Metrics, probes and traces of one process behind one name."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

import grpc

from memlane_core.domain.errors import FailedPrecondition, MemlaneError, NotConfigured
from memlane_core.ports.model_observer import ModelAnswer, ModelWatch

from ..health import HealthBoard
from .lag import LoopLag
from .metrics import Metrics
from .probes import ProbeServer
from .settings import MetricsSettings, TracingSettings
from .tally import Tally

if TYPE_CHECKING:
    from .tracing import ModelSpan, Tracing

_STUCK_SECONDS = 15.0
"""An event loop that has not moved for so long is taken for dead; a long garbage collection or compilation is not."""


class Telemetry:
    """Made before all else; `start` and `stop` run on the event loop. Implements `ports.model_observer.ModelObserver`.

    Raises NotConfigured when traces are asked for and OpenTelemetry is not installed.
    """

    def __init__(self, metrics_settings: MetricsSettings, tracing_settings: TracingSettings) -> None:
        self.settings = metrics_settings
        self.metrics = Metrics()
        self.lag = LoopLag(self._late)
        self.board: HealthBoard | None = None
        self._beat = time.monotonic()
        self._probes = ProbeServer(self.metrics.registry, live=self._not_live, ready=self._not_ready)
        self._stages: dict[str, Tally] = {}
        self._owners: dict[int, str] = {}
        self._search = self.metrics.stage("search")
        self.tracing: Tracing | None = _tracing(tracing_settings) if tracing_settings.endpoint else None

    def start(self) -> None:
        """Raises FailedPrecondition when the port is taken."""
        self.lag.start()
        if self.settings.port is not None:
            try:
                self._probes.start(self.settings.host, self.settings.port)
            except OSError:
                raise FailedPrecondition(
                    f"metrics.port {self.settings.port} is taken on {self.settings.host}"
                ) from None

    async def stop(self) -> None:
        self.lag.stop()
        await asyncio.to_thread(self._probes.stop)
        if self.tracing is not None:
            await asyncio.to_thread(self.tracing.shut_down)

    def ended(self, path: str, status: str, seconds: float) -> None:
        """A call is over."""
        self.metrics.ended(path, status, seconds)
        if self.tracing is not None:
            from . import tracing

            tracing.ended(status)

    def searched(self, search_us: int) -> None:
        self._search.observe(search_us / 1e6)

    def traced(self, handler: grpc.RpcMethodHandler, path: str) -> grpc.RpcMethodHandler:
        return handler if self.tracing is None else self.tracing.traced(handler, path)

    def stage(self, name: str, label: str = "") -> "Stage":
        """Around a part of a call. `label`: a name for its span, where it differs."""
        histogram = self._stages.get(name)
        if histogram is None:
            histogram = self._stages[name] = self.metrics.stage(name)
        span = None if self.tracing is None else self.tracing.stage(label or name)
        return Stage(histogram, span)

    def owns(self, part: object, stage: str) -> None:
        """What runs in a thread as a method of `part` counts as `stage`."""
        self._owners[id(part)] = stage

    def blocking(self, function: Callable[..., Any]) -> "Stage":
        """Around a call that runs in a thread, for `Offload`."""
        stage = self._owners.get(id(getattr(function, "__self__", None)), "blocking")
        if self.tracing is None:
            return self.stage(stage)
        return self.stage(stage, f"{stage}.{getattr(function, '__name__', 'call').lstrip('_')}")

    @contextmanager
    def watch(self, operation: str, model: str, server: str) -> Iterator[ModelWatch]:
        """See ModelObserver."""
        started = time.perf_counter()
        span = None if self.tracing is None else self.tracing.model_span(operation, model, server)
        failed: BaseException | None = None
        try:
            yield _Watch(self.metrics, operation, span)
        except BaseException as error:
            failed = error
            raise
        finally:
            outcome = "ok" if failed is None else _outcome(failed)
            self.metrics.model_call(operation, outcome).observe(time.perf_counter() - started)
            if span is not None:
                span.end(failed)

    def _late(self, seconds: float) -> None:
        self._beat = time.monotonic()
        self.metrics.lag.observe(seconds)

    def _not_live(self) -> str:
        silent_seconds = time.monotonic() - self._beat
        return (
            ""
            if silent_seconds < _STUCK_SECONDS
            else f"the event loop has not moved for {silent_seconds:.0f} s"
        )

    def _not_ready(self) -> str:
        return "starting" if self.board is None else self.board.reason


class Stage:
    """Takes the time of what is inside, whether it succeeds or fails."""

    __slots__ = ("_histogram", "_span", "_started")

    def __init__(self, histogram: Tally, span: AbstractContextManager[None] | None) -> None:
        self._histogram = histogram
        self._span = span

    def __enter__(self) -> None:
        if self._span is not None:
            self._span.__enter__()
        self._started = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._histogram.observe(time.perf_counter() - self._started)
        if self._span is not None:
            self._span.__exit__(kind, error, at)


class _Watch:
    """Implements ModelWatch."""

    def __init__(self, metrics: Metrics, operation: str, span: "ModelSpan | None") -> None:
        self._metrics = metrics
        self._operation = operation
        self._span = span

    def answered(self, answer: ModelAnswer) -> None:
        self._metrics.model_tokens(self._operation, answer.input_tokens, answer.output_tokens)
        if self._span is not None:
            self._span.answered(answer)


def _outcome(error: BaseException) -> str:
    if isinstance(error, MemlaneError):
        return error.reason
    return "CANCELLED" if isinstance(error, asyncio.CancelledError | GeneratorExit) else "INTERNAL"


def _tracing(settings: TracingSettings) -> "Tracing":
    try:
        from .tracing import Tracing
    except ImportError:
        raise NotConfigured(
            "OpenTelemetry is not installed; tracing.endpoint needs it: pip install 'memlane[tracing]', or tracing",
            "tracing.endpoint = ''",
        ) from None
    return Tracing(settings)
