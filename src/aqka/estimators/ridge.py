"""Kernel ridge regression and classification under a shot budget."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem, TargetScale
from aqka.designs import Never
from aqka.errors import InputError
from aqka.estimators._base import QuantumClassifier, QuantumKernelEstimator
from aqka.estimators._source import OnRound
from aqka.estimators.probabilities import (
    fit_temperature,
    left_out_decisions,
    probabilities,
    score_per_class,
)
from aqka.learners.balanced import Balanced
from aqka.sessions import Values


class QuantumRidgeClassifier(QuantumClassifier):
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
        left_out = left_out_decisions(self.head_, self.problem_)
        self.temperature_ = fit_temperature(score_per_class(left_out), numbers)

    def predict_proba(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return the probability of each class, calibrated on held-out training points."""
        return probabilities(self.decision_function(X, budget), self.temperature_)


class QuantumRidge(RegressorMixin, QuantumKernelEstimator):  # type: ignore[misc]
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
        return tags

    def fit(self, X: Any, y: Any, *, on_round: OnRound | None = None) -> "QuantumRidge":
        """Measure the training kernel under the budget and train the head.

        ``on_round`` is called with the session after every round that is bought.
        """
        if isinstance(self._chosen_learner("ridge-noise"), Balanced):
            raise InputError(
                "learner 'balanced' moves the border between classes, and a regression has none; "
                "use 'ridge-noise'."
            )
        points, targets = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2)
        targets = targets.astype(np.float64)
        scale = TargetScale.of(targets)
        self.intercept_, self.scale_ = scale.centre, scale.spread
        problem = Problem(scale.scaled(targets))
        self._fit_problem(points, problem, on_round)
        return self

    def prediction(
        self, X: Any, budget: int | None = None, *, level: float = 0.9, total: bool = False
    ) -> Values:
        """Predict by shots, in the target's units, and say how uncertain that is.

        Parameters
        ----------
        X
            Test points.
        budget
            Shots in all; ``test_shots`` a point if None.
        level
            Level of the intervals.
        total
            Also give intervals that count the training shots;
            see :func:`~aqka.insight.with_total_interval`. Takes many refits.
        """
        points, shots = self._test_points(X, budget)
        found: Values = self.source_.predict(self.head_, points, shots, Never(), level)
        found = self._with_total_interval(found) if total else found
        return found.in_units(self.scale_, self.intercept_)

    def predict(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return the targets of test points, spending at most ``budget`` shots on them."""
        check_is_fitted(self)
        if self._spends(budget):
            return self.prediction(X, budget).f
        return self._without_shots(X) * self.scale_ + self.intercept_
