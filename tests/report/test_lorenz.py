"""The Lorenz curve, against the Gini coefficient."""

import numpy as np
import pytest

from aqka.insight.diagnostics import gini
from aqka.report.charts import lorenz_curve


def test_the_lorenz_curve_holds_the_gini():
    """One less twice the area below the curve is the Gini coefficient."""
    values = np.random.default_rng(1).exponential(size=150)
    x, y = lorenz_curve(values)
    assert 1 - 2 * np.trapezoid(y, x) == pytest.approx(gini(values))
    many = np.random.default_rng(2).exponential(size=40_000)
    x, y = lorenz_curve(many)
    assert len(x) == 201
    assert 1 - 2 * np.trapezoid(y, x) == pytest.approx(gini(many), abs=1e-3)
