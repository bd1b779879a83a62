"""One budget for fit and predict, in the estimators."""

import numpy as np
import pytest
from sklearn.base import clone

from aqka import CeilingError, InputError, QuantumRidgeClassifier
from aqka.planning import split_budget

X = np.random.default_rng(0).uniform(0, 3, (20, 2))
Y = (X[:, 0] > 1.5).astype(int)


def test_fit_and_predict_share_the_budget_and_no_more():
    settings = {"budget": 3000, "new_points": 8, "design": "pairs"}
    model = clone(QuantumRidgeClassifier(**settings)).fit(X[:12], Y[:12])
    split = split_budget(3000, 12, 8, "pairs")
    assert model.shots_used_ == split.train
    assert model.quote_.total.shots == 3000
    made = model.prediction(X[12:])
    assert made.shots.sum() <= split.predict
    with pytest.raises(CeilingError, match="the ceiling is reached"):
        model.prediction(X[12:], budget=5000, error_rate=0.001)


def test_money_needs_a_rate_which_the_budget_states():
    with pytest.raises(InputError, match="needs a rate"):
        QuantumRidgeClassifier(budget="$20").fit(X[:12], Y[:12])
    model = QuantumRidgeClassifier(budget="$100 at $96/min", new_points=8).fit(X[:12], Y[:12])
    assert model.quote_.total_cost <= 100
    assert model.quote_.total_cost > 99.9


def test_without_new_points_the_budget_is_for_training():
    model = QuantumRidgeClassifier(budget=3000).fit(X[:12], Y[:12])
    assert (model.shots_used_, model.quote_.parts) == (3000, ())
    assert model.predict(X[12:]).shape == (8,)  # a simulator's exact entries
