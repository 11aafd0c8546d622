"""Keys that tokens are checked with. Each belongs to one algorithm: what a token says about itself decides nothing."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from memlane_core.domain.errors import FailedPrecondition

_log = logging.getLogger(__name__)

MAX_JWKS_BYTES = 1024 * 1024
MIN_RSA_BITS = 2048
_ALGORITHMS: Mapping[str, str] = {"RSA": "RS256", "EC": "ES256"}
"""By type of key."""


@dataclass(frozen=True, slots=True)
class Key:
    algorithm: str
    material: Any
    """A public key, or the bytes of a secret."""


class Keys(Protocol):
    """Where keys are looked up. Used on the event loop."""

    def find(self, kid: str | None) -> Key | None:
        """The key with this id; without an id the only key there is."""

    def refresh(self) -> bool:
        """Look whether the keys have changed, and take the new ones. True = they have."""


class SharedSecret:
    """One HS256 secret, for development."""

    def __init__(self, secret: str) -> None:
        self._key = Key("HS256", secret.encode())

    def find(self, kid: str | None) -> Key | None:
        return self._key if kid is None else None

    def refresh(self) -> bool:
        return False


class JwksFile:
    """Public keys in a file that may be replaced at any time.

    It is small and local, so that it is read in place: a call that waited for another thread would cost every call.
    A file that cannot be used leaves the keys as they were and is logged once.
    """

    def __init__(self, path: Path) -> None:
        """Raises FailedPrecondition naming the setting and what is wrong with the file."""
        self._path = path
        self._signature = _signature(path)
        self._keys = read_jwks(path)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, kid: str | None) -> Key | None:
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid)

    def refresh(self) -> bool:
        """Costs a few microseconds while nothing has changed: less than the signature that it is asked for."""
        signature = _signature(self._path)
        if signature == self._signature:
            return False
        self._signature = signature
        try:
            keys = read_jwks(self._path)
        except FailedPrecondition as error:
            _log.error("the keys that hold stay as they are: %s", error.message)
            return False
        self._keys = keys
        _log.info("read the keys anew", extra={"keys": len(keys)})
        return True


def read_jwks(path: Path) -> dict[str, Key]:
    """Keys by id. Raises FailedPrecondition in words for an operator. Keys that serve other purposes are left out."""
    where = f"auth.jwks_file {path}"
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise FailedPrecondition(f"{where} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_JWKS_BYTES:
        raise FailedPrecondition(f"{where} has more than {MAX_JWKS_BYTES} bytes")
    try:
        entries = json.loads(raw)["keys"]
    except (ValueError, RecursionError, KeyError, TypeError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FailedPrecondition(f'{where} is not a JSON object with a list "keys" (RFC 7517)')
    keys: dict[str, Key] = {}
    for number, entry in enumerate(entries):
        key = _key(f"{where}: keys[{number}]", entry)
        if key is None:
            continue
        kid = entry.get("kid", "")
        if not isinstance(kid, str) or (not kid and len(entries) > 1):
            raise FailedPrecondition(f"{where}: keys[{number}] needs a kid, as there are several keys")
        if kid in keys:
            raise FailedPrecondition(f"{where}: two keys have the kid {kid!r}")
        keys[kid] = key
    if not keys:
        raise FailedPrecondition(f"{where} holds no RS256 or ES256 key for signatures")
    return keys


def _key(where: str, entry: Mapping[str, Any]) -> Key | None:
    kind = entry.get("kty")
    if kind == "oct" or "d" in entry:
        raise FailedPrecondition(f"{where} is a secret; the file must hold public keys only")
    algorithm = _ALGORITHMS.get(str(kind))
    if algorithm is None or entry.get("alg", algorithm) != algorithm or entry.get("use", "sig") != "sig":
        return None
    try:
        material = jwt.PyJWK(dict(entry), algorithm=algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError):
        raise FailedPrecondition(f"{where} is not a whole {kind} key") from None
    if isinstance(material, RSAPublicKey) and material.key_size < MIN_RSA_BITS:
        raise FailedPrecondition(f"{where} has {material.key_size} bits; at least {MIN_RSA_BITS} are needed")
    if isinstance(material, EllipticCurvePublicKey) and not isinstance(material.curve, SECP256R1):
        return None
    return Key(algorithm, material)


def _signature(path: Path) -> tuple[int, int, int] | None:
    """Differs when the file was replaced or changed, also where it is a link that now leads elsewhere. None = it is
    not there: reading it says why."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
