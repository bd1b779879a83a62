"""The task suite: sound tasks, and halves that nobody chose."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from aqka.errors import InputError
from aqka_research.suite import SUITE, QuantumTask, half_of_suite
from aqka_research.suite_data import choose
from aqka_research.suite_maps import CIRCUITS, CLASSICAL


@pytest.fixture(scope="module")
def drawn():
    return {name: entry.draw(0) for name, entry in SUITE.items()}


def test_tasks_are_sound(drawn):
    for name, task in drawn.items():
        n_train, n_test = len(task.y), len(task.test_labels)
        assert task.name == name
        assert n_train == SUITE[name].points
        assert 30 <= n_test <= 150
        assert task.kernel.shape == (n_train, n_train)
        assert task.test_kernel.shape == (n_test, n_train)
        np.testing.assert_allclose(task.kernel.diagonal(), 1)
        np.testing.assert_array_equal(task.kernel, task.kernel.T)
        assert min(task.kernel.min(), task.test_kernel.min()) >= 0
        assert max(task.kernel.max(), task.test_kernel.max()) <= 1
        assert np.linalg.eigvalsh(task.kernel)[0] > -1e-8
        assert set(np.unique(task.test_labels)) == {-1.0, 1.0}


def test_another_seed_is_another_task_and_the_same_seed_the_same():
    for name in list(SUITE)[::16]:
        task, again, other = SUITE[name].draw(3), SUITE[name].draw(3), SUITE[name].draw(4)
        np.testing.assert_array_equal(task.kernel, again.kernel)
        np.testing.assert_array_equal(task.y, again.y)
        assert not np.array_equal(task.kernel, other.kernel)


def test_a_quantum_task_knows_its_circuit_and_states(drawn):
    quantum_info = pytest.importorskip("qiskit.quantum_info")
    for map_name in CIRCUITS:
        task = next(t for t in drawn.values() if getattr(t, "map_name", "") == map_name)
        assert isinstance(task, QuantumTask)
        circuit = task.feature_map()
        assert circuit.num_qubits == task.n_qubits == task.X.shape[1] == task.test_X.shape[1]
        # Qiskit's own simulation of one test point against one training point.
        test, train = (
            quantum_info.Statevector(circuit.assign_parameters(x))
            for x in (task.test_X[2], task.X[5])
        )
        assert abs(test.inner(train)) ** 2 == pytest.approx(task.test_kernel[2, 5], abs=1e-10)
        overlaps = np.abs(task.test_states @ task.states.conj().T) ** 2
        np.testing.assert_allclose(overlaps, task.test_kernel, atol=1e-10)


def test_shares_and_targets_are_as_the_name_says(drawn):
    for name, task in drawn.items():
        entry = SUITE[name]
        if entry.kind == "classes" and entry.share is not None:
            assert np.sum(task.y > 0) == round(entry.share * entry.points)
        if entry.kind == "regression":
            assert np.mean(task.y) == pytest.approx(0, abs=1e-12)
            assert np.unique(task.y).size > 30
        if entry.kind == "planted":
            assert entry.share is not None
            largest = max(np.mean(task.test_labels > 0), np.mean(task.test_labels < 0))
            assert largest <= entry.share + 1e-12
            alpha = np.linalg.solve(task.kernel + task.ridge * np.eye(len(task.y)), task.y)
            np.testing.assert_allclose(np.flatnonzero(np.abs(alpha) > 1e-6), task.anchors)


def test_the_grid_holds_everything_and_the_hash_has_split_it():
    assert len(SUITE) == 112
    halves = {half: half_of_suite(half) for half in ("development", "confirmation")}
    assert sorted([*halves["development"], *halves["confirmation"]]) == sorted(SUITE)
    for half, names in halves.items():
        odd = half == "confirmation"
        assert all(hashlib.sha256(n.encode()).digest()[0] % 2 == odd for n in names)
        entries = [SUITE[name] for name in names]
        assert {entry.kernel for entry in entries} == {*CIRCUITS, *CLASSICAL}
        qubits = Counter(entry.features for entry in entries if entry.is_quantum)
        assert sum(qubits[n] for n in range(2, 7)) >= 16
        assert qubits[8] >= 3
        assert {entry.kind for entry in entries} == {"classes", "own", "regression", "planted"}


def test_no_task_has_changed_its_name_since_the_split():
    # Choices were made after this digest was taken: a renamed task might change its half.
    text = "\n".join(SUITE)
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == "f5a3321c5da8ab1602f4a3c45ae50abbf71a5a5f4b91b67dea99e7e17c6bbf5a"
    )


def test_a_half_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="half must be one of"):
        half_of_suite("both")


def test_choosing_keeps_the_share_in_either_part():
    y = np.where(np.arange(400) < 60, 1.0, -1.0)
    chosen = choose(y, 100, 150, 0.2, np.random.default_rng(0))
    assert len(np.unique(chosen)) == len(chosen) == 250
    assert np.sum(y[chosen[:100]] > 0) == 20
    assert np.sum(y[chosen[100:]] > 0) == 30
