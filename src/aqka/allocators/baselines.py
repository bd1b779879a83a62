"""What the paper compares AQKA with: even and random shots, parts of its score, ShoFaR."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import FloatArray, as_fraction
from aqka.allocators._base import Allocation, Allocator, TargetFill
from aqka.allocators.schedule import ONE_LOOK, ONE_SHOT, Schedule
from aqka.allocators.targets import raise_lowest, sample_uniformly, spread
from aqka.core.pairs import PairTable
from aqka.core.plans import UnitTable
from aqka.core.problem import Problem
from aqka.maths.spectrum import Spectrum


@dataclass(frozen=True)
class Uniform(Allocator):
    """Every pair or point gets the same shots; a remainder goes to a random choice of them."""

    ledger_name: ClassVar[str] = "uniform"
    schedule: ClassVar[Schedule] = ONE_SHOT
    units: ClassVar[tuple[str, ...]] = ("pair", "point")
    steers: ClassVar[bool] = False

    def ask(self, table: UnitTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Raise those that have fewest shots, so that all end equal."""
        return Allocation(raise_lowest(table.unit_shots, shots, rng))

    def explain(self, table: UnitTable, problem: Problem) -> str:
        """Say what each has had."""
        units = len(table.unit_shots)
        what = "point" if units == table.n_points else "pair"
        return f"Even shots: {table.total / units:.3g} a {what}, whatever they show."


@dataclass(frozen=True)
class Random(Allocator):
    """Independent uniform pair sampling: the paper's ``random``."""

    ledger_name: ClassVar[str] = "random"
    schedule: ClassVar[Schedule] = ONE_SHOT
    steers: ClassVar[bool] = False

    def ask(self, table: UnitTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Draw every shot's pair independently."""
        return Allocation(sample_uniformly(len(table.unit_shots), shots, rng))


@dataclass(frozen=True)
class Bernoulli(TargetFill):
    """s* ∝ sqrt(K̂(1-K̂)): what is left of AQKA when the sensitivity is flat."""

    ledger_name: ClassVar[str] = "bernoulli"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the same for every pair."""
        return np.ones(table.n_pairs)


@dataclass(frozen=True)
class Leverage(TargetFill):
    """s* ∝ (ℓ_i + ℓ_j) sqrt(K̂(1-K̂)): safer than AQKA when the sensitivity is dense (Eq. 52)."""

    ledger_name: ClassVar[str] = "leverage"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the leverage of a pair's two points."""
        leverage = Spectrum.of(problem.reading.kernel(table)).leverage(problem.ridge)
        return table.condense(np.add.outer(leverage, leverage))


@dataclass(frozen=True)
class Shofar(Allocator):
    """The remaining budget spread equally over S × S, S = {i : |α̂_i| > τ max|α̂|} (Appendix C.6)."""

    ledger_name: ClassVar[str] = "shofar"
    threshold: float = 0.05  # τ
    schedule: ClassVar[Schedule] = ONE_LOOK

    def __post_init__(self) -> None:
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
