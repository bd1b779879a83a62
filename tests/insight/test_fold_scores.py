"""Folds, scores, their errors and differences."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from aqka.errors import InputError
from aqka.insight.fold_scores import (
    FoldScores,
    difference,
    repeated_folds,
    score,
    standard_error,
    subsample,
)
from aqka.maths.metrics import balanced_accuracy


def test_folds_hold_every_point_out_once_a_repetition_and_train_on_as_many_as_asked():
    y = np.repeat(["a", "b"], [60, 30])
    folds = repeated_folds(y, n_train=30)
    held = np.concatenate([fold.held for fold in folds])
    assert np.array_equal(np.sort(held), np.repeat(np.arange(90), 2))
    for fold in folds:
        assert len(fold.kept) == 30
        assert np.sum(y[fold.kept] == "a") == 20  # classes keep their shares
        assert not np.intersect1d(fold.kept, fold.held).size


def test_real_targets_have_folds_too_and_a_class_of_one_has_none():
    folds = repeated_folds(np.linspace(0, 1, 20))
    assert [len(fold.held) for fold in folds] == [4] * 10
    with pytest.raises(InputError, match="at least two points each"):
        repeated_folds(np.array([0] * 9 + [1]))


def test_a_sample_keeps_the_shares_of_classes():
    y = np.repeat([0, 1], [900, 100])
    chosen = subsample(y, 50)
    assert len(chosen) == 50
    assert y[chosen].sum() == 5
    assert len(subsample(y, 5000)) == 1000


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 4, 50), rng.integers(0, 4, 50)
    expected = [balanced_accuracy(truth, predicted), np.mean(truth == predicted)]
    assert score(truth, predicted, classes=True) == pytest.approx(expected)
    real, guess = rng.normal(size=50), rng.normal(size=50)
    assert score(real, guess, classes=False) == pytest.approx([r2_score(real, guess)])


def test_the_standard_error_is_that_of_nadeau_and_bengio():
    values = np.random.default_rng(1).normal(size=(10, 1))
    expected = values.std(ddof=1) * np.sqrt(1 / 10 + 0.2 / 0.8)
    assert standard_error(values, n_folds=5) == pytest.approx(expected)


def test_differences_are_paired():
    hard = np.random.default_rng(2).normal(0.7, 0.1, size=(10, 1))  # folds differ, models alike
    better = FoldScores("better", hard + 0.02 + 0.001 * (np.arange(10)[:, None] % 2), 5)
    found = difference(better, FoldScores("worse", hard, 5))
    assert found.mean == pytest.approx(0.0205)
    assert found.clear
    assert better.errors[0] > 0.02  # though each of them is less sure than that
    assert not difference(better, better).clear


def test_leaving_out_fewer_points_than_there_are_classes_is_no_error():
    chosen = subsample(np.arange(30) % 3, 28)
    assert len(set(chosen)) == 28
