"""Identity of requests: fingerprints for request_id, and page tokens that are bound to their request."""

import base64
import binascii
import hashlib
import struct
from typing import Any

from google.protobuf.message import Message

from memlane_core.ports.journal import RequestStamp

from ..validate import MAX_PAGE_TOKEN_BYTES, Violations

_SEAL_BYTES = 16


def request_stamp(key: bytes, method: str, request: Any) -> RequestStamp | None:
    """Stamp of a mutation that came with a request_id. Its fingerprint is a keyed digest: it must tell nothing about
    the text of a user who was forgotten to whoever lacks the key."""
    if not request.request_id:
        return None
    return RequestStamp(method, request.request_id, _digest(key, method, request, "request_id").hex())


class Pages:
    """Page tokens (AIP-158): opaque, sealed, and good for the same request of the same tenant only."""

    def __init__(self, key: bytes, tenant: str, method: str, request: Any) -> None:
        self._key = key
        self._token: str = request.page_token
        self._scope = _digest(key, f"{tenant}:{method}", request, "page_token", "page_size")

    def cursor(self, v: Violations, parts: int) -> tuple[int, ...] | None:
        """What the token of the last page remembered, `parts` numbers; None for the first page."""
        if not self._token:
            return None
        raw = b""
        if len(self._token) <= MAX_PAGE_TOKEN_BYTES and self._token.isascii():
            try:
                raw = base64.b64decode(
                    self._token + "=" * (-len(self._token) % 4), altchars=b"-_", validate=True
                )
            except binascii.Error:
                raw = b""
        body, seal = raw[:-_SEAL_BYTES], raw[-_SEAL_BYTES:]
        if len(body) != 8 * parts or seal != self._seal(body):
            v.add(
                "page_token",
                "is not a token of this request: all fields but page_size and consistency must stay the same",
            )
            return None
        return struct.unpack(f">{parts}q", body)

    def token(self, *cursor: int) -> str:
        body = struct.pack(f">{len(cursor)}q", *cursor)
        return base64.urlsafe_b64encode(body + self._seal(body)).decode().rstrip("=")

    def _seal(self, body: bytes) -> bytes:
        return hashlib.blake2b(self._scope + body, key=self._key[:64], digest_size=_SEAL_BYTES).digest()


def _digest(key: bytes, scope: str, request: Message, *left_out: str) -> bytes:
    """Of what is asked. How fresh to read is no part of it: a client's newest token moves on between two pages."""
    copy = type(request)()
    copy.CopyFrom(request)
    for field in (*left_out, "consistency"):
        if field in copy.DESCRIPTOR.fields_by_name:
            copy.ClearField(field)
    digest = hashlib.blake2b(key=key[:64], digest_size=32)
    digest.update(f"{scope}\0".encode())
    digest.update(copy.SerializeToString(deterministic=True))
    return digest.digest()
