"""How a run does, from its training points alone: is adaptivity worth it, and its accuracy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, as_kernel
from aqka.core.pairs import PairTable
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate, Pairs
from aqka.errors import InputError
from aqka.learners import Learner
from aqka.maths.metrics import split_folds
from aqka.maths.sensitivity import SATURATED_SHOTS_PER_PAIR, cauchy_schwarz_ratio
from aqka.maths.spectrum import Spectrum

# The paper's regime borders (its abstract and Appendix C.16).
CONCENTRATED_GINI = 0.6
DENSE_GINI = 0.55


def gini(values: FloatArray) -> float:
    """Return the Gini coefficient of non-negative values: 0 equal, towards 1 concentrated."""
    ordered = np.sort(values)
    total = ordered.sum()
    if total == 0:
        return 0.0
    rank = np.arange(1, ordered.size + 1)
    return float(np.sum((2 * rank - ordered.size - 1) * ordered) / (ordered.size * total))


def effective_support(values: FloatArray) -> float:
    """Return 1 / Σ p², p = values / Σ values: how many pairs carry the mass (Appendix C.16)."""
    if not values.any():
        return float(values.size)
    relative = values / values.max()
    return float(relative.sum() ** 2 / np.sum(relative**2))


@dataclass(frozen=True)
class Diagnostics:
    """What the sensitivities of a kernel say about adaptive allocation.

    Attributes
    ----------
    gini, effective_support
        Gini coefficient of |g|, and the number of pairs that carry it.
    rho
        Cauchy–Schwarz ratio ρ: the best possible variance over uniform's (Thm 1).
    n_pairs, shots_per_pair
        Measurable pairs, and their mean shots; for points, what their shots are worth.
    estimated
        Whether all this is from noisy counts, not from an exact kernel.
    """

    gini: float
    rho: float
    effective_support: float
    n_pairs: int
    shots_per_pair: float
    estimated: bool = True

    @property
    def advice(self) -> str:
        """What the paper's regime map says, in a sentence."""
        if self.shots_per_pair > SATURATED_SHOTS_PER_PAIR:
            regime = (
                f"above {SATURATED_SHOTS_PER_PAIR} shots a pair every pair is resolved; uniform "
                "does as well."
            )
        elif self.gini >= CONCENTRATED_GINI:
            regime = "concentrated, adaptive shots (aqka) can help."
        elif self.gini < DENSE_GINI:
            regime = "spread out, aqka may hurt; prefer leverage or uniform."
        else:
            regime = "on the border, leverage is the safer adaptive choice."
        hint = (
            " (From noisy counts, which pull the Gini toward 0.6 whatever the truth: a weak hint.)"
        )
        return f"Gini {self.gini:.3f}, ρ {self.rho:.2f}: {regime}{hint if self.estimated else ''}"


def diagnose(
    table: PairTable,
    problem: Problem,
    kernel: FloatArray | None = None,
    variance: FloatArray | None = None,
) -> Diagnostics:
    """Diagnose a kernel: what has been measured so far, a given (true) one, or one with variances.

    Parameters
    ----------
    table : PairTable
        The counts; an empty one where a kernel is given.
    problem : Problem
        What is learnt.
    kernel : array, optional
        A true kernel, or with ``variance`` one not counted pair by pair, such as that of points.
    variance : array, optional
        Variance of each entry of such a kernel, in place of K(1 - K) over the shots of a pair.
    """
    known = problem.reading.kernel(table) if kernel is None else as_kernel(kernel, "kernel")
    k = table.condense(known)  # refuses a kernel of other points
    size = Pairs().sensitivity(table, problem, Spectrum.of(known))
    if kernel is None:
        return diagnose_sensitivity(table, problem, size)
    of_a_shot = np.maximum(k * (1 - k), 0.0)
    if variance is None:
        exact = diagnose_sensitivity(table, problem, size, np.sqrt(of_a_shot))
        return replace(exact, estimated=False)
    noise = table.condense(np.asarray(variance, dtype=np.float64))
    worth = float(np.mean(of_a_shot) / max(float(np.mean(noise)), 1e-300))
    found = diagnose_sensitivity(table, problem, size, np.sqrt(noise))
    return replace(found, shots_per_pair=worth)


def diagnose_sensitivity(
    table: PairTable, problem: Problem, sensitivity: FloatArray, deviation: FloatArray | None = None
) -> Diagnostics:
    """Diagnose |g| per pair, by default with the deviations of what has been measured."""
    noise = problem.reading.deviation(table) if deviation is None else deviation
    return Diagnostics(
        gini=gini(sensitivity),
        rho=cauchy_schwarz_ratio((sensitivity * noise) ** 2),
        effective_support=effective_support(sensitivity),
        n_pairs=table.n_pairs,
        shots_per_pair=table.total / table.n_pairs,
    )


def cross_validated_right(
    kernel: FloatArray, labels: NDArray[Any], learner: Learner, problem: Problem
) -> BoolArray:
    """Return for each point whether a head trained without its fold gets it right.

    Nothing where a fold lacks a class, which is a matter of the labels alone.
    """
    right = np.zeros(len(labels), dtype=np.bool_)
    for kept, held in split_folds(len(labels)):
        try:
            part = Problem(labels[kept], problem.ridge, problem.C, problem.reading)
        except InputError:  # too few classes are left
            return right[:0]
        head = learner.fit(KernelEstimate(kernel[np.ix_(kept, kept)]), part)
        right[held] = head.predict(kernel[np.ix_(held, kept)]) == labels[held]
    return right
