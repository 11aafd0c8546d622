"""Calls of an OpenAI-compatible server: one client, bounded retries within the caller's time, errors of
the domain.

What a server sends back in an error may quote the request, so its text goes neither into our errors nor
into our logs: only the status, the error's code and the server's address do.
"""

import asyncio
import email.utils
import json
import logging
import math
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

import openai

from ...domain.errors import DeadlineExceeded, MemlaneError, ModelThrottled, ModelUnavailable

logger = logging.getLogger(__name__)

T = TypeVar("T")

CallFailure = openai.OpenAIError | json.JSONDecodeError | UnicodeDecodeError
"""What the SDK raises: its own errors, and bare decoding errors where a server answers 200 with something
else."""

_CONNECT_SECONDS = 5.0
_RETRYABLE_STATUSES = frozenset((408, 409, 429, 500, 502, 503, 504, 529))
_OUT_OF_QUOTA = frozenset(("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"))
_CODE = re.compile(r"[A-Za-z0-9_.\-]{1,64}\Z")
_SDK_LOGGERS = ("openai", "httpx2", "httpcore2", "httpx", "httpcore")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try, and how long to wait where the server does not say (exponential, with jitter)."""

    max_attempts: int = 4
    """The first one included."""
    first_delay_seconds: float = 0.5
    max_delay_seconds: float = 8.0

    def delay_seconds(self, attempt: int) -> float:
        """Wait after failed attempt number `attempt` (1 = first): up to a quarter shorter than the nominal
        delay."""
        nominal: float = min(self.first_delay_seconds * 2.0 ** (attempt - 1), self.max_delay_seconds)
        return nominal * (1.0 - 0.25 * random.random())


@dataclass(frozen=True, slots=True)
class CallTime:
    """The time that one call of ours has, all its requests, waits and second attempts together.

    It ends with the adapter's own timeout or with the caller's time, whichever comes first; `expired`
    tells which.
    """

    own_seconds: float
    """The adapter's own timeout."""
    caller_seconds: float | None = None
    """What the caller has left; None = as long as it takes."""
    started: float = field(default_factory=time.monotonic)

    @property
    def total_seconds(self) -> float:
        return self.own_seconds if self.caller_seconds is None else min(self.own_seconds, self.caller_seconds)

    def remaining_seconds(self) -> float:
        return self.started + self.total_seconds - time.monotonic()

    def expired(self, server: str) -> MemlaneError:
        """The error to raise when the time is over."""
        if self.caller_seconds is not None and self.caller_seconds <= self.own_seconds:
            return DeadlineExceeded(
                f"the time of the call ran out while waiting for the model server {server}"
            )
        return ModelUnavailable(
            f"the model server {server} did not answer within {self.own_seconds:g} s",
            metadata={"server": server},
        )


async def with_retries(
    send: Callable[[float], Awaitable[T]], *, server: str, call_time: CallTime, policy: RetryPolicy
) -> T:
    """What `send` returns; it is told the seconds that remain and raises the SDK's errors.

    Retries connection errors and the statuses that may pass (429, 5xx …), waits as long as Retry-After
    says, and gives up at once where the wait would outlast the call. Cancellation and the end of the time
    cancel the request in flight.

    Raises ModelUnavailable, ModelThrottled or DeadlineExceeded.
    """
    attempt = 1
    while True:
        remaining = call_time.remaining_seconds()
        if remaining <= 0:
            raise call_time.expired(server)
        failure: CallFailure | None = None
        try:
            async with asyncio.timeout(remaining):
                return await send(remaining)
        except TimeoutError:
            pass
        except (openai.OpenAIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            failure = error
        # Raised outside of the handlers: the SDK's error, which quotes the server, must not hang on ours
        # as context.
        if failure is None:
            raise call_time.expired(server)
        if attempt >= policy.max_attempts or not retryable(failure):
            raise domain_error(failure, server=server, call_time=call_time)
        asked = _retry_after_of(failure)
        delay = policy.delay_seconds(attempt) if asked is None else asked
        if delay >= call_time.remaining_seconds():
            raise domain_error(failure, server=server, call_time=call_time)
        logger.warning(
            "model server %s failed (%s), attempt %d of %d, next in %.2f s",
            server,
            _describe(failure),
            attempt,
            policy.max_attempts,
            delay,
        )
        await asyncio.sleep(delay)
        attempt += 1


def retryable(error: CallFailure) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, openai.APIStatusError):
        advice = error.response.headers.get("x-should-retry")
        if advice in ("true", "false"):
            return advice == "true"
        return error.status_code in _RETRYABLE_STATUSES and error.code not in _OUT_OF_QUOTA
    return isinstance(error, (openai.APIConnectionError, ValueError))


def domain_error(error: CallFailure, *, server: str, call_time: CallTime) -> MemlaneError:
    """The domain's error for one of the SDK; it carries nothing of the server's text."""
    if isinstance(error, openai.APITimeoutError) and call_time.remaining_seconds() <= 0:
        return call_time.expired(server)
    metadata = {"server": server}
    description = _describe(error)
    if isinstance(error, openai.APIStatusError):
        metadata["status"] = str(error.status_code)
        if error.status_code == 429:
            return ModelThrottled(
                f"the model server {server} refuses more requests for now ({description})",
                retry_after_seconds=_retry_after_of(error),
                metadata=metadata,
            )
    return ModelUnavailable(f"the model server {server} failed ({description})", metadata=metadata)


def retry_after_seconds(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Wait that a response asks for (RFC 9110 §10.2.3, and the millisecond form in use); None when it does
    not say."""
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / divisor
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        at = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, at.timestamp() - (time.time() if now is None else now))


def open_client(
    *, base_url: str, api_key: str, timeout_seconds: float, extra_headers: Mapping[str, str] | None = None
) -> openai.AsyncOpenAI:
    """A client of one server, for one event loop; close it with `await client.close()`.

    It takes nothing from OPENAI_* variables, retries nothing by itself (`with_retries` does, inside the
    caller's time) and follows no redirect: what users say goes to the configured server only.
    """
    tame_sdk_logging()
    headers: dict[str, str] = dict(extra_headers or {})
    client = openai.AsyncOpenAI(
        base_url=base_url,
        # The SDK insists on a key; servers without authentication ignore it.
        api_key=api_key or "none",
        max_retries=0,
        default_headers=headers,
        http_client=openai.DefaultAsyncHttpxClient(
            timeout=openai.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds)),
            follow_redirects=False,
        ),
    )
    client.organization = None
    client.project = None
    return client


def request_timeout(remaining_seconds: float) -> openai.Timeout:
    """The SDK's timeout for one request: beyond the call's own end, which `with_retries` keeps.

    The SDK's bounds single reads, so a server that drips would never meet it; connecting is bounded on its
    own.
    """
    beyond = max(0.0, remaining_seconds) + 1.0
    return openai.Timeout(beyond, connect=min(_CONNECT_SECONDS, beyond))


def server_of(base_url: str) -> str:
    """Host and port of an address, for errors and logs: neither path nor user info."""
    parts = urlsplit(base_url)
    host = parts.hostname or "?"
    return host if parts.port is None else f"{host}:{parts.port}"


def tame_sdk_logging() -> None:
    """Keep the SDK and its transport from logging below WARNING, also under OPENAI_LOG=debug."""
    for name in _SDK_LOGGERS:
        sdk_logger = logging.getLogger(name)
        sdk_logger.setLevel(max(sdk_logger.level, logging.WARNING))


def _retry_after_of(error: CallFailure) -> float | None:
    return retry_after_seconds(error.response.headers) if isinstance(error, openai.APIStatusError) else None


def _describe(error: CallFailure) -> str:
    """Status and code, or the kind of failure; never the server's text."""
    if isinstance(error, openai.APIStatusError):
        code = error.code if error.code and _CODE.match(error.code) else None
        return f"HTTP {error.status_code}" + (f", {code}" if code else "")
    if isinstance(error, ValueError):
        return "the answer is not JSON"
    return "connection failed" if isinstance(error, openai.APIConnectionError) else "error in the answer"
