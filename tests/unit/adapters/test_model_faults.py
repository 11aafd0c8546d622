"""A model server that hangs, throttles, breaks or refuses, over real HTTP (B39)."""

import asyncio
import email.utils
import logging
import time

import pytest

from memlane_core.adapters.openai import ChatClient, ChatSettings, TokenParameter
from memlane_core.adapters.openai.calls import CallTime, RetryPolicy, retry_after_seconds, server_of
from memlane_core.domain.errors import (
    DeadlineExceeded,
    MemlaneError,
    ModelThrottled,
    ModelUnavailable,
    NotConfigured,
)

from .model_cases import extract, fact, facts, scripted, texts, user
from .model_server import Answer, Asked, Drips, Fails, Hangs, Resets, Says

GOOD = Says(facts(fact("The user likes tea")))
THROTTLED = Fails(429, {"error": {"message": "slow down"}}, {"Retry-After": "1"})
ECHO = "I like tea and my secret is in this error"


async def _failing(client: ChatClient, timeout_seconds: float | None) -> MemlaneError:
    with pytest.raises(MemlaneError) as raised:
        await extract(client, user("I like tea"), timeout_seconds=timeout_seconds)
    return raised.value


@pytest.mark.parametrize("fault", [Hangs(), Drips()], ids=["a-hangs", "b-drips"])
async def test_b39_the_callers_time_bounds_the_call(fault: Answer) -> None:
    async with scripted() as (server, client):
        server.will(fault)
        started = time.monotonic()
        assert isinstance(await _failing(client, 0.3), DeadlineExceeded)
        assert 0.25 < time.monotonic() - started < 1.3
        # The request is given up at the server too, and the connection does not poison the next call.
        await asyncio.wait_for(server.asked[0].gone.wait(), 5)
        server.will(GOOD)
        assert texts(await extract(client, user("I like tea"))) == ["The user likes tea"]


@pytest.mark.parametrize("fault", [Hangs(), Drips()], ids=["a-hangs", "b-drips"])
async def test_b39_the_own_timeout_bounds_the_call(fault: Answer) -> None:
    async with scripted(timeout_seconds=0.3) as (server, client):
        server.will(fault)
        started = time.monotonic()
        assert isinstance(await _failing(client, 5.0), ModelUnavailable)
        assert time.monotonic() - started < 1.3


async def test_b39_retry_after_is_waited_for() -> None:
    async with scripted() as (server, client):
        server.will(THROTTLED, THROTTLED, GOOD)
        started = time.monotonic()
        assert texts(await extract(client, user("I like tea"), timeout_seconds=5)) == ["The user likes tea"]
        assert time.monotonic() - started >= 2.0
        assert len(server.asked) == 3


async def test_b39_throttled_for_ever_ends_after_bounded_tries() -> None:
    async with scripted() as (server, client):
        server.will(Fails(429, {"error": {"message": ECHO}}, {"Retry-After-Ms": "20"}))
        error = await _failing(client, 5)
        assert isinstance(error, ModelThrottled) and error.retry_after_seconds == 0.02
        assert len(server.asked) == 3


async def test_b39_a_wait_longer_than_the_call_is_not_begun() -> None:
    async with scripted() as (server, client):
        server.will(Fails(429, {}, {"Retry-After": "30"}))
        started = time.monotonic()
        error = await _failing(client, 5)
        assert isinstance(error, ModelThrottled) and error.retry_after_seconds == 30
        assert time.monotonic() - started < 1 and len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_b39_what_will_not_pass_is_not_retried(status: int) -> None:
    async with scripted() as (server, client):
        server.will(Fails(status, {"error": {"message": ECHO, "code": "nope"}}))
        error = await _failing(client, 5)
        assert isinstance(error, ModelUnavailable)
        assert error.metadata["status"] == str(status) and f"HTTP {status}, nope" in str(error)
        assert len(server.asked) == 1


async def test_b39_an_empty_account_is_not_retried() -> None:
    async with scripted() as (server, client):
        server.will(Fails(429, {"error": {"message": ECHO, "code": "insufficient_quota"}}))
        assert isinstance(await _failing(client, 5), ModelThrottled)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "fault",
    [Resets(), Fails(500, ECHO), Fails(503, {}), Fails(200, '{"choices": [')],
    ids=["f-reset", "500", "503", "cut"],
)
async def test_b39_what_may_pass_is_retried(fault: Answer) -> None:
    async with scripted() as (server, client):
        server.will(fault, GOOD)
        assert texts(await extract(client, user("I like tea"), timeout_seconds=5)) == ["The user likes tea"]
        server.will(fault)
        server.asked.clear()
        assert isinstance(await _failing(client, 5), ModelUnavailable)
        assert len(server.asked) == 3


async def test_b39_no_server_at_all_is_unavailable() -> None:
    async with scripted() as (server, client):
        base_url = server.base_url
    settings = ChatSettings(base_url=base_url, api_key="k", model="m")
    client = ChatClient(settings, retry=RetryPolicy(2, 0.01, 0.01))
    error = await _failing(client, 5)
    assert isinstance(error, ModelUnavailable) and "connection failed" in str(error)
    await client.close()


async def test_x_should_retry_is_obeyed() -> None:
    async with scripted() as (server, client):
        server.will(Fails(500, {}, {"x-should-retry": "false"}))
        await _failing(client, 5)
        assert len(server.asked) == 1


async def test_cancelling_the_call_ends_the_request() -> None:
    async with scripted() as (server, client):
        arrived = asyncio.Event()

        def respond(asked: Asked) -> Answer:
            arrived.set()
            return Hangs()

        server.respond = respond
        task = asyncio.create_task(extract(client, user("I like tea")))
        await asyncio.wait_for(arrived.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.asked[0].gone.wait(), 5)


async def test_nothing_is_sent_once_the_time_is_over() -> None:
    async with scripted() as (server, client):
        assert isinstance(await _failing(client, 0.0), DeadlineExceeded)
        assert server.asked == []


async def test_redirects_are_not_followed() -> None:
    async with scripted() as (other, _), scripted() as (server, client):
        server.will(Fails(307, "", {"Location": f"{other.base_url}/chat/completions"}))
        assert isinstance(await _failing(client, 5), ModelUnavailable)
        assert other.asked == []


async def test_neither_errors_nor_logs_carry_content_or_keys(caplog: pytest.LogCaptureFixture) -> None:
    async with scripted(api_key="sk-very-secret") as (server, client):
        with caplog.at_level(logging.DEBUG):
            for fault in (Fails(400, {"error": {"message": ECHO}}), Fails(500, ECHO), Says(ECHO), GOOD):
                server.will(fault)
                try:
                    await extract(client, user("I like tea and my secret"))
                except MemlaneError as error:
                    shown = f"{error!r} {error} {error.metadata} {error.__cause__} {error.__context__}"
                    assert "secret" not in shown
        assert caplog.text
        assert not any(word in caplog.text for word in ("secret", "tea", "sk-"))
        assert server.asked[0].headers["authorization"] == "Bearer sk-very-secret"


async def test_the_environment_of_the_sdk_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-env")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-env")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    async with scripted(api_key="", extra_headers={"X-Gateway": "g1"}) as (server, client):
        server.will(GOOD)
        await extract(client, user("I like tea"))
        headers = server.asked[0].headers
        assert headers["x-gateway"] == "g1"
        assert "env" not in str(headers)


async def test_the_sdk_is_kept_from_logging_below_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("openai", "httpx2", "httpcore2")
    for name in names:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    async with scripted():
        assert all(logging.getLogger(name).level == logging.WARNING for name in names)


def test_settings_hide_their_secrets_and_name_what_is_missing() -> None:
    settings = ChatSettings("http://localhost/v1", "sk-1", "m", extra_headers={"X-Key": "gw-2"})
    assert "sk-1" not in repr(settings) and "gw-2" not in repr(settings)
    assert settings.token_parameter.other is TokenParameter.MAX_COMPLETION_TOKENS
    with pytest.raises(NotConfigured, match="base_url"):
        ChatSettings("", "k", "m")
    with pytest.raises(NotConfigured, match="model"):
        ChatSettings("http://localhost/v1", "k", "")


def test_retry_after_in_all_its_forms() -> None:
    now = 1_700_000_000.0
    at = email.utils.formatdate(now + 7, usegmt=True)
    assert retry_after_seconds({"retry-after": "2"}) == 2.0
    assert retry_after_seconds({"retry-after-ms": "150", "retry-after": "9"}) == 0.15
    assert retry_after_seconds({"retry-after": at}, now=now) == 7.0
    assert retry_after_seconds({"retry-after": at}, now=now + 60) == 0.0
    assert retry_after_seconds({"retry-after": "-3"}) == 0.0
    for nothing in ({}, {"retry-after": "soon"}, {"retry-after": "inf"}, {"retry-after": "nan"}):
        assert retry_after_seconds(nothing) is None


def test_delays_grow_to_their_limit() -> None:
    policy = RetryPolicy(first_delay_seconds=1.0, max_delay_seconds=4.0)
    for attempt, nominal in ((1, 1.0), (2, 2.0), (3, 4.0), (9, 4.0)):
        assert 0.75 * nominal <= policy.delay_seconds(attempt) <= nominal


def test_whose_time_ran_out_decides_the_error() -> None:
    assert isinstance(CallTime(5.0, 1.0).expired("s"), DeadlineExceeded)
    assert isinstance(CallTime(1.0, 5.0).expired("s"), ModelUnavailable)
    assert isinstance(CallTime(1.0).expired("s"), ModelUnavailable)
    assert server_of("https://user:pw@host.example:8443/v1?key=1") == "host.example:8443"
