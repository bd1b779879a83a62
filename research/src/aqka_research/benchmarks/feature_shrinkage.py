"""What shrinking measured features brings to a model, feature by feature or in their spectrum.

Tasks with classes of the suite's development half, of 2 to 8 qubits, and two of 30 and 61 qubits,
where most features are noise.

A feature is signal and shot noise, e = s + n. ``shrink=True`` multiplies each by its share of
signal, c = max(0, 1 - mean v / Var e). The spectral version is the Wiener filter of all features
together: in units of the noise their covariance has the eigenvalues λ, and the deviations from the
mean are multiplied by max(0, 1 - 1/λ) along each eigenvector.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from aqka import QuantumFeatures
from aqka._util.arrays import FloatArray
from aqka_research.benchmarks.classical import (
    MAJORITY,
    best_and_majority,
    controls,
    labels_without_shots,
)
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.suite import SUITE, QuantumTask, half_of_suite
from aqka_research.sweep.store import Cell, Result, stable_name

SHOTS = {"single": (18, 90, 300), "neighbours": (144, 400, 1200)}
WIDE = {"breast cancer": (load_breast_cancer, 1), "digits below 5": (load_digits, 5)}
"""Tasks of 30 and 61 qubits: data, and the least number that counts as positive."""
MODELS = {"logistic": LogisticRegression(C=1.0, max_iter=2000), "SVM": SVC()}
WAYS = ("as measured", "shrink=True", "Wiener", "StandardScaler", "shrink=True, StandardScaler")
PAIRED = (
    ("Wiener", "shrink=True"),
    ("StandardScaler", "as measured"),
    ("shrink=True, StandardScaler", "shrink=True"),
)
"""Ways whose difference is counted in rows of the table."""
N_WIDE, N_WIDE_NEW = 120, 150


class Labelled(NamedTuple):
    """Points with labels, and what runs them."""

    feature_map: Any
    backend: str
    X: FloatArray
    y: FloatArray
    n_train: int


def wiener(train: FloatArray, variances: FloatArray, new: FloatArray) -> list[FloatArray]:
    """Return training and new features filtered by the spectrum of the training points."""
    mean, noise = train.mean(axis=0), np.sqrt(np.maximum(variances.mean(axis=0), 1e-12))
    values, vectors = np.linalg.eigh(np.cov((train - mean) / noise, rowvar=False))
    kept = np.maximum(0.0, 1 - 1 / np.maximum(values, 1e-12))
    filtered = (vectors * kept) @ vectors.T
    return [mean + ((e - mean) / noise @ filtered) * noise for e in (train, new)]


def measured(task: Labelled, operators: str, shots: int, seed: int) -> dict[str, list[FloatArray]]:
    """Return training and new features, in each of the ways."""
    old, new = task.X[: task.n_train], task.X[task.n_train :]
    features = QuantumFeatures(
        task.feature_map,
        task.backend,
        budget=shots * len(old),
        operators=operators,
        shots_each=shots,
        test_budget=shots * len(new),
        seed=seed,
    )
    raw = [features.fit_transform(old), features.transform(new)]
    variances = features.standard_errors_**2
    features.set_params(shrink=True).fit(old)
    smaller = [features.transform(old), features.transform(new)]

    def scaled(pair: list[FloatArray]) -> list[FloatArray]:
        scaler = StandardScaler().fit(pair[0])
        return [scaler.transform(part) for part in pair]

    found = (raw, smaller, wiener(raw[0], variances, raw[1]), scaled(raw), scaled(smaller))
    return dict(zip(WAYS, found, strict=True))


def suite_names() -> list[str]:
    """Return the development tasks with classes that a circuit has."""
    tasks = (SUITE[name] for name in half_of_suite("development"))
    return [task.name for task in tasks if task.kind == "classes" and task.is_quantum]


def drawn(name: str, seed: int) -> Labelled:
    """Return a task of the suite, or one of :data:`WIDE` with the ZZ map."""
    if name not in WIDE:
        task = SUITE[name].draw(seed)
        assert isinstance(task, QuantumTask)
        X, y = np.vstack([task.X, task.test_X]), np.append(task.y, task.test_labels)
        return Labelled(task.feature_map(), "statevector", X, y, len(task.X))
    load, least = WIDE[name]
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))[: N_WIDE + N_WIDE_NEW]
    X = X[:, X.std(axis=0) > 0][order]
    X = MinMaxScaler((0, np.pi / 2), clip=True).fit(X[:N_WIDE]).transform(X)
    return Labelled("zz", "light-cone", X, np.where(y[order] >= least, 1.0, -1.0), N_WIDE)


@stable_name("benchmarks.feature_shrinkage:measure")
def measure(cell: Cell) -> Result:
    """Return the accuracy of each model in each of the ways."""
    task = drawn(cell["task"], cell["seed"])
    y, truth = task.y[: task.n_train], task.y[task.n_train :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few shots
        ways = measured(task, cell["operators"], cell["shots"], cell["seed"])
    return {
        name: [float(model.fit(a, y).score(b, truth)) for a, b in ways.values()]
        for name, model in MODELS.items()
    }


@stable_name("benchmarks.feature_shrinkage:without_shots")
def without_shots(cell: Cell) -> Result:
    """Return the accuracies of classical models and of the majority class on the same columns."""
    task, n = drawn(cell["task"], cell["seed"]), N_WIDE
    found = labels_without_shots(task.X[:n], task.y[:n], task.X[n:])
    return {name: float(np.mean(labels == task.y[n:])) for name, labels in found.items()}


def _free(run: PageRun, names: list[str], seeds: range) -> list[str]:
    """Return the mean accuracies over tasks of the best classical model and of the majority."""
    if set(names) <= set(WIDE):
        cells: list[Cell] = [{"task": name, "seed": seed} for name in names for seed in seeds]
        found, n = run.cells(without_shots, cells), len(seeds)
        shares = [best_and_majority(found[k : k + n]) for k in range(0, len(found), n)]
    else:
        known = controls(run, names, len(seeds))
        shares = [(c["accuracy, classical"], c["accuracy, majority"]) for c in known.values()]
    return [f"{share:.3f}" for share in np.mean(shares, axis=0)]


def shrinkage_tables(run: PageRun) -> tuple[str, str]:
    """Measure all tasks, and return tables of accuracies and gains, and of ways compared."""
    small = suite_names()[: run.pick(None, 2, 2)]
    groups = {"2 to 8 qubits": (small, range(2)), "30 and 61 qubits": (list(WIDE), range(6))}
    rows, compared = [], []
    for group, (names, seeds) in list(groups.items())[: run.pick(2, 1, 1)]:
        free, paired = _free(run, names, seeds), []
        for operators, levels in SHOTS.items():
            for shots in levels[: run.pick(None, 1, 1)]:
                settings = {"operators": operators, "shots": shots}
                cells = [{"task": n, "seed": s, **settings} for s in seeds for n in names]
                results = run.cells(measure, cells)
                for model in MODELS:
                    found = np.array([one[model] for one in results])
                    gains = [mean_and_error(gain, "+.3f") for gain in (found - found[:, :1]).T[1:]]
                    first = f"{found[:, 0].mean():.3f}"
                    rows.append((group, operators, str(shots), model, first, *gains, *free))
                    ways = dict(zip(WAYS, found.T, strict=True))
                    paired.append([ways[way] - ways[other] for way, other in PAIRED])
        means = np.mean(paired, axis=2)
        bounds = 2 * np.std(paired, axis=2, ddof=1) / np.sqrt(np.shape(paired)[2])
        better, worse = (means > bounds).sum(axis=0), (-means > bounds).sum(axis=0)
        for k, (way, other) in enumerate(PAIRED):
            counts = (f"{count[k]} of {len(paired)}" for count in (better, worse))
            compared.append(
                (f"{way}, beside {other}", group, *counts, f"{means[:, k].mean():+.3f}")
            )
    free_columns = ("best classical model", MAJORITY)
    return (
        table(("tasks", "operators", "shots a point", "model", *WAYS, *free_columns), rows),
        table(("compared", "tasks", "better", "worse", "mean difference"), compared),
    )
