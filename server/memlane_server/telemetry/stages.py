"""Ports with the time of each call taken: decorators, put around the adapters by the composition root."""

from collections.abc import Sequence

from memlane_core.domain.conversation import Extraction
from memlane_core.domain.decision import Decision
from memlane_core.domain.memory import DeciderKind
from memlane_core.ports.decider import Decider, DecisionRequest
from memlane_core.ports.embedder import Embedder, Vectors
from memlane_core.ports.extractor import ExtractionRequest, Extractor

from .telemetry import Telemetry


class TimedEmbedder:
    """Implements `ports.embedder.Embedder` by another one."""

    def __init__(self, inner: Embedder, telemetry: Telemetry) -> None:
        self._inner = inner
        self._telemetry = telemetry
        self.model = inner.model
        self.dimension = inner.dimension
        self.nomination_threshold = inner.nomination_threshold

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        with self._telemetry.stage("embed"):
            return await self._inner.embed(texts, timeout_seconds=timeout_seconds)


class TimedExtractor:
    """Implements `ports.extractor.Extractor` by another one."""

    def __init__(self, inner: Extractor, telemetry: Telemetry) -> None:
        self._inner = inner
        self._telemetry = telemetry

    async def extract(self, request: ExtractionRequest) -> Extraction:
        with self._telemetry.stage("extract"):
            return await self._inner.extract(request)


class TimedDecider:
    """Implements `ports.decider.Decider` by another one."""

    def __init__(self, inner: Decider, telemetry: Telemetry) -> None:
        self._inner = inner
        self._telemetry = telemetry

    @property
    def kind(self) -> DeciderKind:
        return self._inner.kind

    async def decide(self, request: DecisionRequest) -> tuple[Decision, ...]:
        with self._telemetry.stage("decide"):
            return await self._inner.decide(request)
