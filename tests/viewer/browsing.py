"""A real browser for tests: Playwright with the chromium of the system. Where either is missing, tests are skipped and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCREENSHOTS = os.environ.get("XATTEND_SCREENSHOTS") == "1"
IMAGES = Path(__file__).parents[2] / "docs" / "images"
HOW = "run `make test-browser`, which installs what is missing"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip(f"no playwright: {HOW}")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip(f"no chromium: {HOW}")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found)
        yield running
        running.close()


class Watched:
    """A page, all that it asked for beyond itself, and all that it complained of."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append("a dialog opened"), dialog.dismiss()))

    def show(self, file: Path) -> Page:
        self.page.goto(file.as_uri())
        self.page.wait_for_selector(".xattend[data-ready]")
        return self.page

    def foreign(self) -> list[str]:
        """What it asked for, but for its own file and what it made itself."""
        return [url for url in self.requests[1:] if not url.startswith(("data:", "blob:"))]


@pytest.fixture
def watched(browser: Browser) -> Iterator[Watched]:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.set_default_timeout(120_000)  # machines of tests are slow and busy
    yield Watched(page)
    page.close()
