"""Plain models that cost no shot, each tuned inside its training points."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.insight.fold_scores import Predict, has_classes, score
from aqka.maths.metrics import Fold

INNER_FOLDS = 3
LEARNING_RATE = 0.2  # of boosting
TREES: dict[str, list[float]] = {"max_depth": [1, 3], "n_estimators": [20, 60]}

Grid = dict[str, list[float]]
Maker = Callable[[NDArray[Any]], tuple[Any, Grid]]
"""From training targets to a model of scikit-learn and the settings to choose from."""


def baselines(X: FloatArray, y: NDArray[Any]) -> dict[str, Predict]:
    """Return an RBF SVM, a linear model and gradient boosting by name.

    Their settings come from small grids, by cross-validation inside the standardised training
    points.
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
    from sklearn import config_context

    classes = has_classes(y)

    def predict(fold: Fold) -> NDArray[Any]:
        # Checking the same arguments again would take longer than these small fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            train, targets = X[fold.kept], y[fold.kept]
            model, grid = make(targets)
            model.set_params(**_best_settings(model, grid, train, targets, classes))
            inside, outside = _standardised(train, X[fold.held])
            return np.asarray(model.fit(inside, targets).predict(outside))

    return predict


def _classifiers(n_columns: int) -> dict[str, Maker]:
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    return {
        "RBF SVM": lambda _: (SVC(), {"C": [0.3, 3.0, 30.0], "gamma": _gammas(n_columns)}),
        "logistic regression": lambda _: (
            LogisticRegression(max_iter=1000),
            {"C": [0.03, 0.3, 3.0]},
        ),
        "gradient boosting": lambda _: (
            GradientBoostingClassifier(learning_rate=LEARNING_RATE, random_state=0),
            TREES,
        ),
    }


def _regressors(n_columns: int) -> dict[str, Maker]:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.linear_model import Ridge
    from sklearn.svm import SVR

    def machine(y: NDArray[Any]) -> tuple[Any, Grid]:
        scale = float(np.std(y)) or 1.0  # C and ε are in units of the target
        grid = {"C": [scale, 10 * scale, 100 * scale], "gamma": _gammas(n_columns)}
        return SVR(epsilon=0.05 * scale), grid

    return {
        "RBF SVM": machine,
        "linear ridge": lambda _: (Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}),
        "gradient boosting": lambda _: (
            GradientBoostingRegressor(learning_rate=LEARNING_RATE, random_state=0),
            TREES,
        ),
    }


def _gammas(n_columns: int) -> list[float]:
    return [0.3 / n_columns, 1.0 / n_columns, 3.0 / n_columns]


def _best_settings(
    model: Any, grid: Grid, X: FloatArray, y: NDArray[Any], classes: bool
) -> dict[str, float]:
    """Return the settings that do best on inner folds; the first of several that do.

    What ``GridSearchCV`` returns, without the copies and checks that take most of its time here.
    """
    from sklearn.model_selection import KFold, ParameterGrid, StratifiedKFold

    fewest = int(np.unique(y, return_counts=True)[1].min()) if classes else INNER_FOLDS
    if fewest < 2:  # a class with a single training point has none to hold out
        return {}
    splitter = StratifiedKFold(min(INNER_FOLDS, fewest)) if classes else KFold(INNER_FOLDS)
    stages = sorted(grid.get("n_estimators", []))
    settings: list[dict[str, float]] = list(
        ParameterGrid({k: v for k, v in grid.items() if k != "n_estimators"})
    )
    scores: list[list[float]] = []
    for kept, held in splitter.split(X, y):
        inside, outside = _standardised(X[kept], X[held])
        row = []
        for chosen in settings:
            last = {"n_estimators": stages[-1]} if stages else {}
            model.set_params(**chosen, **last).fit(inside, y[kept])
            for answers in _answers(model, outside, stages):
                row.append(score(y[held], answers, classes)[-1])
        scores.append(row)
    best = int(np.argmax(np.mean(scores, axis=0)))
    if not stages:
        return dict(settings[best])
    return settings[best // len(stages)] | {"n_estimators": stages[best % len(stages)]}


def _answers(model: Any, X: FloatArray, stages: list[float]) -> Iterator[NDArray[Any]]:
    """Yield predictions after each number of boosted trees; those of other models once."""
    if not stages:
        yield model.predict(X)
        return
    for number, answers in enumerate(model.staged_predict(X), start=1):
        if number in stages:
            yield answers


def _standardised(train: FloatArray, held: FloatArray) -> tuple[FloatArray, FloatArray]:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(held)
