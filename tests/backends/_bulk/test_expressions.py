import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter

from aqka import InputError
from aqka.backends.statevector import StatevectorBackend


@pytest.mark.parametrize("angle", [lambda a: 1 / a, lambda a: a.log()])
def test_angles_without_a_value(angle):
    x = Parameter("x")
    circuit = QuantumCircuit(1)
    circuit.rx(angle(x), 0)
    with pytest.raises(InputError, match="angle"):
        StatevectorBackend([[0.5], [0.0]], circuit).kernel()


def test_columns_follow_the_order_of_the_circuits_parameters():
    b, a = Parameter("b"), Parameter("a")
    circuit = QuantumCircuit(1)
    circuit.ry(b, 0)
    circuit.rz(a, 0)
    assert [p.name for p in circuit.parameters] == ["a", "b"]
    state = StatevectorBackend([[0.4, 0.9]], circuit).states()[0]
    np.testing.assert_allclose(np.abs(state), [np.cos(0.45), np.sin(0.45)])
