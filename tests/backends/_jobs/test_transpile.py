import numpy as np
from qiskit.circuit.library import zz_feature_map
from qiskit_ibm_runtime import fake_provider

from aqka.backends.circuits import circuit_digest
from aqka.backends.runtime import RuntimeBackend


def test_a_circuit_that_must_be_routed_is_transpiled_the_same_again():
    device, crossing = fake_provider.FakeFez(), zz_feature_map(6, entanglement="full")
    made = [RuntimeBackend(device, np.ones((2, 6)), crossing).circuit for _ in range(3)]
    assert len({circuit_digest(circuit) for circuit in made}) == 1
