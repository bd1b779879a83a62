"""Moons, and a factory whose backends count what they are asked for."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.preprocessing import MinMaxScaler

from aqka import BackendFactory
from tests.estimators.counting import Counting


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(100, noise=0.15, random_state=1)
    X = MinMaxScaler((1.5, np.pi)).fit_transform(X)
    return X[:60], np.array(["up", "down"])[y[:60]], X[60:], np.array(["up", "down"])[y[60:]]


@pytest.fixture
def counted():
    Counting.spent = 0
    return BackendFactory(Counting)


@pytest.fixture
def few_drawn_states(monkeypatch):
    """Judge the rank of states by a tenth of the drawn counts, where rank is not what is tested."""
    monkeypatch.setattr("aqka.estimates.state_rank.TEST_POINTS", 20)
