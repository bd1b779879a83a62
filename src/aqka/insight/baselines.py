"""Plain models that cost no shot, each tuned inside its training points."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.insight.fold_scores import Predict, has_classes
from aqka.maths.angle_prior import spread_evenly
from aqka.maths.metrics import Fold

INNER_FOLDS = 3
MAX_PROCESS = 300  # training points of a Gaussian process: its fit takes a second
LEARNING_RATE = 0.2  # of boosting
TREES: dict[str, list[float]] = {"max_depth": [1, 3], "n_estimators": [20, 60]}

Grid = dict[str, list[float]]


def baselines(X: FloatArray, y: NDArray[Any]) -> dict[str, Predict]:
    """Return an RBF SVM, a linear model and gradient boosting by name.

    Cross-validation inside the standardised training points sets them, from small grids.
    """
    from sklearn import config_context

    classes = has_classes(y)

    def predict(name: str, fold: Fold) -> NDArray[Any]:
        # Checking the same arguments again would take longer than these small fits.
        with config_context(assume_finite=True, skip_parameter_validation=True):
            train, targets = X[fold.kept], y[fold.kept]
            model = _tuned(*_models(targets, X.shape[1], classes)[name], targets, classes)
            return np.asarray(model.fit(train, targets).predict(X[fold.held]))

    return {name: partial(predict, name) for name in _models(y, X.shape[1], classes)}


def process_labels(train: FloatArray, y: NDArray[Any], new: FloatArray) -> NDArray[Any]:
    """Return the classes of new points by a Gaussian process on labels and columns alone.

    At most ``MAX_PROCESS`` training points, spread evenly; amplitude, width and noise by evidence.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    some = spread_evenly(len(y), MAX_PROCESS)
    classes, numbers = np.unique(y[some], return_inverse=True)
    targets = 2.0 * np.eye(len(classes))[numbers] - 1
    kernel = ConstantKernel() * RBF(float(np.sqrt(train.shape[1]))) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at the bounds it predicts as well
        process = _standardised(GaussianProcessRegressor(kernel)).fit(train[some], targets)
    return np.asarray(classes[np.argmax(process.predict(new).reshape(len(new), -1), axis=1)])


def guessing(y: NDArray[Any]) -> tuple[str, Predict]:
    """Return the name of what needs no data, and its predictions: majority class or mean."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    classes = has_classes(y)
    model = DummyClassifier() if classes else DummyRegressor()

    def predict(fold: Fold) -> NDArray[Any]:
        return np.asarray(model.fit(fold.kept, y[fold.kept]).predict(fold.held))

    return "majority class" if classes else "the mean", predict


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


def _tuned(model: Any, grid: Grid, y: NDArray[Any], classes: bool) -> Any:
    """Return the model that chooses among the settings of a grid when it is fitted."""
    from sklearn.model_selection import GridSearchCV

    folds = int(np.unique(y, return_counts=True)[1].min()) if classes else INNER_FOLDS
    if folds < 2:  # a class with a single training point has none to hold out
        return _standardised(model)
    settings = {f"model__{name}": values for name, values in grid.items()}
    return GridSearchCV(_standardised(model), settings, cv=min(INNER_FOLDS, folds))


def _standardised(model: Any) -> Any:
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    return Pipeline([("scale", StandardScaler()), ("model", model)])
