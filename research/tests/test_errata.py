"""Each test shows one entry of docs/explanation/errata.md, which names the test beside it."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import unitary_group

from aqka import MatrixBackend, Schedule, acquire
from aqka.allocators.schedule import ONE_SHOT
from aqka.allocators.targets import kkt_targets
from aqka.backends.statevector import zz_kernel, zz_states
from aqka.core import PAPER, Landmarks, PairTable, ShotPlan
from aqka.maths.sensitivity import cauchy_schwarz_ratio, solve_dual
from aqka.maths.spectrum import Spectrum, project_psd, reconstruct
from aqka.planning.quotes import quote
from aqka_research.benchmarks.agreement import ridge_parts, small_problem
from aqka_research.reproduce.experiments import heatmap, hyperparameters
from aqka_research.reproduce.experiments.live import PAIRS
from aqka_research.reproduce.experiments.scaling import ANCHORS
from aqka_research.theory import (
    derivative_bound,
    geometric_difference,
    krr_gauss_newton,
    krr_squared_gradient,
    planted_ceiling,
    planted_support_size,
    plug_in_bound,
    plug_in_multiplier,
    squared_gradient_bound,
    svm_ceiling,
    svm_dual_objective,
    svm_variance_weights,
)
from tests.conftest import make_kernel, make_labels

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "errata.md"


def test_every_entry_names_a_test_that_exists_and_every_test_has_an_entry():
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    here = {name for name in globals() if name.startswith("test_")}
    here.discard("test_every_entry_names_a_test_that_exists_and_every_test_has_an_entry")
    assert named == here


def test_squared_gradient_bound_had_norms_on_the_wrong_side():
    kernel, y, ridge = small_problem()
    alpha, beta, inverse = ridge_parts(kernel, y, ridge)
    proxy = krr_squared_gradient(alpha, beta)
    gauss_newton = krr_gauss_newton(alpha, inverse, ridge)
    printed = gauss_newton / (alpha @ alpha) / (2 * ridge**2)
    assert np.any(proxy > printed)
    assert np.all(proxy <= squared_gradient_bound(gauss_newton, alpha, ridge) * (1 + 1e-9))


def test_derivative_bound_needs_one_more_factor():
    # One point, K = 0, y = 1: L(k) = λ²/(k + λ)², so L' = -2/λ and L'' = 6/λ².
    ridge, y = 0.5, np.array([1.0])
    for order, size in ((1, 2 / ridge), (2, 6 / ridge**2)):
        printed = [1, 2][order - 1] * 2 ** (order / 2) / ridge**order
        assert size > printed
        assert size <= derivative_bound(order, y, ridge)


def test_a_pair_has_operator_norm_one():
    pair = np.zeros((4, 4))
    pair[0, 1] = pair[1, 0] = 1.0
    assert np.linalg.norm(pair, 2) == pytest.approx(1.0)
    assert np.linalg.norm(pair, "fro") == pytest.approx(np.sqrt(2))


def test_operator_norm_does_not_bound_the_largest_coefficient():
    v = np.array([1.0, 0.5, 0.5, 0.5, 0.5])
    kernel, ridge = np.outer(v, v), 0.05
    y = np.array([1.0, -1, -1, -1, -1])
    alpha = np.linalg.solve(kernel + ridge * np.eye(5), y)
    assert np.abs(alpha).max() > np.abs(y).max() / ridge


def test_plug_in_bound_fails_where_sensitivities_vanish():
    a = np.zeros(1001)
    a[0] = 1.0
    error = 0.01
    a_hat = a + error
    printed = 1 + 3 * error
    multiplier = plug_in_multiplier(a, a_hat)
    assert multiplier > 90 * printed
    assert multiplier <= plug_in_bound(a, lipschitz=error, distance=1.0)


def test_svm_shorthand_is_below_the_ceiling_that_can_be_reached():
    n, m = 6, 3
    dual = np.where(np.arange(n) < m, 1.0, 0.0)
    # Entries chosen so that all weights on the support are equal, the diagonal's ¼ included.
    kernel = np.full((n, n), (1 - np.sqrt(0.75)) / 2)
    np.fill_diagonal(kernel, 0.5)
    rho = cauchy_schwarz_ratio(svm_variance_weights(dual, kernel))
    assert rho == pytest.approx(svm_ceiling(n, m))
    assert rho > m**2 / n**2


def test_svm_diagonal_weight_has_a_quarter():
    kernel, y, _ = small_problem()
    dual = solve_dual(kernel, y, 2.0).dual
    a = svm_variance_weights(dual, kernel)
    k = kernel[0, 0]
    assert a[0] == pytest.approx(0.25 * dual[0] ** 4 * k * (1 - k))


def test_svm_optimum_is_not_half_sum_plus_half_norm():
    kernel, y, _ = small_problem()
    solution = solve_dual(kernel, y, 0.5)
    squared_norm = solution.margin**-2
    optimum = svm_dual_objective(kernel, y, solution.dual)
    decision = kernel @ (y * solution.dual) + solution.intercept
    slack = np.maximum(0, 1 - y * decision).sum()
    assert optimum == pytest.approx(squared_norm / 2 + 0.5 * slack, rel=1e-4)
    assert abs(optimum - (solution.dual.sum() / 2 + squared_norm / 2)) > 0.1


def test_gap_between_the_ceilings_is_two_n_over_m():
    n, m = 1000, 10
    gap = planted_ceiling(n, m) / svm_ceiling(n, m)
    assert gap == pytest.approx(2 * n / m, rel=0.1)
    assert gap > 3 * n / (2 * m)


def test_planted_fraction_at_225_points_is_a_fifth_of_a_percent():
    n, m = 225, 10
    inside = m * (m + 1) / 2 / (n * (n + 1) / 2)
    assert inside == pytest.approx(0.002, rel=0.1)
    assert planted_support_size(n, m) / (n * (n + 1) / 2) == pytest.approx(0.087, rel=0.01)


def test_projection_fills_unseen_entries():
    table = PairTable(3, "measured")
    table.add(ShotPlan([0, 0, 1, 2, 0], [0, 1, 1, 2, 2], [1, 1, 1, 1, 1]), [1, 1, 1, 1, 1])
    raw = PAPER.kernel(table)
    assert raw[1, 2] == 0  # unseen
    assert project_psd(raw)[1, 2] > 0.05
    assert PAPER.deviation(table)[table.index([1], [2])] == 0


def test_round_targets_must_be_cumulative():
    # With the round's budget alone, a pair that already has its share gets a zero deficit
    # everywhere once enough is spent, and line 9 has nothing to scale.
    score, spent, round_shots = np.ones(4), np.full(4, 50), 40
    assert np.all(kkt_targets(score, round_shots) - spent < 0)
    assert np.sum(kkt_targets(score, spent.sum() + round_shots) - spent) == round_shots


def test_random_exploration_guarantees_nothing_round_robin_does():
    kernel, y = make_kernel(30), make_labels(30)
    budget = 10 * 465
    floor = {}
    for kind in ("random", "round-robin"):
        schedule = Schedule(exploration=kind)
        session = acquire(
            MatrixBackend(kernel), y, budget, "aqka", schedule=schedule, reading="paper"
        )
        floor[kind] = session.table.shots.min()
    assert floor["random"] < 0.2 * 10 <= floor["round-robin"]


def test_geometric_difference_is_a_root_of_a_spectral_norm():
    quantum, classical = make_kernel(8, 1), make_kernel(8, 2) + 0.1 * np.eye(8)
    spectrum = Spectrum.of(quantum)
    root = (spectrum.vectors * np.sqrt(spectrum.values)) @ spectrum.vectors.T
    product = root @ np.linalg.inv(classical) @ root
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=8)))
    printed = np.max(np.einsum("si,ij,sj->s", signs, product, signs)) / 8
    squared = geometric_difference(quantum, classical) ** 2
    assert printed <= squared
    assert printed < 0.9 * squared


def test_nystrom_formula_leaves_the_range_of_a_kernel():
    rng = np.random.default_rng(0)
    points = np.arange(10)
    largest = []
    for _ in range(20):
        upper = np.triu(rng.binomial(1, make_kernel(100)), 1).astype(float)
        kernel = upper + upper.T + np.eye(100)
        system = kernel[np.ix_(points, points)] + 0.01 * np.eye(10)
        largest.append(np.abs(kernel[:, points] @ np.linalg.solve(system, kernel[points])).max())
        ours = reconstruct(kernel, Landmarks(points, keep_block=False), ridge=0.01)
        assert np.all((ours >= 0) & (ours <= 1))
    assert np.median(largest) > 2


def test_anchors_of_the_scaling_experiment_are_rounded_down():
    printed = {225: 10, 500: 22, 1000: 45}
    assert {n: 45 * n // 1000 for n in printed} == printed
    assert {n: -(-45 * n // 1000) for n in printed} == {225: 11, 500: 23, 1000: 45}
    assert {n: ANCHORS[n] for n in printed} == printed


def test_heat_map_leaves_less_than_warm_up_and_exploration_give():
    rows = [
        row
        for seed in range(10)
        for row in heatmap.measure(
            {"seed": seed, "protocol": "paper", "methods": list(heatmap.METHODS)}
        )["rows"]
    ]

    def rest(method):
        return np.mean([row["rest"] for row in rows if row["method"] == method])

    schedule = Schedule()
    blind = 10 * (schedule.warmup + (1 - schedule.warmup) * schedule.explore)
    assert blind == pytest.approx(3.6)
    assert rest(heatmap.WITHOUT_FLOOR) == pytest.approx(blind, abs=0.1)
    assert rest(heatmap.ORACLE) > 7
    assert rest(heatmap.WITHOUT_WARMUP) > 7
    assert rest(heatmap.NEITHER) == pytest.approx(2.0, abs=0.1)


def test_table_of_fractions_spans_more_than_three_points():
    gains = hyperparameters.STATED.values()
    assert max(gains) - min(gains) == pytest.approx(3.1)


def test_ad_hoc_labels_lie_in_the_space_of_the_kernel():
    rng = np.random.default_rng(0)
    bra = unitary_group.rvs(16, random_state=rng)[0]  # ⟨0|V
    x, new = rng.uniform(0, 2 * np.pi, (600, 4)), rng.uniform(0, 2 * np.pi, (50, 4))
    probability = np.abs(zz_states(x) @ bra) ** 2
    weights = np.linalg.lstsq(zz_kernel(x), probability, rcond=1e-10)[0]
    predicted = zz_kernel(new, x) @ weights
    np.testing.assert_allclose(predicted, np.abs(zz_states(new) @ bra) ** 2, atol=1e-6)


def test_a_loop_of_four_rounds_waits_five_times():
    loop = quote(30, 1860, queue=50, wish=PAIRS)
    single = quote(30, 1860, queue=50, schedule=ONE_SHOT, wish=PAIRS)
    assert (loop.submissions, single.submissions) == (5, 1)
    assert loop.queue_seconds == 5 * single.queue_seconds == 5 * 50 * 20
