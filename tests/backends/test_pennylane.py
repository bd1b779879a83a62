import importlib
import pickle

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import ParameterVector

from aqka import InputError, acquire
from aqka._util import optional
from aqka.backends.feature_maps import built_in_map
from aqka.backends.pennylane import PennylaneBackend
from aqka.core import ShotPlan

qml = importlib.import_module("pennylane")

X = np.random.default_rng(7).uniform(0, 1, (6, 2))
Z = np.random.default_rng(8).uniform(0, 1, (3, 2))
DEVICES = ["default.qubit", "lightning.qubit", "default.mixed"]


def zz(x):
    for _ in range(2):
        for k in range(2):
            qml.Hadamard(k)
            qml.PhaseShift(2 * x[k], wires=k)
        qml.CNOT([0, 1])
        qml.PhaseShift(2 * (np.pi - x[0]) * (np.pi - x[1]), wires=1)
        qml.CNOT([0, 1])


def angles(x):
    qml.AngleEmbedding(x, wires=range(2))


def uneven(x):
    """Applies a gate to some points only, so that points cannot share a tape."""
    qml.RX(x[0], wires=0)
    if x[1] > 0.5:
        qml.RY(x[1], wires=1)


def kernel(feature_map, rows, cols):
    def state(x):
        @qml.qnode(qml.device("default.qubit", wires=2))
        def circuit():
            qml.Identity(0)
            qml.Identity(1)
            feature_map(x)
            return qml.state()

        return circuit()

    left, right = (np.array([state(x) for x in points]) for points in (rows, cols))
    return np.abs(left.conj() @ right.T) ** 2


def run(backend, plan, tag="t"):
    return backend.collect(backend.submit(plan, tag))


def full_plan(rows, cols, shots):
    i, j = np.divmod(np.arange(rows * cols), cols)
    return ShotPlan(i, j, shots)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("feature_map", [zz, angles, uneven])
def test_means_agree_with_the_kernel(device, feature_map):
    backend = PennylaneBackend(X, feature_map, device, columns=Z, seed=3)
    shots = 200 + 50 * (np.arange(18) % 4)
    hits = run(backend, full_plan(6, 3, shots))
    truth = kernel(feature_map, X, Z).ravel()
    assert np.all((hits >= 0) & (hits <= shots))
    deviation = (hits - shots * truth) ** 2 / (shots * truth * (1 - truth) + 1e-9)
    assert deviation.sum() < 42.3  # the 99.9 % quantile of chi-square with 18 degrees


def test_the_zz_map_is_qiskits():
    quantum_info = importlib.import_module("qiskit.quantum_info")
    circuit = built_in_map("zz", 2)
    states = [quantum_info.Statevector(circuit.assign_parameters(x)) for x in X]
    expected = [[abs(a.inner(b)) ** 2 for b in states] for a in states]
    np.testing.assert_allclose(kernel(zz, X, X), expected, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_equal_pairs_of_one_plan_are_independent(device):
    backend = PennylaneBackend(X, zz, device, seed=1)
    hits = run(backend, ShotPlan(np.zeros(200), np.ones(200), np.full(200, 20)))
    p = kernel(zz, X, X)[0, 1]
    assert hits.var() == pytest.approx(20 * p * (1 - p), rel=0.4)


@pytest.mark.parametrize("device", DEVICES)
def test_hits_depend_on_seed_and_tag(device):
    plan = full_plan(6, 6, np.full(36, 50))
    first, second = (PennylaneBackend(X, zz, device, seed=5) for _ in range(2))
    run(second, plan, "before")
    assert run(first, plan, "a").tolist() == run(second, plan, "a").tolist()
    assert run(first, plan, "a").tolist() != run(first, plan, "b").tolist()
    other = PennylaneBackend(X, zz, device, seed=6)
    assert run(other, plan, "a").tolist() != run(first, plan, "a").tolist()


def test_depolarising_noise_lowers_the_diagonal():
    """Qiskit's λ is PennyLane's p times 4/3; after four noisy CNOT on each side of two wires."""
    model = qml.NoiseModel(
        {qml.noise.op_in(["CNOT"]): qml.noise.partial_wires(qml.DepolarizingChannel, 0.02)}
    )
    plan = ShotPlan(np.arange(6), np.arange(6), np.full(6, 2000))
    clean = run(PennylaneBackend(X, zz, "default.mixed"), plan)
    noisy = run(PennylaneBackend(X, zz, "default.mixed", noise=model), plan)
    assert clean.tolist() == [2000] * 6
    assert np.all((noisy > 1200) & (noisy < 1990))


def test_a_device_made_by_a_function():
    def make(seed):
        return qml.device("default.qubit", wires=4, seed=seed)

    backend = PennylaneBackend(X, zz, make)
    assert run(backend, ShotPlan([2], [2], [25])).tolist() == [25]


def test_empty_plans():
    backend = PennylaneBackend(X, zz, "default.qubit")
    assert run(backend, ShotPlan([], [], [])).tolist() == []
    assert run(backend, ShotPlan([0], [1], [0])).tolist() == [0]


def test_many_pairs():
    backend = PennylaneBackend(X, angles, "default.qubit")
    count = 20_000
    hits = run(backend, ShotPlan(np.arange(count) % 6, np.arange(count) % 5, np.full(count, 3)))
    truth = kernel(angles, X, X)[np.arange(count) % 6, np.arange(count) % 5]
    assert hits.mean() == pytest.approx(3 * truth.mean(), abs=0.03)


@pytest.mark.parametrize("quantum_sdk", ["pennylane", "qiskit"])
def test_the_last_bits_of_angles_and_matrices_do_not_make_another_backend(quantum_sdk):
    def fingerprint(turn):
        def function(x):
            qml.RY(x[0] + turn, wires=0)
            qml.RZ(np.sin(turn), wires=0)  # 1e-16 where another processor may find 0

        circuit = QuantumCircuit(2)
        for qubit, angle in enumerate(ParameterVector("x", 2)):
            circuit.ry(angle, qubit)
        cosine, sine = np.cos(turn), np.sin(turn)
        circuit.unitary(np.array([[cosine, -sine], [sine, cosine]]), [0])
        feature_map = function if quantum_sdk == "pennylane" else circuit
        return PennylaneBackend(X, feature_map, "default.qubit").fingerprint()

    assert fingerprint(np.pi) == fingerprint(np.pi + 1e-14) == fingerprint(np.pi - 1e-14)
    assert fingerprint(np.pi) != fingerprint(np.pi + 1e-3)


def test_pickling():
    backend = PennylaneBackend(X, zz, "default.qubit", seed=2)
    plan = full_plan(6, 6, np.full(36, 10))
    hits = run(backend, plan, "a")
    copy = pickle.loads(pickle.dumps(backend))
    assert run(copy, plan, "a").tolist() == hits.tolist()


def test_acquire_runs():
    backend = PennylaneBackend(X, zz, "default.qubit", seed=2)
    assert acquire(backend, [1, 1, 1, -1, -1, -1], budget=500).table.total == 500


def measuring(x):
    qml.RX(x[0], wires=0)
    qml.expval(qml.Z(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"feature_map": "zz"}, "feature_map must be a function"),
        ({"feature_map": lambda x: None}, "applied no gates"),
        ({"feature_map": measuring}, "remove the measurement"),
        ({"device": "no.device"}, "device 'no.device' cannot be made"),
        ({"noise": 0.1}, r"noise must be a pennylane\.NoiseModel"),
        ({"X": [[np.nan, 1.0]]}, "NaN or infinite"),
        ({"columns": [[1.0]]}, "columns must have as many features as X, 2"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        PennylaneBackend(**{"X": X, "feature_map": zz, **arguments})


def test_unknown_ticket_and_plan_out_of_range():
    backend = PennylaneBackend(X, zz, "default.qubit")
    with pytest.raises(InputError, match="is unknown"):
        backend.collect("never")
    with pytest.raises(InputError, match="cols of the plan must be below 6"):
        backend.submit(ShotPlan([0], [6], [1]), "t")


def test_missing_extra(monkeypatch):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(optional, "import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'aqka\[pennylane\]'"):
        PennylaneBackend(X, zz)
