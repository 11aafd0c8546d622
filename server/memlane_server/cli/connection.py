"""How the commands reach a server, and how they say that one did not answer."""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import grpc
import typer
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from rich.console import Console

from memlane import TLS
from memlane.options import ClientOptions

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


@dataclass(frozen=True, slots=True)
class _Credential:
    """As whom the running command calls."""

    token: str | None = None
    tls: TLS | None = None
    insecure: bool | None = None


_NOBODY = _Credential()
_credential: ContextVar[_Credential] = ContextVar("credential", default=_NOBODY)

_Token = Annotated[
    str | None, typer.Option("--token", envvar="MEMLANE_TOKEN", help="Bearer token", show_default=False)
]
_Ca = Annotated[
    Path | None,
    typer.Option("--ca", envvar="MEMLANE_CA", help="Who signed the server's certificate (PEM)"),
]
_Cert = Annotated[
    Path | None, typer.Option("--cert", envvar="MEMLANE_CERT", help="The client's own certificate (PEM)")
]
_Key = Annotated[Path | None, typer.Option("--key", envvar="MEMLANE_KEY", help="The key of --cert (PEM)")]
_Insecure = Annotated[
    bool | None,
    typer.Option(
        "--insecure", envvar="MEMLANE_INSECURE", help="Plain text also to another machine, as inside a mesh"
    ),
]
_OPTIONS = {"token": _Token, "ca": _Ca, "cert": _Cert, "key": _Key, "insecure": _Insecure}


def with_credential(command: Callable[..., None]) -> Callable[..., None]:
    """A command that reaches a server, with the options of the credential besides its own, for `connected`."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        token, ca, cert, key, insecure = (kwargs.pop(name) for name in _OPTIONS)
        tls = TLS(ca, cert, key) if ca or cert or key else None
        reset = _credential.set(_Credential(token, tls, insecure or None))
        try:
            command(*args, **kwargs)
        finally:
            _credential.reset(reset)

    own = inspect.signature(command)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), *more])  # type: ignore[attr-defined]
    run.__annotations__ = {**command.__annotations__, **_OPTIONS}
    return run


def client_options(address: str) -> ClientOptions:
    """How the running command connects. What contradicts itself is told in words, with exit code 2."""
    credential = _credential.get()
    try:
        return ClientOptions(
            target=address, token=credential.token, tls=credential.tls, insecure=credential.insecure
        )
    except ValueError as error:
        fail(str(error), 2)


@contextmanager
def connected(address: str) -> Iterator[grpc.Channel]:
    """A channel; what goes wrong on it is told in words, with exit code 1."""
    options = client_options(address)
    try:
        credentials = options.credentials()
    except ValueError as error:
        fail(str(error), 2)
    except OSError as error:
        fail(f"{error.filename} cannot be read: {error.strerror}", 2)
    arguments = [("grpc.enable_http_proxy", 0)]
    try:
        with (
            grpc.insecure_channel(address, arguments)
            if credentials is None
            else grpc.secure_channel(address, credentials, arguments)
        ) as channel:
            yield grpc.intercept_channel(channel, _Bearer(options))
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNAVAILABLE and not _details(error):
            fail(
                f"no memlane server answers at {address}; start one with: memlane serve"
                if credentials is None
                else f"no memlane server answers over TLS at {address}: is it one, and is --ca the right authority?"
            )
        lines = [f"{error.code().name}: {error.details()}"]
        for detail in _details(error):
            if isinstance(detail, error_details_pb2.BadRequest):
                lines += [f"  {v.field}: {v.description}" for v in detail.field_violations]
            if isinstance(detail, error_details_pb2.ErrorInfo):
                lines += [f"  {k} = {v}" for k, v in detail.metadata.items()]
        fail("\n".join(lines))


class _Bearer(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """Sends the token with each call."""

    def __init__(self, options: ClientOptions) -> None:
        self._metadata = options.call_metadata()

    def _call(self, proceed: Any, details: Any, request: Any) -> Any:
        return proceed(_Details(details, self._metadata), request)

    intercept_unary_unary = intercept_unary_stream = _call


class _Details(grpc.ClientCallDetails):  # type: ignore[misc]
    """Those of a call, with metadata."""

    def __init__(self, details: Any, metadata: tuple[tuple[str, str], ...]) -> None:
        self.method = details.method
        self.timeout = details.timeout
        self.metadata = (*(details.metadata or ()), *metadata)
        self.credentials = details.credentials
        self.wait_for_ready = details.wait_for_ready
        self.compression = details.compression


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
