"""One place turns what the user said into what is done, and every entrance goes through it."""

import numpy as np
import pytest

from aqka import (
    InputError,
    Problem,
    QuantumRidgeClassifier,
    StatevectorBackend,
    Training,
    acquire,
    allocator_names,
)
from aqka.allocators import make_allocator
from aqka.allocators._points import AqkaPoints
from aqka.designs import Pairs, Points, as_design
from aqka.designs.resolve import better_design, resolve
from aqka.estimators import QuantumKernel
from aqka.learners import make_learner
from aqka.maths.point_law import label_shots, state_fidelity

SIZE = {"n_points": 12, "n_qubits": 2, "budget": 2400}
OVER_POINTS = {"uniform", "aqka", "predictive"}


def test_what_is_not_named_is_the_default_of_the_design():
    for design, learner in ((Pairs(), "ridge-noise"), (Points("projected"), "ridge-loo")):
        choice = resolve(design, **SIZE)
        assert choice.design is design
        assert choice.allocator == make_allocator("uniform")
        assert choice.learner == make_learner(learner)
        assert choice.reason == ""
        assert resolve(design, learner="svm", **SIZE).learner == make_learner("svm")
    assert resolve("points", "aqka", **SIZE).allocator == AqkaPoints()
    own = AqkaPoints(floor=0.5)
    assert resolve("points", own, **SIZE).allocator is own


@pytest.mark.parametrize("name", sorted(set(allocator_names()) - OVER_POINTS))
def test_an_allocator_of_pairs_alone_is_refused_over_points_and_settles_auto(name):
    kind = type(make_allocator(name)).__name__
    with pytest.raises(InputError, match=f"allocator {kind} gives shots to pairs, not points; tak"):
        resolve("points", name, **SIZE)
    choice = resolve(allocator=name, **SIZE)
    assert (choice.design, choice.allocator) == (Pairs(), make_allocator(name))
    assert choice.reason == f"Pairs: allocator {kind} gives shots to pairs only."


def test_mistakes_are_named():
    with pytest.raises(InputError, match="design must be one of 'auto', 'pairs', 'points', Pairs"):
        resolve("point", **SIZE)
    with pytest.raises(InputError, match="Did you mean 'points'"):
        as_design("piont")
    with pytest.raises(InputError, match="AqkaPoints gives shots to points, not pairs"):
        resolve("pairs", AqkaPoints(), **SIZE)
    assert resolve(allocator=AqkaPoints(), **SIZE).reason == (
        "Points: allocator AqkaPoints gives shots to points only."
    )


def test_auto_compares_what_both_designs_are_worth_to_labels():
    """By the law itself: F²S/4 shots on every pair against the shots a pair would get."""
    found = []
    for n_points, n_qubits, budget, new in ((100, 4, 50_000, 100), (12, 8, 1000, 12)):
        pairs = n_points * (n_points - 1) / 2 + n_points * new
        each = budget / (n_points + new)
        worth = state_fidelity(n_qubits, each) ** 2 * each / 4
        design, reason = better_design(n_points, n_qubits, budget, new)
        assert isinstance(design, Points) == (worth > budget / pairs)
        assert f"for each of {n_points + new} points are worth" in reason
        found.append((design, reason.split()[0]))
    assert found == [(Points(), "Points:"), (Pairs(), "Pairs,")]


@pytest.mark.parametrize(
    ("given", "design", "words"),
    [
        ({"n_qubits": None}, Pairs(), "the backend cannot prepare the state of a point"),
        ({"n_qubits": 12}, Pairs(), "states of 12 qubits have too many numbers to be fitted"),
        ({"measures_pairs": False}, Points(), "the backend measures no pairs"),
        ({"n_qubits": 60}, Points(), "for a projected kernel: the fidelity of 60 qubits is 0"),
        ({"n_qubits": 12, "measures_pairs": False}, Points(), "the backend measures no pairs"),
    ],
)
def test_auto_says_where_only_one_design_can_be(given, design, words):
    choice = resolve(**SIZE | given)
    assert choice.design == design
    assert words in choice.reason


def test_label_shots_grow_with_the_shots_and_never_beyond_a_quarter():
    shots = np.geomspace(1, 1e6, 40)
    for n_qubits in (1, 4, 8):
        worth = np.array([label_shots(n_qubits, each) for each in shots])
        assert np.all(np.diff(worth) > 0)
        assert np.all(worth < shots / 4)
        assert worth[-1] == pytest.approx(shots[-1] / 4, rel=0.05)


X = np.random.default_rng(0).uniform(0, 3, (12, 2))
Y = np.arange(12) % 2


def dropped_in(budget, allocator, design):
    """What measures for Qiskit Machine Learning; such a kernel is fitted here for its labels."""
    pytest.importorskip("qiskit_machine_learning")
    from qiskit.circuit.library import zz_feature_map

    from aqka.dropins.qiskit_ml import AqkaKernel

    given = {"budget": budget, "test_budget": 0, "allocator": allocator, "design": design}
    kernel = AqkaKernel(feature_map=zz_feature_map(2), **given)
    kernel.measured.fit(X, Y)
    return kernel.measured


@pytest.mark.parametrize("allocator", [None, "uniform", "aqka", "predictive", "hybrid"])
@pytest.mark.parametrize(
    ("design", "budget"), [("auto", 2400), ("auto", 66), ("pairs", 2400), ("points", 2400)]
)
def test_every_entrance_does_the_same(design, allocator, budget):
    refused = design == "points" and allocator == "hybrid"
    entrances = (
        lambda: Training(Problem(Y), budget, allocator, design=design, n_qubits=2),
        lambda: acquire(StatevectorBackend(X), Y, budget, allocator, design=design),
        lambda: (
            QuantumRidgeClassifier(budget=budget, allocator=allocator, design=design)
            .fit(X, Y)
            .session_
        ),
        lambda: (
            QuantumKernel(budget=budget, test_budget=0, allocator=allocator, design=design)
            .fit(X, Y)
            .session_
        ),
        lambda: dropped_in(budget, allocator, design).session_,
    )
    if refused:
        for enter in entrances:
            with pytest.raises(InputError, match="Hybrid gives shots to pairs, not points"):
                enter()
        return
    choice = resolve(design, allocator, n_points=12, n_qubits=2, budget=budget, on_top=True)
    assert bool(choice.reason) == (design == "auto")
    for enter in entrances:
        session = enter()
        assert session.design == choice.design
        assert session.allocator == choice.allocator
        assert session.reason == choice.reason
        assert session.table.total == (budget if session.done else 0)
    named = QuantumRidgeClassifier(budget=budget, allocator=allocator, design=design).fit(X, Y)
    assert named.head_.fitted_by == choice.learner.describe(Problem(Y))


@pytest.mark.parametrize("allocator", [None, "uniform", "aqka", "predictive", "hybrid"])
@pytest.mark.parametrize(
    ("design", "budget"),
    [("auto", 60), ("auto", 150), ("auto", 1200), ("pairs", 1200), ("points", 1200)],
)
def test_a_study_does_what_acquire_does(tmp_path, allocator, design, budget):
    from aqka.study.directory import prepare
    from aqka.study.method import new_session
    from aqka.study.quoting import better_design_of, settle_design
    from tests.study.helpers import write_study

    named = "" if allocator is None else f'allocator = "{allocator}"\n'
    method = f'{named}design = "{design}"'
    path = write_study(tmp_path, budget=f"{budget} shots", method=method, rounds=1)
    if design == "points" and allocator == "hybrid":
        with pytest.raises(InputError, match="Hybrid gives shots to pairs, not points"):
            prepare(path)
        return
    prepared = prepare(path)
    study = new_session(settle_design(prepared), budget)
    backend, new = StatevectorBackend(prepared.points.train), len(prepared.points.test)
    session = acquire(
        backend, prepared.points.train_labels, budget, allocator, design=design, new_points=new
    )
    assert (study.design, study.allocator) == (session.design, session.allocator)
    if design == "auto":
        assert better_design_of(prepared).reason == session.reason
    assert bool(session.reason) == (design == "auto")


@pytest.mark.parametrize("budget", ["60 shots", "150 shots", "1200 shots"])
def test_a_study_of_a_total_does_what_an_estimator_with_new_points_does(tmp_path, budget):
    from aqka.study.directory import prepare
    from aqka.study.quoting import better_design_of
    from tests.study.helpers import small, write_study

    text = small().replace('train = "1200 shots"\ntest_shots = 20', f'total = "{budget}"')
    prepared = prepare(write_study(tmp_path, text))
    points = prepared.points
    model = QuantumRidgeClassifier(budget=budget, new_points=len(points.test))
    model.fit(points.train, points.train_labels)
    assert better_design_of(prepared).reason == model.session_.reason


def test_training_takes_the_better_design_where_it_knows_the_qubits():
    assert Training(Problem(Y), 2400, n_qubits=2).design == Points()
    assert Training(Problem(Y), 2400).design == Pairs()


def test_time_may_buy_more_shots_of_one_design():
    both = {"n_points": 12, "n_qubits": 2, "new_points": 0}
    assert resolve(budget={"pairs": 1200, "points": 12}, **both).design == Pairs()
    assert resolve(budget={"pairs": 12, "points": 1200}, **both).design == Points()
