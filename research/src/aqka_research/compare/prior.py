"""New points that cost no shots: what a prior on gate angles answers, and what it saves.

Every task is trained with S shots a point, for growing S. New points whose class a Gaussian process
on the gate angles is sure of cost nothing; the others get S shots each, read with the training
states as a prior. Beside it are points without a prior and what needs no shots at all: classical
models and the majority class. *Exact labels* are those of the leave-one-out ridge on the exact
kernel.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray, as_count
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.designs import Fidelity, Points
from aqka.designs.fidelity import StateEstimate
from aqka.designs.prior import PredictionPrior
from aqka.estimates.states import FittedStates
from aqka.learners import Decided, make_learner
from aqka.maths.metrics import normal_quantile
from aqka_research.benchmarks import classical
from aqka_research.circuit_tasks import (
    LABELLED,
    NATURAL,
    by_kind,
    circuit_tasks,
    draw,
    points_of,
    qubits_of,
)
from aqka_research.compare.prior_findings import (
    ALONE,
    COMBINED,
    FREE,
    PLAIN,
    STATES,
    PriorFindings,
)
from aqka_research.compare.total import Simulator, measured_points, simulators
from aqka_research.quantum_tasks import exact_labels
from aqka_research.suite import QuantumTask
from aqka_research.sweep.cells import RunCells, run_cells
from aqka_research.sweep.store import Cell, Result, stable_name

SEEDS = 3
LEVELS = [32, 128, 512, 2048]
"""Shots a point, of training and of new points alike."""
MOST_QUBITS, MOST_POINTS = 5, 150
NOISY_QUBITS, NOISY_LEVELS, NOISY_SEEDS = 3, LEVELS[:3], 2
"""On a device, whose exact noise takes longest."""
LEVEL = 0.9
"""The level of intervals for f."""
ENDLESS = 2**16
"""Shots that stand for endless ones on a device, whose exact states are mixed."""


def prior_tasks(half: str, device: str | None = None) -> dict[str, list[str]]:
    """Return the natural and the quantum-labelled tasks of a half, of few qubits."""
    most = MOST_QUBITS if device is None else NOISY_QUBITS
    names = [
        name
        for name in circuit_tasks(half, device)
        if qubits_of(name) <= most and points_of(name) <= MOST_POINTS
    ]
    kinds = by_kind(names)
    return {kind: kinds[kind] for kind in (NATURAL, LABELLED)}


@stable_name("aqka.prior:measure")
def measure(cell: Cell) -> Result:
    """Return what was answered, at which price and how well, at every level, for one seed."""
    name, device = cell["task"], cell.get("device")
    task = draw(name, cell["seed"])
    exact = exact_labels(task)
    old, new, _ = simulators(task, cell["seed"], device)
    endless = _endless(task, new, device)
    found: Result = {
        "points": len(task.y),
        "qubits": task.n_qubits,
        "test points": len(exact),
        "control": classical.measure({"task": name, "seed": cell["seed"]}),
        "levels": [],
    }
    for shots in cell["levels"]:
        level = PriorLevel(task, old, new, shots, device)
        truth = level.f(endless)
        row = {
            "shots": shots,
            **level.settled_by_prior(truth, exact),
            "f": level.errors(truth),
        }
        for method, labels in level.labels().items():
            row[method] = {
                "agreement": float(np.mean(labels == exact)),
                "accuracy": float(np.mean(labels == task.test_labels)),
            }
        found["levels"].append(row)
    return found


def _endless(task: QuantumTask, new: Simulator, device: str | None) -> FittedStates | PointTable:
    """Return the new points' exact states; of a device, very many shots on them."""
    if device is None:
        return FittedStates.given(task.test_states[None])
    return measured_points(new, ENDLESS)


class PriorLevel:
    """A task trained and its new points measured at one level of shots."""

    def __init__(
        self, task: QuantumTask, old: Simulator, new: Simulator, shots: int, device: str | None
    ) -> None:
        problem = Problem(np.where(task.y >= 0, 1.0, -1.0))
        design = Points(Fidelity(rank=1 if device is None else None))
        estimate = design.read(measured_points(old, shots), problem)
        assert isinstance(estimate, StateEstimate)
        self.estimate = estimate
        self.head = make_learner(design.default_learner).fit(estimate, problem)
        self.new = measured_points(new, shots)
        prior = PredictionPrior().fit(
            self.head, problem.outputs, task.X, task.feature_map(), task.n_qubits
        )
        answers = prior.answers(task.test_X)
        self.mean, self.free = answers.mean[:, 0], answers.settled
        self.plain = self.head.decide(self.new)
        everyone = np.arange(self.new.n_points)
        self.states = estimate.improve(self.head, self.new, self.plain, everyone)
        total = np.sqrt(answers.deviation**2 + answers.noise**2)[:, 0]
        self.combined = self.states.combined(self.mean, total, everyone)

    def f(self, states: FittedStates | PointTable) -> FloatArray:
        """Return f of states, or of counts, by the head that was trained."""
        if isinstance(states, PointTable):
            states = self.estimate.kernel_of_points.fit(states, self.estimate.fitted.rank)
        behind = states.behind(self.estimate.kernel_of_points.kernel_of)
        return behind.kernel(self.estimate.states) @ self.head.alpha + self.head.intercept

    def settled_by_prior(self, truth: FloatArray, exact: FloatArray) -> dict[str, Any]:
        """Return how many points the prior answers, and how many of these wrongly.

        Wrong is another class than endless shots on the point would give with the same head; or,
        counted apart, than the exact kernel gives.
        """
        answers = self.mean >= 0
        return {
            "free": int(self.free.sum()),
            "wrong": int(np.sum((answers != (truth >= 0)) & self.free)),
            "not exact": int(np.sum((answers != (exact > 0)) & self.free)),
        }

    def errors(self, truth: FloatArray) -> dict[str, dict[str, float]]:
        """Return the mean squared error of f, and how many intervals cover."""
        found = {}
        for method in (PLAIN, STATES, COMBINED):
            decided = self._decided(method)
            off = np.abs(decided.f - truth)
            found[method] = {
                "error": float(np.mean(off**2)),
                "covered": float(np.mean(off <= normal_quantile(LEVEL) * decided.deviation)),
            }
        return found

    def _decided(self, method: str) -> Decided:
        return {PLAIN: self.plain, STATES: self.states, COMBINED: self.combined}[method]

    def labels(self) -> dict[str, FloatArray]:
        """Return the labels of each method."""
        found = {
            PLAIN: self.plain.f,
            STATES: self.states.f,
            FREE: np.where(self.free, self.mean, self.states.f),
            COMBINED: np.where(self.free, self.mean, self.combined.f),
            ALONE: self.mean,
        }
        return {method: np.where(f >= 0, 1.0, -1.0) for method, f in found.items()}


def compare_priors(
    groups: dict[str, list[str]],
    seeds: int = SEEDS,
    *,
    levels: Sequence[int] = LEVELS,
    device: str | None = None,
    cells_of: RunCells = run_cells,
) -> PriorFindings:
    """Measure predictions with and without the prior on groups of tasks, by name."""
    noise = {} if device is None else {"device": device}
    names = [name for group in groups.values() for name in group]
    cells: list[Cell] = [
        {"task": name, "seed": seed, "levels": list(levels), **noise}
        for seed in range(as_count(seeds, "seeds", minimum=2))
        for name in names
    ]
    results = cells_of(measure, cells)
    by_task: dict[str, list[Result]] = {name: [] for name in names}
    for cell, result in zip(cells, results, strict=True):
        by_task[cell["task"]].append(result)
    return PriorFindings(groups, by_task)
