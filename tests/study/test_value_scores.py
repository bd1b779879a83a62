import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from aqka.study.results import ValueScores


def test_scores_are_scikit_learns_and_their_errors_those_of_drawn_points():
    rng = np.random.default_rng(0)
    truth = rng.normal(5, 2, 4000)
    predicted = truth + rng.standard_t(8, 4000)
    found = ValueScores.of(truth, predicted, training_mean=4.5)
    assert found.rmse == pytest.approx(root_mean_squared_error(truth, predicted))
    assert found.r2 == pytest.approx(r2_score(truth, predicted))
    assert found.mean_absolute_error == pytest.approx(mean_absolute_error(truth, predicted))
    assert found.mean_rmse == pytest.approx(root_mean_squared_error(truth, np.full(4000, 4.5)))
    assert found.gain == pytest.approx(found.mean_rmse**2 - found.rmse**2)
    # The standard error against that of points drawn again; 400 draws know it to within 4 %.
    drawn = [rng.integers(0, 4000, 4000) for _ in range(400)]
    rmse = [root_mean_squared_error(truth[d], predicted[d]) for d in drawn]
    assert found.rmse_error == pytest.approx(np.std(rmse), rel=0.15)


def test_perfect_values_have_no_error():
    found = ValueScores.of(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 0.0)
    assert (found.rmse, found.rmse_error, found.r2) == (0.0, 0.0, 1.0)
