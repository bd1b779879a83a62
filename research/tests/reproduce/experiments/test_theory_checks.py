"""The checks of the paper's bounds must themselves be able to fail."""

import numpy as np
import pytest

from aqka_research.reproduce.experiments import _theory_checks as checks
from aqka_research.tasks import planted_sparse


def by_method(rows):
    return {row["method"]: row for row in rows}


@pytest.fixture
def small():
    return planted_sparse(checks.SMALL, 2, 3, seed=1, ridge=checks.SMALL_RIDGE)


def test_lemma_rows_agree_where_the_formula_is_right_and_not_where_it_is_wrong(small, monkeypatch):
    rows = by_method(checks.lemma_rows(small, np.random.default_rng(0)))
    assert rows["gradient against finite differences"]["error"] < 1e-5
    assert rows["Hessian against finite differences"]["error"] < 1e-4
    assert rows["h̃ bound, corrected"]["ratio"] <= 1 < rows["h̃ bound, as printed"]["ratio"]
    right = checks.krr_gradient
    monkeypatch.setattr(checks, "krr_gradient", lambda *parts: 1.01 * right(*parts))
    wrong = by_method(checks.lemma_rows(small, np.random.default_rng(0)))
    assert wrong["gradient against finite differences"]["error"] > 1e-3


def test_the_delta_method_is_checked_by_simulation(small, monkeypatch):
    name = "simulated variance over the delta method's"
    rows = by_method(checks.allocation_rows(small, np.random.default_rng(0)))
    # A variance of 2000 draws has a relative standard error of 3 %.
    assert rows[name]["ratio"] == pytest.approx(1, abs=0.15)
    assert rows["smallest variance of an allocation over Z²/B"]["ratio"] >= 1 - 1e-12
    monkeypatch.setattr(checks, "optimal_variance", lambda a, budget: 2 * a.sum() / budget * a.size)
    wrong = by_method(checks.allocation_rows(small, np.random.default_rng(0)))
    assert wrong["smallest variance of an allocation over Z²/B"]["ratio"] < 1


def test_the_remainder_falls_as_the_square_of_the_shots():
    few, many = (checks.remainder_rows(s, np.random.default_rng(3))[0] for s in (20, 40))
    assert few["remainder"] / many["remainder"] == pytest.approx(4, rel=0.1)
    assert few["leading"] / many["leading"] == pytest.approx(2)


def test_planted_rows_count_the_strip_and_stay_below_the_ceiling():
    (row,) = checks.ceiling_rows(40, 4, seed=0)
    assert row["strip"] == 1.0
    assert 0 < row["rho"] < row["rho"] / row["over_ceiling"]
    assert row["over_naive"] == pytest.approx(row["rho"] * 100)


def test_more_warm_up_costs_less(small):
    few, many = (checks.warm_up_rows(small, s, np.random.default_rng(0))[0] for s in (10, 10**8))
    assert 1 <= many["multiplier"] < 1.1 < few["multiplier"]
    assert many["distance"] < few["distance"]
