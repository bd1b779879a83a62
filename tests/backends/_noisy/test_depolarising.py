import pytest

from aqka.backends.aer import AerBackend, depolarising_noise
from aqka.errors import InputError
from tests.backends.noisy_kernels import assert_as_aer, points


@pytest.mark.parametrize("n_qubits", [2, 3, 4])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_depolarising_noise_is_aers(n_qubits, level):
    X, model = points(3, n_qubits), depolarising_noise()
    assert_as_aer(AerBackend(X, noise=model, optimization_level=level), model, X)


@pytest.mark.parametrize("rate", [-0.1, 1.5, "1%", True, float("nan")])
def test_depolarising_rates_are_checked(rate):
    with pytest.raises(InputError, match="one_qubit must be a depolarising rate"):
        depolarising_noise(rate)
