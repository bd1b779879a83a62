"""Computes the pages whose code has changed, and says which these are."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aqka._util.arrays import text_digest
from aqka._util.files import write_atomically
from aqka.errors import InputError
from aqka.version import __version__
from aqka_research.figures.code_digest import code_digest
from aqka_research.figures.page import Page, PageRun, Size
from aqka_research.figures.registry import PAGES
from aqka_research.figures.run_record import count_run, times_run
from aqka_research.figures.stamp import body_of, machine, read_stamp, seeds_text, stamped

CLONE = Path(__file__).parents[4]
MEASURED = CLONE / "docs" / "measured"
WORK = CLONE / "build" / "figures"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Status:
    """Whether a page is what its code would write: ``current``, or why not."""

    page: Page
    state: str

    @property
    def current(self) -> bool:
        """Whether there is nothing to do."""
        return self.state == "current"


def status(pages: Sequence[Page] = PAGES, directory: Path = MEASURED) -> list[Status]:
    """Return the state of every page."""
    return [Status(page, _state(page, directory)) for page in pages]


def _state(page: Page, directory: Path) -> str:
    stamp = read_stamp(directory / f"{page.name}.md")
    if stamp is None:
        return "never computed"
    if stamp["size"] != "full":
        return f"only a {stamp['size']} run"
    if stamp["code"] != code_digest([page.module]):
        return f"code changed since version {stamp['version']}"
    return "current" if stamp.get("quotes") == _quoted(page, directory) else "quotes older pages"


def chosen_pages(names: Sequence[str], pages: Sequence[Page] = PAGES) -> list[Page]:
    """Return the pages of some names, or all; the cheapest first, and those that quote last."""
    known = {page.name: page for page in pages}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"unknown page {unknown[0]!r}; pages: {', '.join(known)}.")
    chosen = [known[name] for name in names] or list(pages)
    return sorted(chosen, key=lambda page: (bool(page.quotes), page.minutes))


def forget(pages: Sequence[Page], work: Path = WORK) -> None:
    """Drop the results of some pages, so that each is computed in full, current or not.

    That holds until it was written: a run that is stopped in between goes on where it was.
    """
    for page in filter(_can_run, pages):
        shutil.rmtree(work / "full" / (page.store or page.name), ignore_errors=True)
        _forgotten(page, work).parent.mkdir(parents=True, exist_ok=True)
        _forgotten(page, work).touch()


def _can_run(page: Page) -> bool:
    return not page.needs or bool(os.environ.get(page.needs))


def _forgotten(page: Page, work: Path) -> Path:
    return work / "full" / f"{page.name}.forgotten"


def make_page(
    page: Page,
    *,
    size: Size = "full",
    workers: int | None = None,
    scheduler: str | None = None,
    directory: Path = MEASURED,
    work: Path = WORK,
    say: Say = print,
) -> bool:
    """Write a page if it is not current, and return whether it was computed.

    Where only code has changed, the page's quick form is run first: if it gives the figures that
    it gave when the page was computed, the page stands, and its stamp says so. After
    :func:`forget` it is computed in any case.
    """
    if not _can_run(page):
        say(f"{page.name}: left alone; it needs {page.needs}")
        return False
    digest = code_digest([page.module])
    target = directory / f"{page.name}.md"
    run = PageRun(
        target, work / size / (page.store or page.name) / digest, size, workers, scheduler
    )
    if size != "full":
        _write(page, run, digest, "")
        return True
    kept = not _forgotten(page, work).exists()
    if kept and _state(page, directory) == "current":
        say(f"{page.name}: current")
        return False
    quick = "" if page.timed or page.quotes else _quick_digest(page, run, work, digest)
    stamp = read_stamp(target) or {}
    if kept and quick and stamp.get("quick") == quick and stamp["size"] == "full":
        stamp |= {"code": digest, "checked": __version__, "quotes": _quoted(page, directory)}
        text = target.read_text(encoding="utf-8")
        write_atomically(target, stamped(body_of(text), stamp).encode())
        say(f"{page.name}: code changed, but not what the quick form finds; kept")
        return False
    say(f"{page.name}: about {page.minutes:g} processor minutes")
    begun = run.work / f"{page.name}.begun"
    if not begun.exists():  # a run that was stopped and goes on is still the same run
        for half in page.halves:
            count_run(directory, page.name, half)
        begun.parent.mkdir(parents=True, exist_ok=True)
        begun.touch()
    _write(page, run, digest, quick)
    _forgotten(page, work).unlink(missing_ok=True)
    return True


def _quick_digest(page: Page, run: PageRun, work: Path, digest: str) -> str:
    """Return a digest of what the quick form of a page says."""
    place = work / "quick" / (page.store or page.name) / digest
    quick = replace(
        run, path=place / f"{page.name}.md", work=place, size="quick", seeds=set(), seconds={}
    )
    place.mkdir(parents=True, exist_ok=True)
    return text_digest("\n\n".join(page.write(quick)))[:16]


def _write(page: Page, run: PageRun, digest: str, quick: str) -> None:
    run.path.parent.mkdir(parents=True, exist_ok=True)
    before = os.times()
    blocks = page.write(run)
    spent = [end - start for end, start in zip(os.times(), before, strict=True)]
    seconds = sum(run.seconds.values())
    if not run.seconds:
        seconds = sum(spent[:4])  # with processes of its own
    elif run.workers != 1:
        seconds += sum(spent[:2])  # cells in this process are counted already
    directory = run.path.parent
    stamp: dict[str, Any] = {
        "version": __version__,
        "code": digest,
        "size": run.size,
        "seeds": seeds_text(run.seeds),
        "machine": machine(),
        "minutes": round(seconds / 60, 1),
        "confirmation_runs": times_run(directory, "confirmation", page.name),
        "quick": quick,
        "quotes": _quoted(page, directory),
    }
    write_atomically(run.path, stamped("\n\n".join(blocks), stamp).encode())


def _quoted(page: Page, directory: Path) -> str:
    """Return a digest of the files that a page quotes."""
    texts = []
    for name in page.quotes:
        path = directory / name
        texts.append(body_of(path.read_text(encoding="utf-8")) if path.exists() else "")
    return text_digest("\n".join(texts))[:16] if texts else ""
