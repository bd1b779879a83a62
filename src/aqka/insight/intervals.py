"""Intervals that count the training shots too, by a parametric bootstrap."""

from dataclasses import replace

import numpy as np
from scipy.linalg import eigh

from aqka._util.arrays import BoolArray, FloatArray, as_count
from aqka.core.pairs import PairTable
from aqka.core.plans import Landmarks
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimates.pairs import estimate_kernel
from aqka.readouts import Readout, make_readout
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.predicted import Prediction, normal_quantile


def with_total_interval(
    prediction: Prediction,
    session: Acquisition,
    readout: str | Readout | None = None,
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
        The readout that the head came from; the reading's if None.
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
    chosen = make_readout(readout or session.problem.reading.readout)
    repetitions = as_count(repetitions, "repetitions", minimum=2)
    rng = np.random.default_rng(as_count(seed, "seed", minimum=0))
    table, problem, landmarks = session.table, session.problem, session.landmarks
    again = chosen.fit(table, problem, landmarks)
    if not np.array_equal(again.alpha, prediction.head.alpha):
        raise InputError(
            "session and readout do not give the head of the prediction; pass the session it was "
            "trained in and the readout it was fitted with."
        )
    block = prediction.table
    prior = block.prior()
    entries, centre = block.smoothed(prior), block.estimate(prior.mean)
    # What is not measured is as uncertain as the prior says.
    spread = np.sqrt(block.variance(prior))
    kernel = denoised(table, problem, landmarks)
    chances = np.clip(table.condense(kernel), 0.0, 1.0)
    kernel = table.square(chances)
    truth = chosen.fit_kernel(kernel, problem).decision_function(centre)
    drawn = PairTable(table.n_points, table.diagonal)
    drawn.shots[:] = table.shots
    values = []
    for _ in range(repetitions):
        drawn.hits[:] = rng.binomial(table.shots, chances)
        noise = np.where(
            block.seen,
            rng.binomial(block.shots, entries) / np.maximum(block.shots, 1) - entries,
            spread * rng.standard_normal(spread.shape),
        )
        values.append(chosen.fit(drawn, problem, landmarks).decision_function(centre + noise))
    errors = np.stack(values) - truth
    quantile = normal_quantile(prediction.level)
    reach = quantile * np.sqrt(np.mean(errors**2, axis=0))
    f = prediction.f
    return replace(
        prediction,
        total_low=f - reach,
        total_high=f + reach,
        could_flip=_could_flip(prediction, errors, quantile),
    )


def _could_flip(prediction: Prediction, errors: FloatArray, quantile: float) -> BoolArray:
    """Return where the leader is not ahead of every other class by its interval's reach."""
    f = prediction.f
    if f.ndim == 1:
        return np.asarray(np.abs(f) <= quantile * np.sqrt(np.mean(errors**2, axis=0)))
    points, leader = np.arange(len(f)), f.argmax(axis=1)
    gaps = f[points, leader][:, None] - f
    errors_of_gaps = errors[:, points, leader][..., None] - errors
    reach = quantile * np.sqrt(np.mean(errors_of_gaps**2, axis=0))
    close = gaps <= reach
    close[points, leader] = False
    return np.asarray(close.any(axis=1))


def denoised(table: PairTable, problem: Problem, landmarks: Landmarks | None) -> FloatArray:
    """Return the estimated kernel without the eigenvalues that shot noise alone can give.

    The spectrum of symmetric noise ends at the :func:`noise_floor`. A kernel with the noise left
    in would let the readout choose its ridge as if noise were signal, and so hide the bias that
    the true noise gives it.
    """
    kernel = estimate_kernel(table, problem, landmarks)
    values, vectors = eigh(kernel, driver="evd", check_finite=False)
    kept = values > min(noise_floor(table), values[-1] / 2)
    return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)


def noise_floor(table: PairTable) -> float:
    """Return 2σ sqrt(N): no eigenvalue of shot noise alone lies far above it (Wigner)."""
    seen = ~table.unseen
    shots = np.maximum(table.shots, 1)
    k = (table.hits + 0.5) / (table.shots + 1)
    # Entries without shots read one value and bring no noise.
    variance = float(np.sum((k * (1 - k) / shots)[seen])) / table.n_pairs
    return float(2 * np.sqrt(variance * table.n_points))
