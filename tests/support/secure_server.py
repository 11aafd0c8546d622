"""A real server that speaks TLS and asks for tokens, and whoever may make them."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from memlane_server.auth import issuing
from memlane_server.auth.example_certificates import Authority
from memlane_server.auth.issuing import PrivateKey
from memlane_server.principal import SCOPES
from tests.support.credentials import AUDIENCE, ISSUER, signed
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess

ALL_SCOPES = " ".join(sorted(SCOPES))


@dataclass(frozen=True)
class SecureServer:
    process: ServerProcess
    authority: Authority
    key: PrivateKey
    """Signs the tokens that the server takes."""
    directory: Path
    """With ca.pem and jwks.json."""

    @property
    def target(self) -> str:
        return self.process.address

    def token(self, tenant: str, scope: str = ALL_SCOPES, **more: Any) -> str:
        return signed(self.key, tenant=tenant, scope=scope, **more)

    def credentials(self, client: tuple[bytes, bytes] | None = None) -> grpc.ChannelCredentials:
        certificate, key = client or (None, None)
        return grpc.ssl_channel_credentials(self.authority.pem, key, certificate)


@contextlib.contextmanager
def running_secure_server(
    directory: Path, settings: Mapping[str, str] | None = None
) -> Iterator[SecureServer]:
    authority, key = Authority(), issuing.new_key("ES256")
    certificate, certificate_key = authority.server(("127.0.0.1", "localhost"))
    files = {
        "ca.pem": authority.pem,
        "server.pem": certificate,
        "server-key.pem": certificate_key,
        "jwks.json": issuing.jwks(key).encode(),
    }
    for name, content in files.items():
        (directory / name).write_bytes(content)
    all_settings = {
        "MEMLANE_SERVER__TLS_CERTIFICATE": str(directory / "server.pem"),
        "MEMLANE_SERVER__TLS_KEY": str(directory / "server-key.pem"),
        "MEMLANE_AUTH__JWKS_FILE": str(directory / "jwks.json"),
        "MEMLANE_AUTH__ISSUER": ISSUER,
        "MEMLANE_AUTH__AUDIENCE": AUDIENCE,
        **(settings or {}),
    }
    with running_forked_server(directory / "data", all_settings) as process:
        yield SecureServer(process, authority, key, directory)
