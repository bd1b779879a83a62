import warnings

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, acquire
from aqka.backends.sentinel import (
    DriftWarning,
    SentinelBackend,
    check_drift,
    estimate_depolarising,
    mitigate_depolarising,
)
from aqka.core import ShotPlan

QUBITS = 3
FLOOR = 1 / 8


def true_kernel(n=8, seed=0):
    states = np.random.default_rng(seed).normal(size=(n, 2**QUBITS))
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    return np.clip((states @ states.T) ** 2, 0, 1)


def depolarised(kernel, survival):
    p = np.sqrt(np.outer(survival, survival))
    return p * kernel + (1 - p) * FLOOR


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


@pytest.mark.parametrize(("q", "shots"), [(0.8, 200), (0.99, 50)])
def test_false_alarms_keep_their_rate(q, shots):
    """The second case has expected misses of a half, where chi-square alone would not hold."""
    rng = np.random.default_rng(2)
    runs = 400
    alarms = sum(
        check_drift(
            rng.binomial(shots, q, (5, 3)), np.full((5, 3), shots), false_alarm=0.05
        ).drifted
        for _ in range(runs)
    )
    assert alarms / runs < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def test_p_values_are_uniform_without_drift():
    rng = np.random.default_rng(3)
    values = [
        check_drift(rng.binomial(300, 0.8, (4, 2)), np.full((4, 2), 300)).p_value
        for _ in range(1000)
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=0.04)


def test_drift_is_found_and_differing_points_are_not_drift():
    rng = np.random.default_rng(4)
    q = np.array([0.9, 0.7, 0.5])
    shots = np.full((6, 3), 300)
    assert not check_drift(rng.binomial(shots, q), shots).drifted
    drifting = q - 0.03 * np.arange(6)[:, np.newaxis]
    result = check_drift(rng.binomial(shots, drifting), shots)
    assert result.drifted
    assert result.degrees == 15


def test_nothing_to_compare_is_no_drift():
    assert not check_drift([[5, 5]], [[9, 9]]).drifted
    assert check_drift([[9], [9]], [[9], [9]]).p_value == 1
    assert check_drift([[4], [0]], [[9], [0]]).degrees == 0


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


def test_sentinels_ride_along_and_stay_out_of_the_budget():
    kernel = depolarised(true_kernel(), np.full(8, 0.8))
    backend = SentinelBackend(MatrixBackend(kernel, seed=1), points=[0, 3, 5], shots=100)
    session = acquire(backend, [1, -1] * 4, budget=2000)
    assert session.table.total == 2000
    assert len(backend.hits) == session.rounds_total
    estimate = backend.estimate(QUBITS)
    assert abs(estimate.survival - 0.8) < 4 * estimate.standard_error
    assert not backend.drift().drifted


def test_a_drifting_device_warns():
    backend = SentinelBackend(MatrixBackend(np.eye(2) * 0.9), points=[0, 1], shots=400)
    plan = ShotPlan([0], [1], [5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.collect(backend.submit(plan, "a"))
    backend.backend = MatrixBackend(np.eye(2) * 0.7)
    ticket = backend.submit(plan, "b")
    with pytest.warns(DriftWarning, match="noise drifts"):
        backend.collect(ticket)


def test_empty_plans_carry_no_sentinels():
    backend = SentinelBackend(MatrixBackend(np.eye(2)), points=[0], shots=5)
    assert backend.collect(backend.submit(ShotPlan([0], [1], [0]), "t")).tolist() == [0]
    assert backend.collect(backend.submit(ShotPlan([], [], []), "u")).tolist() == []
    assert backend.hits == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate_depolarising([5], [4], 2), "between 0 and shots"),
        (lambda: estimate_depolarising([0], [0], 2), "run sentinels first"),
        (lambda: estimate_depolarising([1], [4], 0), "n_qubits"),
        (lambda: check_drift([1], [4]), "2 dimensions"),
        (lambda: check_drift([[1]], [[4]], false_alarm=2), "false_alarm"),
        (lambda: mitigate_depolarising([1.0], 0.5, 2), "kernel must be a matrix"),
        (lambda: mitigate_depolarising([[1.0]], 0.0, 2), "above 0"),
        (lambda: mitigate_depolarising([[1.0]], [0.5, 0.5], 2), "one entry per row"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [2], 5), "points must name"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [0], 0), "shots"),
        (lambda: SentinelBackend(MatrixBackend(np.eye(2)), [0], 1).collect("t"), "ticket"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()
