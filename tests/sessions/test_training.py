from dataclasses import replace

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, Problem, Schedule, Training, acquire, allocator_names
from aqka.allocators import make_allocator
from aqka.core import FAIR, PAPER, PairTable, ShotPlan
from aqka.learners import make_learner
from tests.conftest import make_kernel, make_labels


def answered(session, kernel):
    plan = session.ask()
    rng = np.random.default_rng(session.round)
    return rng.binomial(plan.shots, kernel[plan.rows, plan.cols])


def test_algorithm_1_has_a_warm_up_and_four_rounds(kernel, labels):
    session = Training(Problem(labels), 1000, "aqka")
    totals = []
    while not session.done:
        session.tell(answered(session, kernel))
        totals.append(session.table.total)
    assert totals == [200, 400, 600, 800, 1000]
    assert session.rounds_total == 5


def test_a_session_rebuilt_from_its_hits_goes_on_bit_for_bit(kernel, labels):
    def play(session, hits):
        for answer in hits:
            session.ask()
            session.tell(answer)

    whole = Training(Problem(labels), 1000, "aqka", seed=3)
    hits = []
    while not whole.done:
        hits.append(answered(whole, kernel))
        whole.tell(hits[-1])
    resumed = Training(Problem(labels), 1000, "aqka", seed=3)
    play(resumed, hits[:3])
    np.testing.assert_array_equal(resumed.ask().shots, session_after(labels, hits[:3]).ask().shots)
    play(resumed, hits[3:])
    np.testing.assert_array_equal(resumed.table.shots, whole.table.shots)
    np.testing.assert_array_equal(resumed.table.hits, whole.table.hits)


def session_after(labels, hits):
    session = Training(Problem(labels), 1000, "aqka", seed=3)
    for answer in hits:
        session.ask()
        session.tell(answer)
    return session


def test_acquire_drives_the_same_session_on_a_backend(kernel, labels):
    seen = []
    backend = MatrixBackend(kernel, seed=1)
    session = acquire(backend, labels, 700, "aqka", on_round=lambda s: seen.append(s.table.total))
    assert session.done
    assert seen == [140, 280, 420, 560, 700]
    with pytest.raises(InputError, match="budget of 700 shots is spent"):
        session.ask()


def test_runs_with_other_seeds_are_independent_on_one_backend(kernel, labels):
    backend = MatrixBackend(kernel, seed=1)
    first, second = (acquire(backend, labels, 660, "uniform", seed=s).table for s in (0, 1))
    assert np.array_equal(first.shots, second.shots)
    assert not np.array_equal(first.hits, second.hits)


def test_tell_and_ask_out_of_turn_change_nothing(kernel, labels):
    session = Training(Problem(labels), budget=100)
    with pytest.raises(InputError, match=r"call ask\(\) first"):
        session.tell([1])
    hits = answered(session, kernel)
    plan = session.ask()
    for wrong in (hits[:-1], -hits - 1, plan.shots + 1, hits + 0.5, [hits]):
        with pytest.raises(InputError, match="hits must"):
            session.tell(wrong)
        assert session.table.total == 0
        assert session.ask() is plan
    session.tell(hits)
    with pytest.raises(InputError, match=r"tell\(\) once"):
        session.tell(hits)
    assert session.table.total == plan.total


@pytest.mark.parametrize("budget", [0, -5, 1.5, 10.0, "100", None, True, float("nan")])
def test_a_budget_is_a_positive_whole_number(budget, labels):
    with pytest.raises(InputError, match="budget must be a whole number of at least 1"):
        Training(Problem(labels), budget)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, np.nan, -1.0], "1 NaN or infinite"),
        ([1.0, np.inf, -1.0], "1 NaN or infinite"),
        ([1.0], "at least 2 points, got 1"),
        ([], "at least 2 points, got 0"),
        ([1, 1, 1], "a single class, 1, for all 3 points"),
        (["a", "b", "c"], "3 distinct labels.*less than two points a class"),
        ([0, 1, 2], "for regression on whole numbers pass floats"),
        ([[1, -1], [1, -1]], "one-dimensional"),
        ([1j, 2j], "got dtype complex128"),
        (["a", 1, None], "missing values"),
        (["a", float("nan"), "a"], "missing values"),
        (["a", 1, "a"], "mixes labels of several types"),
        (np.ma.masked_array([1, 0, 1], [False, True, False]), "masked"),
        ([[1], [1, 2]], "cannot be made an array"),
    ],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        Problem(y)


def test_two_classes_of_any_kind_become_signs():
    np.testing.assert_array_equal(Problem(["cat", "dog", "cat"]).y, [-1, 1, -1])
    np.testing.assert_array_equal(Problem([False, True]).y, [-1, 1])
    np.testing.assert_array_equal(Problem([0, 1, 1]).y, [-1, 1, 1])
    np.testing.assert_array_equal(Problem([0.0, 2.0, 1.0]).y, [0, 2, 1])


def test_a_head_predicts_the_labels_it_was_given(kernel):
    smooth = np.linalg.eigh(kernel)[1][:, -2] > 0
    for classes in (["dog", "cat"], [0, 1], [False, True], [-1.0, 1.0]):
        y = np.array([classes[int(label)] for label in smooth])
        session = acquire(MatrixBackend(kernel), y, 10**6, "uniform", ridge=0.1)
        for learner in ("ridge", "svm"):
            np.testing.assert_array_equal(session.fit(learner).predict(kernel), y)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "x", None])
def test_ridge_and_box_are_positive(value):
    with pytest.raises(InputError, match="ridge must be a finite number above 0"):
        Problem([0, 1], ridge=value)
    with pytest.raises(InputError, match="C must be a finite number above 0"):
        Problem([0, 1], C=value)


def test_unknown_names_list_the_known_and_the_nearest(kernel, labels):
    with pytest.raises(InputError) as error:
        acquire(MatrixBackend(kernel), labels, 100, "aqka-orcale")
    assert "Did you mean 'aqka-oracle'?" in str(error.value)
    for name in allocator_names():
        assert name in str(error.value)
    with pytest.raises(InputError, match="or an instance of Allocator, got 3"):
        acquire(MatrixBackend(kernel), labels, 100, 3)
    with pytest.raises(InputError, match="reading must be one of"):
        Problem(labels, reading="quick")


def test_shapes_must_agree(kernel, labels):
    with pytest.raises(InputError, match="y labels 5 points"):
        acquire(MatrixBackend(kernel), labels[:5], 100)
    with pytest.raises(InputError, match="true_kernel must be 12 by 12"):
        acquire(MatrixBackend(kernel), labels, 100, true_kernel=kernel[:5, :5])


def test_readings_differ_as_documented():
    paper, fair = Problem([0, 1, 1], reading="paper"), Problem([0, 1, 1])
    assert paper.reading is PAPER
    assert fair.reading is FAIR
    assert paper.new_table().n_pairs == 6
    assert fair.new_table().n_pairs == 3
    table = PairTable(3)
    table.add(ShotPlan([0, 0], [1, 2], [4, 2]), [1, 0])
    # Unseen: 0 in the paper, the mean (0.25 + 0) / 2 of the seen entries in practice.
    assert PAPER.kernel(table)[1, 2] == 0
    assert FAIR.kernel(table)[1, 2] == 0.125
    # The paper's deviation is 0 where K-hat is; in practice one pseudo-shot is added.
    np.testing.assert_allclose(PAPER.deviation(table), [np.sqrt(0.25 * 0.75), 0, 0])
    smoothed = np.array([1.125 / 5, 0.125 / 3, 0.125])
    np.testing.assert_allclose(FAIR.deviation(table), np.sqrt(smoothed * (1 - smoothed)))


def test_a_measured_diagonal_unseen_in_practice_reads_one():
    reading = replace(FAIR, diagonal="measured")
    table = Problem([0, 1, 1], reading=reading).new_table()
    table.add(ShotPlan([0, 0], [0, 1], [10, 10]), [8, 4])
    kernel = reading.kernel(table)
    np.testing.assert_allclose(kernel.diagonal(), [0.8, 1.0, 1.0])
    assert kernel[1, 2] == 0.4


def test_tags_name_the_run_and_the_round(labels):
    tags = set()
    for arguments in ({}, {"ridge": 0.02}, {"reading": "paper"}, {"C": 1.0}):
        session = Training(Problem(labels, **arguments), 100)
        tags.add(session.tag)
        plan = session.ask()
        session.tell(np.zeros_like(plan.shots))
        tags.add(session.tag)
    tags.add(Training(Problem(-labels + np.eye(12)[0] * 2 * labels), 100).tag)
    tags.add(Training(Problem(labels), 100, schedule=Schedule(rounds=2)).tag)
    assert len(tags) == 10


def test_a_plan_cannot_be_changed_after_it_was_asked(labels):
    plan = Training(Problem(labels), 100).ask()
    with pytest.raises(ValueError, match="read-only"):
        plan.shots[0] += 500


def test_a_cut_round_is_told_and_its_rest_is_spent_later(labels):
    session = Training(Problem(labels), 1000, "aqka")
    plan = session.ask()
    done = plan.shots // 2
    with pytest.raises(InputError, match="shots must be"):
        session.tell(np.zeros_like(done), plan.shots + 1)
    session.tell(np.zeros_like(done), done)
    assert session.table.total == done.sum()
    # The warm-up is not over: the rest of it is drawn, not allocated by a table too thin.
    assert session.ask().total == 200 - done.sum()
    while not session.done:
        session.tell(np.zeros(len(session.ask()), dtype=int))
    assert session.table.total == 1000


@pytest.mark.parametrize("name", ["nystrom", "nystrom-leverage", "hybrid"])
def test_landmarks_hold_when_a_round_is_cut(name, labels):
    session = Training(Problem(labels), 1000, name)
    if session.rounds_total == 2:
        session.tell(np.zeros_like(session.ask().shots))
    plan = session.ask()
    session.tell(np.zeros_like(plan.shots), plan.shots // 3)
    rest = session.ask()
    np.testing.assert_array_equal(rest.landmarks.points, plan.landmarks.points)
    session.tell(np.zeros_like(rest.shots))
    assert session.done
    assert session.table.total == 1000


def test_fit_uses_the_default_learner_unless_one_is_named(kernel, labels):
    session = acquire(MatrixBackend(kernel), labels, 2000, reading="paper")
    np.testing.assert_array_equal(session.fit().alpha, session.fit("ridge-noise").alpha)
    assert session.fit(session.problem.reading.learner).regularisation == 0.01
    assert session.fit("svm").regularisation == 5.0
    named = make_learner("ridge-loo").fit(session.estimate(), session.problem)
    np.testing.assert_array_equal(session.fit("ridge-loo").alpha, named.alpha)


def test_what_is_no_backend_problem_or_schedule_is_named(kernel, labels):
    with pytest.raises(InputError, match=r"pass MatrixBackend\(kernel\)"):
        acquire(kernel, labels, 100)
    with pytest.raises(InputError, match="schedule must be a Schedule, got str"):
        acquire(MatrixBackend(kernel), labels, 100, schedule="fast")
    with pytest.raises(InputError, match="problem must be a Problem, got list"):
        Training([1, -1], 100)
    with pytest.raises(InputError, match="reading must be one of"):
        Problem(labels, reading=["paper"])
    with pytest.raises(InputError, match="unseen must be one of"):
        replace(FAIR, unseen="median")


@pytest.mark.parametrize("budget", [10**12, 2**50])
def test_budgets_beyond_memory_are_spent_exactly(budget, kernel, labels):
    for kind in ("random", "round-robin"):
        session = acquire(
            MatrixBackend(kernel), labels, budget, schedule=Schedule(exploration=kind)
        )
        assert session.table.total == budget
    with pytest.raises(InputError, match=r"at most 2\*\*50"):
        Training(Problem(labels), 2**50 + 1)


@pytest.mark.parametrize("allocator", allocator_names())
@pytest.mark.parametrize("budget", [5, 160, 1003])
def test_plans_of_multiples_of_a_quantum_spend_the_budget_exactly(
    allocator, budget, kernel, labels
):
    schedule = replace(make_allocator(allocator).schedule, quantum=8)
    session = Training(Problem(labels, true_kernel=kernel), budget, allocator, schedule)
    rests = []
    while not session.done:
        rests.append(session.ask().shots % 8)
        session.tell(answered(session, kernel))
    assert session.table.total == budget
    assert not any(rest.any() for rest in rests[:-1])
    assert np.sum(rests[-1]) == budget % 8
    assert np.count_nonzero(rests[-1]) <= 1


def test_more_rounds_than_shots(kernel, labels):
    session = acquire(MatrixBackend(kernel), labels, 20, schedule=Schedule(rounds=10**9))
    assert session.table.total == 20


def test_a_budget_too_small_for_its_rounds_is_spent_and_stops(kernel, labels):
    session = acquire(MatrixBackend(kernel), labels, 3, schedule=Schedule(rounds=8))
    assert session.table.total == 3
    assert session.round <= 3


def test_kernel_matrix_input_is_checked():
    good = make_kernel(4)
    cases = [
        (good[:3], "must be square, got shape"),
        (good + np.triu(np.ones((4, 4)), 1) * 1e-3, "must be symmetric"),
        (1.5 * good, r"within \[0, 1\]"),
        (good - 0.5, r"within \[0, 1\]"),
        (np.where(np.eye(4), np.nan, good), "NaN or infinite"),
        (good[0], "two-dimensional"),
        ([["a"]], "real numbers"),
    ]
    for matrix, message in cases:
        with pytest.raises(InputError, match=message):
            MatrixBackend(matrix)
        with pytest.raises(InputError, match=message):
            Problem(make_labels(4), true_kernel=matrix)
