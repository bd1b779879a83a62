"""What each allocator is for, seen in its plans."""

import numpy as np
import pytest

from aqka import Acquisition, InputError, MatrixBackend, Problem, Schedule, acquire, allocator_names
from aqka.allocators import Allocation, Allocator, make_allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.hybrid import Hybrid
from aqka.allocators.nystrom import Nystrom
from aqka.allocators.nystrom_leverage import NystromLeverage
from aqka.allocators.shofar import Shofar
from aqka.allocators.targets import raise_to_floor
from aqka.core import PairTable
from aqka.maths.sensitivity import krr_gradient, leverage_sums, soft_support, svm_gradient
from aqka.maths.spectrum import EIGENVALUE_FLOOR, Spectrum, project_psd
from aqka.maths.svm import solve_dual
from tests.conftest import make_kernel, make_labels


def measured_table(problem, kernel, shots=200, seed=0):
    table = problem.new_table()
    table.shots[:] = shots
    table.hits = np.random.default_rng(seed).binomial(table.shots, table.condense(kernel))
    return table


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


@pytest.mark.parametrize("reading", ["paper", "fair"])
def test_aqka_fills_toward_the_printed_formula(reading):
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2, reading=reading)
    table = measured_table(problem, kernel)
    # Straight from the paper, with a plain solver instead of the shared decomposition.
    k_hat = project_psd(problem.reading.kernel(table))
    inverse = np.linalg.inv(k_hat + 0.2 * np.eye(9))
    alpha, beta = inverse @ y, inverse @ inverse @ y
    g = np.abs(np.outer(beta, alpha) + np.outer(alpha, beta))
    g[np.diag_indices(9)] /= 2
    g = table.condense(g)
    score = np.maximum(g, 0.05 * g.max()) * problem.reading.deviation(table)
    shots = 100_000
    target = (table.total + shots) * score / score.sum()
    deficit = np.maximum(0, target - table.shots)
    expected = deficit * shots / deficit.sum()
    plan = make_allocator("aqka").ask(table, problem, shots, np.random.default_rng(0)).shots
    assert np.abs(plan - expected).max() < 1 + 1e-6


def test_leverage_scores_are_those_of_the_formula():
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    k_hat = project_psd(problem.reading.kernel(table))
    scores = np.diag(k_hat @ np.linalg.inv(k_hat + 0.2 * np.eye(9)))
    np.testing.assert_allclose(Spectrum.of(k_hat).leverage(0.2), scores, rtol=1e-9)
    expected = raise_to_floor(table.condense(leverage_sums(scores))) * problem.reading.deviation(
        table
    )
    allocator = make_allocator("leverage")
    np.testing.assert_allclose(allocator.score(table, problem), expected, rtol=1e-9)


def test_oracle_follows_the_true_kernel_whatever_was_measured():
    kernel, y = 0.9 * make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2, true_kernel=kernel)
    first = make_allocator("aqka-oracle").score(measured_table(problem, kernel, seed=1), problem)
    second = make_allocator("aqka-oracle").score(measured_table(problem, kernel, seed=2), problem)
    assert np.array_equal(first, second)
    spectrum = Spectrum.of(kernel)
    alpha = spectrum.solve(y, 0.2)
    gradient = krr_gradient(alpha, spectrum.solve(alpha, 0.2), 0.2)
    table = problem.new_table()
    k = table.condense(kernel)
    expected = raise_to_floor(table.condense(gradient)) * np.sqrt(k * (1 - k))
    np.testing.assert_allclose(first / first.sum(), expected / expected.sum())


@pytest.mark.parametrize("name", ["aqka-oracle", "multinomial-oracle"])
def test_oracle_without_the_true_kernel_says_so(name):
    with pytest.raises(InputError, match="true_kernel is needed"):
        acquire(MatrixBackend(make_kernel(6)), make_labels(6), 100, name)


def test_multinomial_draws_from_the_score_of_aqka():
    kernel, y = make_kernel(9), make_labels(9)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    score = make_allocator("aqka").score(table, problem)
    shots = make_allocator("multinomial").ask(table, problem, 10**6, np.random.default_rng(0)).shots
    expected = 10**6 * score / score.sum()
    chi_square = np.sum((shots - expected) ** 2 / expected)
    assert abs(chi_square - (table.n_pairs - 1)) < 5 * np.sqrt(2 * table.n_pairs)


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


@pytest.mark.parametrize("name", ["nystrom", "nystrom-leverage"])
def test_nystrom_measures_only_landmark_rows(name):
    kernel, y = make_kernel(20), make_labels(20)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    allocation = make_allocator(name).ask(table, problem, 5000, np.random.default_rng(0))
    landmarks = allocation.landmarks.points
    assert len(set(landmarks.tolist())) == 5  # ⌈√20⌉
    assert not allocation.landmarks.keep_block
    rows, cols = table.pairs(np.flatnonzero(allocation.shots))
    assert np.all(np.isin(rows, landmarks) | np.isin(cols, landmarks))
    assert len(rows) == 5 * (2 * 20 - 5 - 1) // 2
    assert allocation.shots[allocation.shots > 0].max() - 5000 // len(rows) <= 1


def test_nystrom_refuses_rounds_and_impossible_counts():
    with pytest.raises(InputError, match="rounds must be 1 for Nystrom"):
        Acquisition(Problem(make_labels(6)), 100, "nystrom", Schedule(rounds=2))
    with pytest.raises(InputError, match="landmarks must lie between 1 and 6, got 7"):
        Acquisition(Problem(make_labels(6)), 100, Nystrom(landmarks=7))
    for wrong in (2.5, True, "3", 0):
        with pytest.raises(InputError, match="landmarks must be a whole number"):
            Nystrom(landmarks=wrong)


def test_hybrid_takes_the_rows_with_the_largest_sensitivity():
    kernel, y = make_kernel(20), make_labels(20)
    problem = Problem(y, ridge=0.2)
    table = measured_table(problem, kernel)
    allocation = make_allocator("hybrid").ask(table, problem, 50_000, np.random.default_rng(0))
    spectrum = Spectrum.of(problem.reading.kernel(table))
    alpha = spectrum.solve(y, 0.2)
    sums = np.abs(krr_gradient(alpha, spectrum.solve(alpha, 0.2), 0.2)).sum(axis=1)
    assert set(allocation.landmarks.points) == set(np.argsort(sums)[-5:])
    assert allocation.landmarks.keep_block
    rows, cols = table.pairs(np.flatnonzero(allocation.shots))
    points = allocation.landmarks.points
    assert np.all(np.isin(rows, points) | np.isin(cols, points))


def test_svm_allocators_follow_dual_and_soft_support():
    kernel, y = make_kernel(12), make_labels(12)
    problem = Problem(y, C=2.0)
    table = measured_table(problem, kernel)
    projected = project_psd(problem.reading.kernel(table))
    deviation = problem.reading.deviation(table)
    hard, soft = make_allocator("aqka-svm"), make_allocator("aqka-svm-soft")
    machine = solve_dual(projected, y, 2.0)
    weights = hard.weights(machine)
    expected = raise_to_floor(table.condense(svm_gradient(weights, y))) * deviation
    np.testing.assert_allclose(hard.score(table, problem), expected)
    flat = soft.weights(machine)
    assert flat.max() == 1.0
    assert np.all(flat > 0)  # nobody is shut out
    assert np.array_equal(np.argsort(flat), np.argsort(weights))


def one_against_rest(labels, ridge=0.05):
    """Return a problem of three classes, and the two-class problems it is made of."""
    whole = Problem(labels, ridge=ridge)
    return whole, [Problem(np.where(labels == c, 1, -1), ridge=ridge) for c in whole.classes]


@pytest.mark.parametrize("name", ["aqka", "aqka-svm"])
def test_one_allocation_serves_all_classes(name):
    kernel, labels = make_kernel(12), np.arange(12) % 3
    whole, parts = one_against_rest(labels)
    table = measured_table(whole, kernel)
    allocator = make_allocator(name)
    combined = allocator.sensitivity(table, whole)
    # Scaled so that ratios are kept: compare with the root of the summed squares.
    if name == "aqka":
        spectrum = Spectrum.of(whole.reading.kernel(table))
        squares = 0
        for part in parts:
            alpha = spectrum.solve(part.y, 0.05)
            squares += krr_gradient(alpha, spectrum.solve(alpha, 0.05), 0.05) ** 2
        expected = table.condense(np.sqrt(squares))
    else:
        expected = np.sqrt(sum(allocator.sensitivity(table, part) ** 2 for part in parts))
    np.testing.assert_allclose(combined / combined.max(), expected / expected.max(), rtol=1e-9)


@pytest.mark.parametrize("name", allocator_names())
def test_every_allocator_spends_on_three_classes(name):
    kernel, labels = make_kernel(15), np.array(list("abc") * 5)
    oracle = kernel if name.endswith("oracle") else None
    session = acquire(MatrixBackend(kernel), labels, 2_000, name, true_kernel=oracle)
    assert session.table.total == 2_000
    assert set(session.fit().predict(kernel)) <= set("abc")


def test_soft_support_flattens_as_the_margin_thins():
    dual = np.array([0.0, 1.0, 2.0])
    wide, thin = soft_support(dual, margin=1.0), soft_support(dual, margin=0.01)
    np.testing.assert_allclose(wide, np.exp([-2, -1, 0]))
    assert thin.min() > 0.97


def test_svm_allocators_need_two_classes():
    with pytest.raises(InputError, match="needs two classes"):
        acquire(MatrixBackend(make_kernel(5)), [0.1, 0.4, -2.0, 1.0, 3.0], 100, "aqka-svm")


class Unpaid(MatrixBackend):
    """A backend that must not be asked for a shot."""

    def submit(self, plan, tag):
        raise AssertionError("a shot was paid for")


@pytest.mark.parametrize(
    ("allocator", "y"),
    [
        ("aqka-oracle", make_labels(6)),
        ("multinomial-oracle", make_labels(6)),
        ("aqka-svm", [0.1, 0.4, -2.0, 1.0, 3.0, 2.0]),
        (NystromLeverage(landmarks=9), make_labels(6)),
        (Hybrid(landmarks=9), make_labels(6)),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_shot(allocator, y):
    with pytest.raises(InputError):
        acquire(Unpaid(make_kernel(6)), y, 1000, allocator)


@pytest.mark.parametrize("value", [float("nan"), -1, 2.0, "x", None])
def test_floors_and_thresholds_are_fractions(value):
    with pytest.raises(InputError, match="floor must be a fraction"):
        Aqka(floor=value)
    with pytest.raises(InputError, match="threshold must be a fraction"):
        Shofar(threshold=value)


def test_the_papers_defaults():
    assert Aqka().floor == 0.05
    assert Shofar().threshold == 0.05
    assert EIGENVALUE_FLOOR == 1e-6


def test_bernoulli_follows_the_deviation_alone():
    problem = Problem(make_labels(9), ridge=0.2)
    table = measured_table(problem, make_kernel(9))
    score = make_allocator("bernoulli").score(table, problem)
    np.testing.assert_array_equal(score, problem.reading.deviation(table))
    assert score.std() > 0.01


def test_leverage_landmarks_are_drawn_by_leverage():
    # A tight cluster shares its leverage, a lone point has its own: it is drawn more often.
    x = np.concatenate([np.full(15, 0.0), [50.0]])[:, None]
    kernel = np.exp(-((x - x.T) ** 2))
    problem = Problem(make_labels(16), ridge=0.5)
    table = measured_table(problem, kernel)
    allocator = NystromLeverage(landmarks=1)
    drawn = [
        allocator.choose(table, problem, np.random.default_rng(seed))[0] for seed in range(200)
    ]
    # Leverage of the lone point is about 0.67 of a total of about 1.6; uniform would give 1/16.
    assert np.mean(np.array(drawn) == 15) > 0.25


@pytest.mark.parametrize(
    ("ridge", "scale"), [(1e-200, 1.0), (1e200, 1.0), (0.1, 1e-200), (0.1, 1e200)]
)
def test_targets_do_not_depend_on_scale(ridge, scale):
    targets = np.array([0.3, -1.0, 2.0, 0.5, -0.7, 1.1])
    problem = Problem(scale * targets, ridge=ridge)
    table = measured_table(problem, make_kernel(6))
    score = make_allocator("aqka").score(table, problem)
    assert np.all(np.isfinite(score))
    assert score.std() > 0.01 * score.mean()  # not silently uniform


class Greedy(Allocator):
    """A user's allocator that breaks the rules in a chosen way."""

    def __init__(self, answer):
        self.answer = answer

    def ask(self, table, problem, shots, rng):
        return Allocation(self.answer(table, shots))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda t, s: np.full(t.n_pairs, s), "exactly"),
        (lambda t, s: np.zeros(t.n_pairs, dtype=int), "exactly"),
        (lambda t, s: np.array([s + 1, -1] + [0] * (t.n_pairs - 2)), "none negative"),
        (lambda t, s: np.full(t.n_pairs, s / t.n_pairs), "whole numbers"),
        (lambda t, s: np.array([s]), "whole numbers"),
    ],
)
def test_a_users_allocator_cannot_break_the_budget(answer, message):
    session = Acquisition(Problem(make_labels(6)), 100, Greedy(answer), Schedule(warmup=0.0))
    with pytest.raises(InputError, match=message):
        session.ask()
    assert session.table.total == 0
