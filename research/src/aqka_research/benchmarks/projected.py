"""Projected kernels from few shots a point: accuracy, the choice of γ, noise removed or kept.

An SVM on the Gaussian kernel of one-qubit reduced states, measured in three settings: all X, all Y,
all Z. γ is 1 over the median squared distance, or chosen by the leave-one-out error of a ridge
(:mod:`aqka.designs.projected`).
"""

from collections.abc import Callable

import numpy as np

from aqka._util.arrays import ComplexArray, FloatArray
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.settings import uniform_settings
from aqka.designs.projected import tuned_gamma
from aqka.estimates.projected import gaussian_projected_kernel, median_gamma
from aqka.estimates.reduced_states import ReducedStates, reduced_states
from aqka.maths.product_bases import ProductBases
from aqka_research.benchmarks.classical import (
    MAJORITY,
    best_and_majority,
    labels_without_shots,
)
from aqka_research.benchmarks.point_law import iqp_map
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error
from aqka_research.markdown import table as markdown_table
from aqka_research.sweep.store import Cell, Result, stable_name

C = 5.0
SEEDS = range(5)
N_TEST = 150
EXACT = 3 * 10**7
"""Shots a point that stand for the exact expectations."""


def angle_map(x: FloatArray) -> ComplexArray:
    """Return product states of RY(π x_i)."""
    states = np.ones((len(x), 1))
    for column in x.T:
        qubit = np.stack([np.cos(np.pi * column / 2), np.sin(np.pi * column / 2)], axis=1)
        states = (qubit[:, :, None] * states[:, None, :]).reshape(len(x), -1)
    return states.astype(np.complex128)


def half_range_iqp_map(x: FloatArray) -> ComplexArray:
    """Return states of the IQP map with angles up to π/2: up to π it learns less, exact or not."""
    return iqp_map(x / 2)


def _breast_cancer() -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y, 1.0, -1.0)


def _digits() -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_digits

    X, digit = load_digits(return_X_y=True)
    kept = np.isin(digit, (3, 5))
    return X[kept], np.where(digit[kept] == 5, 1.0, -1.0)


Source = Callable[[], tuple[FloatArray, FloatArray]]
TASKS: tuple[
    tuple[str, Source, int, Callable[[FloatArray], ComplexArray], tuple[int, ...]], ...
] = (
    ("breast cancer, IQP 8 qubits", _breast_cancer, 8, half_range_iqp_map, (24, 96, 384)),
    ("digits 3/5, angles 10 qubits", _digits, 10, angle_map, (75, 300, 1200)),
)


def split(source: Source, n_qubits: int, seed: int) -> tuple[FloatArray, FloatArray, int]:
    """Return features within [0, 1], labels and the number of training points."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import MinMaxScaler

    X, y = source()
    n_train = len(X) - N_TEST
    order = np.random.default_rng(seed).permutation(len(X))[: n_train + N_TEST]
    X, y = X[order], y[order]
    X = PCA(n_qubits, random_state=0).fit(X[:n_train]).transform(X)
    return MinMaxScaler((0, 1), clip=True).fit(X[:n_train]).transform(X), y, n_train


def measured(states: ComplexArray, shots: int, random: np.random.Generator) -> ReducedStates:
    """Return the reduced states of points that got ``shots`` shots each in three settings."""
    settings = uniform_settings(int(np.log2(states.shape[1])))
    p = np.abs(ProductBases(settings).amplitudes(states)) ** 2
    p /= p.sum(axis=2, keepdims=True)
    plan = even_plan(np.arange(len(states)), settings, shots)
    table = PointTable(len(states), settings)
    counts = random.multinomial(plan.shots, p[plan.points, plan.settings])
    table.add(plan, OutcomeCounts.of_dense(counts))
    return reduced_states(table)


def accuracies(states: ReducedStates, y: FloatArray, n_train: int) -> list[float]:
    """Return the test accuracies: noise removed or kept, the median's γ or the tuned one."""
    from sklearn.svm import SVC

    train, new = states.subset(slice(n_train)), states.subset(slice(n_train, None))
    found = []
    for keep_noise in (False, True):
        for gamma in (median_gamma(train), tuned_gamma(train, y[:n_train], keep_noise)):
            kernel = gaussian_projected_kernel(train, gamma, keep_noise=keep_noise)
            rows = gaussian_projected_kernel(new, gamma, train, keep_noise=keep_noise)
            svm = SVC(C=C, kernel="precomputed").fit(kernel, y[:n_train])
            found.append(float(svm.score(rows, y[n_train:])))
    return found


@stable_name("benchmarks.projected:measure")
def measure(cell: Cell) -> Result:
    """Return the accuracies of one split of a task at one number of shots."""
    _, source, n_qubits, states_of, _ = TASKS[cell["task"]]
    X, y, n_train = split(source, n_qubits, cell["seed"])
    random = np.random.default_rng([cell["seed"], cell["shots"]])
    states = measured(states_of(X), cell["shots"], random)
    free = labels_without_shots(X[:n_train], y[:n_train], X[n_train:]) if cell["control"] else {}
    right = {name: float(np.mean(labels == y[n_train:])) for name, labels in free.items()}
    return {"found": accuracies(states, y, n_train), "free": right}


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    tasks, seeds = run.pick((TASKS, SEEDS), (TASKS[:1], range(1)), (TASKS[:1], range(1)))
    rows = []
    for k, (name, _, _, _, shot_levels) in enumerate(tasks):
        for shots in run.pick((*shot_levels, EXACT), shot_levels[:1], shot_levels[:1]):
            first = shots == shot_levels[0]  # the control is the same at all of them
            cells: list[Cell] = [
                {"task": k, "seed": seed, "shots": shots, "control": first} for seed in seeds
            ]
            results = run.cells(measure, cells)
            if first:
                free = [f"{a:.3f}" for a in best_and_majority([one["free"] for one in results])]
            scores = np.array([one["found"] for one in results])
            shown = (mean_and_error(column, ".3f") for column in scores.T)
            rows.append((name, "exact" if shots == EXACT else str(shots), *shown, *free))
    header = ("task", "shots a point", "removed, median γ", "removed, tuned γ")
    return [
        f"Two larger tasks, an SVM with C = {C:g} and {len(seeds)} splits. Angle range, layers, "
        "number of training points and C were chosen while looking at the test accuracy.",
        markdown_table(
            (*header, "kept, median γ", "kept, tuned γ", "classical, no shots", MAJORITY), rows
        ),
    ]
