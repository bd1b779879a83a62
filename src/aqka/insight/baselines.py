"""Plain models that cost no shot, each tuned inside its training points."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.insight.fold_scores import Predict, has_classes, score
from aqka.maths.angle_prior import spread_evenly
from aqka.maths.metrics import Fold

INNER_FOLDS = 3
MAX_PROCESS = 300  # training points of a Gaussian process: its fit takes a second
LEARNING_RATE = 0.2  # of boosting
TREES: dict[str, list[float]] = {"max_depth": [1, 3], "n_estimators": [20, 60]}

Grid = dict[str, list[float]]


def baselines(X: FloatArray, y: NDArray[Any]) -> dict[str, Predict]:
    """Return an RBF SVM, a linear model and gradient boosting by name.

    Their settings come from small grids, by cross-validation inside the standardised training
    points.
    """
    from sklearn import config_context

    classes = has_classes(y)

    def predict(name: str, fold: Fold) -> NDArray[Any]:
        # Checking the same arguments again would take longer than these small fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            train, targets = X[fold.kept], y[fold.kept]
            model, grid = _models(targets, X.shape[1], classes)[name]
            model.set_params(**_best_settings(model, grid, train, targets, classes))
            inside, outside = _standardised(train, X[fold.held])
            return np.asarray(model.fit(inside, targets).predict(outside))

    return {name: partial(predict, name) for name in _models(y, X.shape[1], classes)}


def process_labels(train: FloatArray, y: NDArray[Any], new: FloatArray) -> NDArray[Any]:
    """Return the classes of new points by a Gaussian process on labels and columns alone.

    At most ``MAX_PROCESS`` training points, spread evenly; amplitude, width and noise by evidence.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    some = spread_evenly(len(y), MAX_PROCESS)
    inside, outside = _standardised(train[some], new)
    classes, numbers = np.unique(y[some], return_inverse=True)
    targets = 2.0 * np.eye(len(classes))[numbers] - 1
    kernel = ConstantKernel() * RBF(float(np.sqrt(train.shape[1]))) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at the bounds it predicts as well
        process = GaussianProcessRegressor(kernel).fit(inside, targets)
    return np.asarray(classes[np.argmax(process.predict(outside).reshape(len(new), -1), axis=1)])


def guessing(y: NDArray[Any]) -> tuple[str, Predict]:
    """Return the name of what needs no data, and its predictions: majority class or mean."""
    if not has_classes(y):
        return "the mean", lambda fold: np.full(len(fold.held), y[fold.kept].mean())

    def majority(fold: Fold) -> NDArray[Any]:
        classes, counts = np.unique(y[fold.kept], return_counts=True)
        return np.full(len(fold.held), classes[np.argmax(counts)])

    return "majority class", majority


def _models(y: NDArray[Any], n_columns: int, classes: bool) -> dict[str, tuple[Any, Grid]]:
    """Return the models for training targets, each with the settings to choose from."""
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.svm import SVC, SVR

    gammas = [factor / n_columns for factor in (0.3, 1.0, 3.0)]
    trees = {"learning_rate": LEARNING_RATE, "random_state": 0}
    if classes:
        return {
            "RBF SVM": (SVC(), {"C": [0.3, 3.0, 30.0], "gamma": gammas}),
            "logistic regression": (LogisticRegression(max_iter=1000), {"C": [0.03, 0.3, 3.0]}),
            "gradient boosting": (GradientBoostingClassifier(**trees), TREES),
        }
    scale = float(np.std(y)) or 1.0  # C and ε are in units of the target
    Cs = [scale, 10 * scale, 100 * scale]
    return {
        "RBF SVM": (SVR(epsilon=0.05 * scale), {"C": Cs, "gamma": gammas}),
        "linear ridge": (Ridge(), {"alpha": [0.1, 1.0, 10.0, 100.0]}),
        "gradient boosting": (GradientBoostingRegressor(**trees), TREES),
    }


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
    settings: list[dict[str, float]] = list(ParameterGrid(grid))
    scores = []
    for kept, held in splitter.split(X, y):
        inside, outside = _standardised(X[kept], X[held])
        answers = (model.set_params(**s).fit(inside, y[kept]).predict(outside) for s in settings)
        scores.append([score(y[held], found, classes)[-1] for found in answers])
    return settings[int(np.argmax(np.mean(scores, axis=0)))]


def _standardised(train: FloatArray, held: FloatArray) -> tuple[FloatArray, FloatArray]:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(held)
