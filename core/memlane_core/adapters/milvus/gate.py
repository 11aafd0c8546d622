"""Who may touch the collections of an engine that cannot sort that out itself."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ...domain.errors import StoreUnavailable
from .calls import Deadline

_SWAP_PATIENCE_SECONDS = 5.0


class Gate:
    """Writers one at a time; readers beside them, except while collections are being swapped.

    Milvus Lite lost acknowledged rows under parallel writers that were killed, none under one at a time.
    """

    def __init__(self, *, one_writer: bool) -> None:
        """A server sorts out its writers itself (`one_writer` False): then nothing here ever waits."""
        self._writer = threading.Lock() if one_writer else None
        self._condition = threading.Condition()
        self._readers = 0
        self._swapping = False

    @contextmanager
    def write(self, deadline: Deadline) -> Iterator[None]:
        """Raises StoreUnavailable when the turn does not come in time."""
        if self._writer is None:
            yield
            return
        if not self._writer.acquire(timeout=deadline.remaining_seconds()):
            raise StoreUnavailable("the vector store is busy writing")
        try:
            yield
        finally:
            self._writer.release()

    @contextmanager
    def read(self, deadline: Deadline) -> Iterator[None]:
        """Raises StoreUnavailable when a swap takes too long."""
        with self._condition:
            if not self._condition.wait_for(lambda: not self._swapping, deadline.remaining_seconds()):
                raise StoreUnavailable("the vector store is being rewritten")
            self._readers += 1
        try:
            yield
        finally:
            with self._condition:
                self._readers -= 1
                self._condition.notify_all()

    @contextmanager
    def swap(self, deadline: Deadline) -> Iterator[None]:
        """No reader inside; for the holder of the writers' turn. Raises StoreUnavailable when those inside do not
        leave soon: new ones wait outside for just as long."""
        patience = min(_SWAP_PATIENCE_SECONDS, deadline.remaining_seconds())
        with self._condition:
            self._swapping = True
            if not self._condition.wait_for(lambda: self._readers == 0, patience):
                self._swapping = False
                self._condition.notify_all()
                raise StoreUnavailable("readers do not leave the vector store")
        try:
            yield
        finally:
            with self._condition:
                self._swapping = False
                self._condition.notify_all()
