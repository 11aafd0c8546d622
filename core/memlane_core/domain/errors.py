"""Every error that the core raises on purpose.

MemlaneError
├── InvalidArgument            a field of the request is wrong (carries the violations)
├── NotFound                   no such thing, or not this user's
├── AlreadyExists
│   └── RequestIdReused        the same request_id came with another body
├── Aborted                    lost a race; reading again and retrying may succeed
│   ├── RevisionMismatch       the optimistic lock did not hold
│   └── ForgottenMeanwhile     the user was forgotten while the call ran
├── FailedPrecondition         the system's state or settings do not allow it
│   ├── NotConfigured          a setting is missing (named)
│   ├── LegalHold              the user is under legal hold
│   ├── SessionEnded           the session was ended before
│   └── StoreMismatch          the store was made by another embedder or dimension
├── Exhausted                  a limit was reached; later may succeed
│   ├── BacklogFull
│   ├── QuotaReached           no more memories may be kept until some are deleted
│   └── ModelThrottled
├── Unavailable                a part that is needed does not answer
│   ├── StoreUnavailable
│   ├── JournalUnavailable
│   ├── ModelUnavailable
│   └── NotReady               still starting, or not yet at the asked position
├── DeadlineExceeded           the time of the call ran out
├── ModelAnswerUnusable        the model answered, and nothing could be made of it
├── Unauthenticated
├── PermissionDenied
└── DataCorrupt                stored data fails its own check

Texts of errors name fields, limits and ids that the caller sent; never memory text.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldViolation:
    """One field that is wrong and why, in words for a developer."""

    field: str
    description: str


class MemlaneError(Exception):
    """Root of the tree. `reason` is the name of a value of `memlane.v1.ErrorReason` without its prefix."""

    reason = "INTERNAL"

    def __init__(self, message: str, *, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.metadata: dict[str, str] = dict(metadata or {})


class InvalidArgument(MemlaneError):
    reason = "INVALID_FIELD"

    def __init__(self, *violations: FieldViolation) -> None:
        super().__init__("; ".join(f"{v.field}: {v.description}".removeprefix(": ") for v in violations))
        self.violations = violations

    @classmethod
    def of(cls, field: str, description: str) -> "InvalidArgument":
        """The common case of one wrong field."""
        return cls(FieldViolation(field, description))


class NotFound(MemlaneError):
    reason = "NOT_FOUND"

    def __init__(self, what: str, identifier: str) -> None:
        super().__init__(f"no such {what}", metadata={"what": what, "id": identifier})


class AlreadyExists(MemlaneError):
    reason = "ALREADY_EXISTS"


class RequestIdReused(AlreadyExists):
    reason = "REQUEST_ID_REUSED"


class Aborted(MemlaneError):
    reason = "ABORTED"


class RevisionMismatch(Aborted):
    reason = "REVISION_MISMATCH"


class ForgottenMeanwhile(Aborted):
    reason = "USER_FORGOTTEN"


class FailedPrecondition(MemlaneError):
    reason = "FAILED_PRECONDITION"


class NotConfigured(FailedPrecondition):
    reason = "NOT_CONFIGURED"

    def __init__(self, what: str, setting: str) -> None:
        super().__init__(f"{what} is not configured: set {setting}", metadata={"setting": setting})


class LegalHold(FailedPrecondition):
    reason = "LEGAL_HOLD"


class SessionEnded(FailedPrecondition):
    reason = "SESSION_ENDED"


class StoreMismatch(FailedPrecondition):
    reason = "STORE_MISMATCH"


class Exhausted(MemlaneError):
    reason = "EXHAUSTED"

    def __init__(
        self,
        message: str,
        *,
        retry_after_seconds: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, metadata=metadata)
        self.retry_after_seconds = retry_after_seconds


class BacklogFull(Exhausted):
    reason = "BACKLOG_FULL"


class QuotaReached(Exhausted):
    reason = "QUOTA_REACHED"

    def __init__(self, quota: str, limit: int) -> None:
        super().__init__(
            f"the quota of {limit} {quota} is reached: delete some, or ask for a higher one",
            metadata={"quota": quota, "limit": str(limit)},
        )


class ModelThrottled(Exhausted):
    reason = "MODEL_THROTTLED"


class Unavailable(MemlaneError):
    reason = "UNAVAILABLE"


class StoreUnavailable(Unavailable):
    reason = "STORE_UNAVAILABLE"


class JournalUnavailable(Unavailable):
    reason = "JOURNAL_UNAVAILABLE"


class ModelUnavailable(Unavailable):
    reason = "MODEL_UNAVAILABLE"


class NotReady(Unavailable):
    reason = "NOT_READY"


class DeadlineExceeded(MemlaneError):
    reason = "DEADLINE_EXCEEDED"


class ModelAnswerUnusable(MemlaneError):
    reason = "MODEL_ANSWER_UNUSABLE"


class Unauthenticated(MemlaneError):
    reason = "UNAUTHENTICATED"


class PermissionDenied(MemlaneError):
    reason = "PERMISSION_DENIED"


class DataCorrupt(MemlaneError):
    reason = "DATA_CORRUPT"
