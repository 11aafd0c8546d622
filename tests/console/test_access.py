"""Who gets in and what for: tokens, sessions, forged forms, foreign names, other sites."""

import time
import uuid
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

import memlane
from memlane_server.principal import SCOPES
from tests.support.console_visitor import Page, Visitor
from tests.support.forked_server import running_forked_server
from tests.support.memlane_server import ServerProcess

SECRET = "a-console-secret-of-more-than-32-bytes"
_ALL = " ".join(sorted(SCOPES))
_COOKIE = "memlane_console"
_PATIENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {
        "MEMLANE_CONSOLE__ENABLED": "true",
        "MEMLANE_CONSOLE__PORT": "0",
        "MEMLANE_AUTH__HS256_SECRET": SECRET,
        "MEMLANE_AUTH__LEEWAY_SECONDS": "0",
        "MEMLANE_LOG__LEVEL": "debug",
    }
    with running_forked_server(tmp_path_factory.mktemp("memlane") / "data", settings) as process:
        yield process
        # A browser that keeps its connection open does not hold up the end.
        with Visitor(process.console) as visitor:
            visitor.get("/sign-in")
            assert process.terminate() == 0


@pytest.fixture
def visitor(server: ServerProcess) -> Iterator[Visitor]:
    with Visitor(server.console) as visitor:
        yield visitor


def token(scope: str = _ALL, *, tenant: str = "bank", seconds: float = 600, **more: Any) -> str:
    claims = {"sub": "zhang.wei", "tenant": tenant, "scope": scope, "exp": int(time.time() + seconds)}
    return jwt.encode({**claims, **more}, SECRET, algorithm="HS256")


def sign_in(visitor: Visitor, bearer: str, *, at: str = "/sign-in") -> Page:
    return visitor.send(visitor.get(at).form("/sign-in"), token=bearer)


@pytest.fixture
def user(server: ServerProcess) -> str:
    """With one memory, of the tenant `bank`."""
    name = f"客户-{uuid.uuid4().hex[:8]}"
    with memlane.Client(server.address, token=token()) as client:
        client.create_memory(name, "有两个孩子 / two children")
    return name


@pytest.mark.parametrize(
    "path", ["/", "/memories?user_id=u", "/audit", "/status", "/query?user_id=u", "/forget?user_id=u"]
)
def test_nothing_is_shown_without_a_token(visitor: Visitor, path: str) -> None:
    refused = visitor.get(path, follow=False)
    assert refused.status == 303
    assert refused.response.headers["location"].startswith("/sign-in?next=%2F")
    part = visitor.part(path)
    assert part.response.headers["hx-redirect"].startswith("/sign-in") and not part.text


def test_a_token_opens_what_was_asked_for(visitor: Visitor, user: str) -> None:
    wanted = visitor.get("/memories", user_id=user)
    assert wanted.response.url.path == "/sign-in"
    page = visitor.send(wanted.form("/sign-in"), token=token())
    assert "有两个孩子 / two children" in page.text and "zhang.wei" in page.text


def test_the_cookie_holds_no_token_and_no_script_reads_it(visitor: Visitor) -> None:
    bearer = token()
    form = visitor.get("/sign-in").form("/sign-in")
    answer = visitor.post(form.action, {**form.fields, "token": bearer}, follow=False)
    cookie = answer.response.headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and "max-age" not in cookie.lower()
    assert bearer not in cookie and bearer not in visitor.get("/").response.text


@pytest.mark.parametrize(
    "bearer", ["", "nonsense", "令牌", "a.b.c", token(seconds=-5), token()[:-3] + "abc", "x" * 20_000]
)
def test_a_bad_token_opens_nothing(visitor: Visitor, bearer: str) -> None:
    page = sign_in(visitor, bearer)
    assert page.status == 401 and 'role="alert"' in page.response.text
    assert _COOKIE not in visitor.cookies
    assert visitor.get("/status").response.url.path == "/sign-in"


def test_a_session_ends_with_its_token(visitor: Visitor, user: str) -> None:
    assert sign_in(visitor, token(seconds=2)).status == 200
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (page := visitor.get("/memories", user_id=user)).response.url.path != "/sign-in":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "two children" not in page.text and _COOKIE not in visitor.cookies


def test_signing_out_ends_the_session_on_the_server(visitor: Visitor) -> None:
    page = sign_in(visitor, token())
    session_id = visitor.cookies[_COOKIE]
    visitor.send(page.form("/sign-out"))
    visitor.cookies.set(_COOKIE, session_id)
    assert visitor.get("/status").response.url.path == "/sign-in"


def test_signing_in_again_makes_a_new_session(visitor: Visitor) -> None:
    visitor.cookies.set(_COOKIE, "planted-by-someone-else")
    sign_in(visitor, token())
    assert visitor.get("/status").response.url.path == "/status"
    jar = [c.value for c in visitor.cookies.jar if c.name == _COOKIE]
    assert any(value != "planted-by-someone-else" for value in jar)


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "evil"])
def test_signing_in_leads_nowhere_else(visitor: Visitor, elsewhere: str) -> None:
    form = visitor.get("/sign-in", next=elsewhere).form("/sign-in")
    answer = visitor.post(form.action, {**form.fields, "token": token()}, follow=False)
    assert answer.response.headers["location"] == "/"


def test_a_scope_that_is_missing_is_named(visitor: Visitor, user: str) -> None:
    sign_in(visitor, token("memory:read"))
    assert "two children" in visitor.get("/memories", user_id=user).text
    audit = visitor.get("/audit")
    assert audit.status == 403 and "scope compliance" in audit.text
    form = visitor.get("/forget", user_id=user).form("/forget/order")
    order = {"typed_user_id": user, "operator": "op", "reason": "r"}
    assert visitor.send(form, **order).status == 403
    assert "two children" in visitor.get("/memories", user_id=user).text
    assert "evicted" not in visitor.get("/status").text


def test_tenants_and_bound_users_are_kept_apart(server: ServerProcess, user: str) -> None:
    with Visitor(server.console) as other:
        sign_in(other, token(tenant="otherbank"))
        assert "two children" not in other.get("/memories", user_id=user).text
    with Visitor(server.console) as bound:
        page = sign_in(bound, token(user_id="somebody-else"))
        assert page.form("/memories").fields == {"user_id": "somebody-else"}
        refused = bound.get("/memories", user_id=user)
        assert refused.status == 403 and "two children" not in refused.text


def test_an_order_is_audited_as_over_grpc(visitor: Visitor, server: ServerProcess, user: str) -> None:
    sign_in(visitor, token())
    form = visitor.get("/forget", user_id=user).form("/forget/order")
    visitor.send(form, typed_user_id=user, operator="li.na", reason="asked for")
    with memlane.Client(server.address, token=token()) as client:
        events = client.list_audit_events(user_id=user).items
    assert ("ForgetUser", "zhang.wei: li.na", "asked for") in [
        (e.operation, e.actor, e.detail) for e in events
    ]


@pytest.mark.parametrize("forged", ["", "0" * 64, "中文"])
def test_a_form_that_is_not_ours_does_nothing(visitor: Visitor, user: str, forged: str) -> None:
    sign_in(visitor, token())
    form = visitor.get("/forget", user_id=user).form("/forget/order")
    order = {**form.fields, "typed_user_id": user, "operator": "op", "reason": "r", "form_token": forged}
    assert visitor.post(form.action, order).status == 403
    assert "two children" in visitor.get("/memories", user_id=user).text


def test_a_form_of_another_session_does_nothing(visitor: Visitor, server: ServerProcess, user: str) -> None:
    with Visitor(server.console) as other:
        sign_in(other, token())
        theirs = other.get("/forget", user_id=user).form("/forget/order")
    sign_in(visitor, token())
    order = {"typed_user_id": user, "operator": "op", "reason": "r"}
    assert visitor.send(theirs, **order).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_changes_nothing(visitor: Visitor, user: str, headers: dict[str, str]) -> None:
    sign_in(visitor, token())
    form = visitor.get("/forget", user_id=user).form("/forget/order")
    order = {**form.fields, "typed_user_id": user, "operator": "op", "reason": "r"}
    assert visitor.post(form.action, order, headers=headers).status == 403
    own = {"Origin": visitor.address.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert visitor.post(form.action, order, headers=own).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7071", "127.0.0.1.evil.example", "10.0.0.1", ""]
)
def test_a_foreign_name_gets_nothing(visitor: Visitor, host: str) -> None:
    answer = visitor.raw("GET", "/sign-in", headers={"Host": host})
    assert answer.status_code in (400, 403) and "form" not in answer.text


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8080"])
def test_a_tunnel_may_use_another_port(visitor: Visitor, host: str) -> None:
    assert visitor.raw("GET", "/sign-in", headers={"Host": host}).status_code == 200


def test_another_site_may_link_and_not_load(visitor: Visitor) -> None:
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert visitor.raw("GET", "/sign-in", headers=cross).status_code == 403
    link = {**cross, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert visitor.raw("GET", "/sign-in", headers=link).status_code == 200
    frame = {**link, "Sec-Fetch-Dest": "iframe"}
    assert visitor.raw("GET", "/sign-in", headers=frame).status_code == 403


@pytest.mark.parametrize("path", ["/sign-in", "/nowhere", "/static/console.css", "/memories?user_id=%ff"])
def test_every_answer_carries_the_policy(visitor: Visitor, path: str) -> None:
    headers = visitor.raw("GET", path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin" and "server" not in headers
    assert ("no-store" in headers["cache-control"]) == (not path.startswith("/static"))


def test_a_page_needs_nothing_from_elsewhere(visitor: Visitor) -> None:
    page = sign_in(visitor, token())
    for tag, name, value in page.attributes:
        if name in ("src", "href", "action") or name.startswith("hx-"):
            assert "//" not in value, (tag, name, value)
        assert name != "style" and not (tag == "script" and name not in ("src", "defer"))
    for _, name, value in page.attributes:
        if name in ("src", "href") and value.startswith("/static"):
            assert visitor.raw("GET", value).status_code == 200


def test_a_form_has_a_bound(visitor: Visitor) -> None:
    sign_in(visitor, token())
    form = visitor.get("/query", user_id="u").form("/query/try")
    assert visitor.send(form, query="x" * 100_000).status == 413
    assert visitor.send(form, query="x" * 9_000, top_k="5").status == 200


def test_logs_hold_no_one_and_nothing(visitor: Visitor, server: ServerProcess, user: str) -> None:
    bearer = token()
    sign_in(visitor, bearer)
    visitor.get("/memories", user_id=user)
    text = server.log.read_text(encoding="utf-8", errors="replace")
    for secret in (user, "two children", bearer, visitor.cookies[_COOKIE]):
        assert secret not in text
