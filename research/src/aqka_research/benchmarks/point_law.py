"""How good the kernel of fitted states is, in shots on every pair.

Run it with ``python -m aqka_research.benchmarks.point_law``; it takes about two minutes.

A kernel from S shots a point has some mean squared error; s shots on every pair have
mean K(1 - K) / s. The s at which both are equal says what S is worth. Beside it stands what
:mod:`aqka.maths.point_law` predicts from the mean and the mean square of the exact kernel.
"""

from collections.abc import Callable, Sequence

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends.statevector import StatevectorBackend
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.states import fit_states
from aqka.maths.point_law import KernelSpread, equivalent_pair_shots, kernel_error
from aqka.maths.product_bases import ComplexArray, ProductBases

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
    return float(KernelSpread.of(exact_entries(states)).shot_variance / error)


def main() -> None:
    """Measure and print a Markdown table: pair shots s, and the law's in brackets."""
    header = ["qubits", "map", "mean K", *(f"S = {shots}" for shots in SHOTS)]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    misses = {False: [], True: []}  # type: dict[bool, list[float]]
    for n in QUBITS:
        for name, states_of in MAPS.items():
            states = states_of(np.random.default_rng(n).random((POINTS, n)))
            spread = KernelSpread.of(exact_entries(states))
            cells = []
            for shots in SHOTS:
                found = worth(states, shots)
                law = equivalent_pair_shots(n, shots, spread)
                error = spread.shot_variance / found
                ratio = kernel_error(n, shots, spread) / error
                misses[shots >= 4 * 2**n].append(float(np.log(ratio)))
                cells.append(f"{found:.0f} ({law:.0f})")
            print(
                "| " + " | ".join([str(n), name, f"{spread.mean:.3f}", *cells]) + " |", flush=True
            )
    for above, logs in misses.items():
        size = np.sqrt(np.mean(np.square(logs)))
        where = "from" if above else "below"
        print(
            f"S {where} 4 · 2^n: squared error, law / measured {np.exp(np.mean(logs)):.2f}, "
            f"typically off by {np.expm1(size):.0%}, at most by {np.expm1(np.abs(logs).max()):.0%}"
        )


if __name__ == "__main__":
    main()
