"""Flipped bits of pairs, from counts to what they are worth."""

import numpy as np
import pytest

from aqka.core.tolerance import Tolerance, best_weight, tolerant


def test_the_mean_and_its_error_are_those_of_many_draws():
    """2,000 histograms: the mean within four standard errors, the variance within 15 % (3 % each).

    w = 0 is the fidelity, the share of shots without a flipped bit.
    """
    chances, rng = np.array([0.1, 0.3, 0.4, 0.2]), np.random.default_rng(1)
    drawn = rng.multinomial(30, chances, size=2000)
    exact = chances @ 0.6 ** np.arange(4)
    kernel, error = tolerant(drawn, 0.6)
    assert kernel.mean() == pytest.approx(exact, abs=4 * kernel.std() / np.sqrt(2000))
    assert error.mean() == pytest.approx(kernel.var(), rel=0.15)
    np.testing.assert_allclose(tolerant(drawn, 0.0)[0], drawn[:, 0] / 30)


def test_the_weight_is_chosen_where_entries_differ_beside_their_errors():
    """Without a single hit of the fidelity the weight is large; with many qubits flipped at all."""
    rng = np.random.default_rng(2)
    rates = rng.uniform(0.1, 0.4, 100)
    flips = rng.binomial(40, rates[:, None], (100, 20))
    seen = np.stack([np.sum(flips == h, axis=1) for h in range(41)], axis=1)
    assert seen.sum() == 2000
    w = best_weight(seen)
    assert 0.7 < w < 1
    found = tolerant(seen, w)[0]
    assert np.corrcoef(found, rates)[0, 1] < -0.9
    assert best_weight(np.zeros((3, 5), dtype=np.int64)) == 0


@pytest.mark.parametrize("shots", [2, 10, 200])
def test_the_spread_is_the_variance_of_a_shot_beside_that_of_a_hit(shots):
    """Over 4,000 pairs of known chances, within 6 %; at w = 0 a shot is a hit, and it is 1."""
    rng = np.random.default_rng(3)
    rates = rng.uniform(0.05, 0.3, 4000)
    flips = rng.binomial(30, rates[:, None], (4000, shots))
    seen = np.stack([np.sum(flips == h, axis=1) for h in range(31)], axis=1)
    found = Tolerance.of(seen)
    # E[w^h] = (1 - p + pw)^n of n bits that flip with chance p.
    mean, square = ((1 - rates + rates * found.weight**k) ** 30 for k in (1, 2))
    exact = np.mean(square - mean**2) / np.mean(mean * (1 - mean))
    assert 0 < found.weight < 1
    assert found.spread == pytest.approx(exact, rel=0.06)
    zeros = np.zeros_like(seen)
    zeros[:, 0], zeros[:, 30] = seen[:, :4].sum(axis=1), seen[:, 4:].sum(axis=1)
    assert Tolerance(30, 0.0).worths.tolist() == [1.0] + [0.0] * 30
    hits = Tolerance.of(zeros[:, [0, 30]] @ np.array([[1, 0], [0, 1]]))
    assert hits.spread == pytest.approx(1.0, abs=1e-9) or hits.weight > 0


def test_pairs_with_a_single_shot_choose_nothing():
    flips = np.zeros((50, 6), dtype=np.int64)
    flips[np.arange(50), np.arange(50) % 6] = 1
    assert Tolerance.of(flips) == Tolerance(5)
    assert Tolerance.of(flips[:0]) == Tolerance(5)
