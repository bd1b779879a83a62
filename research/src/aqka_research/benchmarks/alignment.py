"""Kernel alignment: shots and time to train a feature map, beside Qiskit's trainer and others.

Run it with ``python -m aqka_research.benchmarks.alignment``; it takes some minutes and writes
``docs/measured/alignment.md``. Step lengths of every method were chosen on the development tasks,
``python -m aqka_research.benchmarks.alignment development``.

The baselines: Qiskit's ``QuantumKernelTrainer`` with its SVC loss and its SPSA; sub-sampling of the
points in every step (Sahin et al., 2024); the alignment of a Nyström approximation (Coelho et al.,
2025); and plain SPSA on all pairs.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from aqka._util.arrays import FloatArray, IntArray, threads_for
from aqka._util.optional import require
from aqka.backends.statevector import fidelities
from aqka.backends.trainable import TrainableMap, as_trainable
from aqka.insight.map_training import align
from aqka.maths.alignment import alignment, pair_targets
from aqka.sessions.map_training import MapTraining
from aqka_research.benchmarks.tables import MEASURED

PAGE = MEASURED / "alignment.md"
TRAIN, TEST, SEEDS, SHOTS = 80, 120, 3, 10
GAIN = 0.9
DEVELOPMENT = ("planted, 3 qubits", "breast cancer, 4 qubits", "wine, 4 qubits")
HELD_OUT = (
    "planted, 4 qubits",
    "digits 3/8, 4 qubits",
    "clusters, 3 qubits",
    "digits 1/7, 5 qubits",
)


def circuit(n_qubits: int) -> tuple[Any, Any]:
    """Return a circuit that loads the data twice around trainable layers, and their parameters."""
    library = require("qiskit.circuit", "qiskit")
    x, w = library.ParameterVector("x", n_qubits), library.ParameterVector("w", 2 * n_qubits)
    made = library.QuantumCircuit(n_qubits)
    made.h(range(n_qubits))
    for layer in range(2):
        for qubit in range(n_qubits):
            made.rz(x[qubit], qubit)
            made.ry(w[layer * n_qubits + qubit], qubit)
        for qubit in range(n_qubits - 1):
            made.cz(qubit, qubit + 1)
    for qubit in range(n_qubits):
        made.rx(x[qubit], qubit)
    return made, w


@dataclass(frozen=True, eq=False)
class Task:
    """Training and test points of a task, its map and where training starts."""

    X: FloatArray
    y: IntArray
    made: TrainableMap
    start: FloatArray

    def kernel(self, theta: FloatArray) -> FloatArray:
        """Return the exact kernel of the training points."""
        return fidelities(self.made.simulated.states(self.X[:TRAIN], theta))

    def loss(self, theta: FloatArray) -> float:
        """Return the exact loss of the training points."""
        upper = np.triu_indices(TRAIN, 1)
        targets = pair_targets(self.y[:TRAIN], classes=True)
        return -alignment(self.kernel(theta)[upper], targets[upper])

    def accuracy(self, theta: FloatArray) -> float:
        """Return the accuracy of an SVM on test points, with the exact kernel."""
        K = fidelities(self.made.simulated.states(self.X, theta))
        model = SVC(kernel="precomputed", C=5.0).fit(K[:TRAIN, :TRAIN], self.y[:TRAIN])
        return float(model.score(K[TRAIN:, :TRAIN], self.y[TRAIN:]))


def draw(name: str, seed: int) -> Task:
    """Return a task with a seed: of its points, its labels and θ₀."""
    rng = np.random.default_rng(seed)
    kind, n_qubits = name.split(",")[0], int(name.split(",")[1].split()[0])
    feature_map, w = circuit(n_qubits)
    made = as_trainable(feature_map, n_qubits, w)
    size = TRAIN + TEST
    if kind == "planted":  # a function of the kernel at some other θ
        X = rng.uniform(0, np.pi, (size, n_qubits))
        K = fidelities(made.simulated.states(X, rng.uniform(-np.pi, np.pi, len(w))))
        f = K @ rng.normal(size=size)
        return Task(X, (f > np.median(f)).astype(np.int64), made, made.first_theta(seed))
    if kind == "clusters":
        X, y = make_classification(
            400, 6, n_informative=4, n_clusters_per_class=3, random_state=seed, flip_y=0.02
        )
    elif kind.startswith("digits"):
        X, y = load_digits(return_X_y=True)
        pair = [int(digit) for digit in kind.split()[1].split("/")]
        X, y = X[np.isin(y, pair)], (y[np.isin(y, pair)] == pair[1]).astype(np.int64)
    else:
        X, y = (load_wine if kind == "wine" else load_breast_cancer)(return_X_y=True)
        y = (y > 0).astype(np.int64)
    chosen = rng.permutation(len(X))[:size]
    plain = MinMaxScaler().fit_transform(X[chosen])
    X = MinMaxScaler((0, np.pi)).fit_transform(PCA(n_qubits, random_state=0).fit_transform(plain))
    return Task(X, y[chosen], made, made.first_theta(seed))


Path = Iterator[tuple[int, FloatArray]]
"""Shots so far and θ, after each step."""


def one_shot_pairs(task: Task, seed: int, budget: int, pairs: int = 400) -> Path:
    """Train as ``train_map`` does on shots; nothing is held out."""
    held = np.zeros(0, dtype=np.int64)
    unit = np.ones(len(task.start))
    session = MapTraining(
        *(task.y[:TRAIN], held, task.start, int(1.25 * budget), pairs),
        unit=unit,
        classes=True,
        seed=seed,
    )
    rng = np.random.default_rng([seed, 1])
    while session.round < session.steps_total:
        plan = session.ask()
        assert plan.theta is not None
        K = [task.kernel(theta) for theta in plan.theta]
        second = (plan.rows >= TRAIN).astype(int)
        k = np.stack(K)[second, plan.rows % TRAIN, plan.cols % TRAIN]
        session.tell(rng.binomial(plan.shots, np.clip(k, 0, 1)))
        yield session.shots_spent, session.trained


Measure = Callable[[Task, FloatArray, IntArray, np.random.Generator], tuple[float, int]]
"""A loss as shots show it at a θ, on some of the points, and the shots that it took."""


def sampled(task: Task, theta: FloatArray, points: IntArray, shots: int, rng: Any) -> FloatArray:
    """Return the kernel of some points, measured with so many shots a pair."""
    K = task.kernel(theta)[np.ix_(points, points)]
    upper = np.triu_indices(len(points), 1)
    found = np.eye(len(points))
    found[upper] = rng.binomial(shots, np.clip(K[upper], 0, 1)) / shots
    return np.maximum(found, found.T)


def aligned(shots: int) -> Measure:
    """Return the alignment of all pairs of the points as a loss."""

    def measure(task: Task, theta: FloatArray, points: IntArray, rng: Any) -> tuple[float, int]:
        K, upper = sampled(task, theta, points, shots, rng), np.triu_indices(len(points), 1)
        targets = pair_targets(task.y[points], classes=True)
        return -alignment(K[upper], targets[upper]), shots * len(upper[0])

    return measure


def nystrom(landmarks: int, shots: int) -> Measure:
    """Return the alignment of a Nyström approximation as a loss (Coelho et al.)."""

    def measure(task: Task, theta: FloatArray, points: IntArray, rng: Any) -> tuple[float, int]:
        K = sampled(task, theta, points, shots, rng)
        columns = K[:, :landmarks]
        inverse = np.linalg.pinv(columns[:landmarks], rcond=0.05, hermitian=True)
        whole, upper = columns @ inverse @ columns.T, np.triu_indices(len(points), 1)
        targets = pair_targets(task.y[points], classes=True)
        cost = shots * (landmarks * len(points) - landmarks * (landmarks + 1) // 2)
        return -alignment(whole[upper], targets[upper]), cost

    return measure


def svc(shots: int) -> Measure:
    """Return the loss of Qiskit's trainer: the SVM's dual objective."""

    def measure(task: Task, theta: FloatArray, points: IntArray, rng: Any) -> tuple[float, int]:
        K, n = sampled(task, theta, points, shots, rng), len(points)
        if len(np.unique(task.y[points])) < 2:
            return 0.0, shots * n * (n - 1) // 2
        model = SVC(kernel="precomputed").fit(K, task.y[points])
        a, at = model.dual_coef_[0], model.support_
        loss = np.sum(np.abs(a)) - 0.5 * a @ K[np.ix_(at, at)] @ a
        return float(loss) / n, shots * n * (n - 1) // 2

    return measure


def spsa(measure: Measure, batch: int, rate: float, width: float = 0.5) -> Any:
    """Return SPSA on a loss, each step on a random batch of the points, with averaged θ."""

    def path(task: Task, seed: int, budget: int) -> Path:
        rng = np.random.default_rng([seed, 2])
        theta, spent, number, seen = task.start, 0, 0, [task.start]
        while spent < budget:
            number += 1
            points = rng.permutation(TRAIN)[:batch]
            by = width / number**0.101 * rng.choice([-1.0, 1.0], len(theta))
            (plus, a), (minus, b) = (measure(task, theta + s * by, points, rng) for s in (1, -1))
            step = rate / (number + 10) ** 0.602 * (plus - minus) / (2 * by)
            theta = theta - np.clip(step, -0.5, 0.5)
            seen.append(theta)
            spent += a + b
            yield spent, np.mean(seen[-max(1, round(0.3 * len(seen))) :], axis=0)

    return path


def qiskit_trainer(task: Task, seed: int, budget: int) -> Path:
    """Train by Qiskit's trainer, its SVC loss and its SPSA; the kernel is ours, which is faster."""
    kernels = require("qiskit_machine_learning.kernels", "qiskit-ml")
    trainers = require("qiskit_machine_learning.kernels.algorithms", "qiskit-ml")
    optimizers = require("qiskit_machine_learning.optimizers", "qiskit-ml")
    utils = require("qiskit_machine_learning.utils", "qiskit-ml")
    utils.algorithm_globals.random_seed = seed
    rng, everything, spent = np.random.default_rng([seed, 3]), np.arange(TRAIN), [0]

    base: Any = kernels.TrainableKernel

    class Measured(base):  # type: ignore[misc]
        def evaluate(self, x_vec: Any, y_vec: Any = None) -> FloatArray:
            values = np.array([self._parameter_dict[p] for p in self._training_parameters])
            spent[0] += SHOTS * TRAIN * (TRAIN - 1) // 2
            return sampled(task, values, everything, SHOTS, rng)

    kernel = Measured(
        feature_map=task.made.circuit, training_parameters=task.made.trainable, enforce_psd=False
    )
    found: list[tuple[int, FloatArray]] = []
    each = SHOTS * TRAIN * (TRAIN - 1)
    optimizer = optimizers.SPSA(
        maxiter=max(1, (budget - 25 * each) // each),
        callback=lambda n, x, f, step, accepted: found.append((spent[0], np.array(x))),
    )
    trainers.QuantumKernelTrainer(
        quantum_kernel=kernel, loss="svc_loss", optimizer=optimizer, initial_point=task.start
    ).fit(task.X[:TRAIN], task.y[:TRAIN])
    return iter(found)


METHODS: dict[str, tuple[Any, int]] = {
    "one-shot random pairs (aqka)": (one_shot_pairs, 400_000),
    "all pairs, 10 shots": (spsa(aligned(SHOTS), TRAIN, 12.0), 8_000_000),
    "Qiskit's trainer: SVC loss, 10 shots": (qiskit_trainer, 16_000_000),
    "batches of 16 points, SVC loss (Sahin et al.)": (spsa(svc(SHOTS), 16, 8.0), 2_000_000),
    "batches of 24 points, SVC loss (Sahin et al.)": (spsa(svc(SHOTS), 24, 8.0), 2_000_000),
    "batches of 24 points, alignment, 3 shots": (spsa(aligned(3), 24, 12.0), 1_000_000),
    "Nyström alignment, 8 landmarks (Coelho et al.)": (
        spsa(nystrom(8, SHOTS), TRAIN, 12.0),
        3_000_000,
    ),
}
"""Every method, and the shots that it may take."""
MARKS = np.geomspace(1_000, 16_000_000, 85)


@dataclass(frozen=True, eq=False)
class Curve:
    """What a method reached on a task with a seed."""

    gain: FloatArray  # share of the exact gain at each of MARKS
    accuracy: float
    start: float  # accuracy
    exact: float


def follow(name: str, seed: int, method: str) -> Curve:
    """Train one task by one method; the exact gain is that of L-BFGS on exact kernels."""
    task = draw(name, seed)
    best, losses = align(task.made, task.X[:TRAIN], task.y[:TRAIN], task.start)
    train, budget = METHODS[method]
    gain, next_mark, theta = np.full(len(MARKS), np.nan), 0, task.start
    for shots, theta in train(task, seed, budget):
        if shots >= MARKS[next_mark]:
            reached = (losses[0] - task.loss(theta)) / (losses[0] - losses[-1])
            while next_mark < len(MARKS) and MARKS[next_mark] <= shots:
                gain[next_mark] = reached
                next_mark += 1
            if next_mark == len(MARKS):
                break
    filled = gain.copy()
    filled[np.isnan(filled)] = filled[~np.isnan(filled)][-1]
    return Curve(filled, task.accuracy(theta), task.accuracy(task.start), task.accuracy(best))


def shots_to(gains: FloatArray, level: float) -> float:
    """Return the shots at which the mean curve reaches a level for good; infinite if never.

    More than the exact gain, of another local optimum, counts as all of it.
    """
    below = np.flatnonzero(np.minimum(gains, 1.0).mean(axis=0) < level)
    if not below.size:
        return float(MARKS[0])
    return float(MARKS[below[-1] + 1]) if below[-1] + 1 < len(MARKS) else np.inf


def compare(names: tuple[str, ...], seeds: int) -> dict[str, list[Curve]]:
    """Follow every method on every task."""
    found: dict[str, list[Curve]] = {}
    for method in METHODS:
        found[method] = [follow(name, seed, method) for name in names for seed in range(seeds)]
        gains = np.array([curve.gain for curve in found[method]])
        print(
            method, f"{shots_to(gains, GAIN):,.0f}", gains.mean(axis=0)[::12].round(2), flush=True
        )
    return found


if __name__ == "__main__":
    with threads_for(TRAIN):
        compare(DEVELOPMENT if "development" in sys.argv else HELD_OUT, SEEDS)
