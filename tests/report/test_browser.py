"""Reports in a real browser: they load, hover, print, and do nothing that labels say."""

import re
from dataclasses import replace

import numpy as np
import pytest

from aqka import MatrixBackend, StatevectorBackend, acquire
from aqka.core.pairs import PairTable
from aqka.report import measured as module
from aqka.report.measured import measured_pairs
from aqka.report.run_page import run_page, write_report
from aqka.report.run_report import run_report
from tests.conftest import make_kernel, make_labels
from tests.report.browser import OpenPage, chromium
from tests.report.runs import (
    HOSTILE_LABELS,
    HOSTILE_TEXT,
    finished_run,
    interrupted_run,
    say_everywhere,
)
from tests.study.helpers import small


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def reports(report, hostile, tmp_path_factory):
    base = tmp_path_factory.mktemp("pages")
    three = small().replace('"moons"', '"iris"').replace("train = 12", "train = 24")
    runs = {
        "three": finished_run(base / "three", three),
        "hostile": hostile,
        "interrupted": interrupted_run(base / "interrupted"),
        "python": base / "python",
    }
    acquire(MatrixBackend(make_kernel(8)), make_labels(8), 200, directory=runs["python"])
    found = {name: run_report(run) for name, run in runs.items()}
    return found | {"plain": report, "strangers": say_everywhere(report, HOSTILE_TEXT)}


@pytest.fixture(scope="module")
def pages(reports, tmp_path_factory):
    base = tmp_path_factory.mktemp("files")
    files = {name: base / f"{name}.html" for name in NAMES}
    for name, report in reports.items():
        write_report([report], files[name])
    compared = [reports[name] for name in ("plain", "hostile", "strangers")]
    write_report(compared, files["comparison"])
    return files


NAMES = ("plain", "three", "hostile", "interrupted", "python", "strangers", "comparison")


OVERPRINTS = """() => [...document.querySelectorAll("figure svg")].flatMap((svg) => {
  const boxOf = (text) => [text.textContent, text.getBoundingClientRect()];
  const texts = [...svg.querySelectorAll("text")].map(boxOf);
  const found = [];
  texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([two, b]) => {
    const beside = a.right <= b.left || b.right <= a.left;
    const level = a.bottom > b.top && b.bottom > a.top;
    if (level && !beside) found.push(svg.ariaLabel + ": " + one + " / " + two);
  }));
  return found;
})"""
BOXES = """() => [...document.querySelectorAll(".scroll")].map((box) => [
  box.clientWidth, getComputedStyle(box).overflowX,
  Math.min(...[...box.querySelectorAll("tr > :first-child")].map((c) => c.clientWidth)),
])"""


def check_page(view, width, scheme):
    """It loads without an error or a request, and is no wider than the screen.

    Its colours are those of the scheme, and the boxes of any two texts of a chart are apart, by
    what Chromium says about them.
    """
    view.check()
    background = view.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (brightness > 200) == (scheme == "light")
    ink = view.page.evaluate("getComputedStyle(document.body).color")
    assert abs(sum(map(int, re.findall(r"\d+", ink)[:3])) / 3 - brightness) > 150
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    assert view.page.locator("figure svg text").count() > 10
    assert view.page.evaluate(OVERPRINTS) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_page_on_a_screen(browser, pages, name):
    size = {"width": 1280, "height": 844}
    view = OpenPage(browser, pages[name], viewport=size, color_scheme="light")
    check_page(view, 1280, "light")
    assert view.page.locator("details.folds:not([open])").count() == 0
    view.page.set_viewport_size({"width": 768, "height": 844})
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 768
    view.context.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_on_a_phone_has_tables_that_fold_and_scroll(browser, pages, name):
    size = {"width": 390, "height": 844}
    view = OpenPage(browser, pages[name], viewport=size, color_scheme="dark")
    check_page(view, 390, "dark")
    assert view.page.locator("details.folds[open]").count() == 0
    for summary in view.page.locator("details.folds > summary").all():
        summary.click()
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = view.page.evaluate(BOXES)
    assert boxes
    for width, overflow, first_column in boxes:
        assert width <= 390
        assert overflow == "auto"
        assert first_column >= 80  # a name is read across, not letter by letter
    view.context.close()


def test_the_verdict_is_coloured_and_read_first(browser, pages):
    view = OpenPage(browser, pages["plain"])
    line = view.page.locator(".verdict")
    assert line.count() == 1
    box = line.bounding_box()
    assert box["y"] < view.page.locator("dl.answers").bounding_box()["y"]
    colours = [
        line.evaluate("e => getComputedStyle(e).borderLeftColor"),
        line.evaluate("e => getComputedStyle(e).backgroundColor"),
        view.page.evaluate("getComputedStyle(document.body).backgroundColor"),
    ]
    assert len(set(colours)) == 3
    view.context.close()


def test_everything_is_unfolded_on_paper(browser, pages):
    view = OpenPage(browser, pages["plain"], viewport={"width": 390, "height": 844})
    view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert view.page.locator("details:not([open])").count() == 0
    view.context.close()


def test_hover_shows_the_pair(browser, pages, reports):
    report = reports["plain"]
    table = report.table
    order = np.argsort(np.array(report.labels), kind="stable")
    view = OpenPage(browser, pages["plain"], viewport={"width": 1280, "height": 900})
    relative = table.square(report.measured.sensitivity / report.measured.sensitivity.max())
    shots, hits = table.square(table.shots), table.square(table.hits)
    for panel, (row, column) in (("shots", (7, 2)), ("kernel", (0, 11)), ("sensitivity", (3, 4))):
        lines = view.hover(panel, row, column, table.n_points)
        i, j = order[row], order[column]
        ids, labels = report.ids, report.labels
        assert lines[0] == f"{ids[i]} ({labels[i]}) × {ids[j]} ({labels[j]})"
        s, h = int(shots[i, j]), int(hits[i, j])
        assert lines[1] == f"{s:,} shots, {h:,} hits"
        smooth = (h + 0.5) / (s + 1)
        error = np.sqrt(smooth * (1 - smooth) / s)
        assert lines[2] == f"K̂ = {h / s:.3f} ± {error:.3f}"
        told = float(re.search(r"sensitivity ([\d.]+) of the largest", lines[3])[1])
        assert told == pytest.approx(relative[i, j], rel=0.006)
    assert view.hover("kernel", 5, 5, table.n_points)[1] == "K = 1, known without a shot"
    view.page.mouse.move(2, 2)
    assert not view.page.locator("#tip").is_visible()
    view.check()


def test_a_run_of_points_shows_its_kernel_on_a_phone(browser, tmp_path):
    X = np.random.default_rng(0).uniform(0, 3, size=(9, 2))
    backend, labels = StatevectorBackend(X), make_labels(9)
    acquire(backend, labels, 9 * 300, design="points", directory=tmp_path / "run")
    report = run_report(tmp_path / "run")
    write_report([report], tmp_path / "points.html")
    view = OpenPage(browser, tmp_path / "points.html", viewport={"width": 390, "height": 844})
    assert view.page.evaluate("document.documentElement.scrollWidth") <= 390
    found = report.measured
    assert view.hover("kernel", 7, 2, 9) == [
        "point 7 × point 2",
        f"K̂ = {found.kernel[7, 2]:.3f} ± {found.errors[7, 2]:.3f}",
    ]
    view.check()
    view.context.close()


def test_a_pair_can_be_reached_by_keys_and_by_touch(browser, pages, reports):
    view = OpenPage(browser, pages["plain"], viewport={"width": 390, "height": 844}, has_touch=True)
    view.page.locator("#map-shots").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        view.page.keyboard.press(key)
    order = np.argsort(np.array(reports["plain"].labels), kind="stable")
    assert view.page.locator("#tip").inner_text().startswith(f"{reports['plain'].ids[order[2]]} ")
    view.page.locator("#map-kernel").tap()
    assert "shots" in view.page.locator("#tip").inner_text()
    box = view.page.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    view.context.close()


def test_the_maps_are_painted_with_what_was_measured(browser, pages, reports):
    """Brightness of a cell follows its kernel estimate."""
    table = reports["plain"].table
    order = np.argsort(np.array(reports["plain"].labels), kind="stable")
    view = OpenPage(browser, pages["plain"])
    script = (
        "() => { const c = document.getElementById('map-kernel'); "
        "return [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]; }"
    )
    pixels = np.array(view.page.evaluate(script)).reshape(table.n_points, table.n_points, 4)
    kernel = table.square(table.estimate())[np.ix_(order, order)]
    assert (pixels[..., 3] == 255).all()
    brightness = pixels[..., :3].sum(axis=2)
    assert np.corrcoef(brightness.ravel(), kernel.ravel())[0, 1] > 0.97


@pytest.mark.parametrize("name", ["hostile", "strangers", "comparison"])
def test_labels_and_columns_are_text_and_nothing_else(browser, pages, reports, name):
    view = OpenPage(browser, pages[name])
    view.page.wait_for_timeout(100)
    view.check()
    assert view.page.locator("img").count() == 0
    assert view.page.locator("script").count() == (1 if name == "comparison" else 2)
    if name == "hostile":
        size = reports[name].table.n_points
        tip = "".join(view.hover("kernel", 0, size - 1, size))
        assert HOSTILE_LABELS[0] in tip
        assert HOSTILE_LABELS[1] in tip
        view.check()
    if name == "strangers":
        assert view.page.title() == f"aqka: {HOSTILE_TEXT}"
        assert HOSTILE_TEXT in view.hover("shots", 0, 1, reports[name].table.n_points)[0]
        view.check()


def test_an_inline_script_that_slipped_in_would_not_run(browser, pages, reports, tmp_path):
    """The policy is a second lock: markup that got past the escaping is still dead."""
    page = pages["plain"].read_text()
    bad = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title='owned'\">"
    file = tmp_path / "bad.html"
    file.write_text(page.replace("</header>", bad + "</header>"))
    view = OpenPage(browser, file)
    view.page.wait_for_timeout(100)
    assert view.page.title() == f"aqka: {reports['plain'].name}"
    assert view.complaints  # the browser says what it refused
    assert view.page.locator("#map-shots").evaluate("c => c.width") == 12


def test_it_prints_on_white_with_its_maps(browser, pages, tmp_path):
    view = OpenPage(browser, pages["plain"], color_scheme="dark")
    view.page.emulate_media(media="print", color_scheme="dark")
    background = view.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    printed = view.page.pdf(format="A4", print_background=True)
    assert printed.startswith(b"%PDF")
    pages_printed = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 2 <= pages_printed <= 8


def test_an_unfinished_run_says_so(browser, pages):
    view = OpenPage(browser, pages["interrupted"])
    assert "interrupted" in view.page.locator(".warning").first.inner_text()
    assert "aqka resume" in view.page.locator("dl.answers").inner_text()
    assert view.page.get_by_role("heading", name="Test points").count() == 0
    view.check()


def test_a_thousand_points_stay_small(browser, report, tmp_path, record_property):
    rng, table = np.random.default_rng(0), PairTable(1000)
    table.shots[:], table.hits[:] = 6, rng.integers(0, 7, table.n_pairs)
    table.shots[0] += 300  # counts beyond a byte
    measured = measured_pairs(table, rng.random(1000), rng.random(table.n_pairs))
    full = replace(
        report,
        measured=measured,
        ids=[f"point {k}" for k in range(1000)],
        labels=[str(label) for label in make_labels(1000)],
    )
    file = tmp_path / "large.html"
    write_report([full], file)
    size = file.stat().st_size / 1e6
    record_property("summary", f"report of 1,000 points: {size:.1f} MB")
    assert size < 15
    view = OpenPage(browser, file)
    lines = view.hover("shots", 600, 20, 1000)
    assert re.fullmatch(r"point \d+ \(.*\) × point \d+ \(.*\)", lines[0])
    view.check()


def test_more_points_are_drawn_in_blocks(browser, report, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_CELLS_ACROSS", 6)
    table = PairTable(12)
    table.shots[:] = 2
    measured = replace(report.measured, table=table, shots=table.shots, sensitivity=None)
    file = tmp_path / "blocks.html"
    file.write_text(run_page(replace(report, measured=measured)))
    view = OpenPage(browser, file)
    lines = view.hover("shots", 4, 1, 6)
    assert lines[0] == "points 8 to 9 by class × points 2 to 3 by class"
    assert lines[1].startswith("8 shots, ")  # four pairs with two shots each
    view.check()
