"""ShoFaR-style: find the support after a warm-up, then measure only inside it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import as_fraction
from aqka.allocators._base import Allocation, Allocator
from aqka.allocators.schedule import ONE_LOOK, Schedule
from aqka.allocators.targets import spread
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True)
class Shofar(Allocator):
    """The remaining budget spread equally over S × S, S = {i : |α̂_i| > τ max|α̂|} (Appendix C.6).

    Attributes
    ----------
    threshold
        τ, as a fraction of the largest coefficient.
    """

    ledger_name: ClassVar[str] = "shofar"

    threshold: float = 0.05
    schedule: ClassVar[Schedule] = ONE_LOOK

    def __post_init__(self) -> None:
        """Check τ."""
        as_fraction(self.threshold, "threshold")

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Spread the shots over the pairs whose two points are in the support."""
        spectrum = Spectrum.of(problem.reading.kernel(table))
        # The norm over the outputs; of one output it is |α̂_i|.
        size = np.linalg.norm(spectrum.solve(problem.outputs, problem.ridge), axis=1)
        support = size > self.threshold * size.max()
        inside = table.condense(np.logical_and.outer(support, support))
        if not inside.any():  # one point alone has no pair when the diagonal is known
            inside = table.condense(np.logical_or.outer(support, support))
        return Allocation(spread(inside, shots, rng))
