"""Matrix products are the states of the simulator of vectors, and know what they cannot be."""

import numpy as np
import pytest
from qiskit.circuit import Parameter
from qiskit.circuit.random import random_circuit

from aqka import InputError
from aqka.backends._bulk.evolve import simulate
from aqka.backends._bulk.matrix_products import MAX_BOND, MatrixProducts, evolve
from aqka.backends.feature_maps import built_in_map


def vectors(states):
    """Return the states written out, qubit 0 as the lowest bit."""
    n_points, n_qubits = len(states.lost), len(states.tensors)
    whole = np.ones((n_points, 1, 1))
    for tensor in states.tensors:
        whole = np.einsum("nar,nrbs->nabs", whole, tensor).reshape(n_points, -1, tensor.shape[3])
    tensor = whole.reshape((n_points, *(2,) * n_qubits))
    return tensor.transpose([0, *range(n_qubits, 0, -1)]).reshape(n_points, -1)


def overlaps(states, exact):
    return np.abs(np.sum(vectors(states).conj() * exact, axis=1))


@pytest.mark.parametrize("seed", range(6))
def test_any_circuit_gives_the_states_of_the_simulator(seed):
    circuit = random_circuit(6, 6, max_operands=4, seed=seed)
    circuit.rx(Parameter("x"), seed)
    circuit.cx(seed, (seed + 3) % 6)
    circuit.rzz(2 * circuit.parameters[0], 5, 0)
    X = np.random.default_rng(seed).uniform(0, 3, (3, 1))
    states, exact = evolve(circuit, X), simulate(circuit, X)
    np.testing.assert_allclose(overlaps(states, exact), 1.0, atol=1e-10)
    states.move_centre(0)
    np.testing.assert_allclose(overlaps(states, exact), 1.0, atol=1e-10)
    for tensor in states.tensors[1:]:  # beyond the centre: isometries from right to left
        rows = tensor.reshape(len(X), tensor.shape[1], -1)
        identity = rows @ rows.conj().transpose(0, 2, 1)
        np.testing.assert_allclose(
            identity, np.eye(tensor.shape[1])[None] + 0 * identity, atol=1e-9
        )


def test_bonds_are_as_large_as_the_entanglement():
    X = np.random.default_rng(0).uniform(0, 3, (2, 62))
    for reps in (1, 2, 3):  # neighbours are coupled once in each
        states = evolve(built_in_map("zz", 62, reps), X)
        assert max(tensor.shape[3] for tensor in states.tensors) == 2**reps
        assert states.lost.max() < 1e-12


def test_the_weight_that_is_lost_is_what_the_state_lacks():
    states = MatrixProducts(1, 2, max_bond=1)
    angle = 0.3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    states.apply(((0,), turn[None].astype(complex)))
    states.apply(((0, 1), np.eye(4, dtype=complex)[[0, 3, 2, 1]][None]))  # CX: cos |00⟩ + sin |11⟩
    assert states.lost[0] == pytest.approx(np.sin(angle) ** 2)
    np.testing.assert_allclose(np.abs(vectors(states)[0]), [1, 0, 0, 0], atol=1e-12)


def test_too_much_entanglement_is_refused_and_never_cut_off():
    X = np.random.default_rng(0).uniform(0, 3, (1, 16))
    with pytest.raises(InputError, match=rf"exceed {MAX_BOND}.*fewer repetitions.*'zz'.*12 qubits"):
        evolve(built_in_map("zz-full", 16), X)
