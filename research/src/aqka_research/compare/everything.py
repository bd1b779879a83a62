"""One comparison with everything: what it costs to come within a point of the exact kernel.

Every way to train and predict spends more and more shots on a task, until its accuracy on new
points is within one point of the exact kernel's. Shots become executions, jobs and QPU seconds by
the model of ``aqka plan`` for an IBM Heron, with the circuits transpiled for a fake one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.linalg import eigh

from aqka._util.arrays import FloatArray
from aqka.allocators import make_allocator
from aqka.backends import MatrixBackend, RuntimeBackend
from aqka.backends.runtime import fake_device
from aqka.backends.tiles import find_tiles
from aqka.core import FAIR, PAPER
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.designs.pairs import row_prior
from aqka.learners import make_learner
from aqka.planning import split_budget
from aqka.planning.device import HERON, Usage
from aqka.sessions import Training, acquire
from aqka_research.circuit_tasks import draw
from aqka_research.compare.prior import PriorLevel
from aqka_research.compare.prior_findings import AUDIT, COMBINED, LEAST_AUDITED, PLAIN
from aqka_research.compare.total import Simulator, simulators
from aqka_research.compare.total_findings import crossing
from aqka_research.suite import QuantumTask
from aqka_research.sweep.store import Cell, Result, stable_name

DEVICE = "fake_fez"
USUAL = 1024  # shots a circuit that Qiskit's samplers default to
NEAR = 0.01  # of accuracy
NEW_POINTS = (100, 1000)
LEVELS = [4.0**k for k in range(-1, 6)]
"""Mean shots a training pair."""
POINT_LEVELS = [2**k for k in range(4, 14, 2)] + [2**13]
"""Shots a point, of training and of new points alike."""
QISKIT, UNIFORM, AQKA, SHOFAR, NYSTROM, PAIR_TILES, POINTS, POINT_TILES, PRIOR, PRIOR_TILES = (
    "Qiskit Machine Learning's default",
    "uniform pairs, our split",
    "AQKA as in the paper",
    "ShoFaR",
    "Nyström",
    "pairs on tiles",
    "points",
    "points on tiles",
    "points with prior",
    "points with prior, on tiles",
)
SAME_SHOTS = {PAIR_TILES: UNIFORM, POINT_TILES: POINTS, PRIOR_TILES: PRIOR}
"""Ways that differ from another only in how shots are run."""
WAYS = (
    QISKIT,
    UNIFORM,
    AQKA,
    SHOFAR,
    NYSTROM,
    PAIR_TILES,
    POINTS,
    POINT_TILES,
    PRIOR,
    PRIOR_TILES,
)

Step = tuple[float, int, float, int]
"""Accuracy, training shots, shots a new point, and submissions for training."""


@dataclass(frozen=True, eq=False)
class Bench:
    """A task with what measures it: kernels as the device has them, and the labels."""

    y: FloatArray
    labels: FloatArray
    ridge: float
    kernel: FloatArray
    rows: FloatArray
    old: Simulator
    new: Simulator
    seed: int

    def accuracy(self, f: FloatArray) -> float:
        """Return the share of right classes."""
        return float(np.mean(np.where(f >= 0, 1.0, -1.0) == self.labels))

    def test_rows(self, level: float, columns: Any = slice(None)) -> FloatArray:
        """Return test entries from ``level`` shots a pair on average; their mean without a shot."""
        random = np.random.default_rng([self.seed, round(1000 * level)])
        exact = np.clip(self.rows[:, columns], 0.0, 1.0)
        shots = int(level) + (random.random(exact.shape) < level - int(level))
        hits = random.binomial(shots, exact)
        mean = hits.sum() / max(1, shots.sum())
        return np.asarray(np.where(shots > 0, hits / np.maximum(shots, 1), mean))

    def train(self, allocator: str, level: float, paper: bool) -> Training:
        """Spend a mean of ``level`` shots on every training pair."""
        n_pairs = len(self.y) * (len(self.y) - 1) // 2
        return acquire(
            MatrixBackend(self.kernel, seed=self.seed),
            self.y,
            max(1, round(level * n_pairs)),
            make_allocator(allocator),
            design="pairs",
            ridge=self.ridge,
            reading=PAPER if paper else FAIR,
            seed=self.seed,
        )


def uniform(bench: Bench, level: float, new_points: int) -> Step:
    """Even shots, split between training and new points as ``split_budget`` recommends."""
    n = len(bench.y)
    share = split_budget(10**9, n, new_points, "pairs").train / 10**9
    total = level * n * (n - 1) / 2 / share
    test = (1 - share) * total / (n * new_points)
    session = bench.train("uniform", level, paper=False)
    head = session.fit()
    entries = bench.test_rows(test)
    mean = float(entries.mean())
    noise = np.full(n, mean * (1 - mean) / max(test, 1e-9))
    f = entries @ row_prior(head).coefficients(head.alpha[:, None], noise)[:, 0] + head.intercept
    return bench.accuracy(f), session.budget, test * n, 1


def steered(bench: Bench, level: float, new_points: int, allocator: str, paper: bool) -> Step:
    """An allocator's shots for training, and the same mean shots on every test pair."""
    session = bench.train(allocator, level, paper)
    head = session.fit("ridge" if paper else "ridge-loo")
    f = bench.test_rows(level) @ head.alpha + head.intercept
    rounds = len(session.schedule.milestones(session.budget))
    return bench.accuracy(f), session.budget, level * len(bench.y), rounds


def nystrom(bench: Bench, level: float, new_points: int) -> Step:
    """Landmark rows for training, and new points against the landmarks alone."""
    session = bench.train("nystrom", level, paper=False)
    head = session.fit("ridge-loo")
    assert session.landmarks is not None
    points = session.landmarks.points
    columns = session.problem.reading.kernel(session.table)[:, points]
    weights = np.linalg.solve(
        columns[points] + bench.ridge * np.eye(len(points)), columns.T @ head.alpha
    )
    touched = session.table.shots[session.table.shots > 0]
    each = float(touched.mean()) if len(touched) else 0.0
    f = bench.test_rows(each, points) @ weights + head.intercept
    return bench.accuracy(f), session.budget, each * len(points), 1


def qiskit(bench: Bench, level: float, new_points: int) -> Step:
    """An SVM with C = 1 on the kernel made positive, as its quantum kernels and SVC do."""
    from sklearn.svm import SVC

    n = len(bench.y)
    session = bench.train("uniform", level, paper=False)
    values, vectors = eigh(session.problem.reading.kernel(session.table))
    kernel = (vectors * np.maximum(values, 0.0)) @ vectors.T
    model = SVC(kernel="precomputed").fit(kernel, bench.y)
    f = model.decision_function(bench.test_rows(level))
    return bench.accuracy(f), session.budget, level * n, 1


def point_steps(
    task: QuantumTask, bench: Bench, level: int, device: str | None
) -> tuple[Step, list[Step]]:
    """Return the step of points, and those of points with the prior, by new points.

    Every point has the same shots; with the prior only those new points that it leaves open, and
    some that audit it.
    """
    trained = PriorLevel(task, bench.old, bench.new, level, device)
    labels, n = trained.labels(), level * len(bench.y)
    share = float(trained.free.mean())
    steps = []
    for count in NEW_POINTS:
        free = share * count
        bought = count - free + min(free, max(AUDIT * free, LEAST_AUDITED))
        steps.append((bench.accuracy(labels[COMBINED]), n, level * bought / count, 1))
    return (bench.accuracy(labels[PLAIN]), n, level, 1), steps


MEASURED: dict[str, Callable[[Bench, float, int], Step]] = {
    QISKIT: qiskit,
    UNIFORM: uniform,
    AQKA: partial(steered, allocator="aqka", paper=True),
    SHOFAR: partial(steered, allocator="shofar", paper=False),
    NYSTROM: nystrom,
}
SPLIT_BY_NEW_POINTS = (UNIFORM, PRIOR)


@stable_name("aqka.everything:measure")
def measure(cell: Cell) -> Result:
    """Return the steps of every way, for each number of new points, on one seed of a task."""
    task = draw(cell["task"], cell["seed"])
    device = cell["device"]
    old, new, between = simulators(task, cell["seed"], device)
    y = np.where(task.y >= 0, 1.0, -1.0)
    upper = np.triu(old.kernel())  # a noisy circuit of i and j is not that of j and i
    kernel = upper + np.triu(upper, 1).T
    bench = Bench(
        y,
        task.test_labels,
        task.ridge,
        kernel,
        between.kernel(),
        old,
        new,
        cell["seed"],
    )
    exact = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), Problem(y))
    levels: list[float] = cell["levels"]
    found: dict[str, list[list[Step]]] = {}
    for way, spend in MEASURED.items():
        counts = NEW_POINTS if way in SPLIT_BY_NEW_POINTS else NEW_POINTS[:1]
        found[way] = [
            [spend(bench, level, count) for level in ([float(USUAL)] if way == QISKIT else levels)]
            for count in counts
        ]
    steps = [point_steps(task, bench, level, device) for level in cell["point_levels"]]
    found[POINTS] = [[plain for plain, _ in steps]]
    found[PRIOR] = [[prior[k] for _, prior in steps] for k in range(len(NEW_POINTS))]
    return {
        "exact": bench.accuracy(exact.decision_function(task.test_kernel)),
        "steps": found,
    }


@cache
def _chip() -> Any:
    """Return the fake Heron, which takes half a second to make."""
    return fake_device(DEVICE)


@stable_name("aqka.everything:chip")
def chip(cell: Cell) -> Result:
    """Return the depth of both circuits on a fake Heron, and how many tiles it holds."""
    task, device = draw(cell["task"], 0), _chip()
    found = {}
    for design in ("pairs", "points"):
        circuit: Any = RuntimeBackend(device, task.X[:2], task.feature_map(), design=design).circuit
        found[design] = [int(circuit.depth()), len(find_tiles(circuit, device))]
    return found


@dataclass(frozen=True)
class Cost:
    """What one way needs on one task, at one number of new points.

    ``fewest`` says that the fewest shots tried were enough, so that fewer may be.
    """

    shots: float
    executions: float
    jobs: int
    seconds: float
    reached: bool
    fewest: bool


def cost(way: str, results: list[Result], circuits: Result, new_points: int, target: float) -> Cost:
    """Return what a way needs for an accuracy; the most that was tried where it fell short."""
    measured = SAME_SHOTS.get(way, way)
    position = NEW_POINTS.index(new_points) if measured in SPLIT_BY_NEW_POINTS else 0
    steps = np.array([result["steps"][measured][position] for result in results]).mean(axis=0)
    accuracy, train, each, rounds = steps.T
    total = train + new_points * each
    shots = crossing(total, accuracy, target)
    reached = bool(np.isfinite(shots))
    fewest = measured != QISKIT and bool(shots <= total[0])  # its default is one number of shots
    shots = shots if reached else float(total[-1])
    depth, tiles = circuits["points" if measured in (POINTS, PRIOR) else "pairs"]
    usage = Usage(HERON, depth, tiles if way in SAME_SHOTS else 1)
    executions = usage.executions(int(np.ceil(shots)))
    jobs = int(rounds[0]) + 1 + (executions - 1) // HERON.max_executions
    return Cost(shots, executions, jobs, usage.job_seconds(jobs, executions), reached, fewest)
