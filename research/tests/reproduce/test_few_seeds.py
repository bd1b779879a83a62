import numpy as np
import pytest
from scipy.stats import norm

from aqka_research.reproduce.claims import Claim, at_least, at_most, within
from aqka_research.reproduce.few_seeds import chance_of_paper
from aqka_research.results import Estimate, Results, lowest

SEEDS = 400


def results(mean=5.0, spread=10.0, methods=("a",)):
    """Return normal values of many seeds, exactly standardised, beside rows of no interest."""
    rows = [{"method": "idle", "seed": seed, "x": 1e6} for seed in range(SEEDS)]
    for method in methods:
        values = np.random.default_rng(len(rows)).normal(size=SEEDS)
        values = mean + spread * (values - values.mean()) / values.std()
        rows += [{"method": method, "seed": s, "x": v} for s, v in enumerate(values.tolist())]
    return Results(rows, "paper")


def claim(stated, count, rule=None, ours=lambda r: r.mean("x", method="a")):
    return Claim("", "", Estimate(stated, count=count), ours, rule or within(), lambda r: "")


@pytest.mark.parametrize(("stated", "count"), [(12.0, 5), (-4.0, 3), (6.0, 20)])
def test_the_chance_of_a_mean_is_a_tail_of_the_normal_distribution(stated, count):
    """4000 draws have an error of at most 0.8 %, the 400 values a little more."""
    expected = norm.sf(abs(stated - 5.0) / (10.0 / count**0.5))
    assert chance_of_paper(claim(stated, count), results()) == pytest.approx(expected, abs=0.03)


def test_a_bound_is_met_from_the_side_it_names():
    found = results()
    # Ours is 5: a bound of 3 from below holds more often than not, one from above seldom.
    low = chance_of_paper(claim(3.0, 5, at_least()), found)
    high = chance_of_paper(claim(3.0, 5, at_most()), found)
    assert low == pytest.approx(norm.cdf(2 / (10 / 5**0.5)), abs=0.03)
    assert low + high == pytest.approx(1.0, abs=0.03)


def test_a_smallest_mean_is_computed_from_every_draw_anew():
    """The smaller of two means of 4 seeds: both must reach the bound."""

    def smallest(r):
        return lowest({name: r.mean("x", method=name) for name in ("a", "b")})

    one = norm.sf((7.0 - 5.0) / (10.0 / 2))
    got = chance_of_paper(claim(7.0, 4, ours=smallest), results(methods=("a", "b")))
    # 300 draws: a standard error of 2 %; the two means are of the same seeds but independent.
    assert got == pytest.approx(one**2, abs=0.07)
    assert got < one - 0.1


def test_without_stated_seeds_or_rows_there_is_no_chance():
    assert chance_of_paper(claim(3.0, 1), results()) is None
    missing = claim(3.0, 5, ours=lambda r: r.mean("x", method="nowhere"))
    assert chance_of_paper(missing, results()) is None
