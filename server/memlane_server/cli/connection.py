"""How the commands reach a server, and how they say that one did not answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import grpc
import typer
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from rich.console import Console

DEFAULT_ADDRESS = "127.0.0.1:7070"

console = Console()
errors = Console(stderr=True)

Address = Annotated[
    str, typer.Option("--address", "-a", envvar="MEMLANE_ADDRESS", help="host:port of the memlane server")
]
UserId = Annotated[str, typer.Argument(help="Whose memories", show_default=False)]


def fail(message: str, code: int = 1) -> NoReturn:
    errors.print(f"[bold red]memlane:[/] {message}", highlight=False)
    raise typer.Exit(code)


@contextmanager
def connected(address: str) -> Iterator[grpc.Channel]:
    """A channel; what goes wrong on it is told in words, with exit code 1."""
    try:
        with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            yield channel
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNAVAILABLE and not _details(error):
            fail(f"no memlane server answers at {address}; start one with: memlane serve")
        lines = [f"{error.code().name}: {error.details()}"]
        for detail in _details(error):
            if isinstance(detail, error_details_pb2.BadRequest):
                lines += [f"  {v.field}: {v.description}" for v in detail.field_violations]
            if isinstance(detail, error_details_pb2.ErrorInfo):
                lines += [f"  {k} = {v}" for k, v in detail.metadata.items()]
        fail("\n".join(lines))


def _details(error: grpc.RpcError) -> list[object]:
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            try:
                status.ParseFromString(value)
            except DecodeError:
                return []
    found: list[object] = []
    for packed in status.details:
        for kind in (error_details_pb2.BadRequest, error_details_pb2.ErrorInfo):
            message = kind()
            if packed.Unpack(message):
                found.append(message)
    return found
