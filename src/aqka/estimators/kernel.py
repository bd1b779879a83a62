"""What is measured as a step of a pipeline: the kernel, or expectation values of each point."""

import warnings
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from aqka._util.arrays import FloatArray, as_array
from aqka.allocators import make_allocator
from aqka.backends.circuits import as_rows_and_columns
from aqka.backends.factory import BackendFactory, as_factory
from aqka.designs import Points, Projected, as_design
from aqka.errors import InputError, NoisyFeaturesWarning
from aqka.estimators._base import Measuring, with_parameters
from aqka.estimators._requests import design_of
from aqka.estimators._source import Purchase, unknown_backend
from aqka.estimators._store import Limits, Shared, Store
from aqka.sessions import Training


@with_parameters
class Measured(TransformerMixin, Measuring):  # type: ignore[misc]
    """What the kernel and the features share: points that are measured once and remembered."""

    _: KW_ONLY
    test_budget: int | None = None
    shots_each: int | None = None
    _described = Measuring._described | {
        "test_budget": """int, optional
    Shots for everything that is measured later; may be raised. By default, as many as the first
    fit spent.""",
        "shots_each": """int, optional
    Shots of each pair or point measured later. By default, the average per pair or point in the
    first fit.""",
    }
    _current = cast("Store | None", None)  # where it measured last

    def _purchase(self) -> Purchase:
        return Purchase.of(self)

    def _limits(self) -> Limits:
        return Limits(self.test_budget, self.shots_each)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure what is not known of X yet; ``y`` is for allocators that steer by labels."""
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        labels = None
        if y is not None and make_allocator(self._purchase().allocator).steers:
            labels = np.unique(as_array(y, "y"), return_inverse=True)[1]
        self._current = self._store(rows, fitting=True)
        self._current.measure(rows, rows, self._limits(), labels)
        self.X_ = rows
        return self

    def _fitted(self, X: Any) -> tuple[FloatArray, Store]:
        """Return new points, and where they are or will be known."""
        check_is_fitted(self)
        assert self._current is not None, "a fit has one"
        return validate_data(self, X, reset=False, dtype=np.float64), self._current

    @property
    def session_(self) -> Training | None:
        """The session of the first fit; None before."""
        return None if self._current is None else self._current.session

    @property
    def shots_used_(self) -> int:
        """All shots so far, those of copies among them, as far as this process knows."""
        return 0 if self._current is None else self._current.shots_used

    def _sharing(self) -> Shared:
        shared: Shared = self.__dict__.setdefault("_shared", Shared())
        return shared

    def _store(self, rows: FloatArray, fitting: bool = False) -> Store:
        """Return where these points are or will be known, by this object or one it shares with.

        Fitting on entirely new points starts over, with a budget of its own.
        """
        shared, purchase = self._sharing(), self._purchase()
        with shared.lock:  # threads that ask at once settle on one design
            for known, store in shared.stores:
                pairs = zip(vars(known).values(), vars(purchase).values(), strict=True)
                same = all(_same(one, other) for one, other in pairs)
                if same and not (fitting and store.is_about_others(rows)):
                    return store
            store = _new_store(rows, purchase)
            shared.add(purchase, store)
            return store

    def __getstate__(self) -> Any:
        """Return what to copy or pickle: a copy shares what was measured, and the budget."""
        self._sharing()
        return super().__getstate__()

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that shares what was measured: folds measure nothing twice."""
        made: Self = super().__sklearn_clone__()
        made._shared = self._sharing()
        return made


@with_parameters
class QuantumKernel(ClassNamePrefixFeaturesOutMixin, Measured):  # type: ignore[misc]
    """A measured kernel for every model that takes a precomputed one.

    ``fit_transform(X)`` is the kernel of the training points, ``transform(X_new)`` the block of new
    points by training points, and ``matrix(X, Y)`` that of any others. The first fit spends
    ``budget`` by the allocator; everything else is measured with ``shots_each`` shots out of
    ``test_budget``. Nothing is measured twice, a point with itself reads 1 at no cost, and a
    request that the budget does not cover is refused before its first shot.

    Clones and copies share what was measured, so that a grid search or cross-validation measures
    once. In other processes they do so through ``directory``; without one they answer what they
    know and buy nothing. Fitting on entirely new points starts over.

    Where points are measured, any entry of measured points is free. Up to eight qubits it is the
    same kernel, the fidelity, of states that are fitted to the counts; above it is a projected
    kernel, whose width is that of the training points' median distance.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVR
    >>> X = np.linspace(0.5, 2.5, 24).reshape(-1, 1)
    >>> model = make_pipeline(QuantumKernel(budget=24_000), SVR(kernel="precomputed", C=10))
    >>> bool(model.fit(X, np.cos(2 * X[:, 0])).score(X, np.cos(2 * X[:, 0])) > 0.9)
    True
    >>> model[0].shots_used_
    24000
    >>> kernel = QuantumKernel(budget=600, test_budget=800, design="pairs")
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(6, 2))
    >>> kernel.matrix(X[:4]).shape, kernel.shots_used_
    ((4, 4), 600)
    >>> kernel.matrix(X[4:], X[:4]).shape, kernel.shots_used_  # 8 pairs at 100 shots
    ((2, 4), 1400)
    >>> kernel.matrix(X[:4], X[5:])[0, 0] == kernel(X[5], X[0]), kernel.shots_used_  # known
    (np.True_, 1400)
    """

    allocator: Any = None
    design: Any = "auto"
    _described = Measured._described | {
        "budget": f"""{Measured._described["budget"]}
    For the first fit. The default is 16 shots a pair, or 16 · 2ⁿ a point of n qubits (at most 10
    count).""",
        "design": f"""{Measured._described["design"]} That assumes as many new
    points as training points.""",
    }

    def transform(self, X: Any) -> FloatArray:
        """Return the kernel of points with the training points, as measured.

        Shot noise may make that of the training points indefinite; that of fitted states never is.
        """
        rows, store = self._fitted(X)
        return store.matrix(rows, self.X_, self._limits())

    @property
    def _n_features_out(self) -> int:
        return len(self.X_)

    def matrix(self, X: ArrayLike, columns: ArrayLike | None = None) -> FloatArray:
        """Return the kernel of X with itself or with other points; no fit has to come before.

        The first request for points with themselves then is the first fit.
        """
        shapes = [as_array(points, "X").shape for points in (X, X if columns is None else columns)]
        if any(shape[:1] == (0,) for shape in shapes):  # nothing to measure
            return np.zeros([shape[0] for shape in shapes])
        rows, cols = as_rows_and_columns(X, columns)
        if self._current is None:
            self._current = self._store(rows)
        return self._current.matrix(rows, cols, self._limits())

    def __call__(self, x1: ArrayLike, x2: ArrayLike) -> float:
        """Return the kernel of two points, each one row of numbers."""
        row, col = np.reshape(np.asarray(x1), (1, -1)), np.reshape(np.asarray(x2), (1, -1))
        return float(self.matrix(row, col)[0, 0])


OPERATORS = {
    "single": Projected(1, "linear"),
    "neighbours": Projected(2, "linear"),
    "pairs": Projected(2, "linear", pairs="all"),
    "all": Projected(4, "linear", pairs="all"),
}


@with_parameters
class QuantumFeatures(Measured):
    """Measured expectation values of Pauli operators, as features for any model.

    Each point is measured once, in as many settings as the operators need, and remembered: clones
    and copies share it, so that a grid search or cross-validation measures once. The first fit
    spends ``budget``, evenly; later points have ``shots_each`` shots out of ``test_budget``.

    Do not put a ``StandardScaler`` after it: it scales up features that are pure shot noise, and
    no transformer sees what follows. ``shrink=True`` does the opposite. A fit whose features are
    mostly noise warns.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.random.default_rng(0).uniform(0, 3, size=(40, 2))
    >>> y = X[:, 0] > 1.5
    >>> model = make_pipeline(QuantumFeatures(budget=12_000), LogisticRegression()).fit(X, y)
    >>> model[0].shots_used_, model[0].get_feature_names_out().tolist()
    (12000, ['X0', 'Y0', 'Z0', 'X1', 'Y1', 'Z1'])

    Attributes
    ----------
    standard_errors_ : array
        Errors of the training points' features, by their shots.
    shrinkage_ : array
        What each feature was multiplied by.
    """

    operators: str = "single"
    shrink: bool = False
    _described = Measured._described | {
        "budget": f"""{Measured._described["budget"]}
    For the first fit. The default is 16 · 2ⁿ a point of n qubits (at most 10 count).""",
        "operators": """{"single", "neighbours", "pairs", "all"}, default="single"
    Pauli operators of each qubit; also of neighbours, which are the pairs that the feature map's
    gates act on, or those on a line; also of every two qubits; or all Pauli strings of points of up
    to four qubits, in 3ⁿ settings.""",
        "shrink": """bool, default=False
    Multiply each feature by the share of its variance over the training points that is not shot
    noise, max(0, 1 - mean error² / variance). It helps at few shots and changes little at many.""",
    }

    def _purchase(self) -> Purchase:
        if self.operators not in OPERATORS:
            raise InputError(
                f"operators must be one of {', '.join(map(repr, OPERATORS))}, got "
                f"{self.operators!r}."
            )
        return replace(super()._purchase(), design=Points(OPERATORS[self.operators]))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Measure the points of X, or those that are not known yet; ``y`` is ignored."""
        super().fit(X)
        rows, store = self._fitted(X)
        states = store.known.reduced(rows)
        spread = np.maximum(np.var(states.expectations, axis=0), 1e-300)
        signal = np.maximum(0.0, 1 - states.variances.mean(axis=0) / spread)
        if not self.shrink and np.median(signal) < 0.5:
            warnings.warn(
                f"{np.sum(signal < 0.5)} of {len(signal)} features are more shot noise than "
                "signal: a StandardScaler after them would scale that noise up, and shrink=True "
                "scales it down.",
                NoisyFeaturesWarning,
                stacklevel=2,
            )
        self.shrinkage_ = signal if self.shrink else np.ones(len(signal))
        self.standard_errors_ = self.shrinkage_ * np.sqrt(states.variances)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the features of points, measured where they are not known."""
        rows, store = self._fitted(X)
        store.measure(rows, rows, self._limits())
        return np.asarray(store.known.reduced(rows).expectations * self.shrinkage_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the operators, such as "X0" or "Z3Z4"; the names of X do not matter."""
        check_is_fitted(self)
        assert self.session_ is not None, "a fit has one"
        design: Any = self.session_.design
        operators = design.kernel.operators(self.session_.table.n_qubits)
        return np.asarray(operators.names(), dtype=object)


def _same(one: Any, other: Any) -> bool:
    """Return whether two parameters are the same; what cannot be compared is not."""
    if isinstance(one, BackendFactory) and isinstance(other, BackendFactory):
        one, other = vars(one), vars(other)  # one of them may have been pickled
    try:
        return one is other or bool(type(one) is type(other) and one == other)
    except ValueError:  # arrays
        return repr(one) == repr(other)


def _new_store(rows: FloatArray, purchase: Purchase) -> Store:
    """Return a new store, its design settled: that of its directory, or else the better one."""
    allocator, factory = make_allocator(purchase.allocator), as_factory(purchase.backend)
    if factory is None:
        raise unknown_backend(purchase.backend)
    directory = None if purchase.directory is None else Path(purchase.directory).absolute()
    design = as_design(purchase.design) or as_design(design_of(directory) or "auto")
    settled = purchase.settled(rows, factory, design)
    allocator.over(settled.design.unit)  # refused here if it is not for this design
    return Store(replace(settled, allocator=allocator, directory=directory))
