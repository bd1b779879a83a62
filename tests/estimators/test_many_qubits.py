"""Fifty qubits from fit to labels, where no vector of amplitudes fits any memory."""

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import (
    InputError,
    Points,
    QuantumFeatures,
    QuantumKernel,
    QuantumRidgeClassifier,
    StatevectorBackend,
)
from aqka.designs import Projected

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
        backend="light-cone",
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


def test_the_statevector_names_who_can(monkeypatch):
    with pytest.raises(InputError, match=r"24 qubits.*'light-cone'.*design = 'points'"):
        StatevectorBackend(np.zeros((1, 25)))
    with pytest.raises(InputError, match=r"GiB.*'light-cone'"):
        QuantumRidgeClassifier(design="points").fit(*two_clouds(4, 0))
    monkeypatch.setattr("aqka.backends.statevector.SLOW_AMPLITUDES", 2**11)
    with pytest.warns(RuntimeWarning, match="11 qubits are slow to simulate.*'light-cone'"):
        StatevectorBackend(np.zeros((2, 11))).states()


@pytest.mark.parametrize(
    ("n_qubits", "feature_map", "kernel", "words"),
    [
        (300, "zz", "projected", r"has 300 qubits; an outcome holds 256 at most\. Reduce the data"),
        (30, "zz-full", "projected", "depends on 30 qubits, at most 14 .*; take fewer repetitions"),
        (30, "zz", "purified", "at most 10 qubits, and the points have 30; take 'projected'"),
        (30, "zz", "projected-2-all", r"samples qubits \(0, 2\) independently.*'statevector'"),
        (30, "zz", Projected(3), "locality must be 1 or 2 qubits, or 4"),
        (30, "zz", Projected(1, pairs=((0, 1),)), "pairs are for two-qubit states: take locality"),
        (
            30,
            "zz",
            Projected(2, pairs=((0, 1), (2,))),
            "states of one and of two qubits do not mix",
        ),
        (30, "zz", Projected(2, pairs=((0, 30),)), "from 0 to 29 a row"),
        (1, "z", "projected-2", "take the kernel 'projected'"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_first_shot(
    n_qubits, feature_map, kernel, words, tmp_path
):
    model = QuantumRidgeClassifier(
        feature_map, "light-cone", budget=6000, design=Points(kernel), directory=tmp_path
    )
    with pytest.raises(InputError, match=words):
        model.fit(np.full((10, n_qubits), 0.5), np.arange(10) % 2)
    assert not list(tmp_path.rglob("*.db"))


def test_a_device_smaller_than_the_map_is_refused():
    from qiskit_ibm_runtime.fake_provider import FakeManilaV2

    model = QuantumRidgeClassifier("zz", FakeManilaV2(), budget=6000, design="points")
    with pytest.raises(InputError, match=r"needs 6 qubits but fake_manila has 5; reduce"):
        model.fit(np.full((10, 6), 0.5), np.arange(10) % 2)


def star(n_qubits):
    """RY(x) on each qubit, then CZ between the first and every other."""
    circuit, x = QuantumCircuit(n_qubits), ParameterVector("x", n_qubits)
    for q in range(n_qubits):
        circuit.ry(x[q], q)
    for q in range(1, n_qubits):
        circuit.cz(0, q)
    return circuit


def test_neighbours_are_those_of_the_map_for_features_and_kernels_too():
    X = np.random.default_rng(0).uniform(0, 3, (4, 4))
    model = QuantumFeatures(star(4), budget=4 * 90_000, operators="neighbours").fit(X)
    names = model.get_feature_names_out().tolist()
    assert [name for name in names if name[0] == name[2:3] == "Z"] == ["Z0Z1", "Z0Z2", "Z0Z3"]
    # CZ keeps what Z reads, so that ZZ of two qubits is the product of their cosines.
    found = model.transform(X)[:, [names.index(f"Z0Z{q}") for q in (1, 2, 3)]]
    np.testing.assert_allclose(found, np.cos(X[:, :1]) * np.cos(X[:, 1:]), atol=0.03)
    X = np.random.default_rng(0).uniform(0, 3, (3, 10))
    kernel = QuantumKernel(
        star(10), "light-cone", budget=3 * 90, design=Points(Projected(2)), test_budget=270
    ).fit(X)
    assert kernel.session_.design.kernel.pairs == tuple((0, q) for q in range(1, 10))
    assert kernel.transform(X + 0.1).shape == (3, 3)
