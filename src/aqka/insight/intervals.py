"""Intervals that count the training shots too, by a parametric bootstrap."""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, as_count
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate, PairEstimate
from aqka.designs.pairs import row_prior
from aqka.errors import InputError
from aqka.insight.hindsight import kernel_without_noise, redraw_counts
from aqka.learners import DEFAULT_LEARNER, FittedHead, Learner, make_learner
from aqka.learners.ridge import RIDGE_GRID
from aqka.maths.metrics import normal_quantile
from aqka.maths.spectrum import Spectrum
from aqka.sessions import Prediction, Training, Values

AnyPrediction = TypeVar("AnyPrediction", bound=Values)

PLAUSIBLE = 2.0  # standard errors of the held-out error within which a ridge may be the best one
BEYOND = 0.5  # of the targets' range: no head that learnt predicts farther outside it


@dataclass(frozen=True, eq=False)
class HeadErrors:
    """Errors of f at test rows that come from the training shots."""

    redrawn: FloatArray  # of heads trained on redrawn shots: redraws by rows by outputs
    other_ridges: FloatArray  # of plausible other ridges, likewise; empty where none is chosen

    @classmethod
    def of(
        cls, session: Training, learner: Learner, rows: FloatArray, repetitions: int, rng: Generator
    ) -> "HeadErrors":
        """Draw the session's shots anew, from a kernel like the measured one but without noise."""
        table, problem, landmarks = session.table, session.problem, session.landmarks
        kernel = kernel_without_noise(table, problem, landmarks)
        chances = np.clip(table.condense(kernel), 0.0, 1.0)
        without_noise = learner.fit(KernelEstimate(table.square(chances)), problem)
        again = (redraw_counts(table, chances, rng) for _ in range(repetitions))
        heads = [learner.fit(PairEstimate(one, problem, landmarks), problem) for one in again]
        truth = _outputs(without_noise, rows)
        redrawn = np.stack([_outputs(head, rows) for head in heads]) - truth
        other = np.zeros((0, *truth.shape))
        # A learner that is given its ridge, or its C, never uses another.
        if any(head.regularisation != without_noise.regularisation for head in heads):
            other = _plausible_outputs(table.square(chances), problem, rows) - truth
        return cls(redrawn, other)

    def variance(self, mixture: FloatArray) -> FloatArray:
        """Return the mean square error of a mixture of the outputs, for each row.

        Redrawn shots count by their mean, bias included; a ridge that may be the best one in full.
        """
        redrawn = np.einsum("rxc,xc->rx", self.redrawn, mixture)
        found = np.mean(redrawn**2, axis=0)
        if len(self.other_ridges):
            found += np.max(np.einsum("rxc,xc->rx", self.other_ridges, mixture) ** 2, axis=0)
        return np.asarray(found)


def _outputs(head: FittedHead, rows: FloatArray) -> FloatArray:
    return head.decision_function(rows).reshape(len(rows), -1)


def _plausible_outputs(kernel: FloatArray, problem: Problem, rows: FloatArray) -> FloatArray:
    """Return f of every ridge whose leave-one-out error is that of the best one, but for chance."""
    y, spectrum = problem.outputs, Spectrum.of(kernel)
    ridges = np.asarray(RIDGE_GRID)
    errors = np.sum([spectrum.loo_residuals(output, ridges) ** 2 for output in y.T], axis=0).T
    more = errors - errors[np.argmin(errors.mean(axis=1))]
    spread = more.std(axis=1) / np.sqrt(len(y))
    plausible = ridges[more.mean(axis=1) <= PLAUSIBLE * spread]
    found = np.stack([rows @ spectrum.solve(y, ridge) for ridge in plausible])
    beyond = BEYOND * (y.max() - y.min())
    return np.clip(found, y.min() - beyond, y.max() + beyond)


def with_total_interval(
    prediction: AnyPrediction,
    session: Training,
    learner: str | Learner = DEFAULT_LEARNER,
    *,
    repetitions: int = 50,
    seed: int = 0,
) -> AnyPrediction:
    """Return the prediction with intervals for the f of the same learner on the exact kernel.

    To the variance of ``low`` and ``high`` come two parts from the training shots: the mean square
    error, bias included, of heads trained on redrawn shots; and, where the learner chooses its
    ridge, the farthest f among the ridges whose held-out error is within two standard errors of
    the best one's (docs/explanation/prediction.md).

    Parameters
    ----------
    prediction : Values or Prediction
        What :func:`~aqka.predict` returned for a run of pairs.
    session : Training
        The finished training session whose head made the prediction.
    learner : str or Learner
        The learner that the head came from.
    repetitions : int, default=50
        Number of redrawn trainings. 50 give the width to within about 10 %.
    seed : int, default=0
        Seed of the redrawn shots.
    """
    chosen = make_learner(learner)
    repetitions = as_count(repetitions, "repetitions", minimum=2)
    rng = np.random.default_rng(as_count(seed, "seed", minimum=0))
    if prediction.decided.reading is None:
        raise InputError("total intervals exist only for pairs; with design='points', omit total.")
    if not np.array_equal(session.fit(chosen).alpha, prediction.head.alpha):
        raise InputError(
            "session and learner do not give the head of the prediction; pass the session it was "
            "trained in and the learner it was fitted with."
        )
    rows = row_prior(prediction.head).mean_rows(prediction.table)
    errors = HeadErrors.of(session, chosen, rows, repetitions, rng)
    quantile = normal_quantile(prediction.level)
    n_outputs = prediction.head.coefficients.shape[1]
    alone = np.eye(n_outputs)[:, None, :].repeat(len(rows), axis=1)
    reach = np.stack([_reach(prediction, errors, one, quantile) for one in alone], axis=1)
    reach = reach.reshape(prediction.f.shape) * prediction.unit
    found = replace(prediction, total_low=prediction.f - reach, total_high=prediction.f + reach)
    if isinstance(found, Prediction):
        return replace(found, could_flip=_could_flip(found, errors, quantile))
    return found


def _reach(
    prediction: Values, errors: HeadErrors, mixture: FloatArray, quantile: float
) -> FloatArray:
    """Return how far the interval of a mixture of outputs reaches, for each point."""
    variance = prediction.decided.reading.variance(mixture) + errors.variance(mixture)
    return np.asarray(quantile * np.sqrt(variance))


def _could_flip(found: Prediction, errors: HeadErrors, quantile: float) -> BoolArray:
    """Return where the leader is not ahead of every other class by its interval's reach."""
    f = found.f
    if f.ndim == 1:
        return np.asarray(np.abs(f) <= _reach(found, errors, np.ones((len(f), 1)), quantile))
    points, leader = np.arange(len(f)), f.argmax(axis=1)
    close = np.zeros(f.shape, dtype=np.bool_)
    for c in range(f.shape[1]):
        contrast = np.zeros_like(f)
        contrast[points, leader] = 1.0
        contrast[:, c] -= 1.0
        gap = f[points, leader] - f[:, c]
        close[:, c] = (leader != c) & (gap <= _reach(found, errors, contrast, quantile))
    return np.asarray(close.any(axis=1))
