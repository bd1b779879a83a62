"""Intervals that count the training shots too, by a parametric bootstrap."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from aqka._util.arrays import BoolArray, FloatArray, as_count
from aqka.core.blocks import BlockTable
from aqka.core.defaults import DEFAULT_READOUT
from aqka.errors import InputError
from aqka.insight.redraw import hit_chances, redraw_counts
from aqka.readouts import Readout, make_readout
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.prediction_result import Prediction, normal_quantile


def with_total_interval(
    prediction: Prediction,
    session: Acquisition,
    readout: str | Readout = DEFAULT_READOUT,
    *,
    repetitions: int = 50,
    seed: int = 0,
) -> Prediction:
    """Return the prediction with intervals for the f of the same readout on the exact kernel.

    Training and test shots are drawn anew from a kernel without noise that is like the measured
    one; the readout is trained on each, and the interval is f plus or minus the normal quantile
    times the root mean square of its errors. Their mean, the readout's bias, is so counted as part
    of the error and not corrected for: it is known too poorly.

    Parameters
    ----------
    prediction
        What :func:`~aqka.predict` returned.
    session
        The finished training session whose head made the prediction.
    readout
        The readout that the head came from.
    repetitions
        Number of redrawn trainings. 50 give the width to within about 10 %.
    seed
        Of the redrawn shots.

    Examples
    --------
    >>> from aqka import MatrixBackend, acquire, predict
    >>> from aqka.evaluation.tasks import planted_sparse
    >>> task = planted_sparse(40, 10, 4, seed=3)
    >>> session = acquire(MatrixBackend(task.kernel), task.y, 20_000)
    >>> found = predict(session.fit(), MatrixBackend(task.test_kernel, rectangular=True), 10_000)
    >>> found = with_total_interval(found, session, repetitions=20)
    >>> bool(np.all(found.total_high - found.total_low > found.high - found.low))
    True
    """
    chosen = make_readout(readout)
    repetitions = as_count(repetitions, "repetitions", minimum=2)
    rng = np.random.default_rng(as_count(seed, "seed", minimum=0))
    _check_head(prediction, session, chosen)
    errors = _redrawn_errors(prediction.table, session, chosen, repetitions, rng)
    quantile = normal_quantile(prediction.level)
    reach = quantile * _root_mean_square(errors)
    return replace(
        prediction,
        total_low=prediction.f - reach,
        total_high=prediction.f + reach,
        could_flip=_could_flip(prediction.f, errors, quantile),
    )


def _check_head(prediction: Prediction, session: Acquisition, readout: Readout) -> None:
    """Refuse a session or a readout that the prediction's head did not come from."""
    again = session.fit(readout)
    if not np.array_equal(again.alpha, prediction.head.alpha):
        raise InputError(
            "session and readout do not give the head of the prediction; pass the session it was "
            "trained in and the readout it was fitted with."
        )


def _redrawn_errors(
    block: BlockTable, session: Acquisition, readout: Readout, repetitions: int, rng: Generator
) -> FloatArray:
    """Return how far f of redrawn trainings and test entries lies from f without noise."""
    table, problem, landmarks = session.table, session.problem, session.landmarks
    chances = hit_chances(table, problem, landmarks)
    prior = block.prior()
    entries, centre = block.smoothed(prior), block.estimate(prior.mean)
    # What is not measured is as uncertain as the prior says.
    spread = np.sqrt(block.variance(prior))
    truth = readout.fit_kernel(table.square(chances), problem).decision_function(centre)
    values = []
    for _ in range(repetitions):
        head = readout.fit(redraw_counts(table, chances, rng), problem, landmarks)
        noise = np.where(
            block.seen,
            rng.binomial(block.shots, entries) / np.maximum(block.shots, 1) - entries,
            spread * rng.standard_normal(spread.shape),
        )
        values.append(head.decision_function(centre + noise))
    return np.stack(values) - truth


def _could_flip(f: FloatArray, errors: FloatArray, quantile: float) -> BoolArray:
    """Return where the leader is not ahead of every other class by its interval's reach."""
    if f.ndim == 1:
        return np.asarray(np.abs(f) <= quantile * _root_mean_square(errors))
    points, leader = np.arange(len(f)), f.argmax(axis=1)
    gaps = f[points, leader][:, None] - f
    errors_of_gaps = errors[:, points, leader][..., None] - errors
    reach = quantile * _root_mean_square(errors_of_gaps)
    close = gaps <= reach
    close[points, leader] = False
    return np.asarray(close.any(axis=1))


def _root_mean_square(errors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.mean(errors**2, axis=0)))
