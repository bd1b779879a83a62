"""Flipped bits of simulated pairs: does E[w^h] label better than the fidelity, and than points?

ZZ map, breast cancer and digits as principal components; all-zero and tolerant
(:mod:`aqka.core.tolerance`) read the same shots, and points get as many in all. Heads are ridges
chosen by leaving points out.
"""

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray, IntArray
from aqka.backends.statevector import phase_states
from aqka.core.problem import Problem
from aqka.core.tolerance import best_weight, tolerant
from aqka.designs import KernelEstimate
from aqka.designs.projected import tuned_gamma
from aqka.estimates.projected import gaussian_projected_kernel
from aqka.learners import make_learner
from aqka_research.benchmarks.classical import MAJORITY, best_and_majority, labels_without_shots
from aqka_research.benchmarks.projected import TASKS, measured, split
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.sweep.store import Cell, Result, stable_name

QUBITS = (6, 12)
LEVELS = (10, 50, 1000)
SEEDS = range(5)
TRAIN, TEST = 60, 100
RANGE = np.pi / 2
READINGS = ("all-zero", "tolerant", "points")


def flip_chances(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Return the chance of h flipped bits of U†(column) U(row)|0⟩ of the ZZ map, on the last axis.

    U is phases after Hadamards, twice; so U† is the conjugate phases and then Hadamards, twice.
    """
    states, n_qubits = phase_states(rows, 2, apart=1), rows.shape[1]
    ones = np.bitwise_count(np.arange(2**n_qubits))
    by_ones = np.eye(n_qubits + 1)[ones]
    found = np.empty((len(rows), len(columns), n_qubits + 1))
    for j, phases in enumerate(phase_states(columns, 1, apart=1).conj()):
        back = states
        for _ in range(2):  # phase_states of one repetition are the phases over 2^(n/2)
            back = _hadamards(back * phases)
        found[:, j] = (np.abs(back) ** 2) @ by_ones
    return found


def _hadamards(states: ComplexArray) -> ComplexArray:
    """Return the states after a Hadamard on every qubit, times 2^(n/2)."""
    count = len(states)
    for qubit in range(int(np.log2(states.shape[1]))):
        halves = states.reshape(count, -1, 2, 2**qubit)
        zero, one = halves[:, :, 0], halves[:, :, 1]
        states = np.stack([zero + one, zero - one], axis=2)
    return states.reshape(count, -1)


def accuracy(kernel: FloatArray, rows: FloatArray, y: FloatArray) -> float:
    """Return the accuracy of the kernel's head on the test points."""
    head = make_learner("ridge-loo").fit(KernelEstimate(kernel), Problem(y[:TRAIN]))
    positive = (
        head.decision_function(rows) >= 0
    )  # a row without a hit says nothing: +1, as most are
    return float(np.mean(positive == (y[TRAIN:] > 0)))


@stable_name("benchmarks.tolerant_pairs:measure")
def measure(cell: Cell) -> Result:
    """Return levels × readings: accuracies on test points, and what needs no shots."""
    source, n_qubits, seed = cell["source"], cell["qubits"], cell["seed"]
    X, y, _ = split(TASKS[source][1], n_qubits, seed)
    X, y = RANGE * X[-TRAIN - TEST :], y[-TRAIN - TEST :]
    rng, upper = np.random.default_rng([seed, n_qubits]), np.triu_indices(TRAIN, 1)
    chances = flip_chances(X, X[:TRAIN])
    states, found = phase_states(X, 2, apart=1), []
    for shots in cell["levels"]:
        seen = rng.multinomial(shots, chances / chances.sum(axis=-1, keepdims=True))
        weight, arms = best_weight(seen[:TRAIN][upper]), []
        for w in (0.0, weight):
            arms.append(accuracy(*_kernels(seen, w, upper), y))
        each = shots * (len(upper[0]) + TRAIN * TEST) // (TRAIN + TEST)
        points = measured(states, each, rng)
        train, new = points.subset(slice(TRAIN)), points.subset(slice(TRAIN, None))
        gamma = tuned_gamma(train, y[:TRAIN])
        kernel = gaussian_projected_kernel(train, gamma, keep_noise=True)
        rows = gaussian_projected_kernel(new, gamma, train, keep_noise=True)
        found.append([*arms, accuracy(kernel, rows, y)])
    free = labels_without_shots(X[:TRAIN], y[:TRAIN], X[TRAIN:])
    right = {name: float(np.mean(labels == y[TRAIN:])) for name, labels in free.items()}
    return {"found": found, "free": right}


def _kernels(
    seen: IntArray, w: float, upper: tuple[IntArray, IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the kernel of the training points, each pair measured once, and the test rows."""
    entries = tolerant(seen, w)[0]
    kernel = np.eye(TRAIN)
    kernel[upper] = entries[:TRAIN][upper]
    return np.maximum(kernel, kernel.T), entries[TRAIN:]


def page(run: PageRun) -> list[str]:
    """Measure, and write the page."""
    qubits, levels, seeds = run.pick(
        (QUBITS, LEVELS, SEEDS),
        (QUBITS[:1], LEVELS[:2], range(1)),
        (QUBITS[:1], LEVELS[:1], range(1)),
    )
    rows = []
    for n_qubits in qubits:
        cells: list[Cell] = [
            {"source": k, "qubits": n_qubits, "seed": seed, "levels": list(levels)}
            for k in range(len(TASKS))
            for seed in seeds
        ]
        results = run.cells(measure, cells)
        found = np.array([one["found"] for one in results])
        shares = [one["free"] for one in results]
        starts = range(0, len(shares), len(seeds))  # of each data set
        free = np.mean([best_and_majority(shares[k : k + len(seeds)]) for k in starts], axis=0)
        for level, shots in enumerate(levels):
            zero, near, _ = found[:, level].T
            means = (f"{mean:.3f}" for mean in (*found[:, level].mean(axis=0), *free))
            gain = mean_and_error(near - zero, "+.3f")
            rows.append((str(n_qubits), f"{shots:,}", *means, gain))
    header = ("qubits", "shots a pair", *READINGS, "best classical model, no shots", MAJORITY)
    return [
        "# Flipped bits of pairs",
        f"Accuracies of the ZZ map on {len(TASKS)} data sets, {TRAIN} training and {TEST} test "
        f"points, {len(seeds)} splits each; errors are over splits. These are development "
        "tasks. Pairs are read strictly (the share of all-zero outcomes, the fidelity) or "
        "tolerantly (the mean of w^h over shots with h flipped bits; w is chosen without labels). "
        "Points, read as a projected kernel, get as many shots in all. "
        f"The classical model is the best of {len(shares[0]) - 1} on each data set in hindsight, "
        "without the Gaussian process that [other tables](classical.md) have.",
        table((*header, "tolerant − all-zero"), rows),
    ]
