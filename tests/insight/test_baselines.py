"""Plain models, against scikit-learn's own cross-validation."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from aqka.insight.baselines import baselines, guessing
from aqka.insight.fold_scores import repeated_folds, score_folds


def test_classifiers_score_as_scikit_learn_says():
    X, y = make_classification(60, 5, flip_y=0.2, random_state=0)
    folds = repeated_folds(y, n_train=40, repeats=1)
    grids = {
        "RBF SVM": (SVC(), {"svc__C": [0.3, 3, 30], "svc__gamma": [0.06, 0.2, 0.6]}),
        "logistic regression": (LogisticRegression(), {"logisticregression__C": [0.03, 0.3, 3]}),
    }
    boosting = GradientBoostingClassifier(learning_rate=0.2, random_state=0)
    trees = "gradientboostingclassifier__"
    grids["gradient boosting"] = (
        boosting,
        {f"{trees}max_depth": [1, 3], f"{trees}n_estimators": [20, 60]},
    )
    models = baselines(X, y)
    assert set(models) == set(grids)
    for name, (model, grid) in grids.items():
        search = GridSearchCV(make_pipeline(StandardScaler(), model), grid, cv=StratifiedKFold(3))
        some = folds[: 1 if name == "gradient boosting" else 2]  # searching takes a while
        found = score_folds(name, models[name], y, some).values
        metrics = ("balanced_accuracy", "accuracy")
        expected = cross_validate(search, X, y, cv=some, scoring=metrics)
        for column, metric in enumerate(metrics):
            assert found[:, column] == pytest.approx(expected[f"test_{metric}"])


def test_regressors_score_as_scikit_learn_says():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X @ [1.0, -2.0, 0.0] + 0.3 * rng.normal(size=50)
    folds = repeated_folds(y, repeats=1)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1, 10, 100]}, cv=3
    )
    found = score_folds("ridge", baselines(X, y)["linear ridge"], y, folds).values[:, 0]
    assert found == pytest.approx(cross_val_score(search, X, y, cv=folds, scoring="r2"))
    assert found.mean() > 0.9
    boosting = GradientBoostingRegressor(learning_rate=0.2, random_state=0)
    grid = {"max_depth": [1, 3], "n_estimators": [20, 60]}
    found = score_folds("trees", baselines(X, y)["gradient boosting"], y, folds[:1]).values[:, 0]
    expected = [
        GridSearchCV(boosting, grid, cv=3).fit(X[f.kept], y[f.kept]).best_estimator_
        for f in folds[:1]
    ]
    scores = [m.score(X[f.held], y[f.held]) for m, f in zip(expected, folds[:1], strict=True)]
    assert found == pytest.approx(scores)  # which scaling the columns does not change


def test_guessing_is_the_majority_or_the_mean():
    y = np.array(["a"] * 14 + ["b"] * 6)
    name, predict = guessing(y)
    found = score_folds(name, predict, y, repeated_folds(y))
    assert found.means[0] == 0.5
    real = np.linspace(0, 1, 20)
    assert score_folds(*guessing(real), real, repeated_folds(real)).means[0] <= 0
