"""Noisy points: what each rank does to the kernel, which one is chosen, and how intervals cover.

The noise depolarises the whole state. The ``purified`` kernel is compared with the kernel without
noise, the ``device``'s with Tr ρρ' of the noisy states.
"""

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.backends.statevector import zz_states
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import choose_settings
from aqka.estimates.state_errors import kernel_errors
from aqka.estimates.state_rank import RANKS, choose_rank
from aqka.estimates.states import FittedStates, KernelOf, fit_states
from aqka.maths.product_bases import ProductBases
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.sweep.store import Cell, Result, stable_name

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
    errors = kernel_errors(table, fitted, np.random.default_rng(1), kernel_of)
    upper = np.triu_indices(table.n_points, k=1)
    kernel = fitted.behind(kernel_of).kernel()
    z = (kernel - errors.bias - exact)[upper] / np.sqrt(errors.variance[upper])
    return float(np.mean(np.abs(z) < 1.96))


@stable_name("benchmarks.point_noise:measure")
def measure(cell: Cell) -> Result:
    """Return errors of all ranks, the chosen one, its test and its coverage, for both kernels."""
    n_qubits, shots, noise = cell["qubits"], cell["shots"], cell["noise"]
    states = zz_states(np.random.default_rng(3).uniform(0, 2, (N_POINTS, n_qubits)))
    table = measured(states, shots, noise, seed=4)
    fits = [fit_states(table, rank) for rank in RANKS]
    upper = np.triu_indices(N_POINTS, k=1)
    found = []
    for kernel_of in KERNELS:
        exact = exact_kernel(states, noise, kernel_of)
        errors = [
            float(np.sqrt(np.mean((fit.behind(kernel_of).kernel() - exact)[upper] ** 2)))
            for fit in fits
        ]
        chosen, tests = choose_rank(table, np.random.default_rng(0), kernel_of=kernel_of)
        own = chosen.behind(kernel_of).kernel() - exact
        found.append(
            {
                "errors": errors,
                "rank": chosen.rank,
                "chosen": float(np.sqrt(np.mean(own[upper] ** 2))),
                "p": tests[0].p_value,
                "ratio": tests[0].error_ratio,
                "coverage": coverage(table, chosen, kernel_of, exact),
            }
        )
    return {"kernels": found}


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    cases, levels = run.pick((CASES, NOISE), (CASES[:1], NOISE[::4]), (CASES[:1], NOISE[:1]))
    cells: list[Cell] = [
        {"qubits": n, "shots": shots, "noise": noise} for n, shots in cases for noise in levels
    ]
    rows, relative, pure, covered = [], [], [], []
    for cell, one in zip(cells, run.cells(measure, cells), strict=True):
        for name, found in zip(KERNELS, one["kernels"], strict=True):
            best = min(found["errors"])
            relative.append(found["chosen"] / best)
            pure.append(found["errors"][0] / best)
            covered.append(found["coverage"])
            rows.append(
                (
                    str(cell["qubits"]),
                    f"{cell['shots']:,}",
                    f"{cell['noise']:.0%}",
                    name,
                    *(f"{error:.4f}" for error in found["errors"]),
                    str(found["rank"]),
                    f"{found['p']:.1g}",
                    "" if found["ratio"] is None else f"{found['ratio']:.2f}",
                    f"{found['coverage']:.3f}",
                )
            )
    ranks = (f"error, rank {rank}" for rank in RANKS)
    header = ("qubits", "S", "noise", "kernel", *ranks, "chosen", "p", "ratio predicted")
    return [
        "## Noise and rank",
        f"Root mean squared errors of the kernel of {N_POINTS} points under depolarising noise; "
        "the predicted ratio compares mean squared errors, rank 2 over rank 1. *Coverage* is that "
        "of 95 % intervals.",
        table((*header, "coverage"), rows),
        f"Over all {len(rows)} rows the chosen rank's error is {np.mean(relative):.3f} times the "
        f"best rank's on average and {max(relative):.2f} times at worst; that of pure states is up "
        f"to {max(pure):.1f} times. 95 % intervals cover {min(covered):.0%} to "
        f"{max(covered):.0%}.",
    ]
