"""Chromium as the machine has it, driven by Playwright."""

import contextlib
import os
import shutil
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, sync_playwright

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LOCALES = {"zh": "zh-CN", "en": "en-GB"}
WIDE, NARROW = (1280, 900), (400, 800)


def executable() -> str:
    """Raises RuntimeError naming what to install."""
    path = os.environ.get("MEMLANE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise RuntimeError("no Chromium here: install the package chromium, or set MEMLANE_CHROMIUM to one")
    return path


@contextlib.contextmanager
def running_chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def visitor(
    browser: Browser, language: str, size: tuple[int, int] = WIDE, *, dark: bool = False
) -> BrowserContext:
    """A browser window of its own, without cookies, in a language; `size` is its width and height in pixels."""
    width, height = size
    return browser.new_context(
        locale=LOCALES[language],
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        accept_downloads=True,
    )
