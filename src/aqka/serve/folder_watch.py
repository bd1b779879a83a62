"""Looks at the runs of a folder again and again, and reads only those that have changed."""

from collections import OrderedDict
from pathlib import Path
from threading import Lock

from aqka.errors import InputError, LedgerError
from aqka.report.run_page import run_page
from aqka.report.run_report import run_report
from aqka.serve.runs import RunLook, Version, find_runs, look_at, version_of

KEPT_PAGES = 8  # reports of large runs have megabytes
CANNOT_BE_READ = (InputError, LedgerError, OSError)  # raised for a damaged run, or one not begun


class FolderWatch:
    """The runs of a folder; what was read is kept until the run's files change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        find_runs(self.folder)  # better to refuse now what is no folder
        self._looks: dict[str, tuple[Version, RunLook]] = {}
        self._pages: OrderedDict[str, tuple[Version, str]] = OrderedDict()
        # One reader at a time: a second one would only compute the same.
        self._reading, self._rendering = Lock(), Lock()

    def runs(self) -> dict[str, RunLook]:
        """Return every run there is now, by its key."""
        with self._reading:
            places = find_runs(self.folder)
            self._looks = {key: self._look(key, place) for key, place in places.items()}
            return {key: look for key, (_, look) in self._looks.items()}

    def run(self, key: str) -> tuple[str, RunLook] | None:
        """Return a run with a word that changes when it does; None if there is no such run."""
        with self._reading:
            place = find_runs(self.folder).get(key)
            if place is None:
                return None
            self._looks[key] = version, look = self._look(key, place)
            return f"{hash(version) & 0xFFFFFFFFFFFF:x}", look

    def report(self, key: str) -> str | None:
        """Return the report of a run as a page; None if there is no such run."""
        place = find_runs(self.folder).get(key)
        if place is None:
            return None
        with self._rendering:
            version = version_of(place)
            kept = self._pages.get(key)
            if kept is None or kept[0] != version:
                if self._look(key, place)[1].predicts:
                    raise InputError(
                        "reports are about training points, and this run measured none of them: "
                        "it is a prediction."
                    )
                self._pages[key] = kept = version, run_page(run_report(place))
            self._pages.move_to_end(key)
            while len(self._pages) > KEPT_PAGES:
                self._pages.popitem(last=False)
            return kept[1]

    def _look(self, key: str, place: Path) -> tuple[Version, RunLook]:
        """Return a run as it is now, read anew if its files have changed."""
        version = version_of(place)
        kept = self._looks.get(key)
        if kept is not None and kept[0] == version:
            return kept
        name = place.relative_to(self.folder).as_posix()
        return version, look_at(place, self.folder.name if name == "." else name)
