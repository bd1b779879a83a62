"""A measured page: which function writes it, and what that function is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal, TypeVar

from aqka_research.sweep.cells import OnCell, cell_seconds, run_cells
from aqka_research.sweep.store import Cell, Result, to_json

T = TypeVar("T")
Size = Literal["full", "quick", "tiny"]
"""Full is published, quick shows in minutes that everything works, tiny is what tests run."""
Half = Literal["development", "confirmation"]


@dataclass(frozen=True)
class PageRun:
    """One run of a page: its size, where it may keep results, and on how many cores.

    Attributes
    ----------
    path
        The page; its pictures go beside it.
    work
        A directory for results of cells, in which a stopped run goes on.
    size, workers, scheduler, on_cell
        How large the run is, and how :func:`~aqka_research.sweep.cells.run_cells` runs it.
    seeds, seconds
        Filled by :meth:`cells`: the seeds that were run, and the processor seconds of each cell.
    """

    path: Path
    work: Path
    size: Size = "full"
    workers: int | None = None
    scheduler: str | None = None
    on_cell: OnCell | None = None
    seeds: set[int] = field(default_factory=set)
    seconds: dict[object, float] = field(default_factory=dict)

    def pick(self, full: T, quick: T, tiny: T) -> T:
        """Return the setting of this run's size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.size]

    def cells(self, function: Callable[[Cell], Result], cells: Sequence[Cell]) -> list[Result]:
        """Return each cell's result; those of a run that was stopped are not computed again."""
        store = self.work / "results.jsonl"
        found = run_cells(
            function,
            cells,
            store,
            workers=None if self.scheduler else self.workers,
            scheduler=self.scheduler,
            on_cell=self.on_cell,
        )
        self.count(function, cell_seconds(function, cells, store), cells)
        return found

    def count(self, what: object, seconds: Sequence[float], cells: Sequence[Cell]) -> None:
        """Add processor seconds and seeds; a cell that is read twice counts once."""
        self.seconds.update({(what, to_json(c)): t for c, t in zip(cells, seconds, strict=True)})
        self.seeds.update(cell["seed"] for cell in cells if "seed" in cell)


@dataclass(frozen=True)
class Page:
    """A page under ``docs/measured``.

    Attributes
    ----------
    name
        The file's name, without ``.md``.
    writer
        ``"module:function"``: from a :class:`PageRun` to the blocks of the page, its title first.
        All modules that it uses are what the page depends on.
    about
        What the page shows, for the list of pages.
    minutes
        Processor minutes of a full run, about.
    halves
        The halves of the task suite it looks at; every run is counted.
    timed
        Its figures are times, which differ from run to run, so it is run again whenever code has
        changed.
    quotes
        Files beside it that it reads; it is written after them.
    needs
        An environment variable without which the page cannot be computed, and is left alone.
    store
        A name that pages have in common which share results; by default the page's own.
    """

    name: str
    writer: str
    about: str
    minutes: float
    halves: tuple[Half, ...] = ()
    timed: bool = False
    quotes: tuple[str, ...] = ()
    store: str = ""
    needs: str = ""

    @property
    def module(self) -> str:
        """The module that writes the page."""
        return self.writer.partition(":")[0]

    def write(self, run: PageRun) -> Sequence[str]:
        """Measure, and return the blocks of the page."""
        module, _, function = self.writer.partition(":")
        blocks: Sequence[str] = getattr(import_module(module), function)(run)
        return blocks
