"""Are the states pure? A deviance test says whether noise is there, the kernel whether it matters.

With many shots a test sees noise that harms no kernel entry, while every vector that is fitted more
adds its own shot noise. So a higher rank is taken where the test rejects the lower one *and* counts
drawn from the richer states give a kernel that is nearer to theirs when they are fitted with the
higher rank.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from aqka._util.arrays import FloatArray
from aqka.core.points import PointTable
from aqka.estimates import states
from aqka.estimates.states import FittedStates, KernelOf, draw_counts, fit_states, some_points

RANKS = (1, 2, 4)
TEST_POINTS = 200
LEVEL = 0.01  # the p-value below which a rank is rejected


@dataclass(frozen=True)
class RankTest:
    """Whether states of a higher rank explain the counts better than chance would."""

    rank: int
    higher: int
    deviance: float  # twice the gain in log-likelihood, mean over the points
    expected: float  # what it would be if the lower rank were true
    p_value: float
    error_ratio: float | None = None
    """Mean squared error of the kernel at the higher rank over that at the lower one, where the
    higher one is the truth; None where the lower rank is not rejected."""

    @property
    def sentence(self) -> str:
        """What was decided, with its numbers."""
        names = {1: "pure states", 2: "states of rank 2", 4: "states of rank 4"}
        lower, higher = names[self.rank], names[self.higher]
        if self.error_ratio is None:
            return f"The counts are those of {lower} (p = {self.p_value:.2g})."
        if self.error_ratio >= 1:
            return (
                f"The counts are not quite those of {lower} (p = {self.p_value:.2g}), but {higher} "
                f"would make the kernel's mean squared error {self.error_ratio:.2f} times as large."
            )
        return (
            f"The counts are not those of {lower} (p = {self.p_value:.2g}); {higher} make the "
            f"kernel's mean squared error {self.error_ratio:.2f} times as large."
        )


def deviance_test(
    table: PointTable, fitted: FittedStates, higher: int, random: np.random.Generator
) -> RankTest:
    """Test whether states of rank ``higher`` fit better than ``fitted``, by a bootstrap.

    A state of lower rank lies on the boundary of those of higher rank, so that the deviance has no
    χ² law; its law is taken from counts drawn from the fitted states. Noise is the device's, so all
    points (at most about 200) are tested together, and the mean of their deviances is nearly
    normal.
    """
    part, lower = some_points(table, fitted, TEST_POINTS)
    observed, parts = _gains(part, lower, higher), []
    for _ in range(-(-TEST_POINTS // part.n_points)):
        drawn = draw_counts(lower, part, random)
        again = fit_states(drawn, lower.rank, confusion=lower.confusion)
        parts.append(_gains(drawn, again, higher))
    null = np.concatenate(parts)
    spread = null.std(ddof=1) * np.sqrt(1 / len(observed) + 1 / len(null))
    z = (observed.mean() - null.mean()) / max(spread, 1e-12)
    return RankTest(lower.rank, higher, float(observed.mean()), float(null.mean()), float(ndtr(-z)))


def _gains(table: PointTable, lower: FittedStates, higher: int) -> FloatArray:
    richer = fit_states(table, higher, lower, lower.confusion)
    # States of lower rank are among the richer ones: a loss is a climb that ended early.
    return np.maximum(2 * (richer.log_likelihood - lower.log_likelihood), 0.0)


def kernel_error_ratio(
    table: PointTable,
    richer: FittedStates,
    kept: float,
    lower: int,
    kernel_of: KernelOf,
    random: np.random.Generator,
) -> float:
    """Return by what the mean squared error of the kernel changes from rank ``lower`` to richer.

    Counts are drawn once from ``richer``, with its noise multiplied by ``kept`` because a fit sees
    some where none is, and fitted with both ranks.
    """
    part, truth = some_points(table, richer.with_less_noise(kept), TEST_POINTS)
    drawn = draw_counts(truth, part, random)
    poor = fit_states(drawn, lower, confusion=truth.confusion)
    rich = fit_states(drawn, truth.rank, poor, truth.confusion)
    upper = np.triu_indices(part.n_points, k=1)
    exact = truth.behind(kernel_of).kernel()[upper]
    before, after = (
        float(np.mean((fitted.behind(kernel_of).kernel()[upper] - exact) ** 2))
        for fitted in (poor, rich)
    )
    return after / max(before, 1e-300)


def choose_rank(
    table: PointTable,
    random: np.random.Generator,
    confusion: FloatArray | None = None,
    kernel_of: KernelOf = "purified",
    fit: states.StateFitter = fit_states,
) -> tuple[FittedStates, list[RankTest]]:
    """Return states of the lowest rank of 1, 2, 4 that will do, and the tests that said so.

    ``kernel_of`` is the kernel that the states are for (:meth:`FittedStates.behind`); ``fit`` fits
    all points. Where noise is seen but left out, the states that have it are kept beside
    (``noisy``): the bias that it brings is then in the standard errors.
    """
    fitted, tests = fit(table, RANKS[0], None, confusion), []
    for higher in RANKS[1:]:
        test = deviance_test(table, fitted, higher, random)
        if test.p_value >= LEVEL or table.n_points < 2:
            tests.append(test)
            break
        richer = fit(table, higher, fitted, confusion)
        kept = 1 - test.expected / test.deviance  # of the gain, what chance does not explain
        ratio = kernel_error_ratio(table, richer, kept, fitted.rank, kernel_of, random)
        tests.append(replace(test, error_ratio=ratio))
        if ratio >= 1:
            fitted = replace(fitted, noisy=richer.with_less_noise(kept))
            break
        fitted = richer
    return fitted, tests
