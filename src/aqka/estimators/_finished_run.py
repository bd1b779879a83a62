"""A kernel that was measured before: some points of a finished run."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.pairs import PairTable
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimates.readout import known_confusion
from aqka.estimators._training_kernel import KernelSource, OnRound, TrainingKernel
from aqka.readouts import FittedHead
from aqka.runs.audit import sound_history
from aqka.runs.export import calibration_in, point_table_of, table_of
from aqka.runs.ledger import LEDGER_NAME
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_contract import PointKernel
from aqka.sessions.point_kernels import make_point_kernel


@dataclass(frozen=True, eq=False)
class FinishedRun(KernelSource):
    """The counts of a run of pairs, where X is one column of its point numbers; no new shots."""

    table: PairTable
    X: NDArray[Any]

    def training(self, problem: Problem, on_round: OnRound | None = None) -> TrainingKernel:
        """Return what was measured among the training points."""
        part = self.table.subset(point_numbers(self.X, self.table.n_points))
        reason = "No shots: the kernel was measured before."
        return TrainingKernel.of_counts(part, problem, reason)

    def decide(self, head: FittedHead, X: NDArray[Any], problem: Problem) -> FloatArray:
        """Return f of what was measured between other points of the run and the training points."""
        kernel = problem.reading.kernel(self.table)
        rows, columns = (point_numbers(points, self.table.n_points) for points in (X, self.X))
        return head.decision_function(kernel[np.ix_(rows, columns)])


def table_of_run(run: Any) -> PairTable | PointTable | None:
    """Return the counts of a run, given as its table, session or directory; None of all else."""
    if isinstance(run, PairTable | PointTable):
        return run
    if isinstance(run, Acquisition | PointAcquisition):
        return run.table
    if isinstance(run, str | Path) and Path(run).exists():
        return _recorded_table(_ledger(run))
    return None


def confusion_of_run(run: Any) -> FloatArray | None:
    """Return the readout errors that a run of points has calibrated; None of a bare table."""
    if isinstance(run, PointAcquisition):
        return run.confusion
    if isinstance(run, PointTable):
        return None
    return known_confusion(calibration_in(sound_history(_ledger(run))))


def point_kernel_of_run(
    run: Any, table: PointTable, named: str | PointKernel | None
) -> PointKernel | None:
    """Return the kernel to read a run of points as: the one named, or its session's own."""
    if named is not None:
        return make_point_kernel(named, table.n_qubits)
    return run.kernel if isinstance(run, PointAcquisition) else None


def _ledger(run: str | Path) -> Path:
    path = Path(run)
    return path / LEDGER_NAME if path.is_dir() else path


def _recorded_table(path: Path) -> PairTable | PointTable:
    if sound_history(path).extent.pauli is None:
        return table_of(path).table
    return point_table_of(path)


def point_numbers(X: NDArray[Any], n_points: int) -> IntArray:
    """Return a column of point numbers, which is what X is where a finished run is the kernel."""
    points = np.asarray(X)
    if points.ndim != 2 or points.shape[1] != 1 or np.any(points != np.rint(points)):
        raise InputError(
            "X must be one column of point numbers where backend is a finished run, such as "
            f"numpy.arange({n_points}).reshape(-1, 1); got shape {points.shape}."
        )
    if points.size and (points.min() < 0 or points.max() >= n_points):
        raise InputError(
            f"X must name points 0 to {n_points - 1} of the run, got {points.min()} to "
            f"{points.max()}."
        )
    return points[:, 0].astype(np.int64)
