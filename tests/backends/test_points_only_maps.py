"""Maps that cannot run backwards: pairs refuse them by name, points take them."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit_aer.primitives import SamplerV2

from aqka import InputError, acquire
from aqka.backends import SamplerBackend, StatevectorBackend
from aqka.core import PointPlan, ShotPlan
from aqka.testing import check_point_backend

X = np.array([[0.3], [2.0]])
LETTERS = np.array([[2, 2], [0, 2]])


def with_reset():
    """Qubit 0 is entangled with qubit 1, which is then reset: a mixed state."""
    circuit, x = QuantumCircuit(2), Parameter("x")
    circuit.ry(x, 0)
    circuit.cx(0, 1)
    circuit.reset(1)
    return circuit


def aer(seed):
    return SamplerV2(seed=seed)


def test_points_of_a_map_with_a_reset_follow_its_mixed_state():
    zero = np.cos(X[:, 0] / 2) ** 2
    p = np.zeros((2, 2, 4))
    p[:, 0, 0], p[:, 0, 1] = zero, 1 - zero  # Z on both: qubit 1 is 0
    p[:, 1, 0] = p[:, 1, 1] = 0.5  # X on qubit 0: the reset has taken its coherence
    check_point_backend(
        lambda seed: SamplerBackend(aer, X, with_reset(), seed=seed), LETTERS, p, shots=800
    )


def test_pairs_of_it_are_refused_by_name():
    backend = SamplerBackend(aer, X, with_reset())
    assert backend.submit(PointPlan([0], [0], [5], LETTERS), "points")
    with pytest.raises(InputError, match=r"runs it backwards.*'reset'"):
        backend.submit(ShotPlan([0], [1], [5]), "pairs")
    with pytest.raises(InputError, match=r"runs it backwards.*'reset'"):
        acquire(backend, [1, -1], 50, design="pairs")
    assert backend.circuit.num_parameters == 1 + 2 * 2  # a point and its angles, as before
    with pytest.raises(InputError, match="'reset'"):
        StatevectorBackend(X, with_reset())


def test_measurements_and_loops_are_refused_for_points_too():
    measured = QuantumCircuit(1, 1)
    measured.ry(Parameter("x"), 0)
    measured.measure(0, 0)
    with pytest.raises(InputError, match="'measure'"):
        SamplerBackend(aer, X, measured)
