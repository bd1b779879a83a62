"""How good the kernel of fitted states is, in shots on every pair.

A kernel from S shots a point has some mean squared error; s shots on every pair have
mean K(1 - K) / s. The s at which both are equal says what S is worth. Beside it stands what
:mod:`aqka.maths.point_law` predicts from the mean and the mean square of the exact kernel.
"""

from collections.abc import Callable, Sequence

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.backends.statevector import StatevectorBackend
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.maths.point_law import equivalent_pair_shots, kernel_error, shot_variance
from aqka.maths.product_bases import ProductBases
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.sweep.store import Cell, Result, stable_name

QUBITS = (2, 4, 6, 8)
SHOTS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
POINTS = 60
SEEDS = (0, 1)


def zz_map(x: FloatArray) -> ComplexArray:
    """Return the states of the paper's ZZ map."""
    return StatevectorBackend(np.pi * x).states()


def _circuit_states(x: FloatArray, layers: Callable[..., None], scale: float) -> ComplexArray:
    from qiskit import QuantumCircuit
    from qiskit.circuit import ParameterVector

    n = x.shape[1]
    circuit, values = QuantumCircuit(n), ParameterVector("x", n)
    for _ in range(2):
        layers(circuit, values, n)
    return StatevectorBackend(scale * x, circuit).states()


def iqp_map(x: FloatArray) -> ComplexArray:
    """Return the states of two layers of H, RZ(x_i) and RZZ(x_i x_j) between neighbours."""

    def layers(circuit, values, n):  # type: ignore[no-untyped-def]
        circuit.h(range(n))
        for i in range(n):
            circuit.rz(values[i], i)
        for i in range(n - 1):
            circuit.rzz(values[i] * values[i + 1], i, i + 1)

    return _circuit_states(x, layers, np.pi)


def ry_cz_map(x: FloatArray) -> ComplexArray:
    """Return the states of two layers of RY(x_i) and CZ between neighbours: real amplitudes."""

    def layers(circuit, values, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            circuit.ry(values[i], i)
        for i in range(n - 1):
            circuit.cz(i, i + 1)

    return _circuit_states(x, layers, np.pi)


def rx_rzz_map(x: FloatArray) -> ComplexArray:
    """Return the states of two layers of RX(x_i), RZ(x_i) and RZZ(π/3) between neighbours."""

    def layers(circuit, values, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            circuit.rx(values[i], i)
            circuit.rz(values[i], i)
        for i in range(n - 1):
            circuit.rzz(np.pi / 3, i, i + 1)

    return _circuit_states(x, layers, np.pi)


MAPS = {"ZZ": zz_map, "IQP": iqp_map, "RY-CZ": ry_cz_map, "RX-RZZ": rx_rzz_map}


def measured(states: ComplexArray, shots: int, random: np.random.Generator) -> PointTable:
    """Return the counts of ``shots`` shots a point, spread over the settings."""
    settings = choose_settings(int(np.log2(states.shape[1])), seed=0)
    p = np.abs(ProductBases(settings).amplitudes(states)) ** 2
    p /= p.sum(axis=2, keepdims=True)
    plan = even_plan(np.arange(len(states)), settings, shots)
    table = PointTable(len(states), settings)
    counts = random.multinomial(plan.shots, p[plan.points, plan.settings])
    table.add(plan, OutcomeCounts.of_dense(counts))
    return table


def exact_entries(states: ComplexArray) -> FloatArray:
    """Return the exact kernel's entries above the diagonal."""
    upper = np.triu_indices(len(states), k=1)
    return np.asarray((np.abs(states @ states.conj().T) ** 2)[upper])


def mean_squared_error(states: ComplexArray, shots: int, seed: int) -> float:
    """Return the mean squared error of the kernel of states fitted to ``shots`` shots each."""
    table = measured(states, shots, np.random.default_rng([seed, shots]))
    upper = np.triu_indices(len(states), k=1)
    error = fit_states(table).kernel()[upper] - exact_entries(states)
    return float(np.mean(error**2))


def worth(states: ComplexArray, shots: int, seeds: Sequence[int] = SEEDS) -> float:
    """Return the shots on every pair that would give the same mean squared error."""
    error = np.mean([mean_squared_error(states, shots, seed) for seed in seeds])
    return float(shot_variance(exact_entries(states)) / error)


@stable_name("benchmarks.point_law:measure")
def measure(cell: Cell) -> Result:
    """Return mean K, and at every S the worth in pair shots, the law's, and the ratio of errors."""
    n = cell["qubits"]
    states = MAPS[cell["map"]](np.random.default_rng(n).random((POINTS, n)))
    entries = exact_entries(states)
    found = []
    for shots in cell["shots"]:
        value = worth(states, shots)
        law = equivalent_pair_shots(n, shots, entries)
        found.append((value, law, kernel_error(n, shots, entries) * value / shot_variance(entries)))
    return {"mean": float(np.mean(entries)), "found": found}


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    qubits, levels = run.pick((QUBITS, SHOTS), ((2, 4), SHOTS[::4]), ((2,), SHOTS[:1]))
    cells: list[Cell] = [
        {"qubits": n, "map": name, "shots": list(levels)} for n in reversed(qubits) for name in MAPS
    ]
    rows, misses = [], {False: [0.0], True: [0.0]}
    for cell, one in sorted(
        zip(cells, run.cells(measure, cells), strict=True), key=lambda pair: pair[0]["qubits"]
    ):
        shown = [f"{value:.0f} ({law:.0f})" for value, law, _ in one["found"]]
        rows.append((str(cell["qubits"]), cell["map"], f"{one['mean']:.3f}", *shown))
        for shots, (_, _, ratio) in zip(levels, one["found"], strict=True):
            misses[shots >= 4 * 2 ** cell["qubits"]].append(float(np.log(ratio)))
    off = {
        above: (np.sqrt(np.mean(np.square(logs[1:]))), np.abs(logs).max())
        for above, logs in misses.items()
        if len(logs) > 1
    }
    words = [
        f"by {np.expm1(typical):.0%} (at most {np.expm1(most):.0%}) "
        f"{'from S = 4·2ⁿ on' if above else 'below S = 4·2ⁿ'}"
        for above, (typical, most) in sorted(off.items(), reverse=True)
    ]
    return [
        "## Error of the kernel",
        f"{POINTS} points and {len(SEEDS)} seeds a row. Figures are the shots a pair with the same "
        "mean squared error; in brackets, those of "
        "[the law](../explanation/points.md#how-good-it-is).",
        table(("qubits", "map", "mean K", *(f"S = {shots:,}" for shots in levels)), rows),
        "The law's squared error is typically off " + " and ".join(words) + ". By the law, lost "
        "fidelity hurts more where the kernel's entries are large. Below S = 4·2ⁿ a fit returns "
        "about 1/d everywhere, which is close to a kernel with small entries but says little about "
        "it, so read these columns with care.",
    ]
