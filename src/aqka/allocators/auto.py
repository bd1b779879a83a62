"""Uniform or predictive shots, whichever the counts so far speak for."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from aqka._util.arrays import FloatArray
from aqka.allocators._base import Allocation, Allocator, allocate_toward
from aqka.allocators.predictive import Predictive, half_uniform
from aqka.allocators.schedule import EVEN_START, Schedule
from aqka.allocators.targets import raise_lowest
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.theory import cauchy_schwarz_ratio

FEWEST_SHOTS_PER_PAIR = 1.0
LARGEST_RATIO = 0.95


@dataclass(frozen=True)
class Auto(Allocator):
    """Even shots until every pair has had its share, then predictive ones if they can gain.

    Two things decide, at every look: the shots a pair has had so far, since below one a pair it is
    worth more to see a pair at all than to see another one better; and ρ of the predictions'
    variance, the most that steering could save (Thm 1). The Gini coefficient does not: read from
    counts it is near 0.6 on every problem (docs/explanation/readouts.md).
    """

    ledger_name: ClassVar[str] = "aqka.allocators.auto.Auto"

    schedule: ClassVar[Schedule] = EVEN_START

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Allocate as :meth:`explain` says."""
        shares, _ = self._choice(table, problem)
        if shares is None:
            return Allocation(raise_lowest(table.shots, shots, rng))
        return allocate_toward(half_uniform(shares), table, shots, rng)

    def explain(self, table: PairTable, problem: Problem) -> str:
        """Say which way the next shots go, and why."""
        return self._choice(table, problem)[1]

    def _choice(self, table: PairTable, problem: Problem) -> tuple[FloatArray | None, str]:
        """Return the predictive shares, or None for even shots; and why."""
        per_pair = table.total / table.n_pairs
        if per_pair < FEWEST_SHOTS_PER_PAIR:
            return None, (
                f"Even shots: with {per_pair:.2g} shots a pair so far, seeing every pair once is "
                "worth more than seeing some of them better."
            )
        predictive = Predictive()
        shares = predictive.sensitivity(table, problem) * predictive.deviation(table, problem)
        ratio = cauchy_schwarz_ratio(shares**2)
        if ratio > LARGEST_RATIO:
            return None, (
                f"Even shots: all pairs matter alike to the predictions (ρ = {ratio:.2f}), so "
                "steering could save next to nothing."
            )
        return shares, (
            f"Predictive shots, half of them even: some pairs move the predictions more than "
            f"others; perfect steering would need {ratio:.0%} of the shots (ρ = {ratio:.2f})."
        )
