import importlib

import pytest
from qiskit_aer.noise import NoiseModel


@pytest.fixture(scope="session")
def heron():
    """A fake Heron and its whole noise model, which takes seconds to build."""
    providers = importlib.import_module("qiskit_ibm_runtime.fake_provider")
    device = providers.FakeFez()
    return device, NoiseModel.from_backend(device)
