"""What shrinking measured features brings to a model, feature by feature or in their spectrum.

``python -m aqka_research.benchmarks.models_page`` writes it into docs/measured/models.md; alone it
is ``python -m aqka_research.benchmarks.feature_shrinkage``. Tasks with classes of the suite's
development half, of 2 to 8 qubits, and two of 30 and 60 qubits, where most features are noise.

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
from aqka_research.markdown import table
from aqka_research.suite import SUITE, QuantumTask, half_of_suite

SHOTS = {"single": (18, 90, 300), "neighbours": (144, 400, 1200)}
SEEDS = {"2 to 8 qubits": range(2), "30 and 61 qubits": range(6)}
MODELS = {"logistic": LogisticRegression(C=1.0, max_iter=2000), "SVM": SVC()}
WAYS = ("as measured", "shrink=True", "Wiener", "StandardScaler", "shrink=True, StandardScaler")
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


def suite_tasks(seed: int) -> list[Labelled]:
    """Return the development tasks with classes that a circuit has."""
    found = []
    for name in half_of_suite("development"):
        if SUITE[name].kind == "classes" and SUITE[name].is_quantum:
            task = SUITE[name].draw(seed)
            assert isinstance(task, QuantumTask)
            X, y = np.vstack([task.X, task.test_X]), np.append(task.y, task.test_labels)
            found.append(Labelled(task.feature_map(), "statevector", X, y, len(task.X)))
    return found


def wide_tasks(seed: int) -> list[Labelled]:
    """Return breast cancer on 30 qubits and handwritten digits below 5 on 61, the ZZ map."""
    found = []
    for load in (load_breast_cancer, load_digits):
        X, y = load(return_X_y=True)
        y = np.where(y > (0 if load is load_breast_cancer else 4), 1.0, -1.0)
        order = np.random.default_rng(seed).permutation(len(X))[: N_WIDE + N_WIDE_NEW]
        X = X[:, X.std(axis=0) > 0][order]
        X = MinMaxScaler((0, np.pi / 2), clip=True).fit(X[:N_WIDE]).transform(X)
        found.append(Labelled("zz", "light-cone", X, y[order], N_WIDE))
    return found


def _row(tasks: list[Labelled], operators: str, shots: int) -> dict[str, list[list[float]]]:
    """Return the accuracy of each model on each task, in each of the ways."""
    scores: dict[str, list[list[float]]] = {name: [] for name in MODELS}
    for k, task in enumerate(tasks):
        ways = measured(task, operators, shots, seed=k)
        y, truth = task.y[: task.n_train], task.y[task.n_train :]
        for name, model in MODELS.items():
            scores[name].append([model.fit(a, y).score(b, truth) for a, b in ways.values()])
    return scores


def shrinkage_table() -> str:
    """Measure all tasks, and return a Markdown table of mean accuracies and gains."""
    rows = []
    for (name, seeds), tasks_of in zip(SEEDS.items(), (suite_tasks, wide_tasks), strict=True):
        tasks = [task for seed in seeds for task in tasks_of(seed)]
        for operators, levels in SHOTS.items():
            for shots in levels:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of few shots
                    scores = _row(tasks, operators, shots)
                for model, found in scores.items():
                    gain = np.asarray(found) - np.asarray(found)[:, :1]
                    errors = gain.std(axis=0, ddof=1) / np.sqrt(len(found))
                    cells = [
                        f"{mean:+.3f} ± {error:.3f}"
                        for mean, error in zip(gain.mean(axis=0)[1:], errors[1:], strict=True)
                    ]
                    first = f"{np.mean(found, axis=0)[0]:.3f}"
                    rows.append((name, operators, str(shots), model, first, *cells))
                    print(rows[-1], flush=True)
    return table(("tasks", "operators", "shots a point", "model", *WAYS), rows)


if __name__ == "__main__":
    print(shrinkage_table())
