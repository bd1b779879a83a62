import warnings

import numpy as np
import pytest

from aqka_research.reproduce.experiments.sparsity import _slope


def test_slope_on_logarithmic_axes():
    assert _slope([1, 10, 100], [2.0, 20.0, 200.0]) == pytest.approx(1.0)


@pytest.mark.parametrize("y", [-0.1, 0.0, np.nan])
def test_without_a_logarithm_there_is_no_slope_and_no_warning(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(_slope([1, 10, 100], [2.0, y, 200.0]))
