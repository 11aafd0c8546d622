"""JSON Web Tokens (RFC 7519) to principals."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from ..principal import SCOPES, TENANT_PATTERN, Principal
from .errors import KeyUnknown, TokenExpired, TokenInvalid
from .keys import Key, Keys
from .settings import AuthSettings, is_user_id

MAX_ACTOR_BYTES = 128
_MAX_KID = 256
_FOREVER = 2**40
_TENANT = re.compile(TENANT_PATTERN)
_CHECKS: tuple[tuple[type[jwt.PyJWTError], str, str], ...] = (
    (jwt.ImmatureSignatureError, "time", "the token is not valid yet"),
    (jwt.InvalidSignatureError, "signature", "the signature of the token is wrong"),
    (jwt.InvalidIssuerError, "iss", "the token comes from another issuer"),
    (jwt.InvalidAudienceError, "aud", "the token is made for another service"),
    (jwt.InvalidAlgorithmError, "alg", "the token is signed in another way than its key allows"),
)
"""What is told of a failed check; the first that fits. Signatures are checked before claims, so that who has no key
learns no more than that."""


@dataclass(frozen=True, slots=True)
class Verified:
    principal: Principal
    until: float
    """Unix second from which on the token is not taken any more."""


class TokenVerifier:
    """Checks tokens from scratch; the authenticator remembers the outcome."""

    def __init__(self, keys: Keys, settings: AuthSettings) -> None:
        self._keys = keys
        self._settings = settings
        self._jwt = jwt.PyJWT(options={"require": ["exp", "sub"], "enforce_minimum_key_length": True})

    def verify(self, token: str) -> Verified:
        """Raises KeyUnknown, TokenExpired, TokenInvalid."""
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(header)
            claims = self._jwt.decode(
                token,
                key.material,
                algorithms=[key.algorithm],
                issuer=self._settings.issuer or None,
                audience=self._settings.audience or None,
                leeway=self._settings.leeway_seconds,
            )
        except jwt.ExpiredSignatureError:
            raise TokenExpired from None
        except jwt.MissingRequiredClaimError as error:
            raise TokenInvalid(error.claim, f"the token has no claim {error.claim}") from None
        except jwt.PyJWTError as error:
            for kind, check, text in _CHECKS:
                if isinstance(error, kind):
                    raise TokenInvalid(check, text) from None
            raise TokenInvalid("form", "the token is malformed") from None
        expires = min(int(claims["exp"]), _FOREVER)
        return Verified(self._principal(claims), expires + self._settings.leeway_seconds)

    def _key(self, header: Mapping[str, Any]) -> Key:
        if "crit" in header:
            raise TokenInvalid("crit", "the token needs an extension that this server does not know")
        kid = header.get("kid")
        if kid is not None and (not isinstance(kid, str) or len(kid) > _MAX_KID):
            raise KeyUnknown
        key = self._keys.find(kid)
        if key is None:
            raise KeyUnknown
        if header.get("alg") != key.algorithm:
            raise TokenInvalid("alg", "the token is signed in another way than its key allows")
        return key

    def _principal(self, claims: Mapping[str, Any]) -> Principal:
        settings = self._settings
        tenant = claims.get(settings.tenant_claim)
        if not isinstance(tenant, str) or not _TENANT.fullmatch(tenant):
            raise TokenInvalid(settings.tenant_claim, "the token names no tenant, or one that cannot exist")
        actor = claims["sub"]
        if not isinstance(actor, str) or not is_actor(actor):
            raise TokenInvalid("sub", "the subject of the token is not a printable name")
        user_id = None
        if settings.user_claim in claims:
            # A claim that is there and names nobody must never open every user.
            user_id = claims[settings.user_claim]
            if not isinstance(user_id, str) or not is_user_id(user_id):
                raise TokenInvalid(settings.user_claim, "the token is bound to a user who cannot exist")
        return Principal(tenant, actor, user_id, _scopes(claims))


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """`scope` as in RFC 8693 (separated by spaces) or as a list. Scopes of other services are left out."""
    given = claims.get("scope", "")
    names = given.split(" ") if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TokenInvalid("scope", "the scope of the token is neither a text nor a list of texts")
    return SCOPES.intersection(names)


def is_actor(name: str) -> bool:
    """Whether a name can stand in the audit log."""
    return (
        name.isprintable()
        and len(name.strip()) > 0
        and len(name.encode("utf-8", "replace")) <= MAX_ACTOR_BYTES
    )
