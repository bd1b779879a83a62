import numpy as np
import pytest

from aqka import MatrixBackend, Problem, acquire
from aqka.insight.redraw import hit_chances, kernel_without_noise, noise_floor, redraw_counts
from tests.conftest import make_kernel, make_labels


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
    found = hit_chances(table, problem)
    assert np.mean((found - truth) ** 2) < raw / 2
    assert np.all((found >= 0) & (found <= 1))
    assert np.linalg.matrix_rank(kernel_without_noise(table, problem, None)) < 10


def test_noise_alone_stays_below_the_floor():
    """The spectrum of pure shot noise ends near the floor, by drawing it."""
    kernel = np.full((200, 200), 0.3)
    np.fill_diagonal(kernel, 1.0)
    session = acquire(MatrixBackend(kernel), make_labels(200), 19_900 * 20, "uniform")
    table = session.table
    noise = table.square(table.estimate() - 0.3, known_diagonal=0.0)
    largest = np.abs(np.linalg.eigvalsh(noise)).max()
    assert largest == pytest.approx(noise_floor(table), rel=0.08)
