"""From columns to the features of a circuit."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from aqka.errors import InputError
from aqka.study.points import Encoding


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
    again = Encoding.of_arrays(found.arrays(), features)
    assert np.array_equal(again.features(new), found.features(new))
    flat = Encoding.fit(np.ones((4, 1)), ["c"], 1, [0.0, 1.0])
    assert flat.features(np.ones((2, 1))).tolist() == [[0.0], [0.0]]


def test_arrays_that_are_no_encoding_are_refused():
    arrays = Encoding.fit(np.arange(6.0).reshape(3, 2), ["a", "b"], 2, [0.0, 1.0]).arrays()
    for name, value in (
        ("columns", np.arange(2)),
        ("centre", np.zeros(3)),
        ("lowest", np.array([0.0, np.nan])),
        ("range", np.array([0, 1])),
    ):
        with pytest.raises(InputError, match=r"data\.npz does not hold"):
            Encoding.of_arrays({**arrays, name: value}, 2)
    with pytest.raises(InputError, match=r"data\.npz does not hold"):
        Encoding.of_arrays({"columns": arrays["columns"]}, 2)
