"""Ed25519 signatures (RFC 8032) with a key file that the service makes for itself on first use."""

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ..domain.errors import FailedPrecondition


class Ed25519Signer:
    """`path` holds the private key (PEM, PKCS #8, mode 600); the public half is written beside it as `.pub`."""

    algorithm = "Ed25519"

    def __init__(self, path: Path) -> None:
        self._key = _load(path) if path.exists() else _create(path)
        raw = self._key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self.key_id = hashlib.sha256(raw).hexdigest()[:16]

    def sign(self, digest: bytes) -> bytes:
        return self._key.sign(digest)

    def verify(self, digest: bytes, signature: bytes) -> bool:
        try:
            self._key.public_key().verify(signature, digest)
        except InvalidSignature:
            return False
        return True


def _load(path: Path) -> Ed25519PrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise FailedPrecondition(f"{path} does not hold an Ed25519 private key")
    return key


def _create(path: Path) -> Ed25519PrivateKey:
    key = Ed25519PrivateKey.generate()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    path.with_suffix(".pub").write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return key
