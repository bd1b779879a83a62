"""The sequential test settles wrong classes more rarely than its error rate, at fixed seeds.

A count over n independent repetitions that should have a mean of at most p is held against the
binomial quantile at 1e-6: so rarely would other seeds make a correct method fail.
"""

import numpy as np
import pytest
from scipy.stats import binom

from aqka import MatrixBackend
from aqka.designs import KernelEstimate, Settle
from aqka.designs.sequential_test import draw_shots
from aqka.learners import FittedHead
from aqka.sessions import Predicting, predict

FALSE_ALARM = 1e-6


@pytest.mark.parametrize("n_shots", [1, 3, 10, 1000])
def test_drawn_shots_have_the_right_mean_and_hardly_vary(n_shots):
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.full(7, 0.5))
    draws = np.stack([draw_shots(chances, n_shots, rng) for _ in range(4000)])
    assert np.all(draws.sum(axis=1) == n_shots)
    assert np.all(np.abs(draws - n_shots * chances) <= 2)
    # Each count varies by at most 2, so by less than 2 in deviation; 5 standard errors.
    np.testing.assert_allclose(draws.mean(axis=0), n_shots * chances, atol=5 * 2 / 4000**0.5)


def one_point(alpha, row, n_copies):
    """A head and a block in which every test point is the same."""
    classes = np.arange(2 if alpha.ndim == 1 else alpha.shape[1])
    head = FittedHead(
        alpha, np.zeros(alpha.shape[1:]), KernelEstimate(np.eye(len(alpha))), 0.1, classes
    )
    return head, np.tile(row, (n_copies, 1))


@pytest.mark.parametrize("rounds", [3, 40])
@pytest.mark.parametrize("shots_a_pair", [3, 100])
@pytest.mark.parametrize("margin", [0.0, 1e-3])
def test_under_continuous_looking_a_wrong_sign_is_rarer_than_the_error_rate(
    rounds, shots_a_pair, margin
):
    # The hardest case: f is almost 0 and below, and a look after each of many rounds.
    alpha = np.array([1.0, 0.5, -0.7, -0.8, 0.05])
    row = np.array([0.3, 0.2, 0.1, 0.0, 0.9])
    row[3] = (alpha @ row + margin) / 0.8
    head, block = one_point(alpha, row, 400)
    assert np.isclose(alpha @ row, -margin)
    wrong = 0
    for seed in range(3):
        backend = MatrixBackend(block, rectangular=True, seed=seed)
        found = predict(head, backend, 400 * 5 * shots_a_pair, stop=Settle(0.2, rounds))
        wrong += int(np.sum(found.settled & (found.labels == 1)))
    assert wrong <= binom.isf(FALSE_ALARM, 1200, 0.2)
    # Not for want of bets: at the border a good share of the error rate is used.
    if rounds == 40 and shots_a_pair == 100:
        assert wrong >= 12


def test_of_three_classes_a_wrong_winner_is_rarer_than_the_error_rate():
    # All three tie but for a hair: two can be wrong winners.
    alpha = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    head, block = one_point(alpha, np.array([0.4, 0.4, 0.401]), 600)
    backend = MatrixBackend(block, rectangular=True, seed=1)
    found = predict(head, backend, 600 * 3 * 100, stop=Settle(0.2, 30))
    wrong = int(np.sum(found.settled & (found.labels != 2)))
    assert 0 < wrong <= binom.isf(FALSE_ALARM, 600, 0.2)


def test_the_bets_have_a_mean_of_at_most_one():
    # The wealth itself, against f = 0: its mean over many points, within 5 standard errors.
    head, block = one_point(np.array([1.0, -1.0, 0.5, -0.5]), np.array([0.3, 0.3, 0.1, 0.1]), 4000)
    session = Predicting(head, 4000, 4000 * 40, stop=Settle(1e-9, 4))
    backend = MatrixBackend(block, rectangular=True, seed=2)
    while not session.done:
        session.tell(backend.collect(backend.submit(session.ask(), session.tag)))
    for w, c in ((0, 1), (1, 0)):
        wealth = np.exp(session.new.test._log_wealth[:, w, c]).mean(axis=0)
        assert wealth.mean() <= 1 + 5 * wealth.std() / 4000**0.5
        assert wealth.std() > 0.1
