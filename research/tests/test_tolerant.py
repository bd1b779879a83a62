"""Flipped bits of pairs."""

import numpy as np
import pytest
from qiskit.quantum_info import Statevector

from aqka.backends.feature_maps import built_in_map
from aqka_research.benchmarks.tolerant_pairs import flip_chances


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
