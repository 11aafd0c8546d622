"""Calls of a Milvus engine: every one within a deadline, every failure as ours.

Driver texts quote filters, and filters carry user ids, so nothing of them gets into our errors or logs: only the
name of the call and the engine's numeric code do.
"""

import contextlib
import logging
import time
from dataclasses import dataclass
from typing import Any

import grpc
from pymilvus import MilvusClient, MilvusException

from ...domain.errors import StoreUnavailable

_DRIVER_LOGGERS = ("pymilvus", "milvus_lite")

_CONNECT_SECONDS = 3.0
"""For one attempt. The driver takes as long again for each reconnection, inside of calls that have less time."""
_CONNECT_AGAIN_SECONDS = 0.2
_CHANNEL_OPTIONS = {
    # By default a new channel inherits the waiting time of a failed one, which grows to two minutes, and calls
    # fail at once while that lasts, however long the engine has been back.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 1000,
}

_NOT_READY = frozenset(("2", "101", "103", "401", "503", "901", "902"))
"""Milvus' codes for a service, collection, replica, channel or node that is coming up or moving."""
_NOT_READY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Deadline:
    """End of one operation of the store, all its calls and waits together (monotonic seconds)."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    def remaining_seconds(self) -> float:
        """Raises StoreUnavailable once nothing is left."""
        remaining = self.ends_at - time.monotonic()
        if remaining <= 0:
            raise StoreUnavailable("the vector store did not answer in time")
        return remaining


class MilvusCalls:
    """One client, shared by all threads."""

    def __init__(self, uri: str, *, token: str | None, deadline: Deadline) -> None:
        """Connects. Raises StoreUnavailable."""
        tame_driver_logging()
        self._client = _connect(uri, token, deadline)
        self._engine = str(self("get_server_version", deadline=deadline))

    def read(self, method: str, collection: str, /, *, deadline: Deadline, **options: Any) -> Any:
        """A query or search. While the engine says that the collection is not ready, as it does for a while after
        a restart, the collection is loaded and the read tried again until the time is over."""
        while True:
            try:
                return self(method, collection, deadline=deadline, **options)
            except StoreUnavailable as error:
                if error.metadata.get("code") not in _NOT_READY:
                    raise
            time.sleep(min(_NOT_READY_SECONDS, deadline.remaining_seconds()))
            with contextlib.suppress(StoreUnavailable):
                self("load_collection", collection, deadline=deadline)

    def __call__(self, method: str, /, *args: Any, deadline: Deadline, **options: Any) -> Any:
        """What the client's method of this name returns. Raises StoreUnavailable."""
        try:
            return getattr(self._client, method)(*args, timeout=deadline.remaining_seconds(), **options)
        except (MilvusException, grpc.RpcError) as error:
            code = _code(error)
        raise StoreUnavailable(
            f"the vector store failed ({method}, code {code})", metadata={"code": str(code)}
        )

    @property
    def engine(self) -> str:
        """Name and version as the engine reports it: "milvus_lite-3.2.2" for Lite, "v2.3.5-lite" for a server."""
        return self._engine

    @staticmethod
    def index_params(field: str, index_type: str, metric_type: str, params: dict[str, Any]) -> Any:
        index = MilvusClient.prepare_index_params()
        index.add_index(field, index_type=index_type, metric_type=metric_type, params=params)
        return index

    def close(self) -> None:
        self._client.close()


def _connect(uri: str, token: str | None, deadline: Deadline) -> MilvusClient:
    while True:
        try:
            # Dedicated, so that closing this store does not close the connection of another one.
            return MilvusClient(
                uri=uri,
                token=token or "",
                timeout=min(_CONNECT_SECONDS, deadline.remaining_seconds()),
                dedicated=True,
                grpc_options=_CHANNEL_OPTIONS,
            )
        except (MilvusException, grpc.RpcError) as error:
            code = _code(error)
        # Raised outside of the handler: the driver's error must not hang on ours as context.
        if time.monotonic() + _CONNECT_AGAIN_SECONDS >= deadline.ends_at:
            raise StoreUnavailable("the vector store cannot be reached", metadata={"code": str(code)})
        time.sleep(_CONNECT_AGAIN_SECONDS)


def tame_driver_logging() -> None:
    """The drivers log each failure at ERROR with a traceback and the filter; we raise and count it ourselves."""
    for name in _DRIVER_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _code(error: MilvusException | grpc.RpcError) -> object:
    if isinstance(error, grpc.Call):
        status = error.code()
        return getattr(status, "name", status)
    return getattr(error, "code", "unknown")
