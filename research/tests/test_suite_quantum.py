"""Quantum-labelled tasks: how they are labelled, which are kept, and in which half."""

import hashlib

import numpy as np
import pytest
from qiskit.quantum_info import SparsePauliOp, Statevector

from aqka.errors import InputError
from aqka_research.quantum_tasks import MARGIN, classical_accuracies, classical_control
from aqka_research.suite import HALVES, SUITE
from aqka_research.suite_quantum import (
    CANDIDATES,
    RANGES,
    geometric_difference,
    kept_scores,
    quantum_labelled,
    random_observable,
    sparse_anchors,
)

DIGEST = "c41da0340d6a72df3a6cbe7149f90504ff8eb5e15a7c1e6793a25a0a5a2d59e5"
SMALL = next(t for t in CANDIDATES.values() if t.qubits == 3 and t.points == 60)


def test_both_halves_have_enough_tasks_and_the_hash_has_split_them():
    halves = {half: quantum_labelled(half) for half in HALVES}
    for half, tasks in halves.items():
        odd = half == "confirmation"
        assert len(tasks) >= 6
        assert all(hashlib.sha256(t.name.encode()).digest()[0] % 2 == odd for t in tasks)
        assert {t.labels for t in tasks} == {
            "geometric difference",
            "random observable",
            "sparse anchors",
        }
        assert len({t.kernel for t in tasks}) >= 3
    assert sum(map(len, halves.values())) == len(kept_scores())
    assert not set(CANDIDATES) & set(SUITE)
    with pytest.raises(InputError, match="half must be one of"):
        quantum_labelled("both")


def test_only_tasks_are_kept_that_the_exact_kernel_wins():
    for name, found in kept_scores().items():
        assert found["exact"] - found["classical"] >= MARGIN - 1e-4, name
        assert found["accuracy"] <= found["classical"], name  # the best is at least the GP


def test_no_task_has_changed_its_name_since_the_split():
    text = "\n".join(CANDIDATES)
    assert hashlib.sha256(text.encode()).hexdigest() == DIGEST


def test_a_task_is_sound_and_follows_from_its_seed():
    for task in list(CANDIDATES.values())[::36]:
        drawn, again, other = task.draw(3), task.draw(3), task.draw(4)
        np.testing.assert_array_equal(drawn.y, again.y)
        assert not np.array_equal(drawn.X, other.X)
        assert len(drawn.y) == task.points
        assert 60 <= len(drawn.test_labels) <= 150
        assert drawn.X.min() >= 0
        assert drawn.X.max() <= RANGES[task.angles] + 1e-12
        everything = np.concatenate([drawn.y, drawn.test_labels])
        assert abs(everything.sum()) <= 1  # cut at the median
        overlaps = np.abs(drawn.test_states @ drawn.states.conj().T) ** 2
        np.testing.assert_allclose(overlaps, drawn.test_kernel, atol=1e-10)


def test_the_geometric_difference_is_where_the_quantum_kernel_is_simple_and_the_classical_not():
    # Among all y = √K_Q v with |v| = 1, y has the largest norm in the classical kernel's space, and
    # v is the top eigenvector: so the ratio of the two norms bounds that of any other function.
    task = SMALL.draw(0)
    X, states = task.X, task.states
    values = geometric_difference(X, states, 40, np.random.default_rng(0))
    squares = np.sum((X[:, None] - X) ** 2, axis=2)
    quantum = np.abs(states @ states.conj().T) ** 2 + 1e-10 * np.eye(len(X))

    def complexity(y, factor):
        classical = np.exp(-factor * squares / np.median(squares)) + 0.01 * np.eye(len(X))
        return y @ np.linalg.solve(classical, y) / (y @ np.linalg.solve(quantum, y))

    # The factor of the smallest top eigenvalue is among the three, so one of them has this vector.
    found = []
    for factor in (0.25, 1.0, 4.0):
        classical = np.exp(-factor * squares / np.median(squares)) + 0.01 * np.eye(len(X))
        top = np.max(np.linalg.eigvals(np.linalg.solve(classical, quantum)).real)
        found.append((top, factor))
    top, factor = min(found)
    assert complexity(values, factor) == pytest.approx(top, rel=1e-4)


def test_observables_are_sums_of_pauli_strings_and_anchors_of_entries():
    task = SMALL.draw(0)
    values = random_observable(task.X, task.states, 40, np.random.default_rng(5))
    rng, by_hand = np.random.default_rng(5), np.zeros(len(task.X))
    for _ in range(3):
        letters = rng.integers(4, size=3)
        letters[rng.integers(3)] = rng.integers(1, 4)
        operator = SparsePauliOp("".join("IXYZ"[k] for k in letters))
        expected = [Statevector(np.array(u)).expectation_value(operator).real for u in task.states]
        by_hand += rng.normal() * np.array(expected)
    np.testing.assert_allclose(values, by_hand, atol=1e-10)
    values = sparse_anchors(task.X, task.states, 40, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    anchors = rng.choice(40, 5, replace=False)
    np.testing.assert_allclose(values, task.kernel[:, anchors] @ rng.normal(size=5), atol=1e-10)


def test_the_classical_control_is_beside_every_task():
    task = SMALL.draw(0)
    control, accuracies = classical_control(task), classical_accuracies(task)
    assert control.accuracy == accuracies["Gaussian process"]
    assert len(accuracies) == 5
    assert 0.4 < control.majority < 0.6
    disagree = 1 - control.agreement
    assert abs(control.exact - control.accuracy) <= disagree + 1e-12
