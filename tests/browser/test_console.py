"""A real Chromium drives every view of a real server, in both languages, wide and narrow, by mouse and by keyboard."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import jwt
import pytest
from playwright.sync_api import Browser, Page, expect

from memlane_server.console.languages import TEXTS
from memlane_server.demo.script import EMMA, LIN, Customer
from memlane_server.principal import SCOPES
from tests.support.bank_customers import SESSION
from tests.support.chromium import NARROW, WIDE, running_chromium, visitor
from tests.support.memlane_server import running_server

from .seeded import seeded_console

pytestmark = pytest.mark.browser

_SECRET = "a-console-secret-of-more-than-32-bytes"
_CUSTOMERS = {"zh": LIN, "en": EMMA}
_VIEWS = (
    "",
    "memories?user_id={user}",
    "memories?user_id={user}&show=gone",
    "query?user_id={user}",
    "ingestions?user_id={user}",
    "audit?user_id={user}",
    "forget?user_id={user}",
    "status",
    "nowhere",
)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with seeded_console(tmp_path_factory.mktemp("console")) as address:
        yield address


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with running_chromium() as browser:
        yield browser


@pytest.fixture(params=["zh", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def customer(language: str) -> Customer:
    return _CUSTOMERS[language]


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def page(request: pytest.FixtureRequest, chromium: Browser, language: str, address: str) -> Iterator[Page]:
    """It fails the test when the page logs an error, breaks its own policy or asks another host for anything."""
    context = visitor(chromium, language, request.param)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda m: wrong.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith((address, "data:")) else wrong.append(r.url))
    yield page
    context.close()
    # Chromium logs each answer that is an error; the tests that provoke one look at it themselves.
    assert [w for w in wrong if not w.startswith("Failed to load resource")] == []


def test_every_view_fits_and_has_its_landmarks(
    page: Page, address: str, language: str, customer: Customer
) -> None:
    width = page.viewport_size["width"] if page.viewport_size else 0
    for view in _VIEWS:
        page.goto(address + view.format(user=quote(customer.user_id)))
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate("document.documentElement.lang") == TEXTS[language].tag
        for landmark in ("banner", "main", "contentinfo"):
            expect(page.get_by_role(landmark)).to_have_count(1)
        expect(page.locator("h1")).to_have_count(1)
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(field => field.labels.length === 0).map(field => field.name)"
        )
        assert unnamed == [], view


def test_a_history_opens_in_place(page: Page, address: str, language: str, customer: Customer) -> None:
    t = TEXTS[language]
    page.goto(address)
    page.get_by_label(t("field.user_id")).fill(customer.user_id)
    page.get_by_role("button", name=t("find.button")).click()
    row = page.locator(".memories > li", has_text="孩子" if language == "zh" else "children")
    row.locator("summary", has_text=t("memory.history")).click()
    expect(row.locator(".timeline > li")).to_have_count(2)
    expect(row.locator("ins").first).to_be_visible()
    expect(row.locator("del").first).to_be_visible()


def test_a_filter_is_applied_without_a_new_page(
    page: Page, address: str, language: str, customer: Customer
) -> None:
    t = TEXTS[language]
    page.goto(f"{address}memories?user_id={quote(customer.user_id)}")
    page.evaluate("window.stays = true")
    page.get_by_label(t("field.show"), exact=True).select_option("gone")
    expect(page.locator(".memories .gone")).to_have_count(1)
    assert "show=gone" in page.url and page.evaluate("window.stays")
    gone = page.locator(".memories .gone del").inner_text()
    page.go_back()
    expect(page.locator(".memories .gone")).to_have_count(0)
    # What customers said is not left behind in the browser's own storage; htmx would keep whole pages there.
    kept = page.evaluate("JSON.stringify({...localStorage, ...sessionStorage})")
    assert gone and gone not in kept and "<" not in kept


def test_a_query_is_tried(page: Page, address: str, language: str, customer: Customer) -> None:
    t = TEXTS[language]
    page.goto(f"{address}query?user_id={quote(customer.user_id)}")
    page.get_by_label(t("field.query")).fill(customer.question)
    page.get_by_label(t("field.session_id")).fill(SESSION)
    page.get_by_role("button", name=t("query.button"), exact=True).click()
    expect(page.locator(".results tbody tr")).to_have_count(5)
    expect(page.locator(".sections tbody tr")).to_have_count(4)
    expect(page.locator(".prompt pre").last).to_have_text(customer.question)
    page.get_by_label(t("field.budget_tokens")).fill("1")
    page.get_by_role("button", name=t("query.button"), exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text(t("error.INVALID_FIELD"))


def test_the_chain_is_verified(page: Page, address: str, language: str) -> None:
    t = TEXTS[language]
    page.goto(f"{address}audit")
    page.get_by_role("button", name=t("verify.button"), exact=True).click()
    expect(page.locator("#verified")).to_contain_text(t("verify.valid"))
    page.get_by_label(t("field.anchor_seq")).fill("1")
    page.get_by_label(t("field.anchor_hash")).fill("0" * 64)
    page.get_by_role("button", name=t("verify.button"), exact=True).click()
    expect(page.locator("#verified")).to_contain_text(t("verify.broken", seq=1))


def test_ingestions_and_status_are_shown(page: Page, address: str, language: str, customer: Customer) -> None:
    t = TEXTS[language]
    page.goto(f"{address}ingestions?user_id={quote(customer.user_id)}")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    expect(page.locator("#list .badge")).to_have_text(t("state.SUCCEEDED"), timeout=15_000)
    page.locator("#list a").first.click()
    expect(page.get_by_text(t("ingestion.operations"))).to_be_visible()
    page.goto(f"{address}status")
    expect(page.get_by_text(t("status.serving"), exact=True)).to_be_visible()


def test_the_keyboard_is_enough(page: Page, address: str, language: str, customer: Customer) -> None:
    t = TEXTS[language]
    page.goto(f"{address}status")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.goto(address)
    expect(page.get_by_label(t("field.user_id"))).to_be_focused()
    page.keyboard.type(customer.user_id)
    page.keyboard.press("Enter")
    summary = page.locator(".memories summary").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".memories .timeline").first).to_be_visible()
    page.get_by_role("link", name=t("tab.query")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label(t("field.query"))).to_be_focused()


def test_a_user_is_forgotten_with_a_receipt(page: Page, address: str, language: str, tmp_path: Path) -> None:
    t = TEXTS[language]
    user = f"没有记忆的客户-{language}"
    page.goto(f"{address}forget?user_id={quote(user)}")
    page.get_by_label(t("field.typed_user_id")).fill("someone else")
    page.get_by_label(t("field.operator")).fill("li.na")
    page.get_by_label(t("field.reason")).fill("asked for")
    page.get_by_role("button", name=t("forget.button")).click()
    expect(page.get_by_role("alert")).to_contain_text(t("problem.other_user"))
    page.get_by_label(t("field.typed_user_id")).fill(user)
    page.get_by_role("button", name=t("forget.button")).click()
    expect(page.locator("#receipt")).to_contain_text(t("receipt.done", n=0))
    with page.expect_download() as download:
        page.get_by_text(t("receipt.download")).click()
    download.value.save_as(tmp_path / "receipt.json")
    assert json.loads((tmp_path / "receipt.json").read_text())["user_id"] == user


def test_signing_in_and_out(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {
        "MEMLANE_CONSOLE__ENABLED": "true",
        "MEMLANE_CONSOLE__PORT": "0",
        "MEMLANE_AUTH__HS256_SECRET": _SECRET,
    }
    claims = {"sub": "li.na", "tenant": "bank", "scope": " ".join(SCOPES), "exp": int(time.time()) + 600}
    token = jwt.encode(claims, _SECRET, algorithm="HS256")
    with running_server(tmp_path_factory.mktemp("signed") / "data", settings) as server:
        for language in ("zh", "en"):
            t = TEXTS[language]
            page = visitor(chromium, language).new_page()
            page.goto(f"{server.console}status")
            page.get_by_label(t("field.token")).fill("wrong")
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_contain_text(t("error.TOKEN_INVALID"))
            page.get_by_label(t("field.token")).fill(token)
            page.keyboard.press("Enter")
            expect(page.get_by_text(t("status.serving"), exact=True)).to_be_visible()
            assert page.evaluate("document.cookie") == ""
            page.get_by_role("button", name=t("page.sign_out")).click()
            expect(page.get_by_role("heading", name=t("sign_in.title"))).to_be_visible()
