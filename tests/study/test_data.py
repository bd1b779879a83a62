"""From a source of data to training and test points."""

import numpy as np
import pytest

from aqka.errors import InputError
from aqka.study.points import BUILT_IN, encode, load_table
from aqka.study.schema import DataSection, FeatureMapSection, SplitSection


def encode_source(source, base, n_features=2, seed=0):
    table = load_table(DataSection(source=source), base)
    section = FeatureMapSection(map="zz", qubits=n_features)
    return encode(table, SplitSection(train=20, test=10), section.range, n_features, seed)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "diabetes"])
def test_built_in_data_are_split_by_class_and_scaled(name, tmp_path):
    points = encode_source(name, tmp_path)
    assert points.train.shape == (20, 2)
    assert points.test.shape == (10, 2)
    low, high = points.encoding.range
    assert points.train.min() == pytest.approx(low)
    assert points.train.max() == pytest.approx(high)
    assert set(points.test_labels) <= set(points.train_labels)
    _, counts = np.unique(points.train_labels, return_counts=True)
    assert 0 < points.majority_accuracy <= 1
    assert counts.sum() == 20


def test_a_split_is_its_seeds(tmp_path):
    first, again = (encode_source("moons", tmp_path, seed=3) for _ in range(2))
    assert np.array_equal(first.train, again.train)
    assert not np.array_equal(first.train, encode_source("moons", tmp_path, seed=4).train)


def test_a_name_that_is_near_is_offered(tmp_path):
    with pytest.raises(InputError, match="Did you mean 'moons'"):
        load_table(DataSection(source="mons"), tmp_path)


def test_built_in_data_have_their_own_labels(tmp_path):
    with pytest.raises(InputError, match="are for files; moons has its own labels"):
        load_table(DataSection(source="moons", target="label"), tmp_path)
