"""Fifty qubits from fit to labels, where no vector of amplitudes fits any memory."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import InputError, QuantumRidgeClassifier, StatevectorBackend

QUBITS, TRAIN = 50, 24


def line():
    """RY(x) on each qubit, then RZZ between neighbours."""
    circuit, x = QuantumCircuit(QUBITS), ParameterVector("x", QUBITS)
    for q in range(QUBITS):
        circuit.ry(x[q], q)
    for q in range(QUBITS - 1):
        circuit.rzz(0.5, q, q + 1)
    return circuit


def two_clouds(n_points, seed):
    """Angles around one of two centres, a little apart in every feature."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_points) % 2
    return rng.normal(0.6 + 0.5 * y[:, None], 0.25, (n_points, QUBITS)), y


def test_fifty_qubits_are_learnt_and_bought_once(tmp_path):
    X, y = two_clouds(TRAIN, 0)
    new, truth = two_clouds(20, 1)
    model = QuantumRidgeClassifier(
        line(),
        backend="matrix-product",
        design="points",
        budget=(TRAIN + 20) * 192,
        new_points=20,
        directory=tmp_path,
    ).fit(X, y)
    labels = model.predict(new)
    assert np.mean(labels == truth) >= 0.8  # by guessing 16 of 20: a chance of 0.006
    assert model.shots_used_ == TRAIN * 192
    written = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    again = model.fit(X, y)
    np.testing.assert_array_equal(again.predict(new), labels)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == written


def test_the_statevector_names_who_can():
    with pytest.raises(InputError, match=r"24 qubits.*'matrix-product'.*design = 'points'"):
        StatevectorBackend(np.zeros((1, 25)))
    with pytest.raises(InputError, match=r"GiB.*'matrix-product'"):
        QuantumRidgeClassifier(design="points").fit(*two_clouds(4, 0))
