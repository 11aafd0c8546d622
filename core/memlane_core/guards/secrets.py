"""The secrets guard: what every text passes before it is written, logged or sent to a model.

The reading itself is in `builtin.text.secrets`, below both its users: this guard and the built-in extractor.
"""

from ..builtin.text.secrets import MASK, Redacted, SecretKind, SecretPolicy, redact, scrub_fact

__all__ = ["MASK", "Redacted", "SecretKind", "SecretPolicy", "redact", "scrub_fact"]
