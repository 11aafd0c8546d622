"""`memlane serve`: the process that answers."""

import asyncio
import gc
import logging
import signal
from typing import TYPE_CHECKING

from ..address import check_address
from ..app import App
from ..config import Settings
from ..grpc_server import GrpcServer
from ..health import HealthBoard
from ..principal import Caller

if TYPE_CHECKING:
    from ..console.server import Console

_log = logging.getLogger("memlane_server.serve")


async def serve(settings: Settings, app: App | None = None) -> None:
    """Run until SIGTERM or SIGINT, then let running calls end within the grace time. `app`: one made otherwise than by
    the settings alone."""
    check_address(settings)
    app = app or App(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    board = HealthBoard()
    grpc_server: GrpcServer | None = None
    page: Console | None = None
    try:
        await asyncio.to_thread(app.open)
        services = app.wire()
        telemetry = app.telemetry
        grpc_server = GrpcServer(settings, services, board, telemetry.ended, telemetry.traced)
        app.expose(board, grpc_server.in_flight)
        if settings.console.enabled:
            page = _console(settings, app, services.caller, grpc_server, board)
        port = await grpc_server.start()
        await app.start(lambda ready: board.set_ready() if ready else board.set_not_serving("vector store"))
        # What was loaded stays: the collector need not walk it again and again while calls wait.
        gc.collect()
        gc.freeze()
        if page is not None:
            print(f"memlane console is on {await page.start()}", flush=True)
        # The line that scripts wait for; stdout, so that it is not mixed with the log.
        print(f"memlane is serving on {settings.server.host}:{port}", flush=True)
        await stopping.wait()
        _log.info("stopping")
        board.shut_down()
    finally:
        if page is not None:
            await page.stop()
        if grpc_server is not None:
            await grpc_server.stop(settings.server.shutdown_grace_seconds)
        await app.stop()


def _console(
    settings: Settings, app: App, caller: Caller, server: GrpcServer, board: HealthBoard
) -> "Console":
    """The operator's page. Loaded only where it is wanted. Raises FailedPrecondition."""
    from ..console.server import Console

    return Console(settings, server.handlers, caller, board, app.index.stats)


def run(settings: Settings) -> None:
    import uvloop

    uvloop.run(serve(settings))
