"""What a head is trained on where points were measured."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.estimates.state_errors import bootstrap_is_affordable, kernel_errors
from aqka.insight.diagnostics import Diagnostics, diagnose
from aqka.maths.point_law import KernelSpread, equivalent_pair_shots
from aqka.readouts import Readout
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_contract import PointHead, PointKernel
from aqka.sessions.point_heads import StateHead
from aqka.sessions.point_kernels import default_point_kernel

MOST_POINTS_OF_A_KERNEL = 1000
"""Beyond it ``kernel_`` and ``diagnostics_`` of fitted states are None: they would take more memory
than all else."""


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
    kernel
        Which kernel is read out of such a run; None for the default of its settings.
    """

    table: PointTable
    problem: Problem
    reason: str
    session: PointAcquisition | None = None
    ledger_path: Path | None = None
    confusion: FloatArray | None = None
    kernel: PointKernel | None = None

    @property
    def shots(self) -> int:
        """Shots that were bought for it."""
        return 0 if self.session is None else self.session.shots_spent

    def fit(self, readout: Readout | None, problem: Problem) -> PointHead:
        """Train a head; None is the default readout of points: leave-one-out."""
        if self.session is not None:
            return self.session.fit(readout)
        chosen = self.kernel or default_point_kernel(self.table.settings)
        return chosen.with_confusion(self.confusion).fit(self.table, problem, readout)

    def read(self, head: PointHead) -> tuple[FloatArray | None, FloatArray | None]:
        """Return the kernel that a head was trained on and, of fitted states, its variances.

        Of very many points neither, for the head itself never needed the kernel; of projected
        kernels no variances; and of mixed states none where their bootstrap would take minutes.
        """
        if not isinstance(head, StateHead):
            return head.kernel(), None
        if self._are_very_many:
            return None, None
        random, states = np.random.default_rng(0), head.states
        if head.rank > 1:
            if not bootstrap_is_affordable(self.table):
                return head.kernel(), None
            states = head.fit_points(self.table)
        errors = kernel_errors(self.table, states, random, head.kernel_of)
        return head.kernel(), errors.variance

    def diagnose(
        self, problem: Problem, head: PointHead, variance: FloatArray | None
    ) -> Diagnostics | None:
        """Say whether adaptive shots on pairs would be worth it on this kernel.

        Of very many points nothing, nor of a projected kernel, which pairs cannot measure.
        """
        if self._are_very_many or not isinstance(head, StateHead):
            return None
        kernel = head.kernel()
        if variance is None:
            shots = self.table.total / self.table.n_points
            spread = KernelSpread.of(kernel[np.triu_indices_from(kernel, k=1)])
            worth = equivalent_pair_shots(self.table.n_qubits, shots, spread)
            variance = np.maximum(kernel * (1 - kernel), 0.0) / max(worth, 1e-12)
        return diagnose(problem.new_table(), problem, kernel, variance)

    @property
    def _are_very_many(self) -> bool:
        return self.table.n_points > MOST_POINTS_OF_A_KERNEL
