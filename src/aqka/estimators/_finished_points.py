"""Points that were measured before: some of a finished run."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimators._finished_run import point_numbers
from aqka.estimators._training_kernel import KernelSource, OnRound
from aqka.estimators._training_points import TrainingPoints
from aqka.sessions.point_contract import PointHead, PointKernel


@dataclass(frozen=True, eq=False)
class FinishedPoints(KernelSource):
    """The counts of a run of points, where X is one column of their numbers; no new shots.

    ``confusion`` are its readout errors, where it was calibrated, and ``kernel`` is the one that
    is read; None for the default of its settings.
    """

    table: PointTable
    X: NDArray[Any]
    confusion: FloatArray | None
    kernel: PointKernel | None = None

    def training(self, problem: Problem, on_round: OnRound | None = None) -> TrainingPoints:
        """Return what was measured of the training points."""
        reason = "No shots: the points were measured before."
        table = self.table.subset(self._numbers(self.X))
        how = {"confusion": self.confusion, "kernel": self.kernel}
        return TrainingPoints(table, problem, reason, **how)  # type: ignore[arg-type]

    def decide(self, head: PointHead, X: NDArray[Any], problem: Problem) -> FloatArray:
        """Return f of other points of the run, from their own counts."""
        f, _ = head.decide(self.table.subset(self._numbers(X)))
        return f

    def _numbers(self, X: NDArray[Any]) -> IntArray:
        return point_numbers(X, self.table.n_points)
