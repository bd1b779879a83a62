"""How long maps of 60 to 156 qubits take on one core, and how much memory.

Each figure is of a process of its own, in CPU time.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from time import process_time
from typing import TYPE_CHECKING

import numpy as np

from aqka_research.benchmarks.bars import Bar, bar_table
from aqka_research.figures.page import PageRun

if TYPE_CHECKING:
    from qiskit import QuantumCircuit

POINTS, SHOTS, SEED = 200, 300, 0


def zz_line(repetitions: int) -> "QuantumCircuit":
    """Return the ZZ map on a line of 100 qubits."""
    from aqka.backends.feature_maps import built_in_map

    return built_in_map("zz", 100, repetitions)


def heisenberg_line() -> "QuantumCircuit":
    """Return random one-qubit gates and 4 layers of Heisenberg couplings on 100 qubits."""
    from qiskit import QuantumCircuit
    from qiskit.circuit import ParameterVector

    x, rng = ParameterVector("x", 100), np.random.default_rng(SEED)
    circuit = QuantumCircuit(100)
    for qubit in range(100):
        circuit.u(*rng.uniform(0, np.pi, 3), qubit)
    for layer in range(4):
        for a in range(layer % 2, 99, 2):
            for gate in (circuit.rxx, circuit.ryy, circuit.rzz):
                gate(x[a], a, a + 1)
    circuit.rz(x[99], 99)
    return circuit


def heavy_hex() -> "QuantumCircuit":
    """Return two layers of RY, RZ and CZ on all couplers of a Heron, 156 qubits, and a last RY."""
    from qiskit import QuantumCircuit
    from qiskit.circuit import ParameterVector
    from qiskit_ibm_runtime.fake_provider import FakeFez

    edges = sorted({tuple(sorted(pair)) for pair in FakeFez().coupling_map.get_edges()})
    x, circuit = ParameterVector("x", 156), QuantumCircuit(156)
    for layer in range(3):
        for qubit in range(156):
            circuit.ry(x[qubit], qubit)
        for qubit in range(156 * (layer < 2)):
            circuit.rz(x[qubit], qubit)
        for a, b in edges * (layer < 2):
            circuit.cz(a, b)
    return circuit


MAPS: dict[str, tuple[Callable[[], "QuantumCircuit"], float]] = {
    "ZZ line of 100 qubits, 2 repetitions": (lambda: zz_line(2), 1.1),
    "ZZ line of 100 qubits, 3 repetitions": (lambda: zz_line(3), 2.6),
    "ZZ line of 100 qubits, 4 repetitions": (lambda: zz_line(4), 18.0),
    "Heisenberg line of 100 qubits, 4 layers": (heisenberg_line, 3.8),
    "RY–CZ on a heavy hex of 156 qubits, 2 layers": (heavy_hex, 2.1),
}
"""Each with the seconds to stay below."""
MODELS = {(100, "projected"): 20.0, (100, "projected-2"): 20.0, (60, "projected-2"): 10.0}
"""Qubits and kernel of points, and the seconds to stay below."""


def compute(name: str) -> tuple[float, float]:
    """Return CPU seconds of all one-qubit states of a map, and the peak memory in GB."""
    from aqka.backends import LightConeBackend

    circuit = MAPS[name][0]()
    X = np.random.default_rng(SEED).uniform(0, np.pi, (POINTS, circuit.num_parameters))
    start = process_time()
    LightConeBackend(X, circuit).expectations(np.zeros((0, 2), dtype=np.int64))
    return process_time() - start, _peak()


def learn(n_qubits: int, kernel: str) -> tuple[float, float]:
    """Return CPU seconds of a fit and of as many predictions, and the peak memory in GB."""
    from aqka import Points, QuantumRidgeClassifier

    X = np.random.default_rng(SEED).uniform(0.2, 1.2, (2 * POINTS, n_qubits))
    y = np.where(X[:, :5].mean(axis=1) > 0.7, "high", "low")
    budget, design = POINTS * SHOTS, Points(kernel)
    model = QuantumRidgeClassifier("zz", "light-cone", budget=budget, design=design)
    start = process_time()
    model.fit(X[:POINTS], y[:POINTS]).predict(X[POINTS:], budget=budget)
    return process_time() - start, _peak()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9  # Linux reports KiB


def in_a_process(function: str, *arguments: object) -> tuple[float, float]:
    """Measure in a process of its own, on one thread."""
    code = f"import json, {__spec__.name} as m; print(json.dumps(m.{function}(*{arguments!r})))"
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=one_thread)
    seconds, peak = json.loads(out.stdout)
    return seconds, peak


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    run.seeds.add(SEED)
    bars = []
    for name, (_, most) in [*MAPS.items()][: run.pick(None, 1, 1)]:
        seconds, peak = in_a_process("compute", name)
        words = f"{seconds:.1f} s, {peak:.2f} GB"
        title = f"{name}: exact states of {POINTS} points"
        bars.append(Bar(title, words, f"≤ {most:g} s", seconds <= most))
    for (n_qubits, kernel), most in [*MODELS.items()][: run.pick(None, 0, 0)]:
        seconds, peak = in_a_process("learn", n_qubits, kernel)
        words = f"{seconds:.1f} s, {peak:.2f} GB"
        title = f"{n_qubits} qubits, {kernel}: fit and predict {POINTS} points, {SHOTS} shots each"
        bars.append(Bar(title, words, f"≤ {most:g} s and 1 GB", seconds <= most and peak <= 1))
    return [
        "# Many qubits",
        "CPU time and peak memory of the light-cone simulator on one core; each row is a process "
        "of its own.",
        bar_table(bars),
    ]
