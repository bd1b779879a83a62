"""The one comparison with everything: what each way spends, and what it costs."""

import numpy as np
import pytest

from aqka.planning.device import HERON
from aqka_research.circuit_tasks import quick_tasks
from aqka_research.compare.everything import (
    NYSTROM,
    PAIR_TILES,
    POINT_TILES,
    POINTS,
    PRIOR,
    QISKIT,
    UNIFORM,
    Cost,
    cost,
    measure,
)
from aqka_research.compare.everything_page import _means

TASK = quick_tasks()[0]


@pytest.fixture(scope="module")
def result():
    cell = {"task": TASK, "seed": 0, "device": None, "levels": [1.0, 64.0], "point_levels": [512]}
    return measure(cell)


def test_every_way_spends_what_it_says(result):
    n, steps = 60, result["steps"]
    pairs = n * (n - 1) // 2
    assert steps[QISKIT][0][0][1:] == (1024 * pairs, 1024.0 * n, 1)
    assert [step[1] for step in steps[UNIFORM][0]] == [pairs, 64 * pairs]
    # Fewer new points leave more shots for each of them.
    assert steps[UNIFORM][0][0][2] > steps[UNIFORM][1][0][2]
    assert steps[POINTS][0][0][1:] == (512 * n, 512, 1)
    landmarks = int(np.ceil(np.sqrt(n)))
    touched = landmarks * n - landmarks * (landmarks + 1) // 2
    accuracy, train, each, _ = steps[NYSTROM][0][1]
    assert train == 64 * pairs
    assert each == pytest.approx(train / touched * landmarks)
    assert accuracy > 0.8
    few, many = (steps[PRIOR][k][0][2] for k in range(2))
    assert few >= many > 0  # at least ten answers are audited, of any number of points
    assert few < 512


def test_cost_is_that_of_the_first_level_that_does():
    steps = [[(0.5, 100, 1.0, 1), (0.9, 1000, 10.0, 1)]]
    results = [{"steps": {POINTS: steps, UNIFORM: [*steps, *steps]}}]
    circuits = {"pairs": [100, 20], "points": [50, 20]}
    plain = cost(POINTS, results, circuits, 100, 0.9)
    assert (plain.shots, plain.executions, plain.jobs) == (2000.0, 2000, 2)
    assert not plain.fewest
    assert cost(POINTS, results, circuits, 100, 0.5).fewest
    one = [{"steps": {QISKIT: [steps[0][-1:]]}}]
    assert not cost(QISKIT, one, circuits, 100, 0.5).fewest  # its default is one number of shots
    assert plain.seconds == pytest.approx(4 + 2000 * HERON.execution_seconds(50))
    tiled = cost(POINT_TILES, results, circuits, 100, 0.9)
    assert (tiled.shots, tiled.executions) == (2000.0, 100)
    assert cost(PAIR_TILES, results, circuits, 1000, 0.9).executions == 11_000 // 20
    short = cost(POINTS, results, circuits, 100, 0.95)
    assert not short.reached
    assert short.shots == 2000.0


def test_means_are_marked_by_what_fell_short_and_what_the_fewest_shots_reach():
    def one(reached, fewest):
        return Cost(100.0, 100, 1, 2.0, reached, fewest)

    plain, short, fewest = one(True, False), one(False, False), one(True, True)
    marks = [_means([plain, *more])[0] for more in ([], [short], [fewest], [short, fewest])]
    assert marks == ["2 s", "> 2 s", "< 2 s", "~ 2 s"]


def test_a_noisy_device_is_measured_through_its_noise():
    cell = {"task": TASK, "seed": 0, "levels": [1.0], "point_levels": [2048], "device": "fake_fez"}
    noisy = measure(cell)
    assert noisy["exact"] > 0.9
    assert noisy["steps"][POINTS][0][0][0] > 0.85
