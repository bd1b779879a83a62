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
        assert f"for each of {n_points + new} points do as well as" in reason
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
    )
    if refused:
        for enter in entrances:
            with pytest.raises(InputError, match="Hybrid gives shots to pairs, not points"):
                enter()
        return
    # As many new points are taken to follow, with the same shots each.
    choice = resolve(design, allocator, n_points=12, n_qubits=2, budget=2 * budget)
    assert bool(choice.reason) == (design == "auto")
    for enter in entrances:
        session = enter()
        assert session.design == choice.design
        assert session.allocator == choice.allocator
        assert session.reason == choice.reason
        assert session.table.total == (budget if session.done else 0)
    named = QuantumRidgeClassifier(budget=budget, allocator=allocator, design=design).fit(X, Y)
    assert named.head_.fitted_by == choice.learner.describe(Problem(Y))


@pytest.mark.parametrize("allocator", ["uniform", "aqka", "hybrid"])
@pytest.mark.parametrize("budget", [60, 1200])
def test_a_study_does_what_acquire_does(tmp_path, allocator, budget):
    from aqka.study.directory import prepare
    from aqka.study.quoting import better_design_of
    from tests.study.helpers import write_study

    text = {"budget": f"{budget} shots", "method": f'allocator = "{allocator}"', "rounds": 1}
    prepared = prepare(write_study(tmp_path, **text))
    choice = better_design_of(prepared)  # its predictions come on top of the budget
    backend = StatevectorBackend(prepared.points.train)
    session = acquire(backend, prepared.points.train_labels, budget, allocator, new_points=0)
    found = (choice.design, choice.allocator, choice.reason)
    assert found == (session.design, session.allocator, session.reason)
    assert found[2]
