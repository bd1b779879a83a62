"""What an experiment file holds; the engine, the claims' verdicts and the report do the rest."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from aqka._util.arrays import as_count
from aqka_research.reproduce.claims import Claim
from aqka_research.results import Results
from aqka_research.sweep.store import Cell, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Parameters = dict[str, Any]


class Experiment(ABC):
    """A figure or table of the paper.

    A file ``my_figure.py`` defines ``class MyFigure(Experiment)`` and, at its top level, a
    function ``measure`` that turns a cell into ``{"rows": [...]}``, one flat dict per measurement.
    All its randomness comes from the cell.

    Attributes
    ----------
    title
        What it shows, in a line.
    place
        Where it stands in the paper.
    full, quick
        Parameters of the whole run, and of one that takes seconds. Both have ``seeds``.
    claims
        Every number the paper states about it.
    by, measures
        What the rows of the summary table are grouped by, and the columns it averages.
    """

    title: ClassVar[str]
    place: ClassVar[str]
    full: ClassVar[Parameters]
    quick: ClassVar[Parameters]
    claims: ClassVar[tuple[Claim, ...]]
    by: ClassVar[tuple[str, ...]] = ("method", "budget")
    measures: ClassVar[tuple[str, ...]] = ("accuracy", "balanced_accuracy", "correlation")

    @property
    def measure(self) -> Callable[[Cell], Result]:
        """The file's function of that name, which worker processes import."""
        function: Callable[[Cell], Result] = sys.modules[type(self).__module__].measure
        return function

    def cells(self, parameters: Parameters, protocol: str) -> list[Cell]:
        """Return the independent pieces of work, the longest first: here one per seed."""
        shared = {name: value for name, value in parameters.items() if name != "seeds"}
        return [
            {**shared, "seed": seed, "protocol": protocol} for seed in range(parameters["seeds"])
        ]

    @abstractmethod
    def figures(self, results: Results) -> "dict[str, Figure]":
        """Draw the results, by file name without ending; see :mod:`aqka_research.style`."""

    def save(self, parameters: Parameters, directory: Path) -> None:  # noqa: B027
        """Write what else belongs to the results, such as a measured kernel."""

    def summarise(self, results: Results) -> list[dict[str, Any]]:
        """Return the summary table: a dict per row, with estimates in it."""
        return results.table(self.by, self.measures)


def as_parameters(
    experiment: Experiment, quick: bool, seeds: int | None, kernel: Path | None = None
) -> Parameters:
    """Return the experiment's parameters, with another number of seeds if one is given.

    ``kernel`` is a file that replaces the measured kernel, in experiments that resample one.
    """
    chosen = dict(experiment.quick if quick else experiment.full)
    if seeds is not None:
        chosen["seeds"] = as_count(seeds, "seeds")
    if kernel is not None and "kernel" in chosen:
        from aqka_research.reproduce.measured_kernel import file_source

        chosen["kernel"] = file_source(kernel)
    return chosen
