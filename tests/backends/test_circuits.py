import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit.circuit.library import zz_feature_map

from aqka import InputError
from aqka.backends.statevector import StatevectorBackend


def test_circuits_that_are_refused():
    X = [[0.1, 0.2], [0.3, 0.4]]
    x = ParameterVector("x", 3)
    plain = QuantumCircuit(2)
    plain.h(0)
    measured = zz_feature_map(2)
    measured.measure_all()
    three = QuantumCircuit(2)
    for angle in x:
        three.rx(angle, 0)
    for circuit, message in [
        (plain, "no parameters"),
        (measured, "remove_final_measurements"),
        (three, "3 parameters but the data have 2 features"),
        ("zzz", "QuantumCircuit"),
    ]:
        with pytest.raises(InputError, match=message):
            StatevectorBackend(X, circuit)


def test_data_that_are_refused():
    with pytest.raises(InputError, match="NaN or infinite values in 1 rows"):
        StatevectorBackend([[0.1, np.nan], [0.3, 0.4]])
    with pytest.raises(InputError, match="columns holds NaN"):
        StatevectorBackend([[0.1, 0.2]], columns=[[np.inf, 0.2]])
    with pytest.raises(InputError, match="as many features as X, 2, got 1"):
        StatevectorBackend([[0.1, 0.2]], columns=[[0.1]])
    with pytest.raises(InputError, match=r"X holds an angle of 1e\+300; beyond 1e\+15"):
        StatevectorBackend([[0.1, -1e300]])
    with pytest.raises(InputError, match="two-dimensional"):
        StatevectorBackend([0.1, 0.2])
    with pytest.raises(InputError, match="seed"):
        StatevectorBackend([[0.1, 0.2]], seed=-1)
