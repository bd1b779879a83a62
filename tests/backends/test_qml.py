import importlib

import numpy as np
import pytest

from aqka import InputError
from aqka.backends.statevector import StatevectorBackend


@pytest.fixture(scope="module")
def qml():
    return importlib.import_module("pennylane")


def make_zz(qml, n_qubits, convert=lambda value: value):
    def zz(x):
        values = [convert(x[k]) for k in range(n_qubits)]
        for _ in range(2):
            for k, value in enumerate(values):
                qml.Hadamard(k)
                qml.PhaseShift(2 * value, wires=k)
            for k in range(n_qubits - 1):
                qml.CNOT([k, k + 1])
                qml.PhaseShift(2 * (np.pi - values[k]) * (np.pi - values[k + 1]), wires=k + 1)
                qml.CNOT([k, k + 1])

    return zz


@pytest.mark.parametrize("convert", [lambda value: value, float])
@pytest.mark.parametrize("n_qubits", [2, 3])
def test_pennylane_zz_map_gives_the_same_kernel(qml, n_qubits, convert):
    X = np.random.default_rng(9).normal(size=(8, n_qubits))
    theirs = StatevectorBackend(X, make_zz(qml, n_qubits, convert))
    ours = StatevectorBackend(X)
    np.testing.assert_allclose(theirs.kernel(), ours.kernel(), rtol=0, atol=1e-10)
    # The first wire is the most significant bit there, the least significant one here.
    shape = (len(X), *(2,) * n_qubits)
    turned = theirs.states().reshape(shape).transpose(0, *range(n_qubits, 0, -1))
    np.testing.assert_allclose(turned.reshape(len(X), -1), ours.states(), rtol=0, atol=1e-10)


@pytest.mark.parametrize("n_points", [1, 2, 3, 6])
def test_pennylane_template(qml, n_points):
    X = np.random.default_rng(10).normal(size=(n_points, 3))
    kernel = StatevectorBackend(X, lambda x: qml.AngleEmbedding(x, wires=range(3))).kernel()
    expected = np.prod(np.cos((X[:, None] - X[None]) / 2) ** 2, axis=2)
    np.testing.assert_allclose(kernel, expected, rtol=0, atol=1e-12)


def test_pennylane_function_that_mixes_up_many_points(qml):
    """It accepts an array of points without complaint, but means something else by it."""

    def feature_map(x):
        qml.RY(np.sum(x) + 0 * np.ravel(x)[0], wires="a")
        qml.RX(np.max(x), wires="b")

    X = np.random.default_rng(11).normal(size=(6, 2))
    kernel = StatevectorBackend(X, feature_map).kernel()
    angles = np.stack([X.sum(axis=1), X.max(axis=1)], axis=1)
    expected = np.prod(np.cos((angles[:, None] - angles[None]) / 2) ** 2, axis=2)
    np.testing.assert_allclose(kernel, expected, rtol=0, atol=1e-12)


def test_a_point_need_not_touch_every_wire(qml):
    def wanders(x):
        qml.RX(x[0], wires=0)
        qml.RX(float(x[1]), wires="first" if x[0] < 0.2 else "second")

    X = np.array([[0.1, 0.2], [0.3, 0.4]])
    kernel = StatevectorBackend(X, wanders).kernel()
    expected = np.prod(np.cos([0.1, 0.1, 0.2]) ** 2)  # half of 0.2, 0.2 and 0.4
    np.testing.assert_allclose(kernel[0, 1], expected, rtol=0, atol=1e-12)


def test_pennylane_bad_functions(qml):
    X = [[0.1, 0.2], [0.3, 0.4]]

    def measures(x):
        qml.RX(x[0], wires=0)
        return qml.expval(qml.PauliZ(0))

    def measures_midway(x):
        qml.RX(x[0], wires=0)
        qml.measure(0)

    node = qml.QNode(measures, qml.device("default.qubit", wires=1))
    for function, message in [
        (measures, "measures"),
        (measures_midway, "measures"),
        (node, "QNode"),
        (lambda x: None, "applied no gates"),
    ]:
        with pytest.raises(InputError, match=message):
            StatevectorBackend(X, function).kernel()
