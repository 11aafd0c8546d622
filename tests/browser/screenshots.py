"""Takes the pictures of the console for the documentation: python -m tests.browser.screenshots docs/images"""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page

from memlane_server.demo.script import CUSTOMERS, Customer
from tests.support.bank_customers import SESSION
from tests.support.chromium import NARROW, WIDE, running_chromium, visitor

from .seeded import seeded_console

_CHILDREN = {"zh": "孩子", "en": "children"}
_ORDER = {
    "zh": ("李娜（合规部）", "客户书面申请删除个人信息"),
    "en": ("Li Na (compliance)", "Written request of the customer"),
}


def take(folder: Path) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="memlane-console-") as temporary,
        seeded_console(Path(temporary)) as address,
        running_chromium() as browser,
    ):
        for customer in CUSTOMERS:
            # The wide ones end with the customer forgotten.
            for size, dark in ((NARROW, True), (WIDE, False)):
                page = visitor(browser, customer.language, size, dark=dark).new_page()
                pictures = _wide if size == WIDE else _narrow
                for name in pictures(page, address, customer):
                    path = folder / f"console-{name}-{customer.language}.png"
                    page.screenshot(path=path)
                    print(path, path.stat().st_size // 1024, "KiB")


def _narrow(page: Page, address: str, customer: Customer) -> Iterator[str]:
    with _history(page, address, customer):
        yield "narrow-dark"


def _wide(page: Page, address: str, customer: Customer) -> Iterator[str]:
    user = quote(customer.user_id)
    with _history(page, address, customer):
        yield "memories"
    page.goto(f"{address}query?user_id={user}")
    page.fill("#query", customer.question)
    page.fill("#session_id", SESSION)
    page.click(".try button")
    page.wait_for_selector(".prompt")
    yield "query"
    lately = datetime.now() - timedelta(days=45)
    page.goto(f"{address}audit?user_id={user}&from={lately:%Y-%m-%dT%H:%M}")
    page.click(".verify button")
    page.wait_for_selector("#verified dl")
    yield "audit"
    page.goto(f"{address}forget?user_id={user}")
    page.fill("#typed_user_id", customer.user_id)
    operator, reason = _ORDER[customer.language]
    page.fill("#operator", operator)
    page.fill("#reason", reason)
    page.click("button.danger")
    page.wait_for_selector("#receipt dl")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    yield "receipt"
    page.goto(f"{address}status")
    yield "status"


@contextmanager
def _history(page: Page, address: str, customer: Customer) -> Iterator[None]:
    """The customer's memories with the history of the one that changed."""
    page.goto(f"{address}memories?order=UPDATE_TIME_DESC&user_id={quote(customer.user_id)}")
    changed = page.locator(".memories > li", has_text=_CHILDREN[customer.language])
    changed.locator("summary").click()
    page.wait_for_selector(".timeline")
    yield


if __name__ == "__main__":
    take(Path(sys.argv[1]))
