"""f read with the training states as a prior: by hand, on drawn counts, and when it is not used."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from aqka import Problem
from aqka.backends.statevector import zz_states
from aqka.core.settings import choose_settings
from aqka.designs import Fidelity, Points, Settle
from aqka.estimates.state_prior import (
    POWERS,
    RedrawnPoints,
    StatePrior,
    log_likelihoods,
    state_weights,
)
from aqka.estimates.states import FittedStates
from aqka.learners import make_learner
from aqka.sessions import Predicting
from tests.estimates.points import measured, probabilities

SETTINGS = choose_settings(2, seed=0)
RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(1.0, 2.5, size=(50, 2))
NEW = RANDOM.uniform(1.0, 2.5, size=(200, 2))
Y = np.sign(X[:, 0] - X[:, 1])


def trained(shots=400, y=Y, rank=1):
    estimate = Points(Fidelity(rank=rank)).read(measured(zz_states(X), SETTINGS, shots, 1), None)
    return make_learner("ridge-loo").fit(estimate, Problem(y))


def test_weights_are_powers_of_the_counts_likelihood():
    table = measured(zz_states(NEW[:6]), SETTINGS, 20, 2)
    states = FittedStates.given(zz_states(X[:4])[None])
    found = log_likelihoods(table, states)
    p = 0.97 * probabilities(zz_states(X[:4]), SETTINGS) + 0.03 / 4
    counts = table.dense(np.arange(6))
    by_hand = np.array([[np.sum(c * np.log(q)) for q in p] for c in counts])
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)
    w = state_weights(found, 0.3)
    powers = np.exp(0.3 * by_hand)
    np.testing.assert_allclose(w, powers / powers.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("rank", [1, 2])
def test_a_redrawn_point_is_a_new_point_to_a_head_without_it(rank):
    head = trained(rank=rank)
    estimate, n = head.estimate, len(X)
    states = estimate.states.vectors
    rho = np.einsum("kia,kib->iab", states, states.conj())
    f = np.array([sum(head.alpha[j] * np.trace(r @ rho[j]).real for j in range(n)) for r in rho])
    f += head.intercept
    like = measured(zz_states(NEW[:3]), SETTINGS, 30, 2)
    redrawn = estimate._redrawn(head, f[:, None], like, (0, 5))
    assert len(redrawn.origin) >= 200
    for i in (0, 17):
        without = np.delete(np.arange(n), i)
        truth = head.intercept + sum(
            head.alpha[j] * np.trace(rho[i] @ rho[j]).real for j in without
        )
        assert redrawn.truth[i, 0] == pytest.approx(float(truth), abs=1e-10)
    # The mean of the others' f lies between them, with f of a head without the point.
    for i in (0, 17):
        others = np.array(
            [f[j] - head.alpha[i] * np.trace(rho[i] @ rho[j]).real for j in range(n) if j != i]
        )
        assert np.all(redrawn.means[:, i, 0] >= others.min() - 1e-10)
        assert np.all(redrawn.means[:, i, 0] <= others.max() + 1e-10)
    assert redrawn.means.shape == (len(POWERS), len(redrawn.origin), 1)


def made(informative, seed=0, n=60):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 2))
    fitted = truth + 0.7 * rng.normal(size=(n, 2))
    mean = 0.5 * informative * truth + 0.4 * rng.normal(size=(n, 2))
    return RedrawnPoints(np.arange(n), truth, fitted, np.array([mean] * 5), np.arange(float(n)))


def test_the_combination_is_the_least_squares_one_and_held_out_errors_are_the_deviation():
    redrawn = made(1.0)
    prior = StatePrior.learn(redrawn)
    for k in range(2):
        mean, fitted = redrawn.means[0][:, k], redrawn.fitted[:, k]
        design = np.stack([np.ones(60), mean, fitted], axis=1)
        bounds = ([-np.inf, 0, 0], np.inf)
        solved = lsq_linear(design, redrawn.truth[:, k], bounds=bounds, tol=1e-12).x
        np.testing.assert_allclose(prior.combination[:, k], solved, atol=1e-5)
        inside = np.sqrt(np.mean((design @ solved - redrawn.truth[:, k]) ** 2))
        assert inside < prior.deviation[k] < 1.3 * inside
    assert prior.largest_gap == pytest.approx(56.05)


def test_it_is_not_used_where_redrawn_counts_do_not_show_a_gain():
    assert StatePrior.learn(made(1.0, n=9)) is None
    drawn = made(0.0)
    noise = 1e-3 * np.random.default_rng(1).normal(size=(60, 2))
    well_known = replace(drawn, fitted=drawn.truth + noise)
    assert StatePrior.learn(well_known) is None


def truth_of(head, x):
    estimate = head.estimate
    exact = FittedStates.given(zz_states(x)[None])
    return exact.kernel(estimate.states) @ head.alpha + head.intercept


def test_few_shots_are_read_better_and_intervals_cover():
    """1,600 intervals of 90 %, of eight trainings: within five points of it."""
    square, covered = [], []
    for seed in range(8):
        y = np.sign(np.cos(seed + X[:, 0]) - np.cos(seed + X[:, 1]) + 1e-3)
        estimate = Points(Fidelity(rank=1)).read(
            measured(zz_states(X), SETTINGS, 100, 10 + seed), None
        )
        head = make_learner("ridge-loo").fit(estimate, Problem(y))
        table = measured(zz_states(NEW), SETTINGS, 24, 50 + seed)
        decided = head.decide(table)
        better = estimate.improve(head, table, decided, np.arange(len(NEW)))
        truth = truth_of(head, NEW)
        square.append([np.mean((one.f - truth) ** 2) for one in (decided, better)])
        covered.append(np.mean(np.abs(better.f - truth) < 1.645 * better.deviation))
    plain, with_prior = np.sum(square, axis=0)
    assert with_prior < 0.75 * plain
    assert np.all([b < 1.1 * a for a, b in square])  # it must never cost
    assert 0.85 < np.mean(covered) < 0.97


def test_counts_that_no_training_state_explains_keep_maximum_likelihood():
    head = trained()
    far = np.eye(4)[:3].astype(complex)  # basis states; the training states are spread out
    table = measured(np.concatenate([far, zz_states(NEW)]), SETTINGS, 64, 3)
    decided = head.decide(table)
    better = head.estimate.improve(head, table, decided, np.arange(203))
    np.testing.assert_array_equal(better.f[:3], decided.f[:3])
    changed = better.f[3:] != decided.f[3:]
    assert 0.85 < changed.mean() < 1  # one in twenty is guarded by chance
    some = head.estimate.improve(head, table, decided, np.arange(100))
    np.testing.assert_array_equal(some.f[100:], decided.f[100:])


def test_what_is_settled_is_settled_by_its_own_shots_alone():
    head = trained()
    session = Predicting(head, 200, 200 * 48, stop=Settle(looks=1))
    plan = session.ask()
    table = measured(zz_states(NEW), SETTINGS, 48, 4)
    session.table.shots[:] = table.shots
    for name in ("cells", "outcomes", "counts"):
        setattr(session.table, name, getattr(table, name))
    assert plan.total == table.total
    found, alone = session.result(), head.decide(table)
    by_shots = np.abs(alone.f) > 1.6448536 * alone.deviation
    np.testing.assert_array_equal(found.settled, by_shots)
    np.testing.assert_array_equal(found.f[by_shots], alone.f[by_shots])
    assert np.mean(found.f[~by_shots] != alone.f[~by_shots]) > 0.8
    np.testing.assert_array_equal(found.labels, np.where(found.f >= 0, 1, -1))


def test_training_states_that_are_poorly_known_do_not_narrow_intervals():
    head = trained(shots=12)
    table = measured(zz_states(NEW), SETTINGS, 12, 5)
    decided = head.decide(table)
    better = head.estimate.improve(head, table, decided, np.arange(200))
    assert np.any(better.f != decided.f)
    np.testing.assert_array_equal(better.deviation, decided.deviation)
