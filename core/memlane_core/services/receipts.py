"""Signed proof of an erasure."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from ..ports.signer import Signer


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased, and where the audit chain stood. Holds no memory text."""

    receipt_id: str
    tenant: str
    user_id: str
    memories: int
    revisions: int
    messages: int
    ingestions: int
    requests: int
    sessions: int
    first_audit_seq: int
    last_audit_seq: int
    audit_head_hash: str
    issued_us: int
    purge_after_us: int
    legal_hold: bool
    digest: str = ""
    """SHA-256 (hex) of the canonical JSON of all fields above."""
    signature: str = ""
    """Hex; over the digest's bytes."""
    key_id: str = ""
    algorithm: str = ""

    def canonical(self) -> bytes:
        """Bytes that the digest covers: JSON, keys sorted, no spaces, UTF-8."""
        body = {
            k: v for k, v in asdict(self).items() if k not in ("digest", "signature", "key_id", "algorithm")
        }
        return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def sign(receipt: Receipt, signer: Signer) -> Receipt:
    digest = hashlib.sha256(receipt.canonical()).digest()
    values: dict[str, Any] = asdict(receipt)
    values.update(
        digest=digest.hex(),
        signature=signer.sign(digest).hex(),
        key_id=signer.key_id,
        algorithm=signer.algorithm,
    )
    return Receipt(**values)


def verify(receipt: Receipt, signer: Signer) -> bool:
    """Whether digest and signature belong to the fields."""
    digest = hashlib.sha256(receipt.canonical()).digest()
    return digest.hex() == receipt.digest and signer.verify(digest, bytes.fromhex(receipt.signature))


def to_json(receipt: Receipt) -> str:
    return json.dumps(asdict(receipt), ensure_ascii=False, sort_keys=True)


def from_json(text: str) -> Receipt:
    return Receipt(**json.loads(text))
