"""The exact kernel side by side with its peers, and with the bare matrix product of the states.

All timings are of one thread, in one run, on the same data; peers that are not installed are left
out with a note (``pip install './research[peers]'`` in a clone).
"""

import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.backends.statevector import StatevectorBackend
from aqka_research.benchmarks.bars import Bar, faster, fastest, times
from aqka_research.figures.page import PageRun

Kernel = Callable[[np.ndarray], np.ndarray]


FASTER = ((4, 1000, 1000.0), (8, 1000, 200.0), (12, 500, 50.0))
"""Qubits, points, and how many times faster than Qiskit Machine Learning."""
IN_A_ROW = 10
"""Kernels of ours that are timed together."""
PRODUCT = 1.5
"""Times of the bare product of the states that a whole kernel may take."""


def measure(run: PageRun) -> list[Bar]:
    """Measure every comparison."""
    small = run.size != "full"
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' deprecations are not the subject
        bars = [
            against_product(n, run.pick(1000, 200, 50)) for n in run.pick((4, 8, 12), (4,), (4,))
        ]
        if run.size == "tiny":
            return bars
        for n_qubits, n_points, target in FASTER[: 1 if small else None]:
            size = (n_qubits, 50 if small else n_points, None if small else target)
            bars.append(against("qiskit_machine_learning", statevector_kernel, *size))
        for peer, kernel, n_qubits, n_points in (
            ("pennylane", pennylane_kernel, 4, 1000),
            ("pennylane", pennylane_kernel, 8, 1000),
            ("qulacs", qulacs_kernel, 4, 1000),
            ("qulacs", qulacs_kernel, 12, 500),
            ("squlearn", squlearn_kernel, 4, 200),  # minutes at a thousand points
        ):
            bars.append(against(peer, kernel, n_qubits, 20 if small else n_points))
    return bars if small else [*bars, peak_memory(5000, 12)]


def against_product(n_qubits: int, n_points: int) -> Bar:
    """Compare all of the kernel's work with the complex product of the finished states."""
    X = data(n_points, n_qubits)
    states = np.ascontiguousarray(StatevectorBackend(X).states())
    product, ours = fastest(
        [lambda: states @ states.conj().T, lambda: StatevectorBackend(X).kernel()], repeats=15
    )
    return Bar(
        f"exact kernel, {n_qubits} qubits, N = {n_points}, beside the bare product of the states",
        f"{times(ours / product)} its time, {1e3 * ours:.3g} ms",
        f"≤ {PRODUCT} ×",
        ours <= PRODUCT * product,
    )


def against(
    peer: str, kernel: Kernel, n_qubits: int, n_points: int, target: float | None = None
) -> Bar:
    """Compare with a peer's way to the same kernel, after a warm-up on three points."""
    what = peer_title(kernel, n_qubits, n_points)
    if find_spec(peer) is None:
        return Bar(what, f"{peer} is not installed")
    X = data(n_points, n_qubits)
    kernel(X[:3])

    def mine() -> None:
        for _ in range(IN_A_ROW):  # too short to be timed alone, and the first finds cold caches
            StatevectorBackend(X).kernel()

    other, ours = fastest([lambda: kernel(X), mine], repeats=4)
    difference = float(np.abs(kernel(X) - StatevectorBackend(X).kernel()).max())
    return peer_bar(what, other, ours / IN_A_ROW, difference, target)


def peer_title(kernel: Kernel, n_qubits: int, n_points: int) -> str:
    """Return what a comparison with a peer is called."""
    return f"exact kernel, {n_qubits} qubits, N = {n_points}, beside {kernel.__doc__}"


def peer_bar(what: str, other: float, ours: float, difference: float, target: float | None) -> Bar:
    """Return a peer's seconds beside ours; the summary quotes the first of them."""
    return Bar(
        what,
        f"{faster(other / ours)} ({other:.3g} s against {ours:.3g} s; largest difference "
        f"{difference:.0e})",
        "" if target is None else f"≥ {target:,.0f} ×",
        None if target is None else other >= target * ours,
    )


def peak_memory(n_points: int, n_qubits: int) -> Bar:
    """Measure a large kernel's peak memory in a process of its own."""
    code = f"from {__name__} import run_large; run_large({n_points}, {n_qubits})"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, seconds = (float(word) for word in out.stdout.split())
    return Bar(
        f"peak memory of an exact kernel, {n_qubits} qubits, N = {n_points}",
        f"{peak:.2f} GiB ({seconds:.0f} s)",
        "≤ 8 GiB",
        peak <= 8,
    )


def run_large(n_points: int, n_qubits: int) -> None:
    """Compute one kernel and print this process's peak memory in GiB and the seconds taken."""
    X = data(n_points, n_qubits)
    (seconds,) = fastest([lambda: StatevectorBackend(X).kernel()], repeats=1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # Linux reports KiB
    print(peak, seconds)


def data(n_points: int, n_features: int) -> np.ndarray:
    """Return the points of every comparison."""
    return np.random.default_rng(0).uniform(0, np.pi, size=(n_points, n_features))


def zz_circuit(n_qubits: int) -> Any:
    """Return the ZZ map as a Qiskit circuit."""
    from qiskit.circuit.library import zz_feature_map

    return zz_feature_map(n_qubits, reps=2, entanglement="linear")


def statevector_kernel(X: np.ndarray) -> np.ndarray:
    """Qiskit Machine Learning's FidelityStatevectorKernel"""
    from qiskit_machine_learning.kernels import FidelityStatevectorKernel

    return np.asarray(FidelityStatevectorKernel(feature_map=zz_circuit(X.shape[1])).evaluate(X))


def squlearn_kernel(X: np.ndarray) -> np.ndarray:
    """sQUlearn's FidelityKernel"""
    from squlearn import Executor
    from squlearn.encoding_circuit import QiskitEncodingCircuit
    from squlearn.kernel import FidelityKernel

    circuit = QiskitEncodingCircuit(zz_circuit(X.shape[1]), mode="features")
    return np.asarray(FidelityKernel(circuit, Executor("pennylane")).evaluate(X))


def pennylane_kernel(X: np.ndarray) -> np.ndarray:
    """PennyLane with parameter broadcasting"""
    import pennylane as qml

    wires = range(X.shape[1])

    def state(x: np.ndarray) -> Any:
        for _ in range(2):
            for i in wires:
                qml.Hadamard(i)
                qml.PhaseShift(2 * x[i], i)
            for i in wires[:-1]:
                qml.CNOT([i, i + 1])
                qml.PhaseShift(2 * (np.pi - x[i]) * (np.pi - x[i + 1]), i + 1)
                qml.CNOT([i, i + 1])
        return qml.state()

    device = qml.device("default.qubit", wires=wires)
    states = np.asarray(qml.QNode(state, device, diff_method=None)(X.T))
    return np.asarray(np.abs(states.conj() @ states.T) ** 2)


def qulacs_kernel(X: np.ndarray) -> np.ndarray:
    """a loop over points in qulacs"""
    import qulacs

    n_qubits = X.shape[1]
    states = np.empty((len(X), 2**n_qubits), dtype=complex)
    state = qulacs.QuantumState(n_qubits)
    for k, x in enumerate(X):
        circuit = qulacs.QuantumCircuit(n_qubits)
        for _ in range(2):
            for i in range(n_qubits):
                circuit.add_H_gate(i)
                circuit.add_U1_gate(i, 2 * x[i])
            for i in range(n_qubits - 1):
                circuit.add_CNOT_gate(i, i + 1)
                circuit.add_U1_gate(i + 1, 2 * (np.pi - x[i]) * (np.pi - x[i + 1]))
                circuit.add_CNOT_gate(i, i + 1)
        state.set_zero_state()
        circuit.update_quantum_state(state)
        states[k] = state.get_vector()
    return np.asarray(np.abs(states.conj() @ states.T) ** 2)
