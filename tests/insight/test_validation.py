"""Measured points against exact ones."""

import numpy as np
import pytest

from aqka.backends import LightConeBackend, StatevectorBackend
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings, uniform_settings
from aqka.errors import InputError
from aqka.insight.validation import FALSE_ALARMS, compare, validate_points


def drawn(exact, shots, rng):
    return 2 * rng.binomial(shots, (1 + exact) / 2) / shots - 1


@pytest.mark.parametrize("shots", [20, 100])
def test_noiseless_runs_are_said_to_differ_as_rarely_as_stated(shots):
    """300 runs of 8 qubits and 15 points: a share of 0.01 has a standard error of 0.006."""
    rng = np.random.default_rng(shots)
    exact = rng.uniform(-1, 1, (15, 24))
    alarms, ratios = 0, []
    for _ in range(300):
        found = compare(drawn(exact, shots, rng), np.full(exact.shape, shots), exact)
        alarms += len(found.differing) > 0
        ratios.append(found.ratio)
    assert alarms / 300 < FALSE_ALARMS + 4 * 0.0057
    assert np.mean(ratios) == pytest.approx(1, abs=4 * np.std(ratios) / np.sqrt(300))


def test_damping_is_that_of_each_qubit_and_has_its_error():
    rng = np.random.default_rng(3)
    exact, true = rng.uniform(-0.9, 0.9, (20, 12)), np.array([1.0, 0.9, 0.6, 0.8])
    shots = rng.integers(40, 200, exact.shape)
    found = [
        compare(drawn(exact * np.repeat(true, 3), shots, rng), shots, exact) for _ in range(300)
    ]
    estimates = np.array([one.damping for one in found])
    errors = np.mean([one.damping_errors for one in found], axis=0)
    np.testing.assert_allclose(estimates.mean(axis=0), true, atol=4 * errors.max() / np.sqrt(300))
    np.testing.assert_allclose(estimates.std(axis=0), errors, rtol=0.2)  # of 300: 4 % each
    shares = np.mean([[q in one.differing for q in range(4)] for one in found], axis=0)
    assert shares[0] < 0.03
    assert shares[2] > 0.99


def test_what_is_certain_adds_nothing():
    """A qubit whose signs are all known has no χ², and no division by zero."""
    exact = np.tile([0.0, 0.0, 1.0, 1.0, -1.0, 1.0], (5, 1))
    found = compare(exact, np.full(exact.shape, 50), exact)
    assert found.degrees.tolist() == [[5, 5, 0], [0, 0, 0]]
    assert found.p_values[1] == 1
    assert found.damping.tolist() == [1, 1]


def measured(backend, settings, shots):
    plan = even_plan(np.arange(backend.shape[0]), settings, shots)
    table = PointTable(backend.shape[0], settings)
    table.add(plan, backend.collect(backend.submit(plan, "all")))
    return table


def test_light_cones_and_whole_states_validate_their_own_shots():
    rng = np.random.default_rng(0)
    few, many = rng.uniform(0, 3, (12, 3)), rng.uniform(0, 3, (12, 30))
    settings = choose_settings(3, seed=0)
    found = validate_points(measured(StatevectorBackend(few), settings, 600), few, "zz", 5)
    assert found.n_points == 5
    assert found.ratio == pytest.approx(1, abs=4 * np.sqrt(2 / 45))
    assert not found.differing.size
    wide = measured(LightConeBackend(many, noise=(0, 0, 0.1)), uniform_settings(30), 300)
    found = validate_points(wide, many, "zz")
    assert found.n_points == 12
    assert found.damping.mean() == pytest.approx(0.8, abs=0.02)  # a tenth of the bits flipped
    assert found.ratio > 1.5
    assert len(found.differing) > 20
    assert f"{len(found.differing)} of 30 qubits differ" in found.sentence


def test_points_without_shots_are_left_out():
    X = np.random.default_rng(0).uniform(0, 3, (4, 2))
    table = PointTable(4, uniform_settings(2))
    with pytest.raises(InputError, match="no point has two shots"):
        validate_points(table, X, "zz")
    plan = even_plan([2], table.settings, 300)
    backend = StatevectorBackend(X)
    table.add(plan, backend.collect(backend.submit(plan, "one")))
    assert validate_points(table, X, "zz").n_points == 1
