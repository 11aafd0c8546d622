"""How a client connects and how patient it is."""

import ipaddress
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import grpc

from ._methods import Pace

DEFAULT_TARGET = "127.0.0.1:7070"
_MIN_KEEPALIVE_SECONDS = 10.0
"""The server takes a ping every 8 s at most, and closes the connection of a client that sends more."""

TokenSource = str | Callable[[], str]
"""A bearer token, or a function that gives the current one; asked for each try, so keep it quick."""
MetadataSource = Sequence[tuple[str, str]] | Callable[[], Sequence[tuple[str, str]]]
"""Metadata of each call (a trace context), or a function that gives it."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Default deadlines in seconds, by what a call does; `timeout=` of a call goes before them. `math.inf` = none."""

    read_seconds: float = 5.0
    """Searches, gets, lists, contexts."""
    write_seconds: float = 15.0
    """Writes that wait for no model."""
    model_seconds: float = 120.0
    """`remember`, `end_session` and `chat`."""
    bulk_seconds: float = 600.0
    """Erasure, export, purge, check of the audit log."""

    def of(self, pace: Pace) -> float:
        return {
            Pace.READ: self.read_seconds,
            Pace.WRITE: self.write_seconds,
            Pace.MODEL: self.model_seconds,
            Pace.BULK: self.bulk_seconds,
            Pace.OPEN: math.inf,
        }[pace]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Which failures the client tries again, all within the call's one deadline.

    UNAVAILABLE is tried again with a growing, jittered pause: for every read, and for every write that carries a
    request_id (which makes the repeat harmless). RESOURCE_EXHAUSTED is tried again only where the server says how
    long to wait, after that time. A pause that would outlast the deadline is not begun: the error is raised at once.
    """

    max_attempts: int = 4
    """1 = never try again."""
    initial_backoff_seconds: float = 0.05
    max_backoff_seconds: float = 2.0
    multiplier: float = 2.0


@dataclass(frozen=True, slots=True)
class TLS:
    """Certificates of a connection. Each is a path to a PEM file, or the PEM itself as bytes."""

    root_certificates: str | Path | bytes | None = None
    """Who may have signed the server's certificate; None = those that gRPC trusts."""
    client_certificate: str | Path | bytes | None = None
    """Chain of the client for mutual TLS; goes together with `client_key`."""
    client_key: str | Path | bytes | None = field(default=None, repr=False)
    server_name: str = ""
    """Name expected in the server's certificate; empty = the host of the target."""

    def credentials(self) -> grpc.ChannelCredentials:
        """Raises ValueError for half a client identity, OSError for a file that cannot be read."""
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError("client_certificate and client_key go together")
        return grpc.ssl_channel_credentials(
            _pem(self.root_certificates), _pem(self.client_key), _pem(self.client_certificate)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Everything a client is made with; the constructors of the clients take these fields as arguments."""

    target: str = DEFAULT_TARGET
    """host:port, or any name that gRPC resolves (dns:///..., unix:/...)."""
    token: TokenSource | None = field(default=None, repr=False)
    """Sent as `authorization: Bearer ...`."""
    tls: TLS | None = None
    """None = the defaults of TLS, unless the connection is insecure."""
    insecure: bool | None = None
    """Plain text. None = only to this machine itself, and only without `tls`. True is right where something else
    encrypts, such as a mesh."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    read_your_writes: bool = True
    """Reads ask for a state that holds this client's own writes, on whichever replica."""
    keepalive_seconds: float = 30.0
    """Pause between pings on an idle connection; at least 10."""
    max_receive_bytes: int = 8 * 2**20
    """The server sends at most 4 MiB."""
    max_send_bytes: int = -1
    """-1 = no limit here; the server takes 2 MiB and says so itself."""
    metadata: MetadataSource = field(default=(), repr=False)
    channel_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Further options of the gRPC channel; they go before those made here."""

    def __post_init__(self) -> None:
        if self.insecure and self.tls is not None:
            raise ValueError("insecure=True and tls contradict each other")
        if self.keepalive_seconds < _MIN_KEEPALIVE_SECONDS:
            raise ValueError(f"keepalive_seconds is at least {_MIN_KEEPALIVE_SECONDS:g}")
        if self.retry.max_attempts < 1:
            raise ValueError("max_attempts is at least 1")

    @property
    def plain_text(self) -> bool:
        if self.insecure is None:
            return self.tls is None and is_loopback(self.target)
        return self.insecure

    def credentials(self) -> grpc.ChannelCredentials | None:
        """None for plain text."""
        return None if self.plain_text else (self.tls or TLS()).credentials()

    def channel_arguments(self) -> list[tuple[str, Any]]:
        milliseconds = round(self.keepalive_seconds * 1000)
        arguments: dict[str, Any] = {
            "grpc.primary_user_agent": f"memlane-python/{_version()}",
            "grpc.keepalive_time_ms": milliseconds,
            "grpc.keepalive_timeout_ms": 10_000,
            # Load balancers drop connections that are silent between calls, too.
            "grpc.keepalive_permit_without_calls": 1,
            "grpc.http2.max_pings_without_data": 0,
            "grpc.max_receive_message_length": self.max_receive_bytes,
            "grpc.max_send_message_length": self.max_send_bytes,
            # A server that comes back is found within seconds, not after gRPC's two minutes.
            "grpc.min_reconnect_backoff_ms": 100,
            "grpc.initial_reconnect_backoff_ms": 100,
            "grpc.max_reconnect_backoff_ms": 2_000,
        }
        if self.tls is not None and self.tls.server_name:
            arguments["grpc.ssl_target_name_override"] = self.tls.server_name
        return list({**arguments, **self.channel_options}.items())

    def call_metadata(self) -> tuple[tuple[str, str], ...]:
        """Metadata of one try."""
        extra = self.metadata() if callable(self.metadata) else self.metadata
        token = self.token() if callable(self.token) else self.token
        return (*extra, ("authorization", f"Bearer {token}")) if token else tuple(extra)


def is_loopback(target: str) -> bool:
    """Whether a target is this machine itself: a Unix socket, localhost or a loopback address."""
    scheme, _, rest = target.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return True
    if scheme in ("dns", "ipv4", "ipv6"):
        authority_and_name = rest.removeprefix("//")
        target = authority_and_name.rpartition("/")[2]
        if scheme != "dns" and "," in target:
            return all(is_loopback(f"{scheme}:{one}") for one in target.split(","))
    host = _host(target)
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(address: str) -> str:
    if address.startswith("["):
        return address[1:].partition("]")[0]
    # More than one colon and no brackets: a bare IPv6 address without a port.
    return address if address.count(":") > 1 else address.partition(":")[0]


def _pem(source: str | Path | bytes | None) -> bytes | None:
    if source is None or isinstance(source, bytes):
        return source
    return Path(source).read_bytes()


def _version() -> str:
    try:
        return version("memlane")
    except PackageNotFoundError:
        return "unknown"
