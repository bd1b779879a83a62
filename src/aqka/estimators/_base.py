"""What the estimators share: from points to a fitted head, and from there to predictions."""

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from inspect import cleandoc, signature
from pathlib import Path
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from aqka._util.arrays import FloatArray, digest
from aqka.backends.factory import STATEVECTOR
from aqka.core.problem import Problem, as_labels
from aqka.designs import Settle, Stop
from aqka.errors import ExactScoreWarning, InputError
from aqka.estimators._source import OnRound, Purchase, is_precomputed, kernel_source
from aqka.insight.diagnostics import diagnose
from aqka.insight.intervals import with_total_interval
from aqka.learners import Learner
from aqka.planning.quotes import PREDICTIONS
from aqka.runs.ledger import LEDGER_NAME

Estimator = TypeVar("Estimator")


@dataclass_transform()
def with_parameters(cls: type[Estimator]) -> type[Estimator]:
    """Give an estimator a constructor of its fields, and their description before its examples."""
    made: Any = dataclass(eq=False, repr=False)(cls)
    described = [f"{name} : {made._described[name]}\n" for name in signature(made).parameters]
    parameters = f"Parameters\n----------\n{''.join(described)}\nExamples\n-"
    made.__doc__ = cleandoc(made.__doc__ or "").replace("Examples\n-", parameters)
    return cls


@with_parameters
class Measuring(BaseEstimator):  # type: ignore[misc]
    """What all that measure share: their first parameters, and what is said about them."""

    feature_map: Any = None
    backend: Any = STATEVECTOR
    budget: int | str | None = None
    _: KW_ONLY
    directory: str | Path | None = None
    seed: int = 0
    _described: ClassVar[dict[str, str]] = {
        "feature_map": """circuit, function or str, optional
    What the backend takes as one, such as a Qiskit circuit, a PennyLane function or the name
    ``"zz"``, ``"zz-full"`` or ``"z"``. The default is the ZZ map, one qubit per feature.""",
        "backend": """str, device or BackendFactory, default="statevector"
    ``"statevector"``, ``"aer"`` (without noise), ``"pennylane"`` or, for points of many qubits,
    ``"light-cone"``; a device of Qiskit's, such as ``FakeFez()``; or a
    :class:`~aqka.BackendFactory` for any other, or with options.""",
        "budget": """int or str, optional
    Shots, QPU time or money: a number, or a text such as ``"5 min"`` or ``"$20 at $96/min"``.""",
        "allocator": """str or Allocator, optional
    How the shots are shared out; see :func:`~aqka.allocator_names`. The default is uniform.""",
        "design": """str or Design, default="auto"
    What a shot is spent on: ``"pairs"``; ``"points"``, which are measured once each, so that shots
    grow with their number and new points cost what training points do; a design with options,
    such as ``Points("projected", calibration_shots=4000)``; or ``"auto"``, which takes the one
    that promises better labels.""",
        "directory": """path, optional
    Where all that is measured keeps its ledgers, each in a folder of its own. What was measured
    there before, with the same data and settings, is not bought again.""",
        "seed": """int, default=0
    Seed of every draw.""",
    }


@with_parameters
class QuantumKernelEstimator(Measuring):
    """What the estimators share: the kernel's way from shots to a fitted head, and predictions."""

    allocator: Any = None
    _: KW_ONLY
    design: Any = "auto"
    new_points: int | None = None
    prior: Any = "auto"
    _described = Measuring._described | {
        "backend": f"""{Measuring._described["backend"]}
    Or a kernel that costs no shots: ``"precomputed"``, where X is the kernel itself (in ``predict``
    the test-by-train block), or a finished run of pairs or points (its directory, session or table
    of counts), where X is one column of its point numbers.""",
        "budget": f"""{Measuring._described["budget"]}
    For training, or with ``new_points`` for training and predictions together. The default is 16
    shots a pair, or 16 · 2ⁿ a point of n qubits (at most 10 qubits count).""",
        "design": f"""{Measuring._described["design"]}
    ``allocation_reason_`` says why.""",
        "new_points": """int, optional
    Points that will be predicted out of ``budget``; ``quote_`` says how it is split. ``predict``
    then spends their share, and the budget is a ceiling: what would exceed it is not submitted.
    By default ``predict`` takes exact entries or states from a simulator, and a device needs
    ``predict(X, budget=…)``.""",
        "prior": """str or PredictionPrior, default="auto"
    What answers points of classes without a shot where it is sure: ``"angles"``, a Gaussian process
    on the gate angles; or a :class:`~aqka.PredictionPrior` with settings. ``"auto"`` and ``"none"``
    measure every point.""",
    }

    def __sklearn_tags__(self) -> Any:
        """Say that a precomputed kernel is cut by rows and columns."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.backend)
        return tags

    @abstractmethod
    def _chosen_learner(self, default: str) -> Learner:
        """Return the learner that was named, or that of the design."""

    def _fit_problem(
        self, X: NDArray[Any], problem: Problem, on_round: OnRound | None = None
    ) -> None:
        """Measure or take the kernel of X, and train the head on it."""
        self.source_ = kernel_source(X, replace(Purchase.of(self), labels=digest(problem.y)))
        estimate = self.source_.estimate(problem, on_round)
        session = self.source_.session
        self.problem_, self.session_, self.quote_ = problem, session, self.source_.quote
        self.allocation_reason_ = self.source_.reason
        self.table_ = getattr(estimate, "table", None)
        directory = self.source_.directory
        self.ledger_path_ = None if directory is None else directory / LEDGER_NAME
        self.shots_used_ = 0 if session is None else session.shots_spent
        self.head_ = self._chosen_learner(estimate.design.default_learner).fit(estimate, problem)
        # The kernel of very many points would take more memory than all else.
        self.kernel_ = estimate.kernel if estimate.forms_kernel else None
        known = estimate.forms_kernel and estimate.is_fidelity
        self.kernel_variance_ = estimate.variance if known else None
        self.diagnostics_ = None
        if known and estimate.design.counts_entries and self.table_ is not None:
            self.diagnostics_ = diagnose(self.table_, problem)
        elif known:
            kernel, variance = estimate.kernel, estimate.rough_variance()
            self.diagnostics_ = diagnose(problem.new_table(), problem, kernel, variance)

    def _measured(self, X: Any, budget: int | None, stop: Stop, level: float, total: bool) -> Any:
        """Predict by shots; with ``total`` the intervals count the training shots, too."""
        check_is_fitted(self)
        points = validate_data(self, X, reset=False)
        if budget is None:
            share = None if self.quote_ is None else self.quote_.part(PREDICTIONS)
            if share is None or not self.new_points:
                raise InputError(
                    "budget is needed: predict(X, budget=…), or budget=… and new_points=… when "
                    "made."
                )
            budget = max(1, share.shots * len(points) // self.new_points)
        found = self.source_.predict(self.head_, points, budget, stop, level)
        if not total:
            return found
        if self.session_ is None:
            raise InputError("total: this kernel was not bought here, so its shots are unknown.")
        learner = self._chosen_learner(self.session_.design.default_learner)
        return with_total_interval(found, self.session_, learner)

    def _spends(self, budget: int | None) -> bool:
        """Return whether predicting with that budget takes shots."""
        return budget is not None or (self.source_.takes_shots and bool(self.new_points))

    def _warn_of_exact_score(self) -> None:
        """Say that a score is better than that of shots, so that nobody takes it for theirs."""
        check_is_fitted(self)
        if not self._spends(None) and self.source_.takes_shots:
            warnings.warn(
                "this score is that of exact test entries, which only a simulator knows: the "
                "noise of new points' shots is not in it. Make the model with new_points=…, or "
                "score predict(X, budget=…).",
                ExactScoreWarning,
                stacklevel=3,
            )


def as_weights(sample_weight: Any, X: NDArray[Any]) -> FloatArray | None:
    """Return the weights of points; None weighs all alike."""
    return None if sample_weight is None else _check_sample_weight(sample_weight, X)


class QuantumClassifier(ClassifierMixin, QuantumKernelEstimator):  # type: ignore[misc]
    """What the classifiers share."""

    def __sklearn_tags__(self) -> Any:
        """Say that the ZZ map, unlike the head, may suit given data poorly.

        On scikit-learn's three blobs even its exact kernel separates only 57 % of the points.
        """
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _make_problem(self, y: NDArray[np.int64], weights: FloatArray | None) -> Problem:
        return Problem(y, weights=weights)  # type: ignore[arg-type]

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, on_round: OnRound | None = None
    ) -> Any:
        """Measure the training kernel under the budget and train the head.

        ``sample_weight`` says how much each point counts in the fit, not where the shots go;
        ``on_round`` is called with the session after every round that is bought.
        """
        points, labels = validate_data(self, X, y, ensure_min_samples=2)
        if labels.dtype.kind == "O":
            labels = as_labels(labels)  # None and mixed types cannot be sorted
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"y has a single class, {self.classes_[0]}; a classifier needs two or more."
            )
        # The head knows the classes by their numbers, the estimator by their labels.
        problem = self._make_problem(numbers.astype(np.int64), as_weights(sample_weight, points))
        self._fit_problem(points, problem, on_round)
        self._after_fit(numbers)
        return self

    def _after_fit(self, numbers: NDArray[Any]) -> None:
        """Do what a head needs besides; ``numbers`` are those of the points' classes."""

    def prediction(
        self,
        X: Any,
        budget: int | None = None,
        *,
        error_rate: float = 0.05,
        level: float = 0.9,
        total: bool = False,
    ) -> Any:
        """Predict by shots, and say what is settled and how uncertain the rest is.

        Parameters
        ----------
        X
            Test points.
        budget
            Shots in all; by default the share of the budget that ``new_points`` have.
        error_rate, level
            See :func:`~aqka.predict`.
        total
            Also give intervals that count the training shots, and say which labels could flip;
            see :func:`~aqka.insight.with_total_interval`. Takes many refits.
        """
        return self._measured(X, budget, Settle(error_rate), level, total)

    def decision_function(self, X: Any, budget: int | None = None) -> FloatArray:
        """Return f: positive for the second of two classes, or a column per class."""
        check_is_fitted(self)
        if self._spends(budget):
            return np.asarray(self.prediction(X, budget).f)
        return np.asarray(self.source_.decide(self.head_, validate_data(self, X, reset=False)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of ``predict(X)``; a warning says if it is that of exact entries."""
        self._warn_of_exact_score()
        return float(super().score(X, y, sample_weight))

    def predict(self, X: Any, budget: int | None = None) -> NDArray[Any]:
        """Return the classes of test points, spending at most ``budget`` shots on them.

        Without a budget and without ``new_points`` a simulator's exact entries are taken.
        """
        check_is_fitted(self)
        if self._spends(budget):
            return np.asarray(self.classes_[self.prediction(X, budget).labels])
        return np.asarray(self.classes_[self.head_.labels(self.decision_function(X))])
