"""The live page in a real browser: a run in progress, one that was killed, a hostile one."""

import threading

import pytest
from playwright.sync_api import expect

from aqka.report.run_page import run_page
from tests.report.browser import chromium
from tests.report.runs import HOSTILE_DIRECTORY, HOSTILE_LABELS
from tests.serve.conftest import RunInProgress, serving, wait_until
from tests.study.helpers import PATIENCE

WAIT = PATIENCE * 1000  # milliseconds


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(folder):
    with serving(folder) as found:
        yield found


class LivePage:
    """A page, with all that it asked for and complained about."""

    def __init__(self, browser, address, **context):
        self.requests, self.complaints = [], []
        self.address, self.context = address, browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(address)

    def check(self):
        """Only the server with its secret was asked, and nothing went wrong."""
        server = "/".join(self.address.split("/")[:4]) + "/"
        known = (server, "data:", "about:")
        assert [url for url in self.requests if not url.startswith(known)] == []
        assert self.complaints == []

    def names(self):
        return self.page.locator("#runs tbody a").all_inner_texts()

    def open_run(self, name):
        self.page.get_by_role("link", name=name, exact=True).click()
        self.expect_state_not("reading")
        return self.page.frame_locator("#report")

    def expect_state(self, word):
        expect(self.page.locator("#state")).to_have_text(word, timeout=WAIT)

    def expect_state_not(self, word):
        expect(self.page.locator("#state")).not_to_have_text(word, timeout=WAIT)


def wait_for_rows(view, count):
    expect(view.page.locator("#runs tbody tr")).to_have_count(count, timeout=WAIT)


def test_runs_are_listed_sorted_and_filtered(browser, address):
    view = LivePage(browser, address)
    wait_for_rows(view, 5)
    view.page.get_by_role("button", name="run", exact=True).click()
    rising = view.names()
    assert rising == sorted(rising)
    view.page.get_by_role("button", name="run", exact=True).click()
    assert view.names() == rising[::-1]
    view.page.get_by_role("button", name="shots", exact=True).click()
    shots = view.page.locator("#runs tbody tr td:nth-child(6)").all_inner_texts()
    numbers = [int(text.replace(",", "")) for text in shots if text != "–"]
    assert numbers == sorted(numbers)
    assert shots[-1] == "–"  # of the damaged one it is not known
    view.page.locator("#filter").fill("stopped")
    assert view.names() == ["killed/run"]
    view.page.locator("#filter").fill("finished DONE")
    assert view.names() == ["done/run"]
    view.page.locator("#filter").fill("")
    assert len(view.names()) == 5
    view.check()
    view.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(browser, address, width):
    view = LivePage(browser, address, viewport={"width": width, "height": 844})
    wait_for_rows(view, 5)
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    view.open_run("killed/run").locator("h1").wait_for()
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    view.context.close()


def test_while_a_report_is_made_the_page_says_so(browser, folder, monkeypatch):
    made = threading.Event()

    def slowly(report):
        assert made.wait(PATIENCE)
        return run_page(report)

    monkeypatch.setattr("aqka.serve.runs.run_page", slowly)
    with serving(folder) as address:
        view = LivePage(browser, address)
        wait_for_rows(view, 5)
        report = view.open_run("done/run")
        try:
            expect(view.page.locator("#making")).to_be_visible(timeout=WAIT)
        finally:
            made.set()
        report.locator("h1").wait_for()
        expect(view.page.locator("#making")).to_be_hidden(timeout=WAIT)
        view.context.close()


def test_a_killed_run_says_how_to_go_on(browser, address):
    view = LivePage(browser, address)
    report = view.open_run("killed/run")
    assert view.page.locator("#state").inner_text() == "stopped"
    assert view.page.locator("#words").inner_text().startswith("aqka resume ")
    assert "stopped" in report.locator(".warning").first.inner_text()
    expect(view.page.locator("#making")).to_be_hidden(timeout=WAIT)
    view.page.locator("#jobs-summary").click()
    assert "ended" in view.page.locator("#jobs-summary").inner_text()
    assert view.page.locator("#jobs tbody tr").count() >= 2
    view.check()
    view.context.close()


def test_hostile_names_and_labels_are_text_and_nothing_else(browser, address):
    view = LivePage(browser, address)
    wait_for_rows(view, 5)
    name = f"hostile/{HOSTILE_DIRECTORY}/run"
    assert name in view.names()
    report = view.open_run(name)
    report.locator("h1").wait_for()
    assert view.page.title() == f"aqka: {name}"
    assert report.locator("img").count() == 0
    assert HOSTILE_LABELS[0] in report.locator("body").inner_text()
    view.page.wait_for_timeout(100)
    assert view.page.locator("img").count() == 0
    view.check()
    view.context.close()


def test_a_run_in_progress_is_followed_to_its_end(browser, tmp_path):
    run = RunInProgress(tmp_path / "now")
    try:
        with serving(tmp_path) as address:
            view = LivePage(browser, address)
            wait_for_rows(view, 1)
            report = view.open_run("now/run")
            assert view.page.locator("#state").inner_text() in ("running", "waiting")
            assert "so far" in report.locator(".warning").first.inner_text()
            before = view.page.locator("#jobs tbody tr").count()
            shots = report.locator("li", has_text="training shots").inner_text()
            view.page.frames[1].evaluate("window.scrollTo(0, 400)")
            run.let_rounds_end(1)
            rows = view.page.locator("#jobs tbody tr")
            expect(rows).to_have_count(before + 1, timeout=WAIT)
            # The report is read anew, and its reader is where they were.
            expect(report.locator("li", has_text="training shots")).not_to_have_text(
                shots, timeout=WAIT
            )
            wait_until(lambda: view.page.frames[1].evaluate("() => window.scrollY") == 400)
            run.finish()
            view.expect_state("finished")
            report.get_by_role("heading", name="Test points").wait_for()
            expect(report.locator("p.warning")).to_have_count(0, timeout=WAIT)
            view.check()
        view.expect_state("the server has ended")
        view.context.close()
    finally:
        run.finish()
