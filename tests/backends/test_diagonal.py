"""Noise and drift as the diagonal shows them."""

import numpy as np
import pytest

from aqka import InputError
from aqka.backends.diagonal import (
    TileHits,
    TileWatch,
    check_drift,
    estimate_depolarising,
    mitigate_depolarising,
)
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
    each = np.sqrt(np.outer(survival[:3], survival))
    block = mitigate_depolarising(noisy[:3], each, QUBITS)
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
        (lambda: mitigate_depolarising([[1.0]], [0.5, 0.5], 2), "one for each entry"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(("q", "shots"), [(0.8, 200), (0.99, 50)])
def test_false_alarms_keep_their_rate(q, shots):
    """The second case has expected misses of a half, where chi-square alone would not hold."""
    rng = np.random.default_rng(2)
    runs = 150
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_drift([1], [4]), "2 dimensions"),
        (lambda: check_drift([[1]], [[4]], false_alarm=2), "false_alarm"),
    ],
)
def test_bad_arguments_of_the_drift_test(call, message):
    with pytest.raises(InputError, match=message):
        call()


NAMES = tuple(f"q{k}" for k in range(12))


def watched(survivals, shots=400, points=2, n_qubits=3, seed=0):
    """Rounds by tiles of survival probabilities become sentinels."""
    rng = np.random.default_rng(seed)
    watch = TileWatch()
    for row in np.atleast_2d(survivals):
        q = row + (1 - row) / 2**n_qubits
        totals = np.full((len(row), points), shots)
        watch.rounds.append(TileHits(NAMES[: len(row)], rng.binomial(totals, q[:, None]), totals))
    return watch


def test_each_tile_has_its_rate():
    truth = np.linspace(0.6, 0.95, 12)
    found = watched([truth] * 3).survival(n_qubits=3)
    for name, p in zip(NAMES, truth, strict=True):
        assert abs(found[name].survival - p) < 4 * found[name].standard_error
    assert found["q0"].rate > found["q11"].rate


def test_the_tile_that_drifts_is_found():
    before = np.full(12, 0.85)
    after = before.copy()
    after[7] = 0.6
    assert set(watched([before, before, after]).drifting(0.01)) == {"q7"}


def test_false_alarms_are_as_rare_as_asked():
    """In all tiles together: 300 looks at 12 tiles of one noise, 5 % wanted."""
    alarms = sum(
        bool(watched(np.full((2, 12), 0.8), shots=100, seed=k).drifting(0.05)) for k in range(300)
    )
    assert alarms <= 27  # above that one run in 1,000


def test_a_tile_that_left_is_not_named_again():
    watch = watched([np.full(3, 0.9), [0.9, 0.5, 0.9]])
    assert set(watch.drifting(0.01)) == {"q1"}
    watch.rounds.append(TileHits(("q0", "q2"), np.full((2, 2), 360), np.full((2, 2), 400)))
    assert watch.drifting(0.01) == []
    assert list(watch.survival(3)) == ["q0", "q1", "q2"]
    assert len(watch.of_tile("q1")[0]) == 2
