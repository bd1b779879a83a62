"""Our projected kernel beside sQUlearn's ``ProjectedQuantumKernel``: same circuit, same points.

First both without shots, which must agree; then both with shots, an SVM on each kernel. sQUlearn's
γ = 1 of squared differences of expectations is our γ = 2 of squared distances of states.
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.designs.projected import tuned_gamma
from aqka.estimates.projected import gaussian_projected_kernel
from aqka.estimates.reduced_states import ReducedStates
from aqka_research.benchmarks.bars import Bar, faster, fastest
from aqka_research.benchmarks.classical import MAJORITY, best_and_majority, labels_without_shots
from aqka_research.benchmarks.projected import EXACT, TASKS, C, measured, split

N_TRAIN, N_TEST = 60, 60
SHOTS_PER_SETTING = 32


def iqp_circuit(n_qubits: int):  # type: ignore[no-untyped-def]
    """Return the benchmark's IQP map as a Qiskit circuit; its angles are π/2 times the data."""
    from qiskit import QuantumCircuit
    from qiskit.circuit import ParameterVector

    circuit, x = QuantumCircuit(n_qubits), ParameterVector("x", n_qubits)
    for _ in range(2):
        circuit.h(range(n_qubits))
        for i in range(n_qubits):
            circuit.rz(np.pi / 2 * x[i], i)
        for i in range(n_qubits - 1):
            circuit.rzz((np.pi / 2) ** 2 * x[i] * x[i + 1], i, i + 1)
    return circuit


def squlearn_kernels(
    X: FloatArray, new: FloatArray, shots: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return sQUlearn's training kernel and the new points' rows."""
    from squlearn import Executor
    from squlearn.encoding_circuit import QiskitEncodingCircuit
    from squlearn.kernel import ProjectedQuantumKernel

    executor = Executor("pennylane", shots=shots, seed=0)
    circuit = QiskitEncodingCircuit(iqp_circuit(X.shape[1]), mode="x")
    kernel = ProjectedQuantumKernel(circuit, executor, measurement="XYZ", gamma=1.0)
    return np.asarray(kernel.evaluate(X)), np.asarray(kernel.evaluate(new, X))


def _accuracy(kernel: FloatArray, rows: FloatArray, y: FloatArray) -> float:
    from sklearn.svm import SVC

    svm = SVC(C=C, kernel="precomputed").fit(kernel, y[:N_TRAIN])
    return float(svm.score(rows, y[N_TRAIN:]))


def _ours(states: ReducedStates, gamma: float, keep_noise: bool) -> tuple[FloatArray, FloatArray]:
    train, new = states.subset(slice(N_TRAIN)), states.subset(slice(N_TRAIN, None))
    return (
        gaussian_projected_kernel(train, gamma, keep_noise=keep_noise),
        gaussian_projected_kernel(new, gamma, train, keep_noise=keep_noise),
    )


def measure() -> list[Bar]:
    """Compare exact kernels, and kernels and accuracies from shots."""
    _, source, n_qubits, states_of, _ = TASKS[0]
    X, y, _ = split(source, n_qubits, seed=0)
    X, y = X[: N_TRAIN + N_TEST], y[: N_TRAIN + N_TEST]
    exact = squlearn_kernels(X[:N_TRAIN], X[N_TRAIN:], None)
    many = measured(states_of(X), EXACT, np.random.default_rng(0))
    ours = _ours(many, 2.0, keep_noise=False)
    difference = max(np.abs(a - b).max() for a, b in zip(ours, exact, strict=True))
    found: dict[str, tuple[FloatArray, FloatArray]] = {}

    def theirs() -> None:
        found["sQUlearn"] = squlearn_kernels(X[:N_TRAIN], X[N_TRAIN:], SHOTS_PER_SETTING)

    def own() -> None:
        states = measured(states_of(X), 3 * SHOTS_PER_SETTING, np.random.default_rng(1))
        gamma = tuned_gamma(states.subset(slice(N_TRAIN)), y[:N_TRAIN])
        found["noise kept"] = _ours(states, 2.0, keep_noise=True)
        found["noise removed"] = _ours(states, 2.0, keep_noise=False)
        found["noise kept, γ tuned"] = _ours(states, gamma, keep_noise=True)

    seconds, own_seconds = fastest([theirs, own], repeats=2)
    errors = [
        f"{name} {np.sqrt(np.mean((found[name][0] - exact[0]) ** 2)):.3f}"
        for name in list(found)[:3]
    ]
    accuracies = [f"{name} {_accuracy(*kernels, y):.3f}" for name, kernels in found.items()]
    free = labels_without_shots(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:])
    right = {name: float(np.mean(labels == y[N_TRAIN:])) for name, labels in free.items()}
    best, majority = best_and_majority([right])
    accuracies.append(f"best of {len(free) - 1} [classical models](classical.md) {best:.3f}")
    accuracies.append(f"{MAJORITY} {majority:.3f}")
    where = f"projected kernel, {n_qubits} qubits, {N_TRAIN} + {N_TEST} points, beside sQUlearn's"
    shots = f"{where}, {3 * SHOTS_PER_SETTING} shots a point"
    return [
        Bar(where + ", exact", f"largest difference {difference:.4f} at {EXACT:,} shots here"),
        Bar(f"{shots}: time", f"{faster(seconds / own_seconds)} ({seconds:.0f} s there)"),
        Bar(f"{shots}: root mean square error of the training kernel", ", ".join(errors)),
        Bar(f"{shots}: accuracy of one draw", ", ".join(accuracies)),
    ]
