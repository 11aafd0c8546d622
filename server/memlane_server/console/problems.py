"""What went wrong, in the visitor's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import grpc

from .dispatch import CallRefused
from .languages import Texts

_HTTP: Mapping[grpc.StatusCode, int] = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class FormError(Exception):
    """A form that cannot be made into a call."""

    status = 400


class FieldWrong(FormError):
    def __init__(self, name: str, text_key: str) -> None:
        super().__init__(name)
        self.name = name
        self.text_key = text_key


class TooLarge(FormError):
    status = 413

    def __init__(self, at_most_bytes: int) -> None:
        super().__init__(str(at_most_bytes))
        self.at_most_bytes = at_most_bytes


@dataclass(frozen=True, slots=True)
class Problem:
    status: int
    """Of HTTP."""
    title: str
    text: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What is wrong with each field."""
    technical: str = ""
    """Code, reason and message as the API gave them, for whoever is asked for help."""


def problem_of(error: CallRefused, texts: Texts) -> Problem:
    """Words by reason, where there are none by code."""
    code = error.code.name
    key = next((k for k in (f"error.{error.reason}", f"error.{code}") if k in texts.table), "error.INTERNAL")
    return Problem(
        _HTTP.get(error.code, 500),
        texts(key, scope=error.metadata.get("scope", "")),
        fields={texts.label("field", name): text for name, text in error.fields.items()},
        technical=f"{code} {error.reason}: {error.message}",
    )


def problem_of_form(error: FormError, texts: Texts) -> Problem:
    title = texts("error.INVALID_FIELD")
    if isinstance(error, FieldWrong):
        return Problem(error.status, title, fields={texts.label("field", error.name): texts(error.text_key)})
    if isinstance(error, TooLarge):
        return Problem(error.status, title, texts("problem.too_large", kib=error.at_most_bytes // 1024))
    return Problem(error.status, title)
