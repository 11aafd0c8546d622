"""What stands in the way of serving, in words."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from memlane_core.domain.errors import MemlaneError

from . import tls
from .address import check_address
from .app import App
from .auth.keys import read_jwks
from .config import Settings
from .grpc_server import certificate_files


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    good: bool
    text: str


def examine(settings: Settings) -> list[Finding]:
    """Open everything as `serve` would, ask each part for a sign of life, close again. Writes no memory."""
    app = App(settings)
    findings = [
        Finding("configuration", True, f"read; data in {settings.data_dir.resolve()}"),
        _try("address", lambda: _address(settings)),
        *examine_credentials(settings),
    ]
    opened = _try("data directory, journal and vector store", lambda: _open(app))
    findings.append(opened)
    if opened.good:
        findings += [
            _try("journal", lambda: _journal(app)),
            _try("vector store", lambda: _store(app)),
            _try("embedder", lambda: _embedder(app)),
        ]
    findings.append(_model(settings))
    app.close()
    return findings


def examine_credentials(settings: Settings) -> list[Finding]:
    """Of certificates and keys; opens no store."""
    return [
        _try("certificates", lambda: _certificates(settings)),
        _try("credentials", lambda: _credentials(settings)),
    ]


def _try(part: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(part, True, check())
    except MemlaneError as error:
        return Finding(part, False, error.message)
    except OSError as error:
        return Finding(part, False, f"{error.strerror}: {error.filename}")


def _address(settings: Settings) -> str:
    check_address(settings)
    return f"{settings.server.host}:{settings.server.port}"


def _certificates(settings: Settings) -> str:
    files = certificate_files(settings.server)
    if files is None:
        return "none: plain text"
    certificates = files.read()
    until = f"{certificates.until:%Y-%m-%d %H:%M} UTC"
    if tls.due(certificates):
        raise MemlaneError(
            f"server.tls_certificate {files.certificate} ends on {until}: renew it now; the server takes the new "
            "files without a restart"
        )
    clients = "clients must show a certificate" if files.client_ca else "clients need no certificate"
    return f"valid until {until}, {clients}"


def _credentials(settings: Settings) -> str:
    auth = settings.auth
    if not auth.configured:
        return (
            f"none asked for: every caller is {settings.actor} of tenant {settings.tenant}, with every right"
        )
    parts = []
    if auth.jwks_file is not None:
        keys = read_jwks(auth.jwks_file).values()
        algorithms = ", ".join(sorted(key.algorithm for key in keys))
        parts.append(f"tokens of {auth.issuer} for {auth.audience}, keys: {algorithms}")
    if auth.hs256_secret.get_secret_value():
        parts.append("tokens signed with a shared secret, which is for development only")
    if auth.clients:
        parts.append(f"{len(auth.clients)} client certificates")
    return "; ".join(parts)


def _open(app: App) -> str:
    app.open()
    return "opened"


def _journal(app: App) -> str:
    check = app.journal.verify_chain()
    if not check.valid:
        raise MemlaneError(f"the audit chain is broken at {check.first_bad_seq}: {check.problem}")
    pending = len(app.journal.pending(limit=1000))
    return f"{check.events} audit events, chain whole; {pending} changes waiting for the vector store"


def _store(app: App) -> str:
    app.store.ping(timeout_seconds=5.0)
    rows = app.store.count(app.settings.tenant, timeout_seconds=30.0)
    parts = ", ".join(f"{k} {v}" for k, v in app.store.describe().items())
    return f"answers; {rows} rows; {parts}"


def _embedder(app: App) -> str:
    vectors = asyncio.run(app.embedder.embed(["memlane 你好"], timeout_seconds=10.0))
    return f"{app.embedder.model} gives vectors of {vectors.shape[1]}"


def _model(settings: Settings) -> Finding:
    if settings.chat.configured:
        return Finding(
            "model", True, f"{settings.chat.model} is configured for extraction, decisions and chat"
        )
    return Finding("model", True, "none configured: the built-in rules extract and decide, Chat is off")
