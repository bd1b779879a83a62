"""Should a projected kernel keep the noise of its shots? On the tasks of the suite.

``keep_noise`` was chosen on the development tasks; the confirmation tasks were run after that.

A leave-one-out ridge on the Gaussian kernel of one-qubit reduced states of the suite's tasks of 3
to 8 qubits, measured in three settings; γ is tuned in all cases.
"""

from collections.abc import Sequence

import numpy as np

from aqka._util.arrays import FloatArray
from aqka._util.text import counted
from aqka.backends import StatevectorBackend
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import uniform_settings
from aqka.designs import KernelEstimate
from aqka.designs.projected import tuned_gamma
from aqka.estimates.projected import gaussian_projected_kernel
from aqka.estimates.reduced_states import ReducedStates, reduced_states
from aqka.learners import make_learner
from aqka_research.benchmarks.classical import best_and_majority, labels_without_shots
from aqka_research.circuit_tasks import by_kind, circuit_tasks, draw, qubits_of
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.suite import SUITE
from aqka_research.sweep.store import Cell, Result, stable_name

LEVELS = (12, 24, 48, 96, 192, 384)
EXACT = 3 * 10**7
SEEDS = range(2)
FEWEST_QUBITS = 3


def measured(backend: StatevectorBackend, shots: int) -> ReducedStates:
    """Return the reduced states of a backend's points from ``shots`` shots each."""
    settings = uniform_settings(backend.n_qubits)
    plan = even_plan(np.arange(backend.shape[0]), settings, shots)
    counts = PointTable(backend.shape[0], settings)
    counts.add(plan, backend.collect(backend.submit(plan, f"{shots} shots a point")))
    return reduced_states(counts)


def decisions(
    states: ReducedStates, new: ReducedStates, problem: Problem, keep_noise: bool
) -> FloatArray:
    """Return what the head of the kernel says of new points."""
    gamma = tuned_gamma(states, problem.outputs, keep_noise)
    kernel = gaussian_projected_kernel(states, gamma, keep_noise=keep_noise)
    rows = gaussian_projected_kernel(new, gamma, states, keep_noise=keep_noise)
    return make_learner("ridge-loo").fit(KernelEstimate(kernel), problem).decision_function(rows)


@stable_name("benchmarks.projected_suite:measure")
def measure(cell: Cell) -> Result:
    """Return levels × (removed, kept) × (agreement with the exact labels, accuracy)."""
    seed, levels = cell["seed"], cell["levels"]
    task = draw(cell["task"], seed)
    problem = Problem(np.sign(task.y) + (task.y == 0))
    old, new = (
        StatevectorBackend(X, task.feature_map(), seed=2 * seed + k)
        for k, X in enumerate((task.X, task.test_X))
    )
    exact = decisions(measured(old, EXACT), measured(new, EXACT), problem, keep_noise=False) >= 0
    found = np.empty((len(levels), 2, 2))
    for level, shots in enumerate(levels):
        states, others = measured(old, shots), measured(new, shots)
        for kept in (False, True):
            positive = decisions(states, others, problem, kept) >= 0
            found[level, int(kept)] = (
                np.mean(positive == exact),
                np.mean(positive == (task.test_labels > 0)),
            )
    free = labels_without_shots(task.X, task.y, task.test_X)
    truth = {"agreement": np.where(exact, 1, -1), "accuracy": task.test_labels}
    shares = {
        what: {name: float(np.mean(labels == right)) for name, labels in free.items()}
        for what, right in truth.items()
    }
    return {"found": found, "free": shares}


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    levels = run.pick(list(LEVELS), [24, 96], [24])
    seeds = run.pick(SEEDS, range(1), range(1))
    rows = []
    for half in run.pick(("development", "confirmation"), ("development",), ("development",)):
        names = [
            name
            for name in circuit_tasks(half)
            if qubits_of(name) >= FEWEST_QUBITS and name in SUITE
        ]
        names = names[: run.pick(len(names), 2, 1)]
        cells: list[Cell] = [{"task": n, "seed": s, "levels": levels} for n in names for s in seeds]
        results = run.cells(measure, cells)
        by_task = [results[k : k + len(seeds)] for k in range(0, len(results), len(seeds))]
        for kind, mine in by_kind(names).items():
            some = [by_task[names.index(name)] for name in mine]
            free = [_free(some, what) for what in ("agreement", "accuracy")]
            # The mean over seeds first: tasks, not seeds, are what a rule should hold for.
            found = np.array([[one["found"] for one in task] for task in some]).mean(axis=1)
            for level, shots in enumerate(levels):
                row = [f"{half}, {kind} ({counted(len(mine), 'task')})", str(shots)]
                for what in (0, 1):
                    removed, kept = found[:, level, :, what].T
                    row += [f"{removed.mean():.3f}", f"{kept.mean():.3f}"]
                    row += [mean_and_error(kept - removed, "+.3f"), *free[what]]
                rows.append(row)
    header = ["tasks", "shots a point"]
    for title in ("agreement", "accuracy"):
        header += [f"{title}, removed", "kept", "kept − removed", "classical", "majority class"]
    return [
        "## Projected kernels: noise removed or kept",
        f"Tasks of {FEWEST_QUBITS} to 8 qubits, leave-one-out ridge, {len(seeds)} seeds per task: "
        "labels that agree with those of the exact projected kernel, and accuracy. "
        "Quantum-labelled tasks are not among them. The choice was made on the development tasks. "
        "The best classical model and the majority class need no shots.",
        table(header, rows),
    ]


def _free(by_task: Sequence[Sequence[Result]], what: str) -> tuple[str, str]:
    """Return the means over tasks of what needs no shots."""
    shares = [best_and_majority([one["free"][what] for one in task]) for task in by_task]
    best, majority = np.mean(shares, axis=0)
    return f"{best:.3f}", f"{majority:.3f}"
