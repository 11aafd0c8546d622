"""The section `auth` of the settings."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from memlane_core.domain import limits

from ..principal import SCOPES, TENANT_PATTERN

MIN_SECRET_BYTES = 32
"""As long as the digest of HS256 (RFC 7518, 3.2)."""


class ClientCertificate(BaseModel):
    """What the holder of a client certificate may do. The certificate is named by its common name or by a URI among
    its subject alternative names (a SPIFFE id), never by both."""

    model_config = ConfigDict(extra="forbid")

    common_name: str = ""
    uri: str = ""
    tenant: str = Field(pattern=TENANT_PATTERN)
    scopes: tuple[str, ...]
    user_id: str | None = Field(None, min_length=1)
    """The one user whom it may act for."""

    @model_validator(mode="after")
    def _named_once(self) -> "ClientCertificate":
        if bool(self.common_name) == bool(self.uri):
            raise ValueError("give either common_name or uri")
        return self

    @field_validator("scopes")
    @classmethod
    def _scopes_exist(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(scopes) - SCOPES)
        if unknown:
            raise ValueError(f"unknown scope {unknown[0]!r}; there are {', '.join(sorted(SCOPES))}")
        return scopes

    @field_validator("user_id")
    @classmethod
    def _user_can_exist(cls, user_id: str | None) -> str | None:
        if user_id is not None and not is_user_id(user_id):
            raise ValueError("is not a user id")
        return user_id


class AuthSettings(BaseModel):
    """Where credentials come from. Nothing set = no credentials: every caller is the one configured principal."""

    model_config = ConfigDict(extra="forbid")

    jwks_file: Path | None = None
    """Public keys (RFC 7517) of whoever issues the tokens. Read again when it changes."""
    hs256_secret: SecretStr = SecretStr("")
    """For development: whoever checks such tokens can also make them."""
    issuer: str = ""
    """The `iss` that a token must have; required with jwks_file."""
    audience: str = ""
    """What the `aud` of a token must contain; required with jwks_file."""
    leeway_seconds: Annotated[float, Field(ge=0, le=300)] = 30.0
    """By how much clocks may differ."""
    tenant_claim: str = Field("tenant", min_length=1)
    user_claim: str = Field("user_id", min_length=1)
    """Claim with the one user whom a token may act for. A token without it may act for every user of its tenant."""
    clients: tuple[ClientCertificate, ...] = ()
    """Client certificates that are credentials by themselves; needs server.tls_client_auth = required."""
    refusals_every_seconds: Annotated[float, Field(gt=0)] = 60.0
    """Refused calls are counted, and the counts go into the audit log this often."""

    @model_validator(mode="after")
    def _whole(self) -> "AuthSettings":
        secret = self.hs256_secret.get_secret_value()
        if secret and self.jwks_file is not None:
            # A development secret beside real keys would be a second way in.
            raise ValueError("jwks_file and hs256_secret exclude each other")
        if secret and len(secret.encode()) < MIN_SECRET_BYTES:
            raise ValueError(f"hs256_secret must have at least {MIN_SECRET_BYTES} bytes")
        if self.jwks_file is not None and not (self.issuer and self.audience):
            raise ValueError(
                "issuer and audience are required with jwks_file: a token made for another service must not open "
                "this one"
            )
        names = [(c.common_name, c.uri) for c in self.clients]
        if len(set(names)) != len(names):
            raise ValueError("clients names a certificate twice")
        return self

    @property
    def takes_tokens(self) -> bool:
        return self.jwks_file is not None or bool(self.hs256_secret.get_secret_value())

    @property
    def configured(self) -> bool:
        return self.takes_tokens or bool(self.clients)


def is_user_id(user_id: str) -> bool:
    """Whether a request could name this user at all."""
    try:
        size = len(user_id.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= limits.MAX_USER_ID_BYTES and user_id != limits.GLOBAL_USER_ID
