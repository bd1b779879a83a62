"""States from few shots a point: do shrinkage, neighbours or mixed states beat maximum likelihood?

Tasks are the suite's development tasks of 2 to 5 qubits, because a method that does not pay there
needs no confirmation.

Beside the pure state of maximum likelihood, which aqka uses:

- *rank 4*: the overlap of mixed states of rank 4, close to the posterior mean of the kernel;
- *neighbours*: the likelihood of a point's own counts and of all others', weighted by the overlap
  of a first fit to the power β; β is the one that explains held-out shots best, none included;
- *pooled*: 16 additional counts from the mean state of all points;
- *linear*: every Pauli expectation shrunk toward its mean over all points by the ratio of its
  variance to that of the shot noise, then the top eigenvector.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.linalg import hadamard

from aqka._util.arrays import ComplexArray, FloatArray
from aqka._util.text import counted
from aqka.backends import StatevectorBackend
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import choose_settings
from aqka.designs import KernelEstimate
from aqka.estimates.states import FittedStates, fit_states, outcome_probabilities
from aqka.learners import make_learner
from aqka.maths.likelihood import SeenOutcomes, maximise_likelihood, spectral_start
from aqka.maths.product_bases import ProductBases
from aqka_research.benchmarks.classical import MAJORITY, controls
from aqka_research.circuit_tasks import by_kind, circuit_tasks, draw
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error
from aqka_research.markdown import table as markdown_table
from aqka_research.suite import SUITE
from aqka_research.sweep.store import Cell, Result, stable_name

LEVELS = (16, 32, 64, 128)
SEEDS = range(2)
QUBITS, POINTS = 5, 150
POWERS = (16, 8, 4, 2)
PRIOR_COUNTS = 16
SMALLEST = 1e-6
PAULIS = np.array([np.eye(2), [[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])

Kernels = tuple[FloatArray, FloatArray]
"""The kernel of the training points, and that of new points with them."""


def measured(backend: StatevectorBackend, shots: int) -> PointTable:
    """Return counts of a backend's points with ``shots`` shots each."""
    n_points, settings = backend.shape[0], choose_settings(backend.n_qubits, seed=0)
    plan = even_plan(np.arange(n_points), settings, shots)
    table = PointTable(n_points, settings)
    table.add(plan, backend.collect(backend.submit(plan, f"{shots} shots a point")))
    return table


def dense(table: PointTable) -> FloatArray:
    """Return the counts, one row per point."""
    counts = table.dense(np.arange(table.n_points))
    return counts.reshape(table.n_points, -1).astype(np.float64)


def overlaps(left: ComplexArray, right: ComplexArray) -> FloatArray:
    """Return the kernel of pure states."""
    return np.asarray(np.abs(left.conj() @ right.T) ** 2)


def pure_fit(bases: ProductBases, counts: FloatArray) -> ComplexArray:
    """Return pure states of counts that need not be whole numbers."""
    total, (point, outcome) = counts.sum(axis=1), np.nonzero(counts)
    share = counts[point, outcome] / total[point]
    index = point * counts.shape[1] + outcome
    seen = SeenOutcomes(len(counts), counts.shape[1], index, share, point)
    tolerance = 1e-2 * np.sqrt(bases.dimension / total)
    states = maximise_likelihood(bases, seen, spectral_start(bases, seen), tolerance)[0]
    return np.asarray(states[0])


@lru_cache(maxsize=2)
def _pure_states(table: PointTable) -> FittedStates:
    """Return pure states of the training or the new points, which two methods need."""
    return fit_states(table)


def maximum_likelihood(old: PointTable, new: PointTable) -> Kernels:
    """Return the kernels of pure states."""
    states, others = _pure_states(old), _pure_states(new)
    return states.kernel(), others.kernel(states)


def rank_four(old: PointTable, new: PointTable) -> Kernels:
    """Return the kernels of mixed states."""
    states, others = (fit_states(table, 4, start=_pure_states(table)) for table in (old, new))
    return states.kernel(), others.kernel(states)


def neighbours(old: PointTable, new: PointTable) -> Kernels:
    """Return the kernels of states that share counts with similar ones, if that explains more."""
    bases, counts, others = ProductBases(old.settings), dense(old), dense(new)
    half = np.random.default_rng(0).binomial(counts.astype(np.int64), 0.5).astype(np.float64)
    half[half.sum(axis=1) == 0] = SMALLEST
    first = pure_fit(bases, half)
    held_out: dict[int | None, float] = {None: _explained(bases, first, counts - half)}
    for power in POWERS:
        shared = _weights(overlaps(first, first), power) @ half
        held_out[power] = _explained(bases, pure_fit(bases, shared), counts - half)
    best = max(held_out, key=lambda power: held_out[power])
    states, fresh = pure_fit(bases, counts), pure_fit(bases, others)
    if best is not None:
        near = overlaps(fresh, states) ** best
        states, fresh = (
            pure_fit(bases, _weights(overlaps(states, states), best) @ counts),
            pure_fit(bases, others + near @ counts),
        )
    return overlaps(states, states), overlaps(fresh, states)


def _weights(kernel: FloatArray, power: int) -> FloatArray:
    weights = kernel**power
    np.fill_diagonal(weights, 1.0)
    return weights


def _explained(bases: ProductBases, states: ComplexArray, counts: FloatArray) -> float:
    p = outcome_probabilities(bases, states[None]).reshape(len(states), -1)
    return float(np.sum(counts * np.log(np.maximum(p, SMALLEST))))


def pooled(old: PointTable, new: PointTable) -> Kernels:
    """Return the kernels of states with additional counts from the mean of all."""
    bases = ProductBases(old.settings)
    sums, shots = pauli_sums(old)
    mean = sums.sum(axis=0) / np.maximum(shots.sum(axis=0), 1)
    values, vectors = np.linalg.eigh(matrices(mean[None])[0])
    weights = np.maximum(values, 0) / np.maximum(values, 0).sum()
    p = outcome_probabilities(bases, np.ascontiguousarray(vectors.T)[None])
    prior = PRIOR_COUNTS / bases.n_settings * np.tensordot(weights, p, axes=1).reshape(-1)
    states, fresh = (pure_fit(bases, dense(table) + prior) for table in (old, new))
    return overlaps(states, states), overlaps(fresh, states)


def linear(old: PointTable, new: PointTable) -> Kernels:
    """Return the kernels of the top eigenvectors of shrunk Pauli expectations."""
    sums, shots = pauli_sums(old)
    known = np.maximum(shots, 1)
    mean = sums.sum(axis=0) / np.maximum(shots.sum(axis=0), 1)
    # E(e - m)² = v + (1 - m² - v)/n, weighted by shots.
    excess = (sums / known - mean) ** 2 - (1 - mean**2) / known
    weight = np.maximum(np.sum(shots * (1 - 1 / known), axis=0), 1)
    variance = np.clip(np.sum(shots * excess, axis=0) / weight, 0, 1)
    states, fresh = (
        np.linalg.eigh(matrices(_shrunk(*pauli_sums(table), mean, variance)))[1][:, :, -1]
        for table in (old, new)
    )
    return overlaps(states, states), overlaps(fresh, states)


def _shrunk(
    sums: FloatArray, shots: FloatArray, mean: FloatArray, variance: FloatArray
) -> FloatArray:
    known = np.maximum(shots, 1)
    noise = np.maximum(1 - mean**2 - variance, SMALLEST) / known
    kept = np.where(shots > 0, variance / (variance + noise), 0.0)
    found = mean + kept * (sums / known - mean)
    found[:, 0] = 1.0
    return np.asarray(found)


def pauli_sums(table: PointTable) -> tuple[FloatArray, FloatArray]:
    """Return the sum of every Pauli operator's ±1 over the shots that measured it, and these.

    The operators are numbers in base 4: 0 for I, then X, Y, Z, qubit 0 the last digit.
    """
    n, d = table.n_qubits, 2**table.n_qubits
    counts = dense(table).reshape(table.n_points, table.n_settings, d)
    supports = (np.arange(d)[:, None] >> np.arange(n)) & 1
    index = ((table.settings[:, None] + 1) * supports) @ 4 ** np.arange(n)
    sums, shots = np.zeros((2, table.n_points, 4**n))
    for setting, operators in enumerate(index):
        sums[:, operators] += counts[:, setting] @ hadamard(d)
        shots[:, operators] += table.shots[:, setting, None]
    return sums, shots


def matrices(expectations: FloatArray) -> ComplexArray:
    """Return 2^-n Σ ⟨P⟩ P of each row."""
    n_points, size = expectations.shape
    n = round(np.log(size) / np.log(4))
    found = expectations.reshape(n_points, *(4,) * n)
    for _ in range(n):
        found = np.tensordot(found, PAULIS, axes=([1], [0]))
    order = [0, *range(1, 2 * n, 2), *range(2, 2 * n + 1, 2)]
    return np.asarray(found.transpose(order).reshape(n_points, 2**n, 2**n) / 2**n)


METHODS: dict[str, Callable[[PointTable, PointTable], Kernels]] = {
    "rank 4": rank_four,
    "neighbours": neighbours,
    "pooled": pooled,
    "linear": linear,
}


@stable_name("benchmarks.few_shots:measure")
def measure(cell: Cell) -> Result:
    """Return levels × methods, maximum likelihood first, × (correlation, agreement)."""
    seed, levels = cell["seed"], cell["levels"]
    task = draw(cell["task"], seed)
    problem = Problem(np.sign(task.y) + (task.y == 0))
    exact = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), problem)
    labels = exact.decision_function(task.test_kernel) >= 0
    pairs = np.triu_indices(len(task.y), k=1)
    backends = [
        StatevectorBackend(X, task.feature_map(), seed=2 * seed + k)
        for k, X in enumerate((task.X, task.test_X))
    ]
    found = []
    for shots in levels:
        tables = [measured(backend, shots) for backend in backends]
        for method in (maximum_likelihood, *METHODS.values()):
            kernel, rows = method(*tables)
            head = make_learner("ridge-loo").fit(KernelEstimate(kernel), problem)
            agreement = np.mean((head.decision_function(rows) >= 0) == labels)
            found.append((np.corrcoef(kernel[pairs], task.kernel[pairs])[0, 1], agreement))
    return {"found": np.reshape(found, (len(levels), 1 + len(METHODS), 2))}


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    tasks = [SUITE[name] for name in circuit_tasks("development") if name in SUITE]
    every = [task.name for task in tasks if task.features <= QUBITS and task.points <= POINTS]
    small = sorted(every, key=lambda name: SUITE[name].points * 2 ** SUITE[name].features)
    names, seeds = run.pick((every, SEEDS), (small[:2], range(1)), (small[:1], range(1)))
    levels = run.pick(list(LEVELS), [32, 128], [32])
    cells: list[Cell] = [{"task": n, "seed": s, "levels": levels} for n in names for s in seeds]
    found = np.array([one["found"] for one in run.cells(measure, cells)])
    by_task = found.reshape(len(names), len(seeds), *found.shape[1:]).mean(axis=1)
    control = controls(run, names, len(seeds))
    controlled = {"classical": "classical, no shots", "majority": MAJORITY}
    blocks, better = [], []
    for what, title in enumerate(("correlation", "agreement")):
        rows, columns = [], controlled if title == "agreement" else {}
        for kind, mine in by_kind(names).items():
            some = by_task[[names.index(name) for name in mine]][..., what]
            free = [
                f"{np.mean([control[name][f'agreement, {which}'] for name in mine]):.3f}"
                for which in columns
            ]
            for level, shots in enumerate(levels):
                plain = some[:, level, 0]
                gains = [some[:, level, 1 + k] - plain for k in range(len(METHODS))]
                better.append([_clearly_positive(gain) for gain in gains])
                shown = (mean_and_error(gain, "+.3f") for gain in gains)
                head = (f"{kind} ({counted(len(mine), 'task')})", str(shots), f"{plain.mean():.3f}")
                rows.append((*head, *shown, *free))
        header = ("tasks", f"{title} at S", "maximum likelihood", *METHODS, *columns.values())
        blocks.append(markdown_table(header, rows))
    closer, labels = np.reshape(better, (2, -1)).sum(axis=1)
    return [
        "## Few shots per point",
        f"{len(names)} development tasks of 2 to {QUBITS} qubits, {len(seeds)} seeds each: can the "
        "other points help where a state has few shots? Differences from the pure state of maximum "
        "likelihood, in the correlation of K̂ with K and in labels that agree with the exact "
        "kernel's.",
        "- *rank 4*: overlaps of mixed states, which come close to the posterior mean of the "
        "kernel;\n- *neighbours*: the likelihood of a point's own counts and of similar points, "
        "weighted by a power of a first K̂;\n- *pooled*: 16 additional counts from the mean state "
        "of all points;\n- *linear*: every Pauli expectation shrunk toward its mean over the "
        "points, then the top eigenvector.",
        *blocks,
        f"By more than two standard errors the kernel comes closer in {closer} of "
        f"{np.size(better) // 2} cases, the labels in {labels}. The default uses maximum "
        "likelihood.",
    ]


def _clearly_positive(gains: FloatArray) -> bool:
    """Return whether a mean over tasks is more than two standard errors above zero."""
    return len(gains) > 1 and bool(gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains)))
