"""What each allocator is for, seen in its plans."""

import numpy as np
import pytest

from aqka import InputError, MatrixBackend, Problem, Schedule, Training, acquire, allocator_names
from aqka.allocators import Allocation, Allocator, make_allocator
from aqka.allocators.aqka import Aqka
from aqka.allocators.baselines import Hybrid, NystromLeverage, Shofar
from aqka.maths.sensitivity import krr_gradient
from aqka.maths.spectrum import Spectrum
from tests.allocators.tables import measured_table
from tests.conftest import make_kernel, make_labels


def one_against_rest(labels, ridge=0.05):
    """Return a problem of three classes, and the two-class problems it is made of."""
    whole = Problem(labels, ridge=ridge)
    return whole, [Problem(np.where(labels == c, 1, -1), ridge=ridge) for c in whole.classes]


@pytest.mark.parametrize("name", ["aqka", "aqka-svm"])
def test_one_allocation_serves_all_classes(name):
    kernel, labels = make_kernel(12), np.arange(12) % 3
    whole, parts = one_against_rest(labels)
    table = measured_table(whole, kernel)
    allocator = make_allocator(name)
    combined = allocator.sensitivity(table, whole)
    # Scaled so that ratios are kept: compare with the root of the summed squares.
    if name == "aqka":
        spectrum = Spectrum.of(whole.reading.kernel(table))
        squares = 0
        for part in parts:
            alpha = spectrum.solve(part.y, 0.05)
            squares += krr_gradient(alpha, spectrum.solve(alpha, 0.05), 0.05) ** 2
        expected = table.condense(np.sqrt(squares))
    else:
        expected = np.sqrt(sum(allocator.sensitivity(table, part) ** 2 for part in parts))
    np.testing.assert_allclose(combined / combined.max(), expected / expected.max(), rtol=1e-9)


@pytest.mark.parametrize("name", allocator_names())
def test_every_allocator_spends_on_three_classes(name):
    kernel, labels = make_kernel(15), np.array(list("abc") * 5)
    oracle = kernel if name.endswith("oracle") else None
    session = acquire(MatrixBackend(kernel), labels, 2_000, name, true_kernel=oracle)
    assert session.table.total == 2_000
    assert set(session.fit().predict(kernel)) <= set("abc")


class Unpaid(MatrixBackend):
    """A backend that must not be asked for a shot."""

    def submit(self, plan, tag):
        raise AssertionError("a shot was paid for")


@pytest.mark.parametrize(
    ("allocator", "y"),
    [
        ("aqka-oracle", make_labels(6)),
        ("multinomial-oracle", make_labels(6)),
        ("aqka-svm", [0.1, 0.4, -2.0, 1.0, 3.0, 2.0]),
        (NystromLeverage(landmarks=9), make_labels(6)),
        (Hybrid(landmarks=9), make_labels(6)),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_shot(allocator, y):
    with pytest.raises(InputError):
        acquire(Unpaid(make_kernel(6)), y, 1000, allocator)


@pytest.mark.parametrize("value", [float("nan"), -1, 2.0, "x", None])
def test_floors_and_thresholds_are_fractions(value):
    with pytest.raises(InputError, match="floor must be a fraction"):
        Aqka(floor=value)
    with pytest.raises(InputError, match="threshold must be a fraction"):
        Shofar(threshold=value)


class Greedy(Allocator):
    """A user's allocator that breaks the rules in a chosen way."""

    def __init__(self, answer):
        self.answer = answer

    def ask(self, table, problem, shots, rng):
        return Allocation(self.answer(table, shots))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda t, s: np.full(t.n_pairs, s), "exactly"),
        (lambda t, s: np.zeros(t.n_pairs, dtype=int), "exactly"),
        (lambda t, s: np.array([s + 1, -1] + [0] * (t.n_pairs - 2)), "none negative"),
        (lambda t, s: np.full(t.n_pairs, s / t.n_pairs), "whole numbers"),
        (lambda t, s: np.array([s]), "whole numbers"),
    ],
)
def test_a_users_allocator_cannot_break_the_budget(answer, message):
    session = Training(Problem(make_labels(6)), 100, Greedy(answer), Schedule(warmup=0.0))
    with pytest.raises(InputError, match=message):
        session.ask()
    assert session.table.total == 0
