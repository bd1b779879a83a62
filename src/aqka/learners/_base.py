"""What a head is fitted to, the contract of a learner, and the head that it fits."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aqka._util.arrays import FloatArray, IntArray, as_array, digest, text_digest
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.maths.spectrum import FeatureSpectrum, Spectrum


class Estimate(ABC):
    """What counts say about the kernel of the training points, and how new counts compare.

    A design makes one of its table; a learner fits a head to it.
    """

    design: Any
    """The design that the counts were measured in, in which new points are measured too."""
    is_fidelity: bool = True
    """Whether it is the fidelity kernel, which pairs measure, and not a projected one."""
    meaning: str = "K̂ is the fidelity kernel."
    """Which kernel it is, in a sentence."""
    tests: Sequence[Any] = ()
    """Whether fitted states are pure, as tests of their counts say."""
    rows_are_alike: bool = True
    """Whether a new point's row is measured as the training rows were."""
    forms_kernel: bool = True
    """Whether the kernel is ever written out: for very many points features do without it."""

    @property
    @abstractmethod
    def kernel(self) -> FloatArray:
        """The kernel as measured; symmetric, but not always positive semi-definite."""

    @property
    def variance(self) -> FloatArray | None:
        """Variance of each entry by its shots; None where it is unknown or takes too long."""
        return None

    def rough_variance(self) -> FloatArray | None:
        """Return the variances, roughly where they are not computed."""
        return self.variance

    def mean_variance(self) -> float | None:
        """Return the mean variance of an entry off the diagonal; None where it is unknown."""
        variance = self.variance
        if variance is None:
            return None
        count = len(variance) * (len(variance) - 1)
        return float((variance.sum() - np.trace(variance)) / max(count, 1))

    def known_states(self, n_qubits: int) -> tuple[float, float]:
        """Return how many expectations the kernel is the mean of, and how well states are known.

        The second is the fidelity F of a fitted state with the true one, 1 where it is exact.
        """
        return 2.0**n_qubits, 1.0

    def features(self) -> FloatArray | None:
        """Return features whose inner products are the kernel, where they are fewer than points."""
        return None

    def spectrum(self, weights: FloatArray | None = None) -> Spectrum | FeatureSpectrum:
        """Return the one decomposition that a fit needs: of the features where there are some."""
        features = self.features()
        if features is None:
            return Spectrum.of(self.kernel, weights)
        return FeatureSpectrum.of(features, weights)

    @property
    @abstractmethod
    def identity(self) -> str:
        """A text that tells estimates apart by the counts behind them, the same on any machine."""

    @abstractmethod
    def decide(self, head: "FittedHead", table: Any, seed: int = 0) -> "Decided":
        """Return f of new points and its deviation, from counts of these points.

        The deviation is that of the points' own shots, with the head taken as given; ``seed``
        draws the counts that calibrate it.
        """

    def values(self, head: "FittedHead", table: Any) -> FloatArray:
        """Return f of new points, from counts of these points."""
        return self.decide(head, table).f

    def improve(
        self, head: "FittedHead", table: Any, decided: "Decided", points: IntArray, seed: int = 0
    ) -> "Decided":
        """Return it with some points read better by what the training points are like."""
        return decided

    def among(self, table: Any) -> FloatArray:
        """Return the kernel of new points with themselves, from counts of these points."""
        raise InputError(
            "return_cov needs the kernel among the test points, whose pairs are not measured: "
            "take design='points', or exact entries of a simulator (no budget)."
        )

    @abstractmethod
    def decide_exactly(self, head: "FittedHead", backend: Any) -> FloatArray:
        """Return f of a backend's points without a shot, where a simulator knows them exactly."""


@dataclass(frozen=True, eq=False)
class Decided:
    """Decision values of points, and how uncertain their shots leave them.

    Parameters
    ----------
    f : array
        Decision values; with more than two classes a column each.
    deviation : array
        Standard deviation of each.
    reading : RowReading, default=None
        What the counts say about rows of kernel entries; None where points were measured.
    states : FittedStates, default=None
        The states that were fitted to the counts, where a kernel has states.
    """

    f: FloatArray
    deviation: FloatArray
    reading: Any = None
    states: Any = None

    def combined(self, mean: FloatArray, deviation: FloatArray, points: IntArray) -> "Decided":
        """Return it with another guess of f at some points, each weighed by its precision."""
        f, own = self.f.copy(), self.deviation.copy()
        here, there = (1 / np.maximum(a, 1e-150) ** 2 for a in (own[points], deviation[points]))
        f[points] = (here * f[points] + there * mean[points]) / (here + there)
        own[points] = 1 / np.sqrt(here + there)
        return replace(self, f=f, deviation=own)

    def lead(self) -> tuple[FloatArray, FloatArray]:
        """Return f and its deviation; with several classes, those of the leader's gap to the next.

        Where points were measured, both classes share the point's shots, so the sum of their
        deviations bounds that of the gap.
        """
        if self.f.ndim == 1:
            return self.f, self.deviation
        rows = np.arange(len(self.f))
        second, best = np.argsort(self.f, axis=1)[:, -2:].T
        gap = self.f[rows, best] - self.f[rows, second]
        if self.reading is None:
            return gap, self.deviation[rows, best] + self.deviation[rows, second]
        contrast = np.zeros_like(self.f)
        contrast[rows, best], contrast[rows, second] = 1.0, -1.0
        return gap, np.sqrt(self.reading.variance(contrast))


@dataclass(frozen=True, eq=False)
class FittedHead:
    """A trained classifier or regressor f(x) = Σ α_i K(x, x_i) + b.

    Parameters
    ----------
    alpha : array
        Coefficients; with more than two classes one column per class.
    intercept : array
        b, one number per output.
    estimate : Estimate
        The kernel estimate it was fitted to.
    regularisation : float
        The ridge λ, or the C of an SVM, that was used.
    classes : array
        The labels of a negative and of a positive f; or of each column.
    has_classes : bool, default=True
        Whether f stands for classes; else for real targets.
    fitted_by : str, default=""
        The learner, as a text.
    spectrum : Spectrum or FeatureSpectrum, default=None
        The decomposition that the learner made; it is the longest step, so it is kept.
    """

    alpha: FloatArray
    intercept: FloatArray
    estimate: Estimate
    regularisation: float
    classes: NDArray[Any]
    has_classes: bool = True
    fitted_by: str = ""
    spectrum: Spectrum | FeatureSpectrum | None = field(default=None, repr=False)

    @property
    def kernel(self) -> FloatArray:
        """The kernel it was fitted to: completed and projected."""
        return self.estimate.kernel if self.spectrum is None else self.spectrum.kernel()

    @property
    def coefficients(self) -> FloatArray:
        """α with one column per output."""
        return np.asarray(self.alpha, dtype=np.float64).reshape(len(self.alpha), -1)

    @property
    def identity(self) -> str:
        """A text that tells heads apart by what they were fitted to, the same on any machine.

        Fitted numbers differ in their last bits from one processor to the next, so that nothing
        that costs shots may depend on them.
        """
        # Coefficients that no learner fitted are inputs themselves.
        how = self.fitted_by or f"{digest(self.coefficients)} {digest(np.ravel(self.intercept))}"
        return text_digest(f"{self.estimate.identity} {how}")

    def decide(self, table: Any, seed: int = 0) -> Decided:
        """Return f of new points and its deviation, from counts of these points."""
        return self.estimate.decide(self, table, seed)

    def values(self, table: Any) -> FloatArray:
        """Return f of new points alone, which is less work."""
        return self.estimate.values(self, table)

    def decision_function(self, test_kernel: ArrayLike) -> FloatArray:
        """Return f for each row of a test-by-train kernel block, a column per class above two."""
        block = as_array(test_kernel, "test_kernel")
        if block.dtype.kind not in "buif" or not np.all(np.isfinite(block)):
            raise InputError("test_kernel must hold finite real numbers.")
        if block.ndim != 2 or block.shape[1] != len(self.alpha):
            raise InputError(
                f"test_kernel must have one row per test point and {len(self.alpha)} columns, "
                f"one per training point; got shape {block.shape}."
            )
        return np.asarray(block @ self.alpha + self.intercept)

    def predict(self, test_kernel: ArrayLike) -> NDArray[Any]:
        """Return the class of each row of a test-by-train block; of real targets, the sign."""
        return self.labels(self.decision_function(test_kernel))

    def entries(self) -> "FittedHead":
        """Return the head whose outputs are a point's entries with each training point."""
        n_points = len(self.alpha)
        return replace(self, alpha=np.eye(n_points), intercept=np.zeros(n_points))

    def target_variance(
        self, block: FloatArray, amplitude: Any, deviation: FloatArray
    ) -> FloatArray:
        """Return the variance of targets, from a test-by-train block and f's deviation by shots.

        A ridge is the mean of a Gaussian process with the kernel a·K and noise a·λ, with a the
        amplitude; its variance comes on top of that of the shots.
        """
        assert self.spectrum is not None, "a ridge keeps its decomposition"
        known = np.sum(block * self.spectrum.solve(block.T, self.regularisation).T, axis=1)
        itself = float(np.mean(self.estimate.kernel.diagonal()))
        prior = np.maximum(itself - known, 0.0) + self.regularisation
        return np.asarray(np.multiply.outer(prior, amplitude) + deviation**2)

    def labels(self, decision: FloatArray) -> NDArray[Any]:
        """Return the classes that values of f stand for."""
        return labels_of(decision, self.classes)


def winner_of(decision: FloatArray) -> IntArray:
    """Return the number of each decision value's class: by its sign, or the largest column's."""
    columns = decision.reshape(len(decision), -1)
    winner = columns[:, 0] >= 0 if columns.shape[1] == 1 else columns.argmax(axis=1)
    return winner.astype(np.int64)


def labels_of(decision: FloatArray, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the class of each decision value.

    >>> labels_of(np.array([-0.2, 0.0, 3.0]), np.array(["no", "yes"])).tolist()
    ['no', 'yes', 'yes']
    """
    return np.asarray(classes[winner_of(decision)])


class Learner(ABC):
    """Fits a head to what was measured."""

    @abstractmethod
    def fit(self, estimate: Estimate, problem: Problem) -> FittedHead:
        """Fit a head to a kernel estimate, or to its features where these are fewer."""

    def describe(self, problem: Problem) -> str:
        """Return all that a fit depends on besides the counts, as a text."""
        # A grid is computed, so its last bits are those of a processor.
        settings = ", ".join(
            f"{name}={digest(np.asarray(value)) if isinstance(value, tuple) else repr(value)}"
            for name, value in sorted(vars(self).items())
        )
        weights = "" if problem.weights is None else f", weights={digest(problem.weights)}"
        return (
            f"{type(self).__name__}({settings}) of y={digest(problem.y)}, "
            f"ridge={problem.ridge!r}, C={problem.C!r}{weights}"
        )
