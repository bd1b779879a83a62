"""New points that the model can answer already: a Gaussian process on gate angles, and its audit.

docs/howto/free-predictions.md shows it, docs/explanation/prediction.md has the mathematics.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, as_fraction
from aqka.backends.gate_angles import GateAngles
from aqka.designs._base import check_error_rate
from aqka.errors import InputError
from aqka.learners import FittedHead, winner_of
from aqka.maths.angle_prior import (
    WIDTH_POINTS,
    WIDTH_SPREAD,
    AngleKernel,
    AnglePrior,
    WidthObjective,
    lead,
    slowest,
    spread_evenly,
)
from aqka.maths.metrics import normal_quantile, share_interval

COLUMNS = ("prior", "prior_mean", "prior_deviation", "prior_noise")  # of a ledger
BLOCK_ROWS = 500  # of a kernel that is never written out as a whole


@dataclass(frozen=True)
class PredictionPrior:
    """Answer new points without a shot where a Gaussian process on gate angles is sure.

    Some of the points it answers are measured all the same. Where shots disagree with it clearly
    more often than ``error_rate``, it is switched off and every point is measured.

    Parameters
    ----------
    error_rate : float, default=0.05
        Chance, per point that it answers, of another class than unlimited shots would give.
    audit : float, default=0.05
        Share of its answers that are measured all the same, drawn at random.
    least_audited : int, default=10
        Fewest points of the audit; all where fewer are answered.
    """

    error_rate: float = 0.05
    audit: float = 0.05
    least_audited: int = 10

    def __post_init__(self) -> None:
        check_error_rate(self.error_rate)
        as_fraction(self.audit, "audit")
        as_count(self.least_audited, "least_audited", minimum=0)

    def describe(self) -> str:
        """Return the settings as ledgers write them."""
        audit = f"audit {self.audit!r} of at least {self.least_audited}"
        return f"angles at {self.error_rate!r}, {audit}"

    def fit(
        self, head: FittedHead, outputs: FloatArray, X: ArrayLike, feature_map: Any, n_qubits: int
    ) -> "FittedPrior":
        """Learn what the training points X say about others.

        ``head`` is of classes and ``outputs`` what it was trained on, ``Problem.outputs``;
        ``feature_map`` encodes the points on ``n_qubits``.
        """
        points = np.asarray(X)
        angles = GateAngles.of(feature_map, points.shape[1])
        kernel, f = _kernel_and_f(head, spread_evenly(len(points), WIDTH_POINTS))
        expectations, fidelity = head.estimate.known_states(n_qubits)
        # Where states are poorly known, f of the training points is mostly noise that the head has
        # learnt, and the labels are the better guess.
        y = np.asarray(outputs).reshape(f.shape)
        values = np.asarray(fidelity**2 * f + (1 - fidelity**2) * y)
        process = AnglePrior.fit(
            angles(points), kernel, values, expectations, periodic=angles.periodic
        )
        return FittedPrior(self, angles, process)

    def promise(self, X: ArrayLike, outputs: FloatArray, feature_map: Any) -> tuple[float, float]:
        """Return the least and the largest share of new points that will cost shots.

        Before any is spent: every fifth training point is held out and answered from the labels of
        the others, with widths from far below to far above the usual ones. The audit is included.
        """
        points, values = np.asarray(X), np.asarray(outputs).reshape(len(outputs), -1)
        some = spread_evenly(len(points), WIDTH_POINTS)
        found = GateAngles.of(feature_map, points.shape[1])
        angles, values = found(points)[some], values[some]
        held = np.arange(len(angles)) % 5 == 0
        columns, quantile = slowest(angles), normal_quantile(1 - 2 * self.error_rate)
        objective = WidthObjective(angles[:, columns], np.eye(len(angles)), 1.0, found.periodic)
        shares: list[float] = []
        for step in (-WIDTH_SPREAD, 0.0, WIDTH_SPREAD):
            widths = np.full(len(columns), np.exp(objective.centre + step))
            kernel = AngleKernel(widths, objective.scales, found.periodic)
            kept = angles[~held][:, columns], values[~held]
            said = AnglePrior.regress(kernel, columns, *kept).predict(angles[held])
            shares += share_interval(int(np.sum(lead(*said) <= quantile)), len(said[0]))
        low, high = min(shares), max(shares)
        return low + self.audit * (1 - low), high + self.audit * (1 - high)


def _kernel_and_f(head: FittedHead, some: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return K̂ of some training points, and f of all; very many never have their kernel formed."""
    estimate: Any = head.estimate
    if estimate.forms_kernel:
        kernel = estimate.kernel
        return kernel[np.ix_(some, some)], kernel @ head.coefficients + head.intercept
    everyone = np.arange(len(head.alpha))
    parts = (everyone[k : k + BLOCK_ROWS] for k in range(0, len(everyone), BLOCK_ROWS))
    f = [estimate.block(rows, everyone) @ head.coefficients + head.intercept for rows in parts]
    return estimate.block(some, some), np.concatenate(f)


@dataclass(frozen=True, eq=False)
class FittedPrior:
    """What a head's training points say about new ones, without a shot.

    Parameters
    ----------
    settings, angles, process : PredictionPrior, GateAngles and AnglePrior
        When it answers, the gate angles of any points, and the Gaussian process on them.
    """

    settings: PredictionPrior
    angles: GateAngles
    process: AnglePrior

    def on(self, X: ArrayLike) -> "LazyAnswers":
        """Return what :func:`~aqka.predict` takes as the prior of these points."""
        return LazyAnswers(self.settings, lambda: self, X)

    def answers(self, X: ArrayLike, seed: int = 0) -> "Answers":
        """Return what it says of points; ``seed`` draws those of the audit."""
        mean, deviation = self.process.predict(self.angles(X))
        sure = lead(mean, deviation) > normal_quantile(1 - 2 * self.settings.error_rate)
        known = np.flatnonzero(sure)
        wanted = math.ceil(self.settings.audit * len(known))
        count = min(len(known), max(wanted, self.settings.least_audited))
        audited = np.zeros(len(sure), dtype=np.bool_)
        audited[np.random.default_rng([seed, 0]).permutation(known)[:count]] = True
        return Answers(mean, deviation, sure, audited, self.process.noise)


@dataclass(frozen=True, eq=False)
class LazyAnswers:
    """What a prior says of points, computed when first needed: a resumed run never does.

    Parameters
    ----------
    settings, fit, X : PredictionPrior, callable and array-like
        When it answers, what fits it, and the points.
    """

    settings: PredictionPrior
    fit: Callable[[], FittedPrior]
    X: ArrayLike

    def answers(self, seed: int) -> "Answers":
        """Fit the prior and let it answer."""
        return self.fit().answers(self.X, seed)


@dataclass(frozen=True, eq=False)
class Answers:
    """What is said of points before any shot."""

    mean: FloatArray  # of f, one column per output
    deviation: FloatArray  # likewise
    settled: BoolArray  # points it is sure of
    audited: BoolArray  # those among them that are measured all the same
    noise: FloatArray  # what the angles do not explain, per output; it need not be shot noise

    @property
    def free(self) -> BoolArray:
        """Points that cost no shot."""
        return np.asarray(self.settled & ~self.audited)

    @property
    def winner(self) -> IntArray:
        """The number of each point's class."""
        return winner_of(self.mean)

    def to_ledger(self) -> dict[str, IntArray]:
        """Return columns for a ledger, floats bit by bit."""
        floats = (self.mean, self.deviation, self.noise)
        bits = [np.ravel(values).view(np.int64) for values in floats]
        states = self.settled.astype(np.int64) + self.audited
        return dict(zip(COLUMNS, (states, *bits), strict=True))

    @classmethod
    def from_ledger(cls, columns: Mapping[str, IntArray], n_points: int) -> "Answers":
        """Return what a ledger keeps."""
        try:
            state, *bits = (columns[name] for name in COLUMNS)
            mean, deviation, noise = (column.view(np.float64) for column in bits)
            shape = len(state), len(noise)
            mean, deviation = mean.reshape(shape), deviation.reshape(shape)
        except (KeyError, ValueError) as error:
            raise InputError(f"what the prior said of the points is damaged: {error}") from None
        if len(state) != n_points:
            raise InputError(f"what the prior said is of {len(state)} points, not {n_points}.")
        return cls(mean, deviation, state > 0, state == 2, noise)
