"""Looking back on a run, against Monte Carlo."""

from dataclasses import replace

import numpy as np
import pytest

from aqka import MatrixBackend, Problem, acquire
from aqka.core.pairs import PairTable
from aqka.core.plans import ShotPlan
from aqka.core.tolerance import Tolerance
from aqka.designs import PairEstimate
from aqka.insight.hindsight import (
    fewer_shots,
    kernel_without_noise,
    noise_floor,
    redraw_counts,
    steering,
    thin_counts,
)
from aqka.learners import make_learner
from aqka.learners.ridge import RidgeNoise
from aqka.maths.sensitivity import prediction_sensitivity
from tests.conftest import make_kernel, make_labels


def measured(kernel, shots, rng):
    table = PairTable(len(kernel))
    table.shots[:] = shots
    table.hits[:] = rng.binomial(table.shots, table.condense(kernel))
    return table


def test_even_shots_have_a_ratio_of_one():
    kernel, problem = make_kernel(12), Problem(make_labels(12))
    table = measured(kernel, 20, np.random.default_rng(0))
    found = steering(table, problem)
    assert found.ratio == pytest.approx(1.0)
    assert found.error is None
    assert found.best < 1


def test_a_head_that_is_known_already_changes_nothing():
    kernel, problem = make_kernel(12), Problem(make_labels(12))
    table = measured(kernel, 20, np.random.default_rng(0))
    head = RidgeNoise().fit(PairEstimate(table, problem), problem)
    assert steering(table, problem, 2, head=head) == steering(table, problem, 2)


def test_best_shots_reach_the_best_ratio():
    kernel, problem = make_kernel(12, scale=0.8), Problem(make_labels(12))
    rng = np.random.default_rng(1)
    table = measured(kernel, 100_000, rng)
    k = table.condense(kernel)
    head = RidgeNoise().fit(PairEstimate(table, problem), problem)
    moved = prediction_sensitivity(head.spectrum, head.coefficients, head.regularisation)
    share = table.condense(moved) * np.sqrt(k * (1 - k))
    best = measured(kernel, np.maximum(1, np.rint(1e6 * 66 * share / share.sum())), rng)
    found = steering(best, problem)
    assert found.ratio == pytest.approx(found.best, rel=0.01)


def test_the_ratio_is_that_of_simulated_predictions():
    """Draw the kernel many times by both allocations, and measure the variance of f itself."""
    n_points, rng = 20, np.random.default_rng(2)
    kernel, y = make_kernel(n_points, scale=0.5), make_labels(20)
    problem = Problem(y)
    n_pairs = n_points * (n_points - 1) // 2
    uneven = 4000 + 16_000 * (rng.random(n_pairs) < 0.3)
    table = measured(kernel, uneven, rng)
    ridge = RidgeNoise().fit(PairEstimate(table, problem), problem).regularisation
    even = np.full(n_pairs, table.total // n_pairs)

    def variance(shots):
        drawn = []
        for _ in range(1500):
            noisy = measured(kernel, shots, rng)
            estimate = noisy.square(noisy.estimate())
            drawn.append(kernel @ np.linalg.solve(estimate + ridge * np.eye(n_points), y))
        return np.var(drawn, axis=0).sum()

    simulated = variance(uneven) / variance(even)
    found = steering(table, problem, repetitions=5)
    assert simulated != pytest.approx(1.0, abs=0.05)  # there is something to find
    assert found.ratio == pytest.approx(simulated, rel=0.08)  # 1,500 draws: about 3 % of noise
    assert found.error < 0.1


def test_thinned_counts_are_those_of_fewer_shots():
    """Binomial hits thinned to half the shots are binomial at half the shots."""
    rng = np.random.default_rng(3)
    table = PairTable(150)
    table.shots[:] = 40
    table.hits[:] = rng.binomial(40, 0.3, table.n_pairs)
    part = thin_counts(table, 0.5, rng)
    assert (part.shots == 20).all()
    assert part.hits.mean() == pytest.approx(6, abs=4 * np.sqrt(4.2 / table.n_pairs))
    assert part.hits.var() == pytest.approx(20 * 0.3 * 0.7, rel=0.06)
    rest = table.hits - part.hits
    assert abs(np.corrcoef(part.hits, rest)[0, 1]) < 0.04  # the halves are independent
    odd = thin_counts(measured(make_kernel(30), 3, rng), 0.25, rng)
    assert set(np.unique(odd.shots)) == {0, 1}
    assert odd.shots.mean() == pytest.approx(0.75, abs=0.1)


def tolerant_table(shots, rng):
    """Pairs of 8 bits whose flips have chances of their own."""
    table = PairTable(12, bits=8)
    chances = rng.dirichlet(np.linspace(0.1, 3, 9), table.n_pairs)
    table.add(ShotPlan(*table.pairs(), shots, bits=8), rng.multinomial(shots, chances))
    return table


def test_thinned_flips_are_those_of_fewer_shots():
    """Each pair has a hypergeometric share of every count, so that its mean is not moved."""
    rng = np.random.default_rng(6)
    table = tolerant_table(np.full(66, 20), rng)
    parts = [thin_counts(table, 0.25, rng) for _ in range(150)]
    assert all((part.flips.sum(axis=1) == 5).all() for part in parts)
    mean = np.mean([part.flips for part in parts], axis=0)
    share = table.flips / 20
    deviation = np.sqrt(5 * share * (1 - share) * 15 / 19 / 150)
    some = share > 0
    z = (mean - 5 * share)[some] / deviation[some]
    assert np.std(z) == pytest.approx(1, abs=0.15)
    assert parts[0].tolerance == Tolerance.of(parts[0].flips)


def test_pairs_without_shots_count_beside_flips_as_beside_as_many_hits():
    """A shot of spread v is 1 / v hits or misses, for steering as for the kernel's variance."""
    rng = np.random.default_rng(7)
    shots = np.where(np.arange(66) % 3, 24, 0)
    table = tolerant_table(shots, rng)
    table.tolerance = replace(table.tolerance, spread=0.25)
    hits = PairTable(12)
    hits.shots[:], hits.hits = 4 * shots, 4 * table.hits
    problem = Problem(make_labels(12))
    head = RidgeNoise().fit(PairEstimate(table, problem), problem)
    found, same = (steering(one, problem, head=head) for one in (table, hits))
    assert found.ratio == pytest.approx(same.ratio, rel=1e-12)


def test_fewer_shots_are_worse_where_shots_matter_and_not_where_they_do_not():
    rng = np.random.default_rng(4)
    labels = np.arange(60) % 2
    points = rng.normal(size=(60, 2)) * 0.6 + 2.0 * labels[:, None]
    distance = np.sum((points[:, None] - points) ** 2, axis=2)
    kernel = 0.5 * np.exp(-0.05 * distance) + 0.5 * np.eye(60)
    problem, learner = Problem(labels), make_learner("ridge-kfold")
    few = fewer_shots(measured(kernel, 2, rng), problem, labels, learner)
    assert [part.fraction for part in few] == [0.25, 0.5, 1.0]
    assert few[0].gain > 2 * few[0].gain_error > 0
    many = fewer_shots(measured(kernel, 5000, rng), problem, labels, learner)
    assert abs(many[1].gain) < 0.03
    assert (many[-1].gain, many[-1].gain_error) == (0.0, 0.0)
    alone = np.array([1, 0, 0, 0])  # a fold without a second class
    assert fewer_shots(measured(make_kernel(4), 9, rng), Problem(alone), alone, learner) == []


def test_redrawn_hits_have_the_shots_of_the_table_and_the_given_chances():
    session = acquire(MatrixBackend(make_kernel(30)), make_labels(30), 40_000)
    table, before = session.table, session.table.hits.copy()
    chances = np.linspace(0, 1, table.n_pairs)
    rng = np.random.default_rng(0)
    draws = [redraw_counts(table, chances, rng) for _ in range(200)]
    assert all(np.array_equal(drawn.shots, table.shots) for drawn in draws)
    mean = np.mean([drawn.hits for drawn in draws], axis=0)
    deviation = np.sqrt(table.shots * chances * (1 - chances) / 200)
    z = (mean - table.shots * chances)[1:-1] / deviation[1:-1]
    assert np.std(z) == pytest.approx(1, abs=0.15)
    assert (mean[0], mean[-1]) == (0, table.shots[-1])
    np.testing.assert_array_equal(table.hits, before)


def test_what_noise_alone_gives_is_taken_out():
    """A kernel of rank 1 is found again, closer than it was measured."""
    kernel = np.outer(*(np.linspace(0.5, 1, 80),) * 2)
    np.fill_diagonal(kernel, 1)
    session = acquire(MatrixBackend(kernel), make_labels(80), 3160 * 10, "uniform")
    table, problem = session.table, Problem(make_labels(80))
    assert 0 < noise_floor(table) < 80
    truth = table.condense(kernel)
    raw = np.mean((table.estimate() - truth) ** 2)
    found = kernel_without_noise(table, problem)
    assert np.mean((table.condense(found) - truth) ** 2) < raw / 2
    assert np.linalg.matrix_rank(found) < 10


def test_noise_alone_stays_below_the_floor():
    """The spectrum of pure shot noise ends near the floor, by drawing it."""
    kernel = np.full((200, 200), 0.3)
    np.fill_diagonal(kernel, 1.0)
    session = acquire(MatrixBackend(kernel), make_labels(200), 19_900 * 20, "uniform")
    table = session.table
    noise = table.square(table.estimate() - 0.3, known_diagonal=0.0)
    largest = np.abs(np.linalg.eigvalsh(noise)).max()
    assert largest == pytest.approx(noise_floor(table), rel=0.08)
