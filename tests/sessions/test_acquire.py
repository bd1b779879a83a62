"""A budget spent in one call: both designs, interruptions, lies, ledgers, exports."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.preprocessing import minmax_scale

from aqka import InputError, JobError, MatrixBackend, Problem, StatevectorBackend, acquire
from aqka.backends import LightConeBackend
from aqka.core import OutcomeCounts, PairTable
from aqka.designs import Pairs, Points
from aqka.runs.audit import verify
from aqka.runs.export import export, measurements, table_of
from aqka.sessions import Training

X, Y = make_moons(40, noise=0.15, random_state=0)
X = minmax_scale(X, (1.5, 3.1))


COUNTS = ("shots", "cells", "outcomes", "counts")


class Interrupted(Exception):
    pass


def same(first, second):
    names = ("shots", "hits") if isinstance(first, PairTable) else COUNTS
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


@pytest.mark.parametrize("design", ["pairs", "points"])
@pytest.mark.parametrize("allocator", ["uniform", "aqka"])
def test_a_run_goes_on_bit_for_bit_where_it_was_interrupted(tmp_path, design, allocator):
    def run(**spend):
        backend = StatevectorBackend(X, seed=5)
        return acquire(backend, Y, 4001, allocator, design=design, seed=3, **spend)

    def stop(session):
        raise Interrupted

    whole = run()
    for _ in range(whole.rounds_total - 1):
        with pytest.raises(Interrupted):
            run(directory=tmp_path, on_round=stop)
    resumed = run(directory=tmp_path)
    assert same(whole.table, resumed.table)
    assert whole.table.total == 4001
    rounds = "1 round" if whole.rounds_total == 1 else f"{whole.rounds_total} rounds"
    assert verify(tmp_path).summary == f"sound: {rounds}, 4001 of 4001 shots, finished"
    assert same(table_of(tmp_path).table, whole.table)


def test_another_run_of_points_or_pairs_is_refused(tmp_path):
    acquire(StatevectorBackend(X), Y, 4000, design="points", directory=tmp_path)
    for other in (
        {"design": "points", "seed": 1},
        {"design": "points", "allocator": "aqka"},
        {"design": "pairs"},
    ):
        with pytest.raises(Exception, match="another run"):
            acquire(StatevectorBackend(X), Y, 4000, **other, directory=tmp_path)


class Lying(StatevectorBackend):
    """Answers the first plan with something else."""

    lie = None

    def collect(self, ticket):
        plan = self._plans[ticket]
        answer = super().collect(ticket)
        if self.lie is None:
            return answer
        lie, self.lie = self.lie, None
        return lie(plan, answer)


def moved(answer, **changes):
    columns = {name: getattr(answer, name).copy() for name in ("rows", "outcomes", "counts")}
    for name, change in changes.items():
        columns[name][0] += change
    hollow = object.__new__(OutcomeCounts)  # as a backend with its own class could
    for name, column in columns.items():
        object.__setattr__(hollow, name, column)
    return hollow


@pytest.mark.parametrize(
    "lie",
    [
        lambda plan, answer: moved(answer, counts=-(10**6)),
        lambda plan, answer: moved(answer, counts=1),
        lambda plan, answer: moved(answer, outcomes=4),
        lambda plan, answer: moved(answer, rows=10**6),
        lambda plan, answer: moved(answer, outcomes=-100),
        lambda plan, answer: plan.shots,
        lambda plan, answer: None,
        lambda plan, answer: OutcomeCounts([0], [0], [1]),
    ],
)
def test_outcomes_that_do_not_fit_are_evidence_and_not_believed(tmp_path, lie):
    backend = Lying(X)
    backend.lie = lie
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        session = acquire(
            backend,
            Y,
            9000,
            "aqka",
            design="points",
            directory=tmp_path,
        )
    assert session.done
    assert session.lost > 0
    assert session.shots_spent == 9000
    assert verify(tmp_path).sound


def test_a_cut_round_keeps_what_was_measured(tmp_path):
    def cut(plan, answer):
        half = plan.shots // 2
        kept = answer.counts // 2
        shots = np.zeros_like(plan.shots)
        np.add.at(shots, answer.rows, kept)
        assert np.all(shots <= half)
        raise JobError("cut", (shots, OutcomeCounts(answer.rows, answer.outcomes, kept)))

    backend = Lying(X)
    backend.lie = cut
    with pytest.warns(RuntimeWarning, match="cut"):
        session = acquire(backend, Y, 9000, design="points", directory=tmp_path)
    assert session.lost == 0
    assert session.table.total == 9000
    assert verify(tmp_path).sound
    assert same(table_of(tmp_path).table, session.table)


def test_counts_are_exported_sparsely(tmp_path):
    session = acquire(StatevectorBackend(X), Y, 8000, design="points", directory=tmp_path / "run")
    found = measurements(tmp_path / "run")
    assert found.seen.sum() == 8000
    table = session.table
    np.testing.assert_array_equal(
        np.bincount(found.point, found.seen, minlength=40), table.shots_per_point
    )
    rows = export(tmp_path / "run", tmp_path / "counts.csv")
    assert rows == len(found.seen) <= 8000
    text = (tmp_path / "counts.csv").read_text().splitlines()
    assert text[0] == "round,point,setting,outcome,seen"


def test_a_fit_with_far_too_few_shots_warns():
    session = acquire(StatevectorBackend(X), Y, 10, design="pairs")
    with pytest.warns(RuntimeWarning, match="10 shots on 780 pairs are far too few"):
        session.fit()


def test_auto_takes_the_better_design_and_says_why():
    acquired = acquire(StatevectorBackend(X), Y, 8000, new_points=100)
    assert isinstance(acquired.design, Points)
    assert acquired.reason.startswith("Points: ")
    assert acquire(StatevectorBackend(X), Y, 8000, design="points").reason == ""
    pairs = acquire(MatrixBackend(np.eye(4)), [0, 0, 1, 1], 100)
    assert (pairs.table.total, pairs.design) == (100, Pairs())
    assert pairs.reason.endswith("the backend cannot prepare the state of a point.")
    # Pairs promise more, but this backend has none.
    only_points = LightConeBackend(np.tile(X[:8], 5))
    assert isinstance(acquire(only_points, Y[:8], 100).design, Points)
    for name, wrong in {"budget": {"budget": "many"}, "new_points": {"new_points": "a"}}.items():
        with pytest.raises(InputError, match=f"{name} must be a whole number"):
            acquire(StatevectorBackend(X), Y, **{"budget": 100} | wrong)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: acquire(MatrixBackend(np.eye(2)), [0, 1], 9, design="points"),
            "only measures pairs",
        ),
        (lambda: acquire(StatevectorBackend(X), Y, 39, design="points"), "every point a shot"),
        (lambda: acquire(StatevectorBackend(X), Y, 99, design="point"), "design must be one of"),
        (lambda: acquire(StatevectorBackend(X), Y[:9], 99, design="points"), "the backend has 40"),
        (
            lambda: acquire(StatevectorBackend(X), Y, 99, "nystrom", design="points"),
            "allocator Nystrom gives shots to pairs, not points; take 'uniform'",
        ),
        (
            lambda: acquire(LightConeBackend(X), Y, 99, design="pairs"),
            "points",
        ),
        (
            lambda: Training(Problem(Y), 99, design=Points(settings=[[0]]), n_qubits=2),
            "settings must name 2 qubits",
        ),
        (lambda: Training(Problem(Y), 99, design="points"), "needs n_qubits"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
