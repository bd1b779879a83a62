"""The paper's methods as a reading has them: which allocator runs, and on which schedule."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import FloatArray
from aqka.allocators import Allocation, Allocator, TargetFill
from aqka.allocators.aqka import (
    Aqka,
    AqkaOracle,
    AqkaSvm,
    AqkaSvmSoft,
    Multinomial,
    MultinomialOracle,
)
from aqka.allocators.baselines import Bernoulli, Hybrid, Leverage, NystromLeverage, Shofar
from aqka.allocators.schedule import Schedule
from aqka.allocators.targets import SENSITIVITY_FLOOR, fill, kkt_targets
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.maths.sensitivity import combine_outputs, svm_gradient
from aqka.maths.spectrum import Spectrum
from aqka_research.paper_reading import PaperReading
from aqka_research.switched_variance import shared_dual, shared_spectrum


@dataclass(frozen=True)
class TrueBernoulli(AqkaOracle):
    """Bernoulli-only with the variances of the true kernel: no estimate, no placeholder."""

    ledger_name: ClassVar[str] = "true-bernoulli"

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the same for every pair."""
        return np.ones(table.n_pairs)


class Shared(Allocator):
    """An arm that shares its decomposition with every arm that decomposes the same kernel."""

    def spectrum(self, table: PairTable, problem: Problem) -> Spectrum:
        """Return the decomposition of what was measured."""
        return shared_spectrum(problem.reading.kernel(table))


class SharedAqka(Shared, Aqka):
    """AQKA that shares its decomposition."""


class SharedMultinomial(Shared, Multinomial):
    """The multinomial arm that shares its decomposition."""


class SharedLeverage(Shared, Leverage):
    """Leverage that shares its decomposition."""


class SharedShofar(Shared, Shofar):
    """ShoFaR that shares its decomposition."""


class SharedNystromLeverage(Shared, NystromLeverage):
    """Landmarks by leverage that share their decomposition."""


class SharedHybrid(Shared, Hybrid):
    """The hybrid that shares its decomposition."""


class SharedAqkaSvm(AqkaSvm):
    """AQKA for the SVM that shares its solution with every arm that solves the same."""

    def sensitivity(self, table: PairTable, problem: Problem) -> FloatArray:
        """Return the product of the support weights of a pair's two points."""
        kernel, columns = problem.reading.kernel(table), problem.signs().T
        weights = (self.weights(shared_dual(kernel, y, problem.C)) for y in columns)
        return table.condense(combine_outputs(svm_gradient(w, np.ones_like(w)) for w in weights))


class SharedAqkaSvmSoft(SharedAqkaSvm, AqkaSvmSoft):
    """The soft support that shares its solution."""


SHARED: dict[type[Allocator], type[Allocator]] = {
    kind.__bases__[1]: kind
    for kind in (
        SharedAqka,
        SharedMultinomial,
        SharedLeverage,
        SharedShofar,
        SharedNystromLeverage,
        SharedHybrid,
    )
} | {AqkaSvm: SharedAqkaSvm, AqkaSvmSoft: SharedAqkaSvmSoft}
"""The arm that computes the same, by an allocator's class."""


@dataclass(frozen=True)
class FixedTarget(Allocator):
    """Target-fill whose B_t in line 8 is one number instead of the cumulative budget.

    Attributes
    ----------
    scored
        Whose score it fills toward.
    target_budget
        B_t.
    """

    scored: TargetFill
    target_budget: float

    def check(self, problem: Problem) -> None:
        """Require what the score requires."""
        self.scored.check(problem)

    def ask(self, table: PairTable, problem: Problem, shots: int, rng: Generator) -> Allocation:
        """Fill toward (B_t / Z) · score (Algorithm 1, lines 8 and 9)."""
        targets = kkt_targets(self.scored.score(table, problem), self.target_budget)
        return Allocation(fill(targets, table.shots, shots, rng))


@lru_cache(maxsize=1024)
def arm_as_read(
    allocator: Allocator, schedule: Schedule | None, reading: PaperReading, budget: int
) -> tuple[Allocator, Schedule]:
    """Return an allocator and its schedule under a reading of the paper.

    Settings that an experiment gives on purpose, such as a floor of 0, stay.
    """
    chosen = schedule or allocator.schedule
    if type(allocator) is Bernoulli and reading.bernoulli == "true":
        allocator = TrueBernoulli()
    if not isinstance(allocator, TargetFill):
        return _shared(allocator), chosen
    if reading.oracle == "bare" and _is_oracle(allocator):
        allocator = replace(allocator, floor=0.0)
        chosen = chosen if schedule else replace(chosen, warmup=0.0)
    if reading.floor == "none" and allocator.floor == SENSITIVITY_FLOOR:
        allocator = replace(allocator, floor=0.0)
    allocator = cast("TargetFill", _shared(allocator))
    if reading.targets == "cumulative" or isinstance(allocator, (Multinomial, MultinomialOracle)):
        return allocator, chosen
    rounds = budget - round(chosen.warmup * budget)
    own = rounds / chosen.rounds if reading.targets == "round" else float(budget)
    return FixedTarget(allocator, own), chosen


def _shared(allocator: Allocator) -> Allocator:
    kind = SHARED.get(type(allocator))
    return allocator if kind is None else kind(**vars(allocator))


def _is_oracle(allocator: Allocator) -> bool:
    return isinstance(allocator, AqkaOracle) and not isinstance(allocator, TrueBernoulli)


def uses_estimated_variance(allocator: Allocator) -> bool:
    """Return whether an allocator looks at K̂(1-K̂), and so at the switches of that term."""
    scored = allocator.scored if isinstance(allocator, FixedTarget) else allocator
    return isinstance(scored, (TargetFill, Hybrid)) and not isinstance(scored, AqkaOracle)
