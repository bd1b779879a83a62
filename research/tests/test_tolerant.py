"""Flipped bits of pairs."""

import numpy as np
import pytest
from qiskit.quantum_info import Statevector

from aqka.backends.feature_maps import built_in_map
from aqka_research.benchmarks.tolerant_pairs import flip_chances
from aqka_research.tolerant import best_weight, histograms_of, tolerant


@pytest.mark.parametrize("n_qubits", [3, 4])
def test_chances_of_flipped_bits_are_those_of_qiskits_state(n_qubits):
    X = np.random.default_rng(0).uniform(0, 2, (3, n_qubits))
    circuit = built_in_map("zz", n_qubits, 2)
    found = flip_chances(X, X[:2])
    for i, x in enumerate(X):
        for j, other in enumerate(X[:2]):
            bound, back = circuit.assign_parameters(x), circuit.assign_parameters(other).inverse()
            outcomes = Statevector(bound.compose(back)).probabilities_dict()
            expected = np.zeros(n_qubits + 1)
            for bits, chance in outcomes.items():
                expected[bits.count("1")] += chance
            np.testing.assert_allclose(found[i, j], expected, atol=1e-12)


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
    seen = histograms_of(flips, 40)
    assert seen.sum() == 2000
    w = best_weight(seen)
    assert 0.7 < w < 1
    found = tolerant(seen, w)[0]
    assert np.corrcoef(found, rates)[0, 1] < -0.9
    assert best_weight(np.zeros((3, 5), dtype=np.int64)) == 0
