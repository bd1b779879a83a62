import numpy as np

from aqka.core.plans import ShotPlan
from aqka_research.common_shots import COMMON, CommonShots

KERNEL = np.array([[1.0, 0.3, 0.8], [0.3, 1.0, 0.0], [0.8, 0.0, 1.0]])


def test_a_pair_has_the_same_first_shots_however_they_are_bought():
    """In one go, or in pieces that lie on, at and across the border of the common shots."""
    pair = ([0], [1])
    for total in (1, 63, COMMON):
        whole = CommonShots(KERNEL, 5).hits(ShotPlan(*pair, [total]), round=0)
        for first in range(total):
            shots = CommonShots(KERNEL, 5)
            pieces = [first, total - first]
            found = [
                shots.hits(ShotPlan(*pair, [n]), round=7 + k) for k, n in enumerate(pieces) if n > 0
            ]
            assert sum(found) == whole


def test_later_shots_are_drawn_by_the_round():
    def late(round):
        shots = CommonShots(KERNEL, 0)
        shots.hits(ShotPlan([0], [1], [COMMON]), round=0)
        return int(shots.hits(ShotPlan([0], [1], [10_000]), round=round)[0])

    assert late(1) == late(1)
    assert late(1) != late(2)


def test_hits_have_the_mean_and_variance_of_a_binomial():
    """400 seeds of 100 shots, 64 of them common: both moments within four standard errors."""
    plan = ShotPlan([0, 0, 1, 2], [1, 2, 2, 2], [100] * 4)
    hits = np.array([CommonShots(KERNEL, seed).hits(plan, round=0) for seed in range(400)])
    p = KERNEL[plan.rows, plan.cols]
    variance = 100 * p * (1 - p)
    assert np.all(np.abs(hits.mean(axis=0) - 100 * p) <= 4 * np.sqrt(variance / 400))
    # A variance estimated from n values has a relative error of about sqrt(2 / n).
    spread = np.abs(hits.var(axis=0, ddof=1) - variance)
    assert np.all(spread <= 4 * variance * np.sqrt(2 / 400))


def test_other_seeds_and_other_pairs_are_independent():
    many = np.full((40, 40), 0.5)
    rows, cols = np.triu_indices(40, 1)
    plan = ShotPlan(rows, cols, np.full(len(rows), 32))
    first, second = (CommonShots(many, seed).hits(plan, round=0) for seed in (0, 1))
    # 780 pairs: a correlation of independent counts has a standard error of 0.036.
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.15
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.15
