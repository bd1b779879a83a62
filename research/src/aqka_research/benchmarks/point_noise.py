"""Noisy points: what each rank does to the kernel, which one is chosen, and how intervals cover.

Run it with ``python -m aqka_research.benchmarks.point_noise``; it takes about two minutes. The
noise depolarises the whole state. The ``purified`` kernel is compared with the kernel without
noise, the ``device``'s with Tr ρρ' of the noisy states.
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends.statevector import zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.state_errors import bootstrap_kernel_errors, pure_kernel_errors
from aqka.estimates.state_rank import RANKS, choose_rank
from aqka.estimates.states import FittedStates, KernelOf, fit_states
from aqka.maths.product_bases import ComplexArray, ProductBases

N_POINTS = 50
CASES = ((2, 256), (2, 2048), (4, 256), (4, 2048))
NOISE = (0.0, 0.01, 0.03, 0.1, 0.25)
KERNELS: tuple[KernelOf, ...] = ("purified", "device")


def measured(states: ComplexArray, shots: int, noise: float, seed: int) -> PointTable:
    """Return counts of depolarised states."""
    settings = choose_settings(int(np.log2(states.shape[1])), seed=0)
    p = np.abs(ProductBases(settings).amplitudes(states)) ** 2
    p /= p.sum(axis=2, keepdims=True)
    p = (1 - noise) * p + noise / p.shape[2]
    plan = even_plan(np.arange(len(states)), settings, shots)
    counts = np.random.default_rng(seed).multinomial(plan.shots, p[plan.points, plan.settings])
    table = PointTable(len(states), settings)
    table.add(plan, OutcomeCounts.of_dense(counts))
    return table


def exact_kernel(states: ComplexArray, noise: float, kernel_of: KernelOf) -> FloatArray:
    """Return the kernel that is meant."""
    kernel = np.abs(states @ states.conj().T) ** 2
    if kernel_of == "purified":
        return np.asarray(kernel)
    kept = (1 - noise) ** 2
    return np.asarray(kept * kernel + (1 - kept) / states.shape[1])


def coverage(
    table: PointTable, fitted: FittedStates, kernel_of: KernelOf, exact: FloatArray
) -> float:
    """Return how many of the 95 % intervals hold the exact entry."""
    random = np.random.default_rng(1)

    def kernel(states: FittedStates) -> FloatArray:
        return states.behind(kernel_of).kernel()

    if fitted.rank == 1:
        errors = pure_kernel_errors(table, fitted, random, kernel_of=kernel_of)
    else:
        errors = bootstrap_kernel_errors(table, fitted, random, kernel)
    upper = np.triu_indices(table.n_points, k=1)
    z = (kernel(fitted) - errors.bias - exact)[upper] / np.sqrt(errors.variance[upper])
    return float(np.mean(np.abs(z) < 1.96))


def main() -> None:
    """Measure and print a Markdown table."""
    header = ["qubits", "S", "noise", "kernel", *(f"rank {rank}" for rank in RANKS)]
    header += ["chosen", "p", "error ratio foretold", "coverage"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    upper = np.triu_indices(N_POINTS, k=1)
    covered = []
    for n_qubits, shots in CASES:
        states = zz_states(np.random.default_rng(3).uniform(0, 2, (N_POINTS, n_qubits)))
        for noise in NOISE:
            table = measured(states, shots, noise, seed=4)
            fits = [fit_states(table, rank) for rank in RANKS]
            for kernel_of in KERNELS:
                exact = exact_kernel(states, noise, kernel_of)
                errors = [
                    np.sqrt(np.mean((fit.behind(kernel_of).kernel() - exact)[upper] ** 2))
                    for fit in fits
                ]
                chosen, tests = choose_rank(table, np.random.default_rng(0), kernel_of=kernel_of)
                covered.append(coverage(table, chosen, kernel_of, exact))
                ratio = tests[0].error_ratio
                cells = [str(n_qubits), str(shots), f"{noise:.0%}", kernel_of]
                cells += [f"{error:.4f}" for error in errors]
                cells += [str(chosen.rank), f"{tests[0].p_value:.1g}"]
                cells += ["" if ratio is None else f"{ratio:.2f}", f"{covered[-1]:.3f}"]
                print("| " + " | ".join(cells) + " |", flush=True)
    print(f"Coverage: mean {np.mean(covered):.3f}, from {min(covered):.3f} to {max(covered):.3f}.")


if __name__ == "__main__":
    main()
