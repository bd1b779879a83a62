"""What a head is trained on where points were measured."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimates.state_errors import pure_kernel_errors
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.readouts import Readout
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_heads import MAX_FIDELITY_QUBITS, PointHead, PointKernel, StateHead

MOST_POINTS_OF_A_KERNEL = 1000
"""Beyond it ``kernel_`` and ``diagnostics_`` are None: it would take more memory than all else."""


@dataclass(frozen=True, eq=False)
class TrainingPoints:
    """Counts of points, with the methods of a :class:`TrainingKernel`.

    Attributes
    ----------
    table
        The counts.
    problem
        What is learnt from them.
    reason
        Why the shots were spent as they were, in a sentence.
    session
        The session that bought the counts; None if there was nothing to buy.
    ledger_path
        Where that session kept its ledger, if anywhere.
    confusion
        Readout errors of a run that is finished; a session knows its own.
    """

    table: PointTable
    problem: Problem
    reason: str
    session: PointAcquisition | None = None
    ledger_path: Path | None = None
    confusion: FloatArray | None = None

    @property
    def shots(self) -> int:
        """Shots that were bought for it."""
        return 0 if self.session is None else self.session.shots_spent

    def fit(self, readout: Readout | None, problem: Problem) -> PointHead:
        """Train a head; None is the default readout of points: leave-one-out."""
        if self.session is not None:
            return self.session.fit(readout)
        kernel = PointKernel.default(self.table.n_qubits).with_confusion(self.confusion)
        return kernel.fit(self.table, problem, readout)

    def read(self, head: PointHead) -> tuple[FloatArray | None, FloatArray | None]:
        """Return the kernel that a head was trained on and, of pure states, its variances.

        Of very many points neither, for the head itself never needed the kernel; and of mixed
        states no variances, which would take a bootstrap (:mod:`aqka.estimates.state_errors`).
        """
        if isinstance(head, StateHead) and self.table.n_points > MOST_POINTS_OF_A_KERNEL:
            return None, None
        if not isinstance(head, StateHead) or head.rank > 1:
            return head.kernel(), None
        random = np.random.default_rng(0)
        errors = pure_kernel_errors(self.table, head.states, random, kernel_of=head.kernel_of)
        return head.kernel(), errors.variance

    def diagnose(self, problem: Problem, kernel: FloatArray | None) -> Diagnostics | None:
        """Say whether adaptive shots on pairs would be worth it on this kernel."""
        if kernel is None or self.table.n_qubits > MAX_FIDELITY_QUBITS:
            return None  # a projected kernel is no kernel of pairs
        return diagnose(problem.new_table(), problem, kernel)
