"""Plain models that cost no shot, each tuned inside its training points."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.insight.fold_scores import Predict, has_classes
from aqka.maths.metrics import Fold

INNER_FOLDS = 3
LEARNING_RATE = 0.2  # of boosting
TREES: dict[str, list[float]] = {"max_depth": [1, 3], "n_estimators": [20, 60]}

Maker = Callable[[NDArray[Any]], Any]  # from training targets to a model of scikit-learn


def baselines(X: FloatArray, y: NDArray[Any]) -> dict[str, Predict]:
    """Return the plain models by name: an RBF SVM, a linear one, gradient boosting.

    All see the data's own columns, standardised by the training points. C and γ of the SVM, C or
    α of the linear model, depth and number of boosted trees are chosen from small grids by
    cross-validation inside the training points.
    """
    makers = (_classifiers if has_classes(y) else _regressors)(X.shape[1])
    return {name: _predictor(make, X, y) for name, make in makers.items()}


def guessing(y: NDArray[Any]) -> tuple[str, Predict]:
    """Return the name of what needs no data, and its predictions: majority class or mean."""
    if not has_classes(y):
        return "the mean", lambda fold: np.full(len(fold.held), y[fold.kept].mean())

    def majority(fold: Fold) -> NDArray[Any]:
        classes, counts = np.unique(y[fold.kept], return_counts=True)
        return np.full(len(fold.held), classes[np.argmax(counts)])

    return "majority class", majority


def _predictor(make: Maker, X: FloatArray, y: NDArray[Any]) -> Predict:
    def predict(fold: Fold) -> NDArray[Any]:
        model = make(y[fold.kept]).fit(X[fold.kept], y[fold.kept])
        return np.asarray(model.predict(X[fold.held]))

    return predict


def _classifiers(n_columns: int) -> dict[str, Maker]:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import SVC

    def machine(y: NDArray[Any]) -> Any:
        return _tuned(SVC(), {"C": [0.3, 3.0, 30.0], "gamma": _gammas(n_columns)}, inner(y))

    def linear(y: NDArray[Any]) -> Any:
        return _tuned(LogisticRegression(max_iter=1000), {"C": [0.03, 0.3, 3.0]}, inner(y))

    def boosting(y: NDArray[Any]) -> Any:
        model = GradientBoostingClassifier(learning_rate=LEARNING_RATE, random_state=0)
        return _tuned(model, TREES, inner(y))

    def inner(y: NDArray[Any]) -> Any:
        fewest = int(np.unique(y, return_counts=True)[1].min())
        # A class with a single training point has none to hold out.
        return StratifiedKFold(min(INNER_FOLDS, fewest)) if fewest > 1 else None

    return {"RBF SVM": machine, "logistic regression": linear, "gradient boosting": boosting}


def _regressors(n_columns: int) -> dict[str, Maker]:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold
    from sklearn.svm import SVR

    def machine(y: NDArray[Any]) -> Any:
        scale = float(np.std(y)) or 1.0  # C and ε are in units of the target
        grid = {"C": [scale, 10 * scale, 100 * scale], "gamma": _gammas(n_columns)}
        return _tuned(SVR(epsilon=0.05 * scale), grid, KFold(INNER_FOLDS))

    def linear(_: NDArray[Any]) -> Any:
        return _tuned(Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}, KFold(INNER_FOLDS))

    def boosting(_: NDArray[Any]) -> Any:
        model = GradientBoostingRegressor(learning_rate=LEARNING_RATE, random_state=0)
        return _tuned(model, TREES, KFold(INNER_FOLDS))

    return {"RBF SVM": machine, "linear ridge": linear, "gradient boosting": boosting}


def _gammas(n_columns: int) -> list[float]:
    return [0.3 / n_columns, 1.0 / n_columns, 3.0 / n_columns]


def _tuned(model: Any, grid: dict[str, list[float]], inner: Any) -> Any:
    """Return the model behind a scaler, with its settings chosen from a grid where that can be."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    steps = Pipeline([("scaled", StandardScaler()), ("model", model)])
    if inner is None:
        return steps
    named = {f"model__{name}": values for name, values in grid.items()}
    return GridSearchCV(steps, named, cv=inner)
