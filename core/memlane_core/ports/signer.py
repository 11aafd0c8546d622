"""Signatures under erasure receipts."""

from typing import Protocol


class Signer(Protocol):
    @property
    def key_id(self) -> str: ...

    @property
    def algorithm(self) -> str:
        """E.g. "Ed25519"."""
        ...

    def sign(self, digest: bytes) -> bytes: ...

    def verify(self, digest: bytes, signature: bytes) -> bool: ...
