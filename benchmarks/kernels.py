"""The exact kernel side by side with its peers, and with the bare matrix product of the states.

Run ``python benchmarks/kernels.py``. All timings are of one thread, in one run, on the same data;
peers that are not installed are left out with a note (``pip install 'aqka[peers]'``).
"""

import json
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from aqka.backends.statevector import StatevectorBackend

Row = dict[str, Any]
Kernel = Callable[[np.ndarray], np.ndarray]

GIB = 2**30


def measure(*, quick: bool = False, memory: bool = True) -> list[Row]:
    """Return one row per comparison: what, ratio, target and whether it was met.

    Parameters
    ----------
    quick
        A tenth of the points; for a smoke test, not for numbers.
    memory
        Whether to run the large case (5000 points, 12 qubits) in a process of its own.
    """
    scale = 10 if quick else 1
    rows: list[Row] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n_qubits, n_points in ((4, 1000), (8, 1000), (12, 1000)):
            rows.append(against_product(n_qubits, n_points // scale))
        for n_qubits, n_points, target in ((4, 1000, 100.0), (12, 500, 20.0)):
            case = n_qubits, n_points // scale
            rows.append(against("qiskit_machine_learning", qiskit_kernel, *case, target))
        rows.append(against("qulacs", qulacs_kernel, 4, 1000 // scale))
        rows.append(against("qulacs", qulacs_kernel, 12, 500 // scale))
        # Pair by pair: minutes at a thousand points.
        rows.append(against("squlearn", squlearn_kernel, 4, 200 // scale))
    if quick:  # the targets are for the full sizes
        rows = [{**row, "target": None, "met": None} for row in rows]
    if memory:
        rows.append(peak_memory(5000 // scale, 12))
    return rows


def against_product(n_qubits: int, n_points: int) -> Row:
    """Compare all of the kernel's work with the complex product of the finished states."""
    X = data(n_points, n_qubits)
    states = np.ascontiguousarray(StatevectorBackend(X).states())
    product = best_of(5, lambda: states @ states.conj().T)
    ours = best_of(5, lambda: StatevectorBackend(X).kernel())
    # A 4-qubit product takes milliseconds, so there the target is left open.
    target = 3.0 if n_qubits >= 8 else None
    ratio = ours / product
    return {
        "what": "time over the bare product of the states",
        "n_qubits": n_qubits,
        "n_points": n_points,
        "aqka_seconds": ours,
        "other_seconds": product,
        "ratio": ratio,
        "target": None if target is None else f"<= {target:g}",
        "met": None if target is None else ratio <= target,
    }


def against(
    peer: str, kernel: Kernel, n_qubits: int, n_points: int, target: float | None = None
) -> Row:
    """Compare with a peer's way to the same kernel, once, after a warm-up on three points."""
    if find_spec(peer) is None:
        return {"what": f"speed-up over {peer}", "note": f"{peer} is not installed"}
    X = data(n_points, n_qubits)
    kernel(X[:3])
    start = perf_counter()
    theirs = kernel(X)
    other = perf_counter() - start
    ours = best_of(3, lambda: StatevectorBackend(X).kernel())
    ratio = other / ours
    return {
        "what": f"speed-up over {peer}",
        "n_qubits": n_qubits,
        "n_points": n_points,
        "aqka_seconds": ours,
        "other_seconds": other,
        "ratio": ratio,
        "target": None if target is None else f">= {target:g}",
        "met": None if target is None else ratio >= target,
        "max_difference": float(np.abs(theirs - StatevectorBackend(X).kernel()).max()),
    }


def peak_memory(n_points: int, n_qubits: int) -> Row:
    """Measure a large kernel's peak memory in a process of its own."""
    command = [sys.executable, __file__, "--peak-memory", str(n_points), str(n_qubits)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, seconds = json.loads(answer)
    return {
        "what": "peak memory in GiB",
        "n_qubits": n_qubits,
        "n_points": n_points,
        "aqka_seconds": seconds,
        "ratio": peak,
        "target": "<= 8",
        "met": peak <= 8,
    }


def report_peak_memory(n_points: int, n_qubits: int) -> None:
    """Compute one kernel and print this process's peak memory in GiB and the seconds taken."""
    X = data(n_points, n_qubits)
    start = perf_counter()
    StatevectorBackend(X).kernel()
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts in KiB, macOS in bytes.
    print(json.dumps([peak * (1 if sys.platform == "darwin" else 1024) / GIB, seconds]))


def data(n_points: int, n_features: int) -> np.ndarray:
    """Return the points of every comparison."""
    return np.random.default_rng(0).uniform(0, np.pi, size=(n_points, n_features))


def best_of(repeats: int, function: Callable[[], object]) -> float:
    """Return the shortest of several timings, in seconds."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def zz_circuit(n_qubits: int) -> Any:
    """Return the ZZ map as a Qiskit circuit."""
    from qiskit.circuit.library import zz_feature_map

    return zz_feature_map(n_qubits, reps=2, entanglement="linear")


def qiskit_kernel(X: np.ndarray) -> np.ndarray:
    """Qiskit Machine Learning's kernel from statevectors."""
    from qiskit_machine_learning.kernels import FidelityStatevectorKernel

    return FidelityStatevectorKernel(feature_map=zz_circuit(X.shape[1])).evaluate(X)


def squlearn_kernel(X: np.ndarray) -> np.ndarray:
    """sQUlearn's fidelity kernel on its default simulator."""
    from squlearn import Executor
    from squlearn.encoding_circuit import QiskitEncodingCircuit
    from squlearn.kernel import FidelityKernel

    circuit = QiskitEncodingCircuit(zz_circuit(X.shape[1]), mode="features")
    return FidelityKernel(circuit, Executor("pennylane")).evaluate(X)


def qulacs_kernel(X: np.ndarray) -> np.ndarray:
    """A loop over points in qulacs and one product: what one would write by hand."""
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
    return np.abs(states.conj() @ states.T) ** 2


def main() -> None:
    """Print the rows."""
    if sys.argv[1:2] == ["--peak-memory"]:
        report_peak_memory(int(sys.argv[2]), int(sys.argv[3]))
        return
    for row in measure(quick="--quick" in sys.argv):
        print(json.dumps(row))


if __name__ == "__main__":
    main()
