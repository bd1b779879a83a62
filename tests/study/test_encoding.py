"""From columns to the features of a circuit."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from aqka.errors import InputError
from aqka.study.points import Encoding, Points, load_points


@pytest.mark.parametrize(("width", "features"), [(5, 3), (3, 3)])
def test_encoding_agrees_with_scikit_learn(width, features):
    rng = np.random.default_rng(0)
    train, new = rng.normal(size=(30, width)), 2 * rng.normal(size=(9, width))
    names = [f"c{k}" for k in range(width)]
    found = Encoding.fit(train, names, features, [-1.0, 2.0])
    steps = [PCA(features, svd_solver="full")] if width > features else []
    pipeline = make_pipeline(*steps, MinMaxScaler((-1, 2), clip=True)).fit(train)
    for points in (train, new):
        assert found.features(points) == pytest.approx(pipeline.transform(points), abs=1e-12)
    flat = Encoding.fit(np.ones((4, 1)), ["c"], 1, [0.0, 1.0])
    assert flat.features(np.ones((2, 1))).tolist() == [[0.0], [0.0]]


def test_gaps_are_filled_with_the_median_of_the_training_points():
    train = np.array([[0.0, 8.0], [1.0, np.nan], [5.0, 2.0], [np.nan, 4.0]])
    found = Encoding.fit(train, ["a", "b"], 2, [0.0, 1.0])
    assert found.fill.tolist() == [1.0, 4.0]
    assert np.array_equal(found.filled(train)[[1, 3]], [[1.0, 4.0], [1.0, 4.0]])
    new = np.array([[np.nan, 2.0], [7.0, np.nan]])
    assert np.array_equal(found.features(new), found.features(np.array([[1.0, 2.0], [7.0, 4.0]])))
    assert found.n_outside(new) == 1
    plain = SimpleImputer(strategy="median").fit(train)
    assert np.array_equal(found.filled(new), plain.transform(new))


def stored_points(tmp_path, **changes):
    """Write points as a run does, with some arrays changed or, where None is given, left out."""
    train, test = np.arange(6.0).reshape(3, 2), np.ones((1, 2))
    encoding = Encoding.fit(train, ["a", "b"], 2, [0.0, 1.0])
    origin = list("pqr"), ["s"], train, test
    labels = np.array([0, 1, 0]), np.array([1])
    points = Points(encoding.features(train), encoding.features(test), *labels, encoding, *origin)
    (tmp_path / "data.npz").write_bytes(points.as_npz())
    with np.load(tmp_path / "data.npz") as stored:
        arrays = {
            name: value for name, value in (dict(stored) | changes).items() if value is not None
        }
    np.savez(tmp_path / "data.npz", **arrays)
    return points


def test_points_are_read_as_they_were_stored(tmp_path):
    points = stored_points(tmp_path)
    again = load_points(tmp_path / "data.npz")
    new = np.array([[0.3, np.nan]])
    assert np.array_equal(again.train, points.train)
    assert np.array_equal(again.encoding.features(new), points.encoding.features(new))
    assert again.train_ids == ["p", "q", "r"]
    assert np.array_equal(again.test_columns, np.ones((1, 2)))
    without = stored_points(tmp_path, train_columns=None, test_columns=None)
    assert without.train_ids == load_points(tmp_path / "data.npz").train_ids
    assert load_points(tmp_path / "data.npz").train_columns is None


@pytest.mark.parametrize(
    "changes",
    [{"fill": None}, {"test_ids": None}, {"test_columns": None}],
)
def test_missing_arrays_are_refused(tmp_path, changes):
    stored_points(tmp_path, **changes)
    with pytest.raises(InputError, match=r"data\.npz does not hold a run's points; restore it"):
        load_points(tmp_path / "data.npz")
