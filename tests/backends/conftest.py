import importlib

import pytest
from qiskit_aer.noise import NoiseModel


@pytest.fixture(scope="session")
def calibrated():
    """A fake device of seven qubits and its whole noise model; that of a Heron takes seconds."""
    providers = importlib.import_module("qiskit_ibm_runtime.fake_provider")
    device = providers.FakeNairobiV2()
    return device, NoiseModel.from_backend(device)
