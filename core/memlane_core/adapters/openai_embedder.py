"""Embeddings from an OpenAI-compatible server (`POST /embeddings`)."""

import base64
import binascii
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import openai
from numpy.typing import NDArray

from ..domain.errors import ModelUnavailable, NotConfigured
from ..ports.embedder import Vectors
from ..ports.model_observer import ModelAnswer, ModelObserver, ModelWatch, NoObserver
from .openai.calls import CallTime, RetryPolicy, open_client, request_timeout, server_of, with_retries
from .unit_vectors import to_unit

logger = logging.getLogger(__name__)

NOMINATION_THRESHOLD = 0.5
"""Not measured, since that takes the model: chosen low on purpose. A memory nominated in vain costs one comparison,
one that is missed costs a duplicate. Models whose cosines all lie high (text-embedding-ada-002) need more."""

_MAX_ITEMS = 256
"""Texts of one request at first; the protocol allows 2,048, many servers 32, some 10, and they say so."""
_MAX_REQUEST_BYTES = 256 * 1024
"""Texts of one request together. A token has at least one byte, so this is below the 300,000 tokens allowed."""
_MAX_TEXT_BYTES = 8191
"""Of one text, the rest is cut off: below the 8,192 tokens that current models read, for the same reason."""
_SHORTEST_TEXT = 64
"""Characters below which a text is not shortened any more for a server that finds it too long."""

_SIZE_STATUSES = frozenset((400, 413, 422))
_SIZE_WORDS = (
    "too long", "too large", "too many", "maximum", "length", "larger than", "exceed", "batch", "tokens",
)  # fmt: skip
_COUNT_WORDS = ("batch", "too many inputs")


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Optional parts of the protocol that the server has not refused so far."""

    dimensions: bool = True
    """Only models that can shorten their vectors take it."""
    base64: bool = True

    def without(self, text: str) -> "_Dialect | None":
        """The dialect that leaves out what the server complained about; None when it complained about else."""
        if self.base64 and ("encoding_format" in text or "base64" in text):
            return replace(self, base64=False)
        if self.dimensions and ("dimensions" in text or "matryoshka" in text):
            return replace(self, dimensions=False)
        return None


@dataclass(frozen=True, slots=True)
class _TooLarge:
    """The server's answer to a request that it finds too large."""

    too_many: bool
    """It is the number of texts; otherwise one of them, or all together."""


class OpenAIEmbedder:
    """Implements `ports.embedder.Embedder`. For one event loop; close it with `await close()`."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        dimension: int,
        timeout_seconds: float,
        nomination_threshold: float = NOMINATION_THRESHOLD,
        retry: RetryPolicy | None = None,
        observer: ModelObserver | None = None,
    ) -> None:
        """
        Args:
            base_url: up to and including the version, e.g. "https://api.example.com/v1".
            api_key: empty for a server without authentication.
            dimension: asked of the server where it can choose, checked in any case.
            timeout_seconds: for one `embed`, all its requests and retries together.
        """
        if not base_url:
            raise NotConfigured("the embedder", "base_url")
        if not model:
            raise NotConfigured("the embedder", "model")
        self._model = model
        self._dimension = dimension
        self._timeout_seconds = timeout_seconds
        self._nomination_threshold = nomination_threshold
        self._retry = retry or RetryPolicy()
        self._observer = observer or NoObserver()
        self._server = server_of(base_url)
        self._client = open_client(base_url=base_url, api_key=api_key, timeout_seconds=timeout_seconds)
        self._dialect = _Dialect()
        self._max_items = _MAX_ITEMS

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def nomination_threshold(self) -> float:
        return self._nomination_threshold

    async def close(self) -> None:
        await self._client.close()

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        """See the port. Texts that are blank get a fixed vector and are not sent; those longer than the model
        reads are embedded by their beginning. Raises ModelUnavailable also for an answer that does not fit."""
        call_time = CallTime(self._timeout_seconds, timeout_seconds)
        vectors = np.zeros((len(texts), self._dimension), dtype=np.float32)
        sendable = [(at, shown) for at, text in enumerate(texts) if (shown := prepare(text))]
        for batch in self._batches(sendable):
            rows = await self._embed([text for _, text in batch], call_time)
            vectors[[at for at, _ in batch]] = rows
        return to_unit(vectors)

    def _batches(self, texts: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
        batch: list[tuple[int, str]] = []
        size = 0
        for at, text in texts:
            text_bytes = len(text.encode())
            if batch and (len(batch) >= self._max_items or size + text_bytes > _MAX_REQUEST_BYTES):
                yield batch
                batch, size = [], 0
            batch.append((at, text))
            size += text_bytes
        if batch:
            yield batch

    async def _embed(self, texts: list[str], call_time: CallTime) -> NDArray[np.float32]:
        """Vectors as the server gave them, shape (len(texts), dimension). What it finds too large is asked for in
        halves, down to single texts and then to their beginnings: one over-long text does not fail the others."""
        with self._observer.watch("embeddings", self._model, self._server) as watch:
            answer = await with_retries(
                lambda remaining_seconds: self._request(texts, remaining_seconds, watch),
                server=self._server,
                call_time=call_time,
                policy=self._retry,
            )
        if not isinstance(answer, _TooLarge):
            return answer
        if len(texts) > 1:
            half = len(texts) // 2
            if answer.too_many:
                self._max_items = min(self._max_items, max(1, half))
            return np.concatenate(
                [await self._embed(texts[:half], call_time), await self._embed(texts[half:], call_time)]
            )
        [text] = texts
        if len(text) < 2 * _SHORTEST_TEXT:
            raise ModelUnavailable(
                f"the model server {self._server} refuses a text of {len(text)} characters as too long",
                metadata={"server": self._server},
            )
        logger.warning(
            "model server %s finds a text of %d characters too long: embedding its first half",
            self._server,
            len(text),
        )
        return await self._embed([text[: len(text) // 2]], call_time)

    async def _request(
        self, texts: list[str], remaining_seconds: float, watch: ModelWatch
    ) -> NDArray[np.float32] | _TooLarge:
        """One request, again in a poorer dialect where the server refuses ours. Raises the SDK's errors."""
        while True:
            dialect = self._dialect
            try:
                answer = await self._client.embeddings.create(
                    input=texts,
                    model=self._model,
                    dimensions=self._dimension if dialect.dimensions else openai.omit,
                    encoding_format="base64" if dialect.base64 else "float",
                    timeout=request_timeout(remaining_seconds),
                )
            except openai.APIStatusError as error:
                if error.status_code not in _SIZE_STATUSES:
                    raise
                text = f"{error.message} {error.body}".lower()
                poorer = dialect.without(text)
                if poorer is not None:
                    self._dialect = poorer
                elif error.status_code == 413 or any(word in text for word in _SIZE_WORDS):
                    return _TooLarge(any(word in text for word in _COUNT_WORDS))
                else:
                    raise
            else:
                watch.answered(_answer_of(answer))
                return self._vectors(answer, len(texts))

    def _vectors(self, answer: Any, count: int) -> NDArray[np.float32]:
        """Matched by `index`: servers may answer in another order. Raises ModelUnavailable."""
        items = getattr(answer, "data", None)
        if not isinstance(items, list):
            raise self._unusable("something else than vectors")
        places = [getattr(item, "index", None) for item in items]
        if len(items) != count:
            raise self._unusable(f"{len(items)} vectors for {count} texts")
        if not all(type(place) is int for place in places) or set(places) != set(range(count)):
            raise self._unusable("vectors that do not say which text they belong to")
        vectors = np.empty((count, self._dimension), dtype=np.float32)
        for item, place in zip(items, places, strict=True):
            vectors[place] = self._vector(item.embedding)
        return vectors

    def _vector(self, raw: object) -> NDArray[np.float32]:
        try:
            with np.errstate(over="ignore"):
                vector = (
                    np.frombuffer(base64.b64decode(raw, validate=True), dtype="<f4")
                    if isinstance(raw, str)
                    else np.asarray(raw, dtype=np.float32)
                )
        except (binascii.Error, ValueError, TypeError):
            vector = None
        if vector is None or vector.ndim != 1:
            raise self._unusable("a vector that cannot be read")
        if vector.shape != (self._dimension,):
            raise self._unusable(f"a vector of {vector.size} dimensions, {self._dimension} are configured")
        if not np.isfinite(vector).all():
            raise self._unusable("a vector that is not finite")
        return vector

    def _unusable(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"the model server {self._server} answered with {what}", metadata={"server": self._server}
        )


def _answer_of(answer: Any) -> ModelAnswer:
    model = getattr(answer, "model", None)
    tokens = getattr(getattr(answer, "usage", None), "prompt_tokens", None)
    return ModelAnswer(model if isinstance(model, str) else "", tokens if isinstance(tokens, int) else 0, 0)


def prepare(text: str) -> str:
    """What is sent of a text: no lone surrogates, which are not Unicode, no blank edges, and as much as a model
    reads; "" when nothing is left."""
    raw = text.strip().encode("utf-8", "ignore")
    return raw[:_MAX_TEXT_BYTES].decode("utf-8", "ignore").strip()
