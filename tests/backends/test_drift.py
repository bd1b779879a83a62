import numpy as np
import pytest

from aqka import InputError
from aqka.backends.diagonal import check_drift


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_drift([1], [4]), "2 dimensions"),
        (lambda: check_drift([[1]], [[4]], false_alarm=2), "false_alarm"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(InputError, match=message):
        call()
