"""How far shot noise alone reaches."""

import numpy as np
import pytest

from aqka import MatrixBackend, acquire
from aqka.insight.intervals import noise_floor
from tests.conftest import make_labels


def test_noise_alone_stays_below_the_floor():
    """The spectrum of pure shot noise ends near the floor, by drawing it."""
    kernel = np.full((200, 200), 0.3)
    np.fill_diagonal(kernel, 1.0)
    session = acquire(MatrixBackend(kernel), make_labels(200), 19_900 * 20, "uniform")
    table = session.table
    noise = table.square(table.estimate() - 0.3, known_diagonal=0.0)
    largest = np.abs(np.linalg.eigvalsh(noise)).max()
    assert largest == pytest.approx(noise_floor(table), rel=0.08)
