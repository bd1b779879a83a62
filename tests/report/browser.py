"""A real Chromium for the tests of reports."""

import shutil
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium_path():
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    if found is None:
        pytest.fail("no Chromium is installed; as root: apt-get install chromium (or .ci/chromium)")
    return found


@contextmanager
def chromium():
    """Start Chromium without a window, with an empty profile; it ends with the block."""
    path = chromium_path()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class OpenPage:
    """A page, with all that it asked for and complained about."""

    def __init__(self, browser, file, **context):
        self.requests, self.complaints = [], []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(file.as_uri())
        self.own = file.as_uri()

    def check(self):
        """Nothing but the file itself was asked for, and nothing went wrong."""
        assert [url for url in self.requests if url != self.own and url != "data:,"] == []
        assert self.complaints == []

    def hover(self, panel, row, column, size):
        """Point at a cell of a heat map and return the lines of the tooltip."""
        canvas = self.page.locator(f"#map-{panel}")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        self.page.mouse.move(
            box["x"] + (column + 0.5) / size * box["width"],
            box["y"] + (row + 0.5) / size * box["height"],
        )
        return self.page.locator("#tip").inner_text().split("\n")
