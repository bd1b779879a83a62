"""Looking back on a run without a new shot: what steering brought, what fewer shots give."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.core.pairs import KernelPrior, PairTable
from aqka.core.plans import Landmarks, ShotPlan
from aqka.core.problem import Problem
from aqka.designs import PairEstimate
from aqka.insight.diagnostics import cross_validated_right
from aqka.learners import FittedHead, Learner
from aqka.learners.ridge import RidgeNoise
from aqka.maths.sensitivity import cauchy_schwarz_ratio, prediction_sensitivity
from aqka.maths.spectrum import FeatureSpectrum, Spectrum

FRACTIONS, THINNINGS = (0.25, 0.5), 5
# Where no point of n changes, 3/n bounds the share that could (95 %): two of these errors.
LEAST_ERROR = 1.5
NEGLIGIBLE = 0.02  # share of the variance that is no reason to change an allocator


@dataclass(frozen=True)
class Steering:
    """The variance of the predictions by a run's allocation, over that of an even one.

    Below 1, 1 / ratio times as many even shots would do as well.
    """

    ratio: float
    error: float | None  # root mean square move of the ratio when the counts are drawn anew
    best: float  # the smallest ratio that any allocation could have (ρ, Thm 1)

    @property
    def sure(self) -> bool:
        """Whether the ratio is further from 1 than twice its error, and than what matters."""
        return self.error is not None and abs(self.ratio - 1) > max(2 * self.error, NEGLIGIBLE)


def steering(
    table: PairTable, problem: Problem, repetitions: int = 0, head: FittedHead | None = None
) -> Steering:
    """Compare a run's allocation with an even one of as many shots, by the counts it measured.

    To first order the noise of pair p adds G_p Var(K̂_p) to the variance of the predictions, G
    from :func:`~aqka.maths.sensitivity.prediction_sensitivity`. G is read from the same counts that
    steered the run, which flatters it; the redrawn counts did not, so their distance is part of the
    error. ``head`` is what ``ridge-noise`` makes of the table, where that is known already.
    """
    if head is None:
        head = RidgeNoise().fit(PairEstimate(table, problem), problem)
    ratio, best = _ratios(table, head)
    if repetitions == 0:
        return Steering(ratio, None, best)
    rng = np.random.default_rng(0)
    kernel = kernel_without_noise(table, problem, spectrum=head.spectrum)
    chances = np.clip(table.condense(kernel), 0.0, 1.0)
    redrawn = (redraw_counts(table, chances, rng) for _ in range(repetitions))
    fits = ((other, RidgeNoise().fit(PairEstimate(other, problem), problem)) for other in redrawn)
    others = [_ratios(other, fit)[0] for other, fit in fits]
    return Steering(ratio, float(np.sqrt(np.mean((np.array(others) - ratio) ** 2))), best)


def _ratios(table: PairTable, head: FittedHead) -> tuple[float, float]:
    """Return the variance over that of even shots, as it is and as it could be at best."""
    assert isinstance(head.spectrum, Spectrum)
    moved = prediction_sensitivity(head.spectrum, head.coefficients, head.regularisation)
    squared = table.condense(moved) ** 2
    prior = KernelPrior.of(table)
    k = prior.posterior_mean(table)
    known = table.as_hits()[0] + prior.strength
    bernoulli = k * (1 - k) * known / (known + 1)  # posterior mean of K(1 - K)
    if table.tolerance is not None:
        bernoulli *= table.tolerance.spread
    mean = np.where(table.on_diagonal(), 1.0, prior.mean)
    unseen = mean * (1 - mean) / (prior.strength + 1)

    def variance(shots: FloatArray) -> FloatArray:
        return np.asarray(np.where(shots > 0, bernoulli / np.maximum(shots, 1), unseen))

    each, rest = divmod(table.total, table.n_pairs)
    more = rest / table.n_pairs  # share of pairs that would get one shot more
    fewer_each = variance(np.full(table.n_pairs, float(each)))
    even = (1 - more) * fewer_each + more * variance(np.full(table.n_pairs, each + 1.0))
    total = float(squared @ even)
    if total == 0:
        return 1.0, 1.0
    run = float(squared @ variance(table.shots.astype(np.float64)))
    return run / total, cauchy_schwarz_ratio(squared * bernoulli)


@dataclass(frozen=True)
class FewerShots:
    """Accuracy by cross-validation from a share of a run's shots, and what all shots give more.

    Errors are those over points and over thinnings together: a thinning moves all points at once,
    which their differences do not show. That of the gain is never 0 below all shots: a few points
    that do not change are no proof that none would.
    """

    fraction: float
    accuracy: float
    error: float
    gain: float
    gain_error: float


def fewer_shots(
    table: PairTable,
    problem: Problem,
    labels: NDArray[Any],
    learner: Learner,
    landmarks: Landmarks | None = None,
) -> list[FewerShots]:
    """Return the accuracy that shares of the shots give, and all; nothing if folds lack a class."""

    def right(counts: PairTable) -> FloatArray:
        kernel = PairEstimate(counts, problem, landmarks).kernel
        return cross_validated_right(kernel, labels, learner, problem).astype(np.float64)

    full = right(table)
    if full.size == 0:
        return []
    rng, parts = np.random.default_rng(0), []
    for fraction in FRACTIONS:
        draws = np.array([right(thin_counts(table, fraction, rng)) for _ in range(THINNINGS)])
        found, shared = draws.mean(axis=0), _standard_error(draws.mean(axis=1))
        error = float(np.hypot(_standard_error(found), shared))
        gain_error = max(np.hypot(_standard_error(full - found), shared), LEAST_ERROR / full.size)
        gain = float(np.mean(full - found))
        parts.append(FewerShots(fraction, float(found.mean()), error, gain, float(gain_error)))
    return [*parts, FewerShots(1.0, float(full.mean()), _standard_error(full), 0.0, 0.0)]


def thin_counts(table: PairTable, fraction: float, rng: Generator) -> PairTable:
    """Return a random share of the shots of each pair, and a hypergeometric share of its counts."""
    wanted = np.floor(table.shots * fraction + rng.random(table.n_pairs)).astype(np.int64)
    left = shots = np.minimum(wanted, table.shots)
    drawn, rest = [], table.shots
    for seen in [table.hits] if table.flips is None else table.flips.T:
        rest = rest - seen
        drawn.append(rng.hypergeometric(seen, rest, left))
        left = left - drawn[-1]
    bits = None if table.flips is None else table.flips.shape[1] - 1
    part = PairTable(table.n_points, table.diagonal, bits)
    plan = ShotPlan(*table.pairs(), shots, bits=bits)
    part.add(plan, drawn[0] if bits is None else np.stack(drawn, axis=1))
    return part


def _standard_error(values: FloatArray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(values.size))


def redraw_counts(table: PairTable, chances: FloatArray, rng: Generator) -> PairTable:
    """Return a table of the same shots whose hits are drawn with the given chance per pair."""
    again = PairTable(table.n_points, table.diagonal)
    again.shots[:], again.tolerance = table.shots, table.tolerance
    again.hits = rng.binomial(table.shots, chances)
    if table.tolerance is not None:  # shots are shares of hits, with the spread that those have
        mean = table.shots * chances
        again.hits = mean + np.sqrt(table.tolerance.spread) * (again.hits - mean)
    return again


def kernel_without_noise(
    table: PairTable,
    problem: Problem,
    landmarks: Landmarks | None = None,
    spectrum: Spectrum | FeatureSpectrum | None = None,
) -> FloatArray:
    """Return the estimated kernel without the eigenvalues that shot noise alone can give.

    With the noise left in, the learner would choose its ridge as if noise were signal, which hides
    the bias that the true noise gives it. ``spectrum`` is the kernel's, where it is known.
    """
    if not isinstance(spectrum, Spectrum):
        spectrum = Spectrum.of(PairEstimate(table, problem, landmarks).kernel)
    values, vectors = spectrum.measured, spectrum.vectors
    kept = values > min(noise_floor(table), values[-1] / 2)
    return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)


def noise_floor(table: PairTable) -> float:
    """Return 2σ sqrt(N): no eigenvalue of shot noise alone lies far above it (Wigner)."""
    seen = table.seen
    shots, hits = table.as_hits()
    k = (hits + 0.5) / (shots + 1)
    # Entries without shots read one value and bring no noise.
    variance = float(np.sum((k * (1 - k) / np.maximum(shots, 1))[seen])) / table.n_pairs
    return float(2 * np.sqrt(variance * table.n_points))
