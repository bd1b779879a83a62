import numpy as np
from qiskit.circuit.library import zz_feature_map

from aqka.backends.statevector import StatevectorBackend
from tests.backends.reference_states import reference


def test_many_chunks_of_points():
    X = np.random.default_rng(8).normal(size=(61, 11))  # 61 points, chunks of 32
    backend = StatevectorBackend(X)
    circuit = zz_feature_map(11, reps=2, entanglement="linear")
    picked = [0, 31, 32, 60]
    np.testing.assert_allclose(
        backend.states()[picked], reference(circuit, X[picked]), rtol=0, atol=1e-12
    )
