"""Kernel alignment: shots and time to train a feature map, beside Qiskit's trainer and others.

The baselines: Qiskit's ``QuantumKernelTrainer`` with its SVC loss and its SPSA; sub-sampling of the
points in every step (Sahin et al., 2024); the alignment of a Nyström approximation (Coelho et al.,
2025); and plain SPSA on all pairs. Step lengths of every method were chosen on ``DEVELOPMENT``.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.optional import require
from aqka._util.text import counted
from aqka.backends.statevector import fidelities
from aqka.backends.trainable import TrainableMap, as_trainable
from aqka.insight.map_kernels import MapKernel
from aqka.insight.map_training import align
from aqka.maths.alignment import alignment, pair_targets
from aqka.sessions.map_training import MapTraining
from aqka_research.benchmarks.bars import times
from aqka_research.benchmarks.classical import MAJORITY, best_and_majority, labels_without_shots
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.sweep.store import Cell, Result, stable_name

TRAIN, TEST, SEEDS, SHOTS = 80, 90, 3, 10
GAIN = 0.9
OUR_REPEATS = 3  # of a race: ours takes milliseconds, and its first call more than the others
DEVELOPMENT = ("planted, 3 qubits", "breast cancer, 4 qubits", "wine, 4 qubits")
HELD_OUT = (
    "planted, 4 qubits",
    "digits 3/8, 4 qubits",
    "clusters, 3 qubits",
    "digits 1/7, 5 qubits",
    "planted, 5 qubits",
    "digits 4/9, 4 qubits",
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
        task.y[:TRAIN],
        held,
        task.start,
        int(1.25 * budget),
        pairs,
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
    if shots == EXACT:
        return K
    found[upper] = rng.binomial(shots, np.clip(K[upper], 0, 1)) / shots
    return np.maximum(found, found.T)


EXACT = 10**9
"""Shots that stand for an exact kernel."""


def aligned(shots: int) -> Measure:
    """Return the alignment of all pairs of the points as a loss."""

    def measure(task: Task, theta: FloatArray, points: IntArray, rng: Any) -> tuple[float, int]:
        K, upper = sampled(task, theta, points, shots, rng), np.triu_indices(len(points), 1)
        targets = pair_targets(task.y[points], classes=True)
        return -alignment(K[upper], targets[upper]), min(shots, SHOTS) * len(upper[0])

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
    rng, everything = np.random.default_rng([seed, 3]), np.arange(TRAIN)

    base: Any = kernels.TrainableKernel

    class Measured(base):  # type: ignore[misc]
        def evaluate(self, x_vec: Any, y_vec: Any = None) -> FloatArray:
            values = np.array([self._parameter_dict[p] for p in self._training_parameters])
            return sampled(task, values, everything, SHOTS, rng)

    kernel = Measured(
        feature_map=task.made.circuit, training_parameters=task.made.trainable, enforce_psd=False
    )
    found: list[tuple[int, FloatArray]] = []
    each = SHOTS * TRAIN * (TRAIN - 1)
    optimizer = optimizers.SPSA(
        maxiter=max(1, (budget - 25 * each) // each),
        # Its calibration is worth 25 steps; what it evaluates for the callback is not counted.
        callback=lambda n, x, f, step, accepted: found.append(
            ((26 + len(found)) * each, np.array(x))
        ),
    )
    trainers.QuantumKernelTrainer(
        quantum_kernel=kernel, loss="svc_loss", optimizer=optimizer, initial_point=task.start
    ).fit(task.X[:TRAIN], task.y[:TRAIN])
    return iter(found)


OURS, REFERENCE = "one-shot random pairs (aqka)", "all pairs, exact kernels"
METHODS: dict[str, tuple[Any, int]] = {
    OURS: (one_shot_pairs, 300_000),
    REFERENCE: (spsa(aligned(EXACT), TRAIN, 12.0), 6_000_000),
    "all pairs, 10 shots": (spsa(aligned(SHOTS), TRAIN, 12.0), 6_000_000),
    "Qiskit's trainer: SVC loss, all pairs, 10 shots": (qiskit_trainer, 8_000_000),
    "SVC loss, batches of 16 points (Sahin et al.)": (spsa(svc(SHOTS), 16, 8.0), 1_000_000),
    "SVC loss, batches of 24 points (Sahin et al.)": (spsa(svc(SHOTS), 24, 8.0), 1_500_000),
    "alignment of batches of 24 points, 3 shots": (spsa(aligned(3), 24, 12.0), 300_000),
    "Nyström alignment, 8 landmarks (Coelho et al.)": (
        spsa(nystrom(8, SHOTS), TRAIN, 12.0),
        1_500_000,
    ),
}
"""Every method, and the shots that it may take."""
MARKS = np.geomspace(1_000, 8_000_000, 85)


@stable_name("benchmarks.alignment:measure")
def measure(cell: Cell) -> Result:
    """Train one task by one method; the gain is relative to that of L-BFGS on exact kernels."""
    task = draw(cell["task"], cell["seed"])
    best, losses = align(MapKernel(task.made), task.X[:TRAIN], task.y[:TRAIN], task.start)
    train, budget = METHODS[cell["method"]]
    gain, theta, last = np.full(len(MARKS), np.nan), task.start, 0.0
    for shots, theta in train(task, cell["seed"], int(budget * cell["share"])):
        reached = np.isnan(gain) & (shots >= MARKS)
        if reached.any():
            last = (losses[0] - task.loss(theta)) / (losses[0] - losses[-1])
            gain[reached] = last
    gain[np.isnan(gain)] = last
    return {
        # More than the exact gain, that of another local optimum, counts as all of it.
        "gain": np.minimum(gain, 1.0).tolist(),
        "accuracy": task.accuracy(theta),
        "start": task.accuracy(task.start),
        "exact": task.accuracy(best),
    }


@stable_name("benchmarks.alignment:without_shots")
def without_shots(cell: Cell) -> Result:
    """Return the accuracies of classical models and of the majority class on a task."""
    task = draw(cell["task"], cell["seed"])
    signs = np.where(task.y > 0, 1.0, -1.0)
    found = labels_without_shots(task.X[:TRAIN], signs[:TRAIN], task.X[TRAIN:])
    return {name: float(np.mean(labels == signs[TRAIN:])) for name, labels in found.items()}


@stable_name("benchmarks.alignment:race")
def race(cell: Cell) -> Result:
    """Return the processor seconds of exact training here and by Qiskit, in as many iterations."""
    kernels = require("qiskit_machine_learning.kernels", "qiskit-ml")
    trainers = require("qiskit_machine_learning.kernels.algorithms", "qiskit-ml")
    optimizers = require("qiskit_machine_learning.optimizers", "qiskit-ml")
    task, n, steps = draw(cell["task"], cell["seed"]), cell["points"], cell["steps"]
    X, y = task.X[:n], task.y[:n]
    ours = np.inf
    for _ in range(OUR_REPEATS):
        begun = time.process_time()
        made = as_trainable(task.made.circuit, X.shape[1], task.made.trainable)
        align(MapKernel(made), X, y, task.start, max_steps=steps)
        ours = min(ours, time.process_time() - begun)
    kernel = kernels.TrainableFidelityStatevectorKernel(
        feature_map=task.made.circuit, training_parameters=task.made.trainable
    )
    begun = time.process_time()
    trainers.QuantumKernelTrainer(
        quantum_kernel=kernel,
        loss="svc_loss",
        optimizer=optimizers.L_BFGS_B(maxiter=steps),
        initial_point=task.start,
    ).fit(X, y)
    return {"ours": ours, "theirs": time.process_time() - begun}


def shots_to(gains: FloatArray, level: float) -> float:
    """Return the shots at which the mean curve reaches a level for good; infinite if never."""
    below = np.flatnonzero(gains.mean(axis=0) < level)
    if not below.size:
        return float(MARKS[0])
    return float(MARKS[below[-1] + 1]) if below[-1] + 1 < len(MARKS) else np.inf


def _ratio(gains: FloatArray, ours: FloatArray, level: float) -> str:
    """Return how many times the shots of ours a method needs, with a 68 % bootstrap interval."""
    middle, own = shots_to(gains, level), shots_to(ours, level)
    if not np.isfinite(middle):
        return "not reached"
    if not np.isfinite(own):
        return "ours not reached"
    if gains is ours:
        return "1 ×"
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        some = rng.integers(0, len(ours), len(ours))
        found.append(shots_to(gains[some], level) / shots_to(ours[some], level))
    low, high = np.nanquantile(found, [0.16, 0.84], method="nearest")
    most = f"to {high:.0f}" if np.isfinite(high) else "or more"
    return f"{middle / own:.0f} × ({low:.0f} {most})"


def page(run: PageRun) -> list[str]:
    """Train the held-out tasks by every method, and write the page."""
    names = run.pick(HELD_OUT, DEVELOPMENT[:1], DEVELOPMENT[:1])
    kind = run.pick("Held-out", "Development", "Development")
    methods = run.pick(list(METHODS), list(METHODS), [OURS, REFERENCE])
    seeds, share = run.pick(SEEDS, 1, 1), run.pick(1.0, 0.1, 0.05)
    runs = [(name, seed) for name in names for seed in range(seeds)]
    curves: dict[str, list[Result]] = {}
    for method in methods:
        cells: list[Cell] = [
            {"task": name, "seed": seed, "method": method, "share": share} for name, seed in runs
        ]
        curves[method] = run.cells(measure, cells)
    gains = {m: np.array([one["gain"] for one in found]) for m, found in curves.items()}
    whole = float(gains[REFERENCE][:, -1].mean())
    planted = [name for name in names if name.startswith("planted")]
    natural = [name for name in names if name not in planted]
    kinds = {word: mine for word, mine in (("natural", natural), ("planted", planted)) if mine}

    def by_kind(found: list[Result], key: str) -> list[str]:
        share = [one[key] for one in found]
        return [
            mean_and_error(s for s, (name, _) in zip(share, runs, strict=True) if name in mine)
            for mine in kinds.values()
        ]

    rows = []
    for method in methods:
        needed = shots_to(gains[method], GAIN * whole)
        accuracy = by_kind(curves[method], "accuracy")
        reached = f"{needed:,.0f}" if np.isfinite(needed) else "not reached"
        if method == REFERENCE:
            reached, ratio = "no shots", ""
        else:
            ratio = _ratio(gains[method], gains[OURS], GAIN * whole)
        rows.append((method, reached, ratio, f"{gains[method][:, -1].mean():.2f}", *accuracy))
    for title, key, gain in (
        ("not trained: θ₀", "start", 0),
        ("L-BFGS, exact kernels", "exact", 1),
    ):
        rows.append((title, "no shots", "", f"{gain:.2f}", *by_kind(curves[OURS], key)))
    free = run.cells(without_shots, [{"task": name, "seed": seed} for name, seed in runs])
    by_task = {
        name: best_and_majority(free[k * seeds : (k + 1) * seeds]) for k, name in enumerate(names)
    }
    for k, title in enumerate(("best classical model", MAJORITY)):
        shares = (mean_and_error(by_task[name][k] for name in mine) for mine in kinds.values())
        rows.append((title, "no shots", "", "", *shares))
    settings = run.pick({"points": 60, "steps": 5}, {"points": 30, "steps": 2}, None)
    speed = []
    if settings is not None:
        timed = run.cells(race, [{"task": name, "seed": 0} | settings for name in names])
        for name, one in zip(names, timed, strict=True):
            ours, theirs = one["ours"], one["theirs"]
            speed.append((name, f"{ours:.3g} s", f"{theirs:.3g} s", times(theirs / ours)))
    accuracies = (
        f"accuracy, {kind} ({counted(len(mine), 'task')})" for kind, mine in kinds.items()
    )
    return [
        "# Kernel alignment: what training a feature map costs",
        f"{kind} tasks ({len(names)}), {seeds} seeds each, {TRAIN} training points; a circuit that "
        "loads the data three times around two trainable layers. Step lengths of all methods were "
        "chosen on the development tasks. *Gain*: the alignment gained, relative to L-BFGS on "
        f"exact kernels. The same SPSA on exact kernels gains {whole:.2f}; *shots* is where the "
        f"mean curve reaches {GAIN:.0%} of that. Brackets: 68 % bootstrap interval over tasks and "
        "seeds. Accuracy is that of an SVM on test points, with the exact kernel at the last θ. "
        "Methods with the SVC loss do not maximise the alignment, so look at their accuracy. "
        "Labels of planted tasks are made by the map at some other θ. The best "
        "classical model on the same points (for each task in hindsight, of three of the "
        "[four models](classical.md), without the Gaussian process) and the majority class need no "
        "circuit; their errors are over tasks.",
        table(("method", "shots", "times ours", "final gain", *accuracies), rows),
        "## Exact training",
        "Processor time of at most as many L-BFGS iterations on both sides: here the alignment "
        f"with adjoint gradients (best of {OUR_REPEATS} runs), there `QuantumKernelTrainer` of "
        f"Qiskit Machine Learning {version('qiskit-machine-learning')} with its SVC loss, exact "
        "kernel and finite differences (one run). The losses differ: this compares two ways to "
        "train, not one computation.",
        table(("task", "train_map", "Qiskit's trainer", "ratio"), speed),
    ]
