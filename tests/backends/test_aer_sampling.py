"""Aer's own sampler against the exact noisy kernel."""

import numpy as np
from qiskit_aer.noise import NoiseModel

from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.core import ShotPlan
from tests.backends.aer_sampling import AerSamplingBackend
from tests.backends.noisy_kernels import all_pairs, assert_binomial, custom_noise, points


def test_both_routes_draw_from_one_distribution():
    X, plan = points(20, 3, seed=5), all_pairs(20, [300, 400])
    exact = AerBackend(X, noise=custom_noise(), seed=1)
    sampled = AerSamplingBackend(X, noise=custom_noise(), seed=1)
    chance = exact.kernel()[plan.rows, plan.cols]
    for backend in (exact, sampled):
        hits = backend.collect(backend.submit(plan, "t"))
        assert_binomial(hits, plan.shots, chance)


def test_both_routes_agree_on_a_device(heron):
    device, _ = heron
    X, plan = points(12, 3, seed=6), all_pairs(12, 500)
    chance = AerBackend(X, noise=device).kernel()[plan.rows, plan.cols]
    sampled = AerSamplingBackend(X, noise=device)
    assert_binomial(sampled.collect(sampled.submit(plan, "t")), plan.shots, chance)


def test_sampled_top_ups_of_a_pair_are_independent():
    X, noise = points(2, 2), depolarising_noise()
    chance = AerBackend(X, noise=noise).kernel()[0, 1]
    backend = AerSamplingBackend(X, noise=noise)
    # The same pair many times in a plan, with different shots, and under many tags.
    plan = ShotPlan([0] * 9, [1] * 9, [50, 50, 50, 60, 60, 60, 70, 70, 70])
    hits = np.stack([backend.collect(backend.submit(plan, f"t{k}")) for k in range(40)])
    assert_binomial(hits.ravel(), np.tile(plan.shots, 40), chance)
    # Shared randomness would show in the sums, whose variance it raises.
    assert_binomial(hits.sum(axis=1), np.full(40, plan.total), chance)


def test_sampled_hits_fit_the_plan_and_repeat(monkeypatch):
    monkeypatch.setattr("tests.backends.aer_sampling._SHOTS_A_RUN", 10)
    X, plan = points(3, 2), ShotPlan([0, 1, 0, 2, 2], [0, 2, 2, 2, 1], [4, 0, 1, 4, 4])
    noiseless = AerSamplingBackend(X, noise=NoiseModel())
    hits = noiseless.collect(noiseless.submit(plan, "t"))
    assert (hits <= plan.shots).all()
    assert hits[[0, 3]].tolist() == [4, 4]
    again = AerSamplingBackend(X, noise=NoiseModel())
    np.testing.assert_array_equal(again.collect(again.submit(plan, "t")), hits)
    empty = ShotPlan([], [], [])
    assert len(noiseless.collect(noiseless.submit(empty, "e"))) == 0
