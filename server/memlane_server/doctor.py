"""What stands in the way of serving, in words."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from memlane_core.domain.errors import MemlaneError

from .app import App
from .cli.serve import check_address
from .config import Settings


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
