"""How good the kernel of fitted states is, in shots on every pair.

Run it with ``python -m benchmarks.point_law``; it takes about a minute.

A kernel from S shots a point has some mean squared error; s shots on every pair have
mean K(1 - K) / s. The s at which both are equal says what S is worth.
"""

from collections.abc import Callable

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends.statevector import StatevectorBackend
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.maths.product_bases import ComplexArray, ProductBases

QUBITS = (2, 4, 6)
SHOTS = (128, 256, 512, 1024, 2048, 4096)
POINTS = 80
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


def worth(states: ComplexArray, shots: int, seed: int) -> float:
    """Return the shots on every pair that would give the same mean squared error."""
    table = measured(states, shots, np.random.default_rng([seed, shots]))
    upper = np.triu_indices(len(states), k=1)
    exact = (np.abs(states @ states.conj().T) ** 2)[upper]
    error = fit_states(table).kernel()[upper] - exact
    return float(np.mean(exact * (1 - exact)) / np.mean(error**2))


def main() -> None:
    """Measure and print a Markdown table: pair shots s, and S/s in brackets."""
    header = ["qubits", "map", *(f"S = {shots}" for shots in SHOTS)]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for n in QUBITS:
        for name, states_of in MAPS.items():
            x = np.random.default_rng(n).random((POINTS, n))
            states = states_of(x)
            cells = []
            for shots in SHOTS:
                s = np.exp(np.mean([np.log(worth(states, shots, seed)) for seed in SEEDS]))
                cells.append(f"{s:.0f} ({shots / s:.1f})")
            print("| " + " | ".join([str(n), name, *cells]) + " |", flush=True)


if __name__ == "__main__":
    main()
