"""What unit tests of several files share."""

from collections.abc import Iterator

import pytest

from memlane_core.adapters.local_embedder import LocalEmbedder


@pytest.fixture(scope="session")
def embedder() -> Iterator[LocalEmbedder]:
    """Loaded once by each worker: it takes seconds."""
    made = LocalEmbedder()
    yield made
    made.close()
