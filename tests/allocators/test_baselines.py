"""What AQKA is compared with."""

import numpy as np

from aqka import Problem
from aqka.allocators import make_allocator
from aqka.allocators.baselines import Shofar
from aqka.allocators.targets import raise_to_floor
from aqka.core import PairTable
from aqka.maths.spectrum import Spectrum, project_psd
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def test_uniform_is_equal_and_spreads_its_remainder_at_random():
    table = PairTable(20)
    plan = make_allocator("uniform").ask(table, None, 190 * 3 + 50, np.random.default_rng(0))
    assert sorted(set(plan.shots.tolist())) == [3, 4]
    rows, cols = table.pairs(np.flatnonzero(plan.shots == 4))
    assert len(np.unique(np.concatenate([rows, cols]))) > 15  # not only the first points


def test_random_is_multinomial_with_equal_weights():
    table = PairTable(30)
    shots = make_allocator("random").ask(table, None, 100_000, np.random.default_rng(0)).shots
    expected = 100_000 / table.n_pairs
    chi_square = np.sum((shots - expected) ** 2 / expected)
    # 434 degrees of freedom: mean 434, sd 29.5; five sd is a false alarm in 10^6.
    assert abs(chi_square - (table.n_pairs - 1)) < 5 * np.sqrt(2 * table.n_pairs)


def test_bernoulli_follows_the_deviation_alone():
    problem = Problem(make_labels(9), ridge=0.2)
    table = measured_table(problem, make_kernel(9))
    score = make_allocator("bernoulli").score(table, problem)
    np.testing.assert_array_equal(score, problem.reading.deviation(table))
    assert score.std() > 0.01


def test_leverage_scores_are_those_of_the_formula():
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    k_hat = project_psd(problem.reading.kernel(table))
    scores = np.diag(k_hat @ np.linalg.inv(k_hat + 0.2 * np.eye(9)))
    np.testing.assert_allclose(Spectrum.of(k_hat).leverage(0.2), scores, rtol=1e-9)
    expected = raise_to_floor(
        table.condense(np.add.outer(scores, scores))
    ) * problem.reading.deviation(table)
    allocator = make_allocator("leverage")
    np.testing.assert_allclose(allocator.score(table, problem), expected, rtol=1e-9)


def test_shofar_measures_only_inside_the_support():
    kernel, y = make_kernel(12), make_labels(12)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    alpha = np.abs(Spectrum.of(problem.reading.kernel(table)).solve(y, 0.2))
    support = np.flatnonzero(alpha > 0.6 * alpha.max())
    assert 2 <= len(support) < 12
    shots = Shofar(threshold=0.6).ask(table, problem, 1000, np.random.default_rng(0)).shots
    rows, cols = table.pairs(np.flatnonzero(shots))
    assert set(rows) | set(cols) == set(support)
    inside = shots[shots > 0]
    assert len(inside) == len(support) * (len(support) - 1) // 2
    assert inside.max() - inside.min() <= 1


def test_shofar_with_a_support_of_one_point_measures_that_row():
    problem = Problem(make_labels(8), ridge=0.2)
    table = measured_table(problem, make_kernel(8))
    shots = Shofar(threshold=0.9999).ask(table, problem, 70, np.random.default_rng(0)).shots
    assert np.count_nonzero(shots) == 7
    assert set(shots[shots > 0].tolist()) == {10}
