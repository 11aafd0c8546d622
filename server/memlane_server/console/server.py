"""The console's own port."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from zoneinfo import ZoneInfo

import grpc
import uvicorn

from memlane_core.domain.errors import FailedPrecondition
from memlane_core.index import IndexStats

from ..config import Settings
from ..health import HealthBoard
from ..principal import Caller
from .dispatch import Dispatcher
from .sessions import Sessions
from .site import Site
from .web import application

_GRACE_SECONDS = 3


class Console:
    """Serves the page on the loop of the gRPC server, until `stop`."""

    def __init__(
        self,
        settings: Settings,
        handlers: Sequence[grpc.GenericRpcHandler],
        caller: Caller,
        board: HealthBoard,
        index: Callable[[], IndexStats],
    ) -> None:
        """Raises FailedPrecondition where a browser could not show who it is."""
        if settings.auth.configured and not settings.auth.takes_tokens:
            raise FailedPrecondition(
                "the console signs in with tokens, and only client certificates are configured: set auth.jwks_file, "
                "or leave the console off"
            )
        self._settings = settings.console
        site = Site(
            dispatcher=Dispatcher(handlers),
            caller=caller,
            sessions=Sessions(settings.console.idle_minutes * 60.0),
            board=board,
            index=index,
            zone=ZoneInfo(settings.context.time_zone),
            signs_in=settings.auth.configured,
        )
        self._server = _Server(
            uvicorn.Config(
                application(site),
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                # Addresses hold user ids.
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            )
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> str:
        """Listen; returns the address of the page. Raises FailedPrecondition when the port cannot be had."""
        host, port = self._settings.host, self._settings.port
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
        except OSError:
            listener.close()
            raise FailedPrecondition(f"console.port {port} is taken on {host}") from None
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        name = f"[{host}]" if ":" in host else host
        return f"http://{name}:{listener.getsockname()[1]}/"

    async def stop(self) -> None:
        """Answer what is under way, within a few seconds."""
        if self._task is not None:
            self._server.should_exit = True
            await self._task


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The process has one owner of its signals, and this is not it."""
        yield
