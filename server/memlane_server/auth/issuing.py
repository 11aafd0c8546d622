"""Keys and tokens for development and tests. In production an identity provider makes them."""

import base64
import hashlib
import json
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from memlane_core.domain.errors import FailedPrecondition

from ..principal import Principal
from .settings import AuthSettings

Algorithm = Literal["ES256", "RS256"]
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_THUMBPRINT_MEMBERS = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}


def new_key(algorithm: Algorithm) -> PrivateKey:
    if algorithm == "ES256":
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk(key: PrivateKey) -> dict[str, Any]:
    """The public half (RFC 7517). Its kid is its thumbprint (RFC 7638), so that it follows from the key alone."""
    public = key.public_key()
    if isinstance(public, rsa.RSAPublicKey):
        members: dict[str, Any] = RSAAlgorithm.to_jwk(public, as_dict=True)
        algorithm = "RS256"
    else:
        members = ECAlgorithm.to_jwk(public, as_dict=True)
        algorithm = "ES256"
    named = {name: members[name] for name in _THUMBPRINT_MEMBERS[members["kty"]]}
    digest = hashlib.sha256(json.dumps(named, separators=(",", ":"), sort_keys=True).encode()).digest()
    kid = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    return {**named, "kid": kid, "alg": algorithm, "use": "sig"}


def jwks(*keys: PrivateKey) -> str:
    return json.dumps({"keys": [jwk(key) for key in keys]}, indent=2)


def private_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_private_key(path: Path) -> PrivateKey:
    """Raises FailedPrecondition in words for whoever gave the path."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise FailedPrecondition(f"the key {path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError):
        raise FailedPrecondition(f"{path} holds no private key in PEM without a password") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise FailedPrecondition(f"{path} is neither an RSA nor an EC key")
    return key


def claims_of(principal: Principal, settings: AuthSettings, ttl_seconds: float) -> dict[str, Any]:
    """What a token for this principal says, in the claims that a server with these settings reads."""
    now = int(time.time())
    claims: dict[str, Any] = {
        "sub": principal.actor,
        "scope": " ".join(sorted(principal.scopes)),
        "iat": now,
        "exp": now + int(ttl_seconds),
        "jti": uuid.uuid4().hex,
        settings.tenant_claim: principal.tenant,
    }
    if principal.user_id is not None:
        claims[settings.user_claim] = principal.user_id
    if settings.issuer:
        claims["iss"] = settings.issuer
    if settings.audience:
        claims["aud"] = settings.audience
    return claims


def sign(claims: Mapping[str, Any], key: PrivateKey | str) -> str:
    """A token, signed by a private key or a shared secret."""
    if isinstance(key, str):
        return jwt.encode(dict(claims), key, algorithm="HS256")
    public = jwk(key)
    return jwt.encode(dict(claims), key, algorithm=public["alg"], headers={"kid": public["kid"]})


def write_secret(path: Path, content: bytes) -> None:
    """A new file that only its owner may read. Raises FailedPrecondition rather than replace one."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise FailedPrecondition(f"{path} exists; remove it first or choose another directory") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
