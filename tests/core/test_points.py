import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.quantum_info import Statevector

from aqka import InputError
from aqka.core.calibration import CalibrationPlan, CalibrationTable
from aqka.core.outcomes import (
    OutcomeCounts,
    bits_of,
    merged_outcomes,
    outcomes_of_bits,
    outcomes_shape,
)
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.settings import (
    all_edges,
    as_edges,
    as_settings,
    choose_settings,
    line_edges,
    neighbour_settings,
    uniform_settings,
)
from aqka.estimates.readout import confusion_matrices


@pytest.mark.parametrize(
    ("n_qubits", "n_settings"),
    [(1, 3), (2, 9), (3, 27), (4, 32), (5, 48), (8, 48), (20, 9), (256, 9)],
)
def test_settings_are_distinct_letters_and_follow_from_the_seed(n_qubits, n_settings):
    settings = choose_settings(n_qubits, seed=3)
    assert settings.shape == (n_settings, n_qubits)
    assert len(np.unique(settings, axis=0)) == n_settings
    assert set(np.unique(settings)) == {0, 1, 2}
    np.testing.assert_array_equal(settings, choose_settings(n_qubits, seed=3))
    if n_settings < 3**n_qubits and n_qubits <= 8:
        assert not np.array_equal(settings, choose_settings(n_qubits, seed=4))


@pytest.mark.parametrize("n_qubits", [2, 4, 6, 8])
def test_every_two_qubit_operator_stands_in_a_setting(n_qubits):
    settings = choose_settings(n_qubits, seed=0)
    for q in range(n_qubits):
        for r in range(q):
            assert len(np.unique(settings[:, [q, r]], axis=0)) == 9


@pytest.mark.parametrize(
    ("n_qubits", "most"), [(2, 9), (9, 20), (13, 21), (60, 29), (100, 33), (156, 34), (256, 36)]
)
def test_few_settings_hold_every_operator_of_all_pairs_or_of_a_lattice(n_qubits, most):
    for edges, bound in ((all_edges(n_qubits), most), (line_edges(n_qubits), 9)):
        settings = as_settings(neighbour_settings(n_qubits, edges))
        assert len(settings) <= bound
        first, second = settings[:, edges[:, 0]], settings[:, edges[:, 1]]
        seen = np.zeros((len(edges), 9), dtype=bool)
        np.put_along_axis(seen, (3 * first + second).T, True, axis=1)
        assert seen.all()


def test_a_lattice_that_two_or_three_colours_can_paint_needs_nine_settings():
    square = [(k, k + 1) for k in range(24) if k % 5 < 4] + [(k, k + 5) for k in range(20)]
    for edges in (square, [(0, 1), (1, 2), (0, 2)]):
        n_qubits = 1 + max(map(max, edges))
        settings = neighbour_settings(n_qubits, edges)
        assert len(settings) == 9
        assert all(len(np.unique(settings[:, edge], axis=0)) == 9 for edge in edges)


@pytest.mark.parametrize("edges", [[(0, 0)], [(0, 5)], [(-1, 0)], [0, 1], [(0.5, 1)], []])
def test_edges_that_are_none_are_refused(edges):
    with pytest.raises(InputError, match="pairs must"):
        as_edges(edges, 5)


@pytest.mark.parametrize("n_qubits", [1, 61, 62, 63, 124, 125, 256])
def test_bits_of_any_number_of_qubits_survive_as_outcomes(n_qubits):
    bits = np.random.default_rng(0).integers(2, size=(40, n_qubits))
    outcomes = outcomes_of_bits(bits)
    assert outcomes.shape == outcomes_shape(40, n_qubits)
    assert (outcomes.ndim == 1) == (n_qubits <= 62)
    np.testing.assert_array_equal(bits_of(outcomes, n_qubits), bits)
    if n_qubits <= 62:
        assert outcomes.tolist() == [int("".join(map(str, row[::-1])), 2) for row in bits]


def test_wide_counts_are_merged_as_narrow_ones():
    """The same bits, spread over three numbers or packed in one."""
    random = np.random.default_rng(1)
    few = random.integers(2, size=(200, 3))
    wide = np.zeros((200, 156), dtype=np.int64)
    wide[:, [3, 70, 155]] = few
    rows, counts = random.integers(5, size=200), random.integers(3, size=200)
    narrow = merged_outcomes(rows, outcomes_of_bits(few), counts)
    found = merged_outcomes(rows, outcomes_of_bits(wide), counts)
    np.testing.assert_array_equal(found[0], narrow[0])
    np.testing.assert_array_equal(bits_of(found[1], 156)[:, [3, 70, 155]], bits_of(narrow[1], 3))
    np.testing.assert_array_equal(found[2], narrow[2])
    assert found[2].sum() == counts.sum()


def wide_answer(outcomes):
    return OutcomeCounts([0] * len(outcomes), outcomes, [1] * len(outcomes))


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([[0, 2**8], [0, 0]], r"below 2\*\*8 in number 1 for 70 qubits, got 256"),
        ([[2**62, 0], [0, 0]], r"below 2\*\*62 in number 0 for 70 qubits"),
        ([0, 0], r"must have shape \(2, 2\)"),
        ([[0], [0]], r"must have shape \(2, 2\)"),
        ([[0, 0, 0], [0, 0, 0]], r"must have shape \(2, 2\)"),
        ([[-1, 0], [0, 0]], "must not be negative"),
        ([[0.5, 0], [0, 0]], "whole numbers|integers"),
    ],
)
def test_hostile_counts_of_many_qubits_are_refused(outcomes, message):
    plan = PointPlan([0], [0], [2], uniform_settings(70))
    with pytest.raises(InputError, match=message):
        plan.checked(wide_answer(outcomes))
    table = PointTable(1, uniform_settings(70))
    table.add(plan, plan.checked(wide_answer([[2**62 - 1, 2**8 - 1], [0, 1]])))
    np.testing.assert_array_equal(bits_of(table.outcomes, 70).sum(axis=1), [1, 70])
    np.testing.assert_array_equal(table.subset([0, 0]).outcomes, np.tile(table.outcomes, (2, 1)))
    with pytest.raises(InputError, match="too many to be written out"):
        table.dense([0])


def test_more_qubits_than_an_outcome_has_are_refused_with_the_remedy():
    for make in (lambda: choose_settings(300, 0), lambda: PointTable(1, np.zeros((1, 300), int))):
        with pytest.raises(InputError, match="at most 256, got 300; reduce the data"):
            make()


def test_a_calibration_of_many_qubits_reads_all_bits():
    plan = CalibrationPlan([0, 1], [5, 5], qubits=156)
    answer = plan.checked(plan.no_errors())
    assert bits_of(answer.outcomes, 156).sum(axis=1).tolist() == [0, 156]
    table = CalibrationTable(156)
    table.add(plan, answer)
    np.testing.assert_array_equal(
        confusion_matrices(table.answer, 156), np.tile(np.eye(2), (156, 1, 1))
    )


def test_uniform_settings_have_one_letter_each():
    np.testing.assert_array_equal(uniform_settings(3), [[0, 0, 0], [1, 1, 1], [2, 2, 2]])


def test_qubit_0_is_the_least_significant_bit_as_in_qiskit():
    circuit = QuantumCircuit(3)
    circuit.x(0)
    outcome = int(np.argmax(Statevector(circuit).probabilities()))
    table = PointTable(1, [[2, 2, 2]])
    table.add(PointPlan([0], [0], [5], table.settings), OutcomeCounts([0], [outcome], [5]))
    assert outcome == 1
    np.testing.assert_array_equal(table.dense([0])[0, 0], [0, 5, 0, 0, 0, 0, 0, 0])


def test_counts_of_several_rounds_are_merged_and_kept_sorted():
    random = np.random.default_rng(0)
    table = PointTable(6, choose_settings(3, seed=0))
    expected = np.zeros((6, 27, 8), dtype=np.int64)
    for _ in range(4):
        points, settings = random.integers(6, size=30), random.integers(27, size=30)
        counts = random.integers(3, size=(30, 8))
        plan = PointPlan(points, settings, counts.sum(axis=1), table.settings)
        table.add(plan, OutcomeCounts.of_dense(counts))
        np.add.at(expected, (points, settings), counts)
    np.testing.assert_array_equal(table.dense(np.arange(6)), expected)
    np.testing.assert_array_equal(table.shots, expected.sum(axis=2))
    assert table.total == expected.sum()
    assert np.all(table.counts > 0)
    keys = table.cells * 8 + table.outcomes
    assert np.all(np.diff(keys) > 0)
    np.testing.assert_array_equal(table.dense([4, 1]), expected[[4, 1]])
    np.testing.assert_array_equal(table.subset([5]).shots, table.shots[[5]])


def test_many_qubits_are_kept_sparsely_and_refused_densely():
    table = PointTable(2, uniform_settings(50))
    plan = PointPlan([1], [2], [3], table.settings)
    table.add(plan, OutcomeCounts([0, 0], [2**50 - 1, 0], [1, 2]))
    np.testing.assert_array_equal(table.outcomes, [0, 2**50 - 1])
    with pytest.raises(InputError, match="too many to be written out"):
        table.dense([0])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (([0, 1], [0, 1], [5, 2]), "point 1 in setting 2 had 3 shots, got 2 outcomes"),
        (([0, 1], [0, 1], [5, 4]), "had 3 shots, got 4 outcomes"),
        (([0], [0], [5]), "had 3 shots, got 0 outcomes"),
        (([0, 1], [0, 4], [5, 3]), r"below 2\*\*2 for 2 qubits, got 4"),
        (([0, 2], [0, 1], [5, 3]), "rows of the plan .* between 0 and 1, got 0 to 2"),
        (([0, 1], [0, 1], [2**49, 3]), "at most the 8 shots of the plan"),
    ],
)
def test_counts_that_do_not_fit_leave_the_table_unchanged(answer, message):
    table = PointTable(2, choose_settings(2, seed=0))
    with pytest.raises(InputError, match=message):
        table.add(PointPlan([0, 1], [0, 2], [5, 3], table.settings), OutcomeCounts(*answer))
    assert table.total == 0
    assert len(table.counts) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OutcomeCounts([0], [0], [-1]), "counts must not be negative"),
        (lambda: OutcomeCounts([0], [-1], [1]), "outcomes must not be negative"),
        (lambda: OutcomeCounts([0], [0, 1], [1]), "one length"),
        (lambda: OutcomeCounts([0], [0], [0.5]), "whole numbers"),
        (lambda: PointPlan([0], [0], [-1], [[0]]), "shots must not be negative"),
        (lambda: PointPlan([0], [0, 1], [1], [[0]]), "one length"),
        (lambda: PointPlan([0, 1], [0, 0], [2**50, 1], [[0]]), r"at most 2\*\*50 in all"),
        (lambda: PointTable(1, [[3]]), "0, 1, 2 for X, Y, Z"),
        (lambda: PointTable(1, [[0], [0]]), "listed twice"),
        (lambda: PointTable(1, [0, 1]), "one row per setting"),
        (lambda: choose_settings(257, seed=0), "at most 256"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(("points", "settings", "name"), [([2], [0], "points"), ([0], [9], "sett")])
def test_a_plan_beyond_the_table_is_refused(points, settings, name):
    table = PointTable(2, choose_settings(2, seed=0))
    with pytest.raises(InputError, match=name):
        table.add(PointPlan(points, settings, [1], table.settings), OutcomeCounts([0], [0], [1]))


def test_plans_can_be_compared_cut_and_continued():
    letters = [[0], [2]]
    plan = PointPlan([0, 1, 1], [0, 0, 1], [4, 2, 3], letters)
    done = plan.cut_to([4, 0, 1])
    rest = plan.without(done)
    assert rest.equals(PointPlan([1, 1], [0, 1], [2, 2], letters))
    assert not plan.equals(done)
    with pytest.raises(InputError, match="between 0 and the planned ones"):
        plan.cut_to([5, 0, 0])


@pytest.mark.parametrize("shots", [1, 5, 32, 100])
def test_an_even_plan_favours_no_setting(shots):
    plan = even_plan(np.arange(96), choose_settings(4, seed=0), shots)
    table = np.zeros((96, 32), dtype=np.int64)
    table[plan.points, plan.settings] = plan.shots
    np.testing.assert_array_equal(table.sum(axis=1), shots)
    assert np.ptp(table) <= 1
    assert np.ptp(table.sum(axis=0)) == 0
    assert plan.shots.min() > 0


def test_a_read_only_copy_cannot_be_changed():
    table = PointTable(1, [[2]])
    table.add(PointPlan([0], [0], [2], table.settings), OutcomeCounts([0], [1], [2]))
    copy = table.read_only()
    with pytest.raises(ValueError, match="read-only"):
        copy.counts[0] = 5
    np.testing.assert_array_equal(copy.dense([0]), table.dense([0]))


def test_shots_are_drawn_again_with_replacement():
    random = np.random.default_rng(0)
    settings = np.array([[0, 0], [1, 2], [2, 1]])
    plan = even_plan(range(5), settings, shots_per_point=40)
    table = PointTable(5, settings)
    counts = random.multinomial(plan.shots, [0.5, 0.3, 0.2, 0.0])
    table.add(plan, OutcomeCounts.of_dense(counts))
    draws = []
    for _ in range(400):
        again = table.resampled(random)
        np.testing.assert_array_equal(again.shots_per_point, table.shots_per_point)
        np.testing.assert_array_equal(again.shots, again.dense(range(5)).sum(axis=2))
        draws.append(again.dense(range(5)))
    p = table.dense(range(5)) / 40
    # Each entry is binomial with its share of the point's shots, whatever its setting.
    error = np.sqrt(40 * p * (1 - p) / 400)
    assert np.all(np.abs(np.mean(draws, axis=0) - 40 * p) <= 5 * error)
    np.testing.assert_allclose(np.var(draws, axis=0).sum(), (40 * p * (1 - p)).sum(), rtol=0.1)
    assert PointTable(3, settings).resampled(random).total == 0
