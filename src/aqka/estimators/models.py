"""Ridge regression, ridge and support vector classification under a shot budget."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aqka._util.arrays import FloatArray
from aqka.core.problem import DEFAULT_C, Problem, TargetScale
from aqka.designs import Never
from aqka.errors import InputError
from aqka.estimators import _base
from aqka.estimators._base import QuantumClassifier, as_weights, with_parameters
from aqka.estimators._source import OnRound
from aqka.learners import Learner, make_learner
from aqka.learners.balanced import Balanced
from aqka.learners.svm import Svm
from aqka.maths.spectrum import left_out
from aqka.sessions import Values


@with_parameters
class Ridge(_base.QuantumKernelEstimator):
    """What both ridges share: their learner."""

    learner: Any = None
    _described = _base.QuantumKernelEstimator._described | {
        "learner": """str or Learner, optional
    How the head is fitted; see :func:`~aqka.learner_names`. The default is that of the design:
    ``"ridge-noise"`` for pairs, ``"ridge-loo"`` for points.""",
    }

    def _chosen_learner(self, default: str) -> Learner:
        return make_learner(default if self.learner is None else self.learner)


@with_parameters
class QuantumRidgeClassifier(QuantumClassifier, Ridge):
    """Kernel ridge classification under a shot budget.

    More than two classes are separated each from the rest, by heads that share one kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> X = minmax_scale(X, (1.5, 3.1))
    >>> model = QuantumRidgeClassifier(budget=20_000).fit(X[:60], y[:60])
    >>> model.shots_used_
    20000
    >>> bool(model.score(X[60:], y[60:]) > 0.8)
    True
    >>> model.prediction(X[60:], budget=40_000).settled.dtype
    dtype('bool')
    """

    def _after_fit(self, numbers: NDArray[Any]) -> None:
        """Scale decision values to probabilities, by points left out of the fit."""
        head = self.head_
        assert head.spectrum is not None, "a ridge keeps its decomposition"
        held_out = left_out(head.spectrum, self.problem_.outputs, head.regularisation)
        self.temperature_ = fit_temperature(score_per_class(held_out), numbers)

    def predict_proba(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return the probability of each class, calibrated on held-out training points."""
        scores = score_per_class(self.decision_function(X, budget))
        return np.asarray(softmax(self.temperature_ * scores, axis=1))


def score_per_class(decision: FloatArray) -> FloatArray:
    """Return decision values as a column per class: f of two classes becomes (-f, f) / 2.

    Centred, so that one temperature scales two classes as it does more.
    """
    if decision.ndim == 2 and decision.shape[1] > 1:
        return decision
    f = decision.reshape(-1)
    return np.stack([-f, f], axis=1) / 2


def fit_temperature(decision: FloatArray, winner: FloatArray) -> float:
    """Return the t that makes softmax(t · decision) fit the classes best.

    One number for all classes keeps the most likely class the one that is predicted
    (temperature scaling: Guo et al. 2017, "On calibration of modern neural networks"). ``decision``
    has a column per class, and ``winner`` the column of each point's true class.
    """
    points = np.arange(len(decision))
    scale = float(np.abs(decision).max()) or 1.0

    def loss(log_t: float) -> float:
        t = np.exp(log_t) / scale
        return -float(np.mean(log_softmax(t * decision, axis=1)[points, winner]))

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded")
    return float(np.exp(found.x)) / scale


@with_parameters
class QuantumSVC(QuantumClassifier):
    """Support vector classification under a shot budget.

    More than two classes are separated each from the rest, by machines that share one kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> X = minmax_scale(X, (1.5, 3.1))
    >>> model = QuantumSVC(budget=20_000).fit(X[:60], y[:60])
    >>> bool(model.score(X[60:], y[60:]) > 0.8)
    True
    """

    C: float = DEFAULT_C
    _described = QuantumClassifier._described | {
        "C": f"""float, default={DEFAULT_C:g}
    Box of the dual: the larger, the fewer training points are left on the wrong side.""",
    }

    def _chosen_learner(self, default: str) -> Learner:
        return Svm()

    def _make_problem(self, y: NDArray[np.int64], weights: FloatArray | None) -> Problem:
        return Problem(y, C=self.C, weights=weights)  # type: ignore[arg-type]


@with_parameters
class QuantumRidge(RegressorMixin, Ridge):  # type: ignore[misc]
    """Kernel ridge regression under a shot budget; the target's mean is the intercept.

    Examples
    --------
    >>> X = np.linspace(0, 3, 40).reshape(-1, 1)
    >>> y = np.cos(2 * X[:, 0]) + 4
    >>> model = QuantumRidge(budget=50_000).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> found = model.prediction(X[:3], budget=30_000)  # values, and no classes
    >>> bool(((found.low <= found.f) & (found.f <= found.high)).all())
    True
    """

    def __sklearn_tags__(self) -> Any:
        """Say that a ridge chosen by points left out may fit nothing where nothing is learnt.

        On scikit-learn's regression of ten features no ridge predicts new points by the ZZ map.
        """
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, on_round: OnRound | None = None
    ) -> "QuantumRidge":
        """Measure the training kernel under the budget and train the head.

        Targets in several columns share the kernel and the ridge. ``sample_weight`` says how much
        each point counts in the fit, not where the shots go; ``on_round`` is called with the
        session after every round that is bought.
        """
        if isinstance(self._chosen_learner("ridge-noise"), Balanced):
            raise InputError(
                "learner 'balanced' moves the border between classes, and a regression has none; "
                "use 'ridge-noise'."
            )
        points, targets = validate_data(
            self, X, y, y_numeric=True, multi_output=True, ensure_min_samples=2
        )
        targets = targets.astype(np.float64)
        targets = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
        scale = TargetScale.of(targets)
        self.intercept_, self.scale_ = scale.centre, scale.spread
        problem = Problem(scale.scaled(targets), weights=as_weights(sample_weight, points))
        self._fit_problem(points, problem, on_round)
        # A ridge is the mean of a Gaussian process with the kernel a·K and noise a·λ, and this a is
        # where its likelihood is largest. The noise is that of targets and training shots together.
        self.amplitude_ = np.mean(problem.y * self.head_.alpha, axis=0)
        return self

    def prediction(
        self, X: Any, budget: int | None = None, *, level: float = 0.9, total: bool = False
    ) -> Values:
        """Predict by shots, in the target's units, and say how uncertain that is.

        The parameters are those of :meth:`QuantumRidgeClassifier.prediction`.
        """
        found: Values = self._measured(X, budget, Never(), level, total)
        return found.in_units(self.scale_, self.intercept_)

    def predict(
        self,
        X: Any,
        budget: int | None = None,
        *,
        return_std: bool = False,
        return_cov: bool = False,
    ) -> Any:
        """Return the targets of test points, spending at most ``budget`` shots on them.

        With ``return_std`` also how far a *target* lies from them, as a standard deviation: that of
        a Gaussian process with the measured kernel, whose mean is the prediction, together with
        that of the test shots. 90 % of the targets lie within 1.645 of it. With ``return_cov`` the
        covariance of the targets instead, where the kernel of the test points with themselves is
        known: by shots on points, or exactly by a simulator of the fidelity. Several outputs are
        the last axis.
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise InputError("return_std and return_cov exclude each other; ask for one of them.")
        entries = self.head_.entries()
        if self._spends(budget):
            values = self.prediction(X, budget)
            if not (return_std or return_cov):
                return values.f
            block, by_shots = entries.values(values.table), values.decided.deviation
            among = self.head_.estimate.among(values.table) if return_cov else None
            return values.f, self._spread(block, by_shots, among)
        points = validate_data(self, X, reset=False)
        found = self.source_.decide(self.head_, points) * self.scale_ + self.intercept_
        if not (return_std or return_cov):
            return found
        among = self.source_.among(self.head_, points) if return_cov else None
        return found, self._spread(self.source_.decide(entries, points), np.zeros(1), among)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of ``predict(X)``; a warning says if it is that of exact entries."""
        self._warn_of_exact_score()
        return float(super().score(X, y, sample_weight))

    def _spread(
        self, block: FloatArray, by_shots: FloatArray, among: FloatArray | None
    ) -> FloatArray:
        """Return the deviation of targets, from entries with training points and that by shots.

        With the entries ``among`` the points, their covariance.
        """
        head: Any = self.head_
        variance = head.target_variance(block, self.amplitude_, by_shots)
        if among is None:
            return np.asarray(np.sqrt(variance) * self.scale_)
        solved = head.spectrum.solve(block.T, head.regularisation)
        covariance = np.multiply.outer(among - block @ solved, self.amplitude_)
        covariance[np.diag_indices(len(among))] = variance
        return np.asarray(covariance * self.scale_**2)
