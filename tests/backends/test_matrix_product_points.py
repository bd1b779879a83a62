import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import InputError, StatevectorBackend
from aqka.backends import MatrixProductBackend
from aqka.backends.statevector import zz_states
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings, uniform_settings
from aqka.estimates.reduced_states import reduced_states
from tests.estimates.points import probabilities


def drawn(backend, plan):
    return backend.collect(backend.submit(plan, "drawn"))


def chain(n_qubits):
    """One layer of H, RZ(x_q) and RZZ(1) between neighbours, whose ⟨X⟩ are known."""
    circuit, x = QuantumCircuit(n_qubits), ParameterVector("x", n_qubits)
    circuit.h(range(n_qubits))
    for q in range(n_qubits):
        circuit.rz(x[q], q)
    for q in range(n_qubits - 1):
        circuit.rzz(1.0, q, q + 1)
    return circuit


def test_outcomes_have_the_probabilities_of_the_exact_states():
    x = np.random.default_rng(0).uniform(0, 2, size=(2, 3))
    settings = choose_settings(3, seed=0)[[0, 5, 13, 26]]
    plan = even_plan([0, 1], settings, 4 * 4000)
    table = PointTable(2, settings)
    table.add(plan, drawn(MatrixProductBackend(x, seed=1), plan))
    p = probabilities(zz_states(x), settings)
    error = table.dense([0, 1]) / 4000 - p
    assert np.all(np.abs(error) < 5 * np.sqrt(p * (1 - p) / 4000) + 1e-9)


def test_fifty_qubits_have_the_expectations_that_are_known():
    n_qubits, shots = 50, 600
    x = np.random.default_rng(0).uniform(0, np.pi, size=(1, n_qubits))
    settings = uniform_settings(n_qubits)
    plan = even_plan([0], settings, 3 * shots)
    table = PointTable(1, settings)
    table.add(plan, drawn(MatrixProductBackend(x, chain(n_qubits), seed=1), plan))
    found = reduced_states(table).expectations[0].reshape(n_qubits, 3)
    neighbours = np.where(np.isin(np.arange(n_qubits), [0, n_qubits - 1]), 1, 2)
    shrunk = np.cos(1.0) ** neighbours
    exact = np.stack([np.cos(x[0]) * shrunk, np.sin(x[0]) * shrunk, np.zeros(n_qubits)], axis=1)
    assert np.abs(found - exact).max() < 5 / np.sqrt(shots)
    assert np.sqrt(np.mean((found - exact) ** 2)) < 1.3 / np.sqrt(shots)


def test_rows_keep_their_own_shots_and_repeat_themselves():
    x, settings = np.zeros((2, 2)), uniform_settings(2)
    plan = PointPlan([0, 1, 1], [2, 0, 1], [5, 0, 9], settings)
    first, second = (drawn(MatrixProductBackend(x, seed=3), plan) for _ in range(2))
    plan.checked(first)
    np.testing.assert_array_equal(first.outcomes, second.outcomes)
    np.testing.assert_array_equal(first.counts, second.counts)


def test_more_shots_than_memory_holds_are_refused_where_each_is_drawn_by_itself():
    plan = even_plan([0, 1], uniform_settings(14), shots_per_point=10**12)
    backend = MatrixProductBackend(np.full((2, 14), 0.1))
    with pytest.raises(InputError, match=r"100,000,000 shots a round.*got 2,000,000,000,000"):
        backend.collect(backend.submit(plan, "t"))
    counting = StatevectorBackend(np.full((2, 14), 0.1))  # of outcomes, however many shots
    assert counting.collect(counting.submit(plan, "t")).counts.sum() == plan.total
