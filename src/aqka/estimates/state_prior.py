"""f of measured points, read with the training points' states as a prior.

New states resemble those of training points, which few shots on a new point cannot tell by
themselves. Its counts C weigh the training states, w_i ∝ exp(β Σ C log(.97 p_i + .03/2ⁿ)), and the
mean Σ w_i f_i is combined with the f of maximum likelihood, f̂ = a + b Σ w_i f_i + c f_ML. What β,
a, b and c are best is learnt on counts redrawn from the training states with the shots of the new
points, each as a new point to the others: its own state is left out of the weights and of f.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from aqka._util.arrays import BoolArray, FloatArray, IntArray
from aqka.core.points import PointTable
from aqka.estimates.states import FittedStates, outcome_probabilities
from aqka.maths.product_bases import ProductBases

POWERS = (0.05, 0.1, 0.2, 0.4, 0.8)  # of β, below 1: training states are only near the new ones
KEPT = 0.97  # the rest of a state's probabilities is spread evenly: no outcome is impossible
FOLDS = 5
GUARD = 0.95  # share of redrawn points that some other training state explains as well as is needed
LEAST_POINTS = 10
LEAST_GAIN = 1.0  # standard errors by which redrawn counts must show the prior to be better


def log_likelihoods(table: PointTable, states: FittedStates) -> FloatArray:
    """Return Σ C log(.97 p + .03/2ⁿ) of each point's counts under each state."""
    p = outcome_probabilities(ProductBases(table.settings), states.vectors, states.confusion)
    dimension = 2**table.n_qubits
    log_p = np.log(KEPT * p + (1 - KEPT) / dimension).reshape(len(p), -1)
    point, setting = np.divmod(table.cells, table.n_settings)
    place = (point, setting * dimension + table.outcomes)
    counts = csr_array((table.counts, place), shape=(table.n_points, log_p.shape[1]))
    return np.asarray(counts @ log_p.T)


def state_weights(likelihoods: FloatArray, power: float) -> FloatArray:
    """Return w of each point, a column per training state."""
    w = np.exp(power * (likelihoods - likelihoods.max(axis=1, keepdims=True)))
    return np.asarray(w / w.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class RedrawnPoints:
    """Training points with new counts, each a new point to the others; a column per output."""

    origin: IntArray  # the training point of each
    truth: FloatArray  # its f
    fitted: FloatArray  # f of the state that was fitted to the new counts
    means: FloatArray  # Σ w_i f_i over the others' states, for each of POWERS
    gaps: FloatArray  # log-likelihood of the fit minus that of the best of the others' states


@dataclass(frozen=True, eq=False)
class StatePrior:
    """How f is read at one number of shots."""

    power: float  # β
    combination: FloatArray  # a, b and c, a column per output
    deviation: FloatArray  # root mean square error of f̂, per output
    largest_gap: float  # where all training states are further off, maximum likelihood stands

    @classmethod
    def learn(cls, redrawn: RedrawnPoints) -> "StatePrior | None":
        """Return the best reading by cross-validation; None where none is surely better."""
        numbers, origin = np.unique(redrawn.origin, return_inverse=True)
        if len(numbers) < LEAST_POINTS:
            return None
        errors = [_held_out_errors(redrawn, mean, origin % FOLDS) for mean in redrawn.means]
        best = int(np.argmin([np.mean(error**2) for error in errors]))
        error, mean = errors[best], redrawn.means[best]
        gain = np.sum((redrawn.fitted - redrawn.truth) ** 2 - error**2, axis=1)
        gain = np.bincount(origin, gain) / np.bincount(origin)
        if gain.mean() <= LEAST_GAIN * gain.std(ddof=1) / np.sqrt(len(gain)):
            return None
        return cls(
            POWERS[best],
            _combination(mean, redrawn.fitted, redrawn.truth),
            np.sqrt(np.mean(error**2, axis=0)),
            float(np.quantile(redrawn.gaps, GUARD)),
        )

    def read(
        self, likelihoods: FloatArray, own: FloatArray, fitted: FloatArray, f: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Return f̂ of points, and whether some training state explains their counts.

        ``likelihoods`` are those of training states and ``f`` their f; ``own`` and ``fitted`` are
        those of the states that were fitted to the points.
        """
        mean = state_weights(likelihoods, self.power) @ f
        holds = own - likelihoods.max(axis=1) <= self.largest_gap
        return _combine(self.combination, mean, fitted), np.asarray(holds)


def _combination(mean: FloatArray, fitted: FloatArray, truth: FloatArray) -> FloatArray:
    """Return a, b and c by least squares, b and c not below 0; a column per output."""
    columns = []
    for m, f, t in zip(mean.T, fitted.T, truth.T, strict=True):
        design = np.stack([m, f], axis=1)
        centre = design.mean(axis=0)
        weights, _ = nnls(design - centre, t - t.mean())
        columns.append(np.append(t.mean() - centre @ weights, weights))
    return np.stack(columns, axis=1)


def _combine(combination: FloatArray, mean: FloatArray, fitted: FloatArray) -> FloatArray:
    a, b, c = combination
    return np.asarray(a + b * mean + c * fitted)


def _held_out_errors(redrawn: RedrawnPoints, mean: FloatArray, fold: IntArray) -> FloatArray:
    """Return f̂ - f of points that the combination was not learnt on."""
    errors = np.empty_like(redrawn.truth)
    for k in range(FOLDS):
        kept, held = fold != k, fold == k
        combination = _combination(mean[kept], redrawn.fitted[kept], redrawn.truth[kept])
        found = _combine(combination, mean[held], redrawn.fitted[held])
        errors[held] = found - redrawn.truth[held]
    return errors
