"""scikit-learn estimators that fit and predict under a shot budget."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from aqka._util.arrays import FloatArray, as_count, as_kernel, text_digest
from aqka.backends.factory import as_factory
from aqka.core.prior import KernelPrior
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.estimators.calibration import (
    as_class_columns,
    fit_temperature,
    held_out_decisions,
    probabilities,
)
from aqka.estimators.kernel_source import PRECOMPUTED, as_measured, as_points
from aqka.insight.diagnostics import diagnose
from aqka.insight.intervals import with_total_interval
from aqka.planning.quotes import quote
from aqka.readouts import Readout, make_readout
from aqka.readouts.svm import Svm
from aqka.runs.driver import drive, fingerprint
from aqka.runs.ledger import LEDGER_NAME
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.predicted import Prediction
from aqka.sessions.prediction import predict as predict_with_shots

DEFAULT_SHOTS_PER_PAIR = 16
"""Where the paper sees adaptive shots lose their advantage (its regime map)."""


class _QuantumKernelEstimator(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: the kernel's way from shots to a fitted head, and predictions.

    Parameters
    ----------
    feature_map
        What the backend takes as one, such as a Qiskit circuit; None for the ZZ map, one qubit
        per feature.
    backend
        ``"statevector"``; a :class:`~aqka.BackendFactory` for any other backend; or a kernel that
        costs no shots: ``"precomputed"``, where X is the kernel itself (in ``predict`` the
        test-by-train block), or a finished run (its directory, session or
        :class:`~aqka.core.PairTable`), where X is one column of its point numbers.
    budget
        Training shots: a number, or a text such as ``"5 min"`` or ``"$20"``; None is 16 a pair.
    allocator, readout
        A name or an object; see :func:`~aqka.allocator_names`, :func:`~aqka.readout_names`.
    test_shots
        Shots a point that ``predict`` may spend where it is given no budget. None takes exact
        entries from a simulator.
    directory
        Where each fit and each prediction keeps its ledger, in a folder of its own. What was
        measured there before, with the same data and settings, is not bought again.
    seed
        Of every draw.
    """

    def __init__(
        self,
        feature_map: Any = None,
        backend: Any = "statevector",
        budget: int | str | None = None,
        allocator: Any = "auto",
        readout: Any = "auto",
        *,
        test_shots: int | None = None,
        directory: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        self.feature_map = feature_map
        self.backend = backend
        self.budget = budget
        self.allocator = allocator
        self.readout = readout
        self.test_shots = test_shots
        self.directory = directory
        self.seed = seed

    def __sklearn_tags__(self) -> Any:
        """Say that a precomputed kernel is cut by rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.backend, str) and self.backend == PRECOMPUTED
        return tags

    def _problem(self, y: NDArray[Any]) -> Problem:
        return Problem(y)

    def _chosen_readout(self) -> Readout:
        return make_readout(self.readout)

    def _fit(self, X: NDArray[Any], y: NDArray[Any]) -> Problem:
        """Measure or take the kernel, and train the head on it."""
        problem = self._problem(y)
        readout = self._chosen_readout()
        factory = as_factory(self.backend)
        self.session_: Acquisition | None = None
        self.ledger_path_: Path | None = None
        self.shots_used_ = 0
        if isinstance(self.backend, str) and self.backend == PRECOMPUTED:
            kernel = as_kernel(X, "X")
            self.head_ = readout.fit_kernel(kernel, problem)
            self.table_ = None
            self.kernel_, self.kernel_variance_ = kernel, np.zeros_like(kernel)
            self.diagnostics_ = diagnose(problem.new_table(), problem, kernel)
            self.allocation_reason_ = "No shots: the kernel was given."
            return problem
        if factory is None:
            measured = as_measured(self.backend)
            self._points = as_points(X, measured.n_points)
            self.table_ = measured.subset(self._points)
            self.head_ = readout.fit(self.table_, problem)
            self.allocation_reason_ = "No shots: the kernel was measured before."
        else:
            session = self._measure(X, problem)
            self.session_, self.table_ = session, session.table
            self.head_ = session.fit(readout)
            self.shots_used_ = session.table.total
            self.allocation_reason_ = session.allocator.explain(session.table, problem)
        self.kernel_ = problem.reading.kernel(self.table_)
        prior = KernelPrior.of(self.table_)
        self.kernel_variance_ = self.table_.square(
            prior.variance(prior.posterior_mean(self.table_), self.table_.shots), known_diagonal=0.0
        )
        self.diagnostics_ = diagnose(self.table_, problem)
        return problem

    def _measure(self, X: NDArray[Any], problem: Problem) -> Acquisition:
        """Spend the budget."""
        factory = as_factory(self.backend)
        assert factory is not None
        self._X = X
        backend = factory(X, self.feature_map, columns=None, seed=self.seed)
        budget = self._shots(problem, X.shape[1])
        session = Acquisition(problem, budget, self.allocator, seed=self.seed)
        directory = self._own_directory("fit", repr(fingerprint(session, backend)))
        drive(session, backend, directory, None, None)
        if directory is not None:
            self.ledger_path_ = directory / LEDGER_NAME
        return session

    def _shots(self, problem: Problem, n_features: int) -> int:
        if self.budget is None:
            return DEFAULT_SHOTS_PER_PAIR * problem.new_table().n_pairs
        if isinstance(self.budget, str):
            return quote(problem.n_points, self.budget, n_qubits=max(n_features, 2)).shots
        return as_count(self.budget, "budget")

    def _own_directory(self, what: str, identity: str) -> Path | None:
        """Return a folder for one fit or prediction, the same for the same data and settings."""
        if self.directory is None:
            return None
        return Path(self.directory) / f"{what}-{text_digest(identity)}"

    def prediction(
        self,
        X: Any,
        budget: int | None = None,
        *,
        error_rate: float = 0.05,
        level: float = 0.9,
        total: bool = False,
    ) -> Prediction:
        """Predict by shots, and say what is settled and how uncertain the rest is.

        Parameters
        ----------
        X
            Test points.
        budget
            Shots in all; ``test_shots`` a point if None.
        error_rate, level
            See :func:`~aqka.predict`.
        total
            Also give intervals that count the training shots, and say which labels could flip;
            see :func:`~aqka.insight.with_total_interval`. Takes many refits.
        """
        check_is_fitted(self)
        factory = as_factory(self.backend)
        if factory is None:
            raise InputError(
                "budget: this kernel was given, so there is nothing to measure; call predict(X)."
            )
        if budget is None and self.test_shots is None:
            raise InputError("budget is needed: predict(X, budget=…), or test_shots=… when made.")
        points = validate_data(self, X, reset=False)
        shots = as_count(self.test_shots, "test_shots") * len(points) if budget is None else budget
        backend = factory(points, self.feature_map, columns=self._X, seed=self.seed)
        directory = None
        if self.directory is not None:
            facts = (backend.fingerprint(), shots)
            identity = repr((facts, error_rate, self.head_.alpha.tolist()))
            directory = self._own_directory("predict", identity)
        found = predict_with_shots(
            self.head_,
            backend,
            shots,
            error_rate=error_rate,
            level=level,
            seed=self.seed,
            directory=directory,
        )
        if total:
            assert self.session_ is not None
            found = with_total_interval(found, self.session_, self._chosen_readout())
        return found

    def _decision(self, X: Any, budget: int | None) -> FloatArray:
        """Return f of the test points, by shots or from exact or given entries."""
        check_is_fitted(self)
        factory = as_factory(self.backend)
        if factory is not None and (budget is not None or self.test_shots is not None):
            return self.prediction(X, budget).f
        points = validate_data(self, X, reset=False)
        return self.head_.decision_function(self._entries(points, budget))

    def _entries(self, points: NDArray[Any], budget: int | None) -> FloatArray:
        """Return the test-by-train block without spending a shot."""
        if budget is not None:
            raise InputError(
                "budget: this kernel was given, so there is nothing to measure; leave it out."
            )
        if isinstance(self.backend, str) and self.backend == PRECOMPUTED:
            return as_kernel(points, "X", square=False)
        factory = as_factory(self.backend)
        if factory is None:
            measured = as_measured(self.backend)
            kernel = self.problem_.reading.kernel(measured)
            rows = as_points(points, measured.n_points)
            return np.asarray(kernel[np.ix_(rows, self._points)])
        backend = factory(points, self.feature_map, columns=self._X, seed=self.seed)
        if not backend.has_kernel:
            raise InputError(
                f"budget is needed: {type(backend).__name__} has no exact entries; predict(X, "
                "budget=…), or test_shots=… when the estimator is made."
            )
        return np.asarray(backend.kernel())


class _QuantumClassifier(ClassifierMixin, _QuantumKernelEstimator):  # type: ignore[misc]
    """What the two classifiers share."""

    def __sklearn_tags__(self) -> Any:
        """Say that the ZZ map, unlike the head, may suit given data poorly.

        On scikit-learn's three blobs even its exact kernel separates only 57 % of the points.
        """
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any) -> Any:
        """Measure the training kernel under the budget and train the head."""
        points, labels = validate_data(self, X, y, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, encoded = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"y has a single class, {self.classes_[0]}; a classifier needs two or more."
            )
        self.problem_ = self._fit(points, encoded.astype(np.int64))
        self._after_fit(encoded)
        return self

    def _after_fit(self, encoded: NDArray[Any]) -> None:
        """Do what a head needs besides."""

    def decision_function(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return f: positive for the second of two classes, or a column per class."""
        return self._decision(X, budget)

    def predict(self, X: Any, budget: int | None = None) -> NDArray[Any]:
        """Return the classes of test points, spending at most ``budget`` shots on them.

        Without a budget and without ``test_shots`` a simulator's exact entries are taken.
        """
        f = self._decision(X, budget)
        winner = (f >= 0).astype(np.intp) if f.ndim == 1 else f.argmax(axis=1)
        return np.asarray(self.classes_[winner])


class QuantumRidgeClassifier(_QuantumClassifier):
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

    def _after_fit(self, encoded: NDArray[Any]) -> None:
        """Scale decision values to probabilities, by points held out of the measured kernel."""
        held_out = held_out_decisions(
            self.kernel_, self.problem_.outputs, self.head_.regularisation
        )
        self.temperature_ = fit_temperature(as_class_columns(held_out), encoded)

    def predict_proba(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return the probability of each class, calibrated on held-out training points."""
        return probabilities(self._decision(X, budget), self.temperature_)


class QuantumSVC(_QuantumClassifier):
    """Support vector classification under a shot budget.

    More than two classes are separated each from the rest, by machines that share one kernel.

    Parameters
    ----------
    C
        Box of the dual.

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

    def __init__(
        self,
        feature_map: Any = None,
        backend: Any = "statevector",
        budget: int | str | None = None,
        allocator: Any = "auto",
        C: float = 1.0,
        *,
        test_shots: int | None = None,
        directory: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(
            feature_map,
            backend,
            budget,
            allocator,
            test_shots=test_shots,
            directory=directory,
            seed=seed,
        )
        self.C = C

    def _chosen_readout(self) -> Readout:
        return Svm()

    def _problem(self, y: NDArray[Any]) -> Problem:
        return Problem(y, C=self.C)


class QuantumRidge(RegressorMixin, _QuantumKernelEstimator):  # type: ignore[misc]
    """Kernel ridge regression under a shot budget; the target's mean is the intercept.

    Examples
    --------
    >>> X = np.linspace(0, 3, 40).reshape(-1, 1)
    >>> y = np.cos(2 * X[:, 0]) + 4
    >>> model = QuantumRidge(budget=50_000).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def fit(self, X: Any, y: Any) -> "QuantumRidge":
        """Measure the training kernel under the budget and train the head."""
        points, targets = validate_data(self, X, y, y_numeric=True, ensure_min_samples=2)
        targets = targets.astype(np.float64)
        # Two values become -1 and +1 in a Problem, which is what this makes of them already.
        two = np.unique(targets).size == 2
        self.intercept_ = float((targets.min() + targets.max()) / 2 if two else targets.mean())
        self.scale_ = float(np.abs(targets - self.intercept_).max())
        if self.scale_ == 0:
            raise InputError(f"y has a single value, {targets[0]}; there is nothing to learn.")
        self.problem_ = self._fit(points, targets)
        return self

    def _problem(self, y: NDArray[Any]) -> Problem:
        return Problem((y - self.intercept_) / self.scale_)

    def predict(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return the targets of test points, spending at most ``budget`` shots on them."""
        return self._decision(X, budget) * self.scale_ + self.intercept_
