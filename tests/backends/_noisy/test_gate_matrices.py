import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector
from qiskit_aer.noise import NoiseModel

from aqka.backends.aer import AerBackend, depolarising_noise
from tests.backends.noisy_kernels import assert_as_aer, points


def test_gates_with_several_angles_and_parametrised_two_qubit_gates():
    x = ParameterVector("a", 3)
    circuit = QuantumCircuit(3)
    circuit.u(x[0], x[1] ** 2, 0.3, 0)
    circuit.cp(x[1] * x[2], 0, 1)
    circuit.rzz(x[2], 2, 0)
    circuit.ccx(0, 1, 2)
    circuit.barrier()
    circuit.rzx(np.pi - x[0], 1, 2)
    circuit.ecr(2, 0)
    X, model = points(3, 3), depolarising_noise(0.02, 0.1)
    model.add_basis_gates(["ccx"])
    backend = AerBackend(X, circuit, noise=model)
    assert {"u", "cp", "rzz", "ccx", "rzx", "ecr"} <= set(backend.circuit.count_ops())
    assert_as_aer(backend, model, X)


def test_controlled_rotations_without_noise_are_their_decomposition():
    x = ParameterVector("a", 2)
    circuit = QuantumCircuit(2)
    circuit.h([0, 1])
    circuit.crx(x[0] * x[1], 0, 1, ctrl_state=0)
    circuit.cu(x[0], x[1], 0.1, x[1], 1, 0)
    X, plain, kept = points(3, 2), NoiseModel(), NoiseModel()
    kept.add_basis_gates(["h", "cu", "crx_o0", "crx"])
    kernels = [AerBackend(X, circuit, noise=model).kernel() for model in (plain, kept)]
    np.testing.assert_allclose(*kernels, atol=1e-12)
