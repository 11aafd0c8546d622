"""Tokens, keys and contexts for the tests of authentication."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt

from memlane_server.auth import AuthSettings, issuing
from memlane_server.auth.issuing import PrivateKey

ISSUER, AUDIENCE = "https://login.bank.example", "memlane"
SECRET = "a-development-secret-of-forty-characters"


@dataclass
class Context:
    """As much of a call's context as authentication looks at."""

    metadata: tuple[tuple[str, str], ...] = ()
    peer: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self.metadata

    def auth_context(self) -> Mapping[str, tuple[bytes, ...]]:
        return self.peer


def bearing(token: str, scheme: str = "Bearer ") -> Context:
    return Context((("user-agent", "test"), ("authorization", scheme + token)))


def claims(**changes: Any) -> dict[str, Any]:
    """A good token's claims, changed; None takes one out."""
    now = int(time.time())
    good = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "svc-assistant",
        "tenant": "bank",
        "scope": "memory:read memory:write",
        "iat": now,
        "exp": now + 600,
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


def settings(path: Path, **changes: Any) -> AuthSettings:
    return AuthSettings(
        **{"jwks_file": path, "issuer": ISSUER, "audience": AUDIENCE, "leeway_seconds": 5, **changes}
    )


def signed(key: PrivateKey, headers: Mapping[str, Any] | None = None, **changes: Any) -> str:
    """A token of these claims. `headers` replace what the key says about itself."""
    own = issuing.jwk(key)
    extra = {"kid": own["kid"], **(headers or {})}
    return jwt.encode(
        claims(**changes),
        key,
        algorithm=own["alg"],
        headers={k: v for k, v in extra.items() if v is not None},
    )


def reason(call: Callable[[], Any]) -> tuple[str, str]:
    """Reason and failed check of a refusal."""
    from memlane_core.domain.errors import Unauthenticated

    try:
        call()
    except Unauthenticated as error:
        return error.reason, error.metadata.get("check", "")
    raise AssertionError("was taken")
