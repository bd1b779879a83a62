import numpy as np
import pytest

from aqka.maths.folds import FOLDS, split_folds


@pytest.mark.parametrize(("n_points", "folds"), [(20, 4), (23, 5), (3, 5), (2, 2)])
def test_every_point_is_held_out_once_and_trains_otherwise(n_points, folds):
    found = list(split_folds(n_points, folds))
    assert len(found) == min(folds, n_points)
    held = np.concatenate([fold.held for fold in found])
    np.testing.assert_array_equal(np.sort(held), np.arange(n_points))
    for fold in found:
        together = np.concatenate([fold.kept, fold.held])
        np.testing.assert_array_equal(np.sort(together), np.arange(n_points))
        assert np.all(np.diff(fold.kept) > 0)
    sizes = [fold.held.size for fold in found]
    assert max(sizes) - min(sizes) <= 1


def test_the_folds_are_those_that_stored_results_were_computed_with():
    order = np.random.default_rng(0).permutation(42)
    found = list(split_folds(42))
    assert len(found) == FOLDS
    for fold, held in zip(found, np.array_split(order, 5), strict=True):
        np.testing.assert_array_equal(fold.held, held)
