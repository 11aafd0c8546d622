"""`memlane serve`: the process that answers."""

import asyncio
import gc
import logging
import signal
from ipaddress import ip_address

from memlane_core.domain.errors import FailedPrecondition

from ..app import App
from ..config import Settings
from ..grpc_server import GrpcServer
from ..health import HealthBoard

_log = logging.getLogger("memlane_server.serve")


def check_address(settings: Settings) -> None:
    """Raises FailedPrecondition when others could reach a service without TLS."""
    server = settings.server
    if server.tls_certificate is not None or server.allow_insecure_public or _is_loopback(server.host):
        return
    raise FailedPrecondition(
        f"server.host {server.host} can be reached by others and no TLS is configured: set server.tls_certificate "
        "and server.tls_key, or serve on 127.0.0.1, or pass --allow-insecure-public if a proxy in front does TLS"
    )


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.startswith("unix:"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT, then let running calls end within the grace time."""
    check_address(settings)
    app = App(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    board = HealthBoard()
    grpc_server: GrpcServer | None = None
    try:
        await asyncio.to_thread(app.open)
        grpc_server = GrpcServer(settings, app.wire(), board)
        port = await grpc_server.start()
        await app.start(lambda ready: board.set_ready() if ready else board.set_not_serving("vector store"))
        # What was loaded stays: the collector need not walk it again and again while calls wait.
        gc.collect()
        gc.freeze()
        # The line that scripts wait for; stdout, so that it is not mixed with the log.
        print(f"memlane is serving on {settings.server.host}:{port}", flush=True)
        await stopping.wait()
        _log.info("stopping")
        board.shut_down()
    finally:
        if grpc_server is not None:
            await grpc_server.stop(settings.server.shutdown_grace_seconds)
        await app.stop()


def run(settings: Settings) -> None:
    import uvloop

    uvloop.run(serve(settings))
