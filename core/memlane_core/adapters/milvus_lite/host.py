"""Milvus Lite behind a Unix socket."""

import contextlib
import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from milvus_lite.db import MilvusLite
from milvus_lite.exceptions import DataDirLockedError
from pymilvus.grpc_gen import milvus_pb2_grpc

from . import IN_USE, READY

_EXIT_IN_USE = 75
_WORKERS = 8
_MAX_MESSAGE_BYTES = 256 * 1024 * 1024
_STOP_SECONDS = 5.0
_CHANGES = frozenset(
    f"/milvus.proto.milvus.MilvusService/{name}"
    for name in (
        "Insert", "Upsert", "Delete", "Flush", "CreateCollection", "DropCollection", "RenameCollection",
        "AlterCollection", "CreateIndex", "LoadCollection", "ReleaseCollection",
    )
)  # fmt: skip


class OneChangeAtATime(grpc.ServerInterceptor):  # type: ignore[misc]
    """Parallel writers lost acknowledged rows when the engine was killed. The client sends one change at a time,
    but one that it gave up waiting for still runs here when the next one arrives."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def intercept_service(self, continuation: Callable[[Any], Any], call: Any) -> Any:
        handler = continuation(call)
        if call.method not in _CHANGES:
            return handler

        def in_turn(request: Any, context: Any) -> Any:
            with self._turn:
                if not context.is_active():
                    # Nobody waits for it any more, so nobody took it as done.
                    context.abort(grpc.StatusCode.CANCELLED, "given up by the caller")
                return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(
            in_turn, handler.request_deserializer, handler.response_serializer
        )


class LiteHost:
    """Milvus Lite behind a socket, in this process."""

    def __init__(self, data_dir: Path, socket_path: Path) -> None:
        """Raises DataDirLockedError when another process has the data open."""
        self._db = MilvusLite(str(data_dir))
        _remove_remains(data_dir)
        self._server = grpc.server(
            ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="milvus-lite"),
            interceptors=[OneChangeAtATime()],
            options=[
                ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
                ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
            ],
        )
        milvus_pb2_grpc.add_MilvusServiceServicer_to_server(MilvusServicer(self._db), self._server)
        self._server.add_insecure_port(f"unix:{socket_path}")
        self._server.start()

    def close(self) -> None:
        self._server.stop(grace=_STOP_SECONDS).wait(_STOP_SECONDS)
        self._db.close()


def _remove_remains(data_dir: Path) -> None:
    """A collection's folder without its schema is what an interrupted drop left: the engine no longer knows it,
    but it may still hold texts that were to be erased."""
    for folder in (data_dir / "collections").iterdir():
        if folder.is_dir() and not (folder / "schema.json").exists():
            shutil.rmtree(folder)


def main(data_dir: Path, socket_path: Path) -> int:
    os.umask(0o077)
    # Ctrl-C and a service manager's stop reach the whole process group: the parent decides when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # It logs each failure with a traceback and the filter; the parent raises and counts it.
    logging.getLogger("milvus_lite").setLevel(logging.CRITICAL)
    try:
        host = LiteHost(data_dir, socket_path)
    except DataDirLockedError:
        print(IN_USE, flush=True)
        return _EXIT_IN_USE
    print(READY, flush=True)
    if sys.stdin.readline():
        host.close()
        return 0
    # The parent died. What it was told is written is in the write-ahead log; free the data at once.
    with contextlib.suppress(OSError):
        shutil.rmtree(socket_path.parent)
    os._exit(1)
