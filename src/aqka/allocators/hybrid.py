"""AQKA–Nyström: AQKA's sensitivity picks the landmarks and the shots inside their rows."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from aqka.allocators._base import Allocation
from aqka.allocators.aqka import ridge_gradient
from aqka.allocators.nystrom import Nystrom, landmark_block
from aqka.allocators.schedule import ONE_LOOK, Schedule
from aqka.allocators.targets import fill, kkt_targets, raise_to_floor
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem


@dataclass(frozen=True)
class Hybrid(Nystrom):
    """Landmarks by the row sums of |ĝ|, sensitivity fill within their block (Appendix C.11).

    The readout keeps what was measured in the block and reconstructs the rest.
    """

    ledger_name: ClassVar[str] = "hybrid"

    schedule: ClassVar[Schedule] = ONE_LOOK

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Choose the landmarks from the warm-up and fill inside their rows."""
        sensitivity = np.abs(ridge_gradient(problem.reading.kernel(table), problem))
        row_sums = sensitivity.sum(axis=1)
        points = np.argsort(-row_sums, kind="stable")[: self.count(table.n_points)]
        block = landmark_block(table, points)
        score = raise_to_floor(table.condense(sensitivity)) * problem.reading.deviation(table)
        if not score[block].any():
            score = np.ones_like(score)
        targets = kkt_targets(np.where(block, score, 0.0), table.total + shots)
        return Allocation(fill(targets, table.shots, shots, rng), Landmarks(points, True))
