import numpy as np
import pytest

from aqka import InputError
from aqka.backends.diagonal import estimate_depolarising, mitigate_depolarising
from tests.backends.depolarised_kernel import FLOOR, QUBITS, depolarised, true_kernel


@pytest.mark.parametrize("survival", [0.97, 0.7, 0.2])
def test_estimate_is_unbiased_and_its_interval_covers(survival):
    rng = np.random.default_rng(1)
    draws = rng.binomial(400, survival + (1 - survival) * FLOOR, 3000)
    estimates = [estimate_depolarising([hits], [400], QUBITS) for hits in draws]
    values = np.array([estimate.survival for estimate in estimates])
    errors = np.array([estimate.standard_error for estimate in estimates])
    assert values.mean() == pytest.approx(survival, abs=4 * values.std() / np.sqrt(3000))
    assert errors.mean() == pytest.approx(values.std(), rel=0.06)
    coverage = np.mean(np.abs(values - survival) < 1.96 * errors)
    assert 0.93 < coverage < 0.97
    assert estimates[0].rate == pytest.approx(1 - values[0])


def test_all_hits_leave_an_uncertainty():
    estimate = estimate_depolarising([100], [100], QUBITS)
    assert estimate.survival == 1
    assert 0 < estimate.standard_error < 0.02


def test_mitigation_inverts_the_model():
    kernel = true_kernel()
    survival = np.linspace(0.6, 0.95, 8)
    noisy = depolarised(kernel, survival)
    np.testing.assert_allclose(mitigate_depolarising(noisy, survival, QUBITS), kernel, atol=1e-12)
    block = mitigate_depolarising(noisy[:3], survival[:3], QUBITS, columns=survival)
    np.testing.assert_allclose(block, kernel[:3], atol=1e-12)


def test_mitigation_of_sampled_kernels_is_unbiased_and_helps():
    """With estimated rates: the mean over runs returns to the kernel, and so does each run."""
    rng = np.random.default_rng(5)
    kernel = true_kernel()
    survival = np.linspace(0.6, 0.95, 8)
    noisy = depolarised(kernel, survival)
    shots, runs = 4000, 200
    mean = np.zeros_like(kernel)
    better = 0
    for _ in range(runs):
        estimate = rng.binomial(shots, noisy) / shots
        diagonal = rng.binomial(shots, np.diag(noisy))
        p = [estimate_depolarising([hits], [shots], QUBITS).survival for hits in diagonal]
        mitigated = mitigate_depolarising(estimate, p, QUBITS, clip=False)
        mean += mitigated / runs
        better += np.linalg.norm(mitigated - kernel) < np.linalg.norm(estimate - kernel)
    assert np.abs(mean - kernel).max() < 4 * 0.5 / 0.6 / np.sqrt(shots * runs) * 1.5
    assert better == runs


def test_clipping():
    assert mitigate_depolarising([[0.0]], 0.5, 1).item() == 0
    assert mitigate_depolarising([[0.0]], 0.5, 1, clip=False).item() == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_depolarising([5], [4], 2), "between 0 and shots"),
        (lambda: estimate_depolarising([0], [0], 2), "run sentinels first"),
        (lambda: estimate_depolarising([1], [4], 0), "n_qubits"),
        (lambda: mitigate_depolarising([1.0], 0.5, 2), "kernel must be a matrix"),
        (lambda: mitigate_depolarising([[1.0]], 0.0, 2), "above 0"),
        (lambda: mitigate_depolarising([[1.0]], [0.5, 0.5], 2), "one entry per row"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()
