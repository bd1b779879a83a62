"""New points: how often intervals cover, and how often a settled class is wrong.

On the confirmation tasks of 2 to 6 qubits, and on Iris with its three classes, a head is trained on
points of S shots, and new points may have S shots on average. The truth is what the same
head says of the exact state, or of 20,000 shots where that is not pure or the kernel projected.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale

from aqka.backends import AerBackend, StatevectorBackend
from aqka.backends.aer import depolarising_noise
from aqka.core.problem import Problem
from aqka.designs import Fidelity, Never, Points, Projected, Settle
from aqka.learners import FittedHead
from aqka.runs.driver import drive
from aqka.sessions import Training, predict
from aqka_research.circuit_tasks import circuit_tasks, draw, kind_of, qubits_of
from aqka_research.figures.page import PageRun
from aqka_research.markdown import table
from aqka_research.sweep.store import Cell, Result, stable_name

FIDELITY, PROJECTED, NOISY, CLASSES = "fidelity", "projected", "fidelity, noise", "three classes"
SHOTS = {
    FIDELITY: (32, 128, 512),
    PROJECTED: (128, 512),
    NOISY: (128, 512),
    CLASSES: (128, 512),
}
QUBITS = {FIDELITY: range(2, 7), PROJECTED: range(2, 7), NOISY: range(2, 4)}
LEVEL, ERROR_RATE = 0.9, 0.05
EXACT = 20_000  # shots a point that stand for exact states
SPLITS = 5  # of Iris


@stable_name("benchmarks.point_prediction:measure")
def measure(cell: Cell) -> Result:
    """Return coverage, share settled, share settled wrongly, and shots used of those allowed."""
    kind, shots = cell["kind"], cell["shots"]
    X, y, new_X, feature_map = _iris(cell["seed"]) if kind == CLASSES else _task(cell["task"])
    if kind == NOISY:
        noise = depolarising_noise()
        old: Any = AerBackend(X, feature_map, noise=noise, seed=0)
        new: Any = AerBackend(new_X, feature_map, noise=noise, seed=1)
    else:
        old, new = (
            StatevectorBackend(X, feature_map, seed=0),
            StatevectorBackend(new_X, feature_map, seed=1),
        )
    rank = None if kind == NOISY else 1
    design = Points(Projected() if kind == PROJECTED else Fidelity(rank=rank))
    session = Training(Problem(y), shots * len(y), design=design, n_qubits=old.n_qubits)
    drive(session, old)
    head = session.fit()
    truth = exact_decisions(head, new, pure=kind in (FIDELITY, CLASSES))
    budget = shots * len(truth)
    every = predict(head, new, budget, stop=Never(), level=LEVEL)
    stopped = predict(head, new, budget, stop=Settle(ERROR_RATE))
    return {
        "cover": float(np.mean((every.low <= truth) & (truth <= every.high))),
        "settled": float(np.mean(stopped.settled)),
        "wrong": float(np.mean(stopped.settled & (stopped.labels != head.labels(truth)))),
        "used": float(stopped.shots.sum() / budget),
    }


def _task(name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], Any]:
    task = draw(name, 0)
    return task.X, np.sign(task.y) + (task.y == 0), task.test_X, task.feature_map()


def _iris(seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], None]:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X = minmax_scale(X, (0.0, np.pi / 2))[order]
    return X[:75], y[order][:75], X[75:], None


def exact_decisions(head: FittedHead, new: Any, pure: bool) -> NDArray[Any]:
    """Return what a head says of the exact states, or of so many shots that they are exact."""
    if pure:
        return head.estimate.decide_exactly(head, new)
    return np.asarray(predict(head, new, EXACT * new.shape[0], stop=Never()).f)


def _group(cell: Cell) -> tuple[str, str, int]:
    """Return the kernel, the kind of task, and the shots that a row of the table is of."""
    tasks = kind_of(cell["task"]) if "task" in cell else "Iris"
    return cell["kind"], tasks, cell["shots"]


def section(run: PageRun) -> list[str]:
    """Return the section of the page of points."""
    kinds = run.pick(list(SHOTS), [FIDELITY, CLASSES], [CLASSES])
    cells: list[Cell] = []
    for kind in kinds:
        names = circuit_tasks(run.pick("confirmation", "development", "development"))
        names = [name for name in names if qubits_of(name) in QUBITS.get(kind, ())]
        which: list[Cell] = [{"task": name} for name in names] or [
            {"seed": seed} for seed in range(run.pick(SPLITS, 2, 1))
        ]
        for shots in SHOTS[kind][: run.pick(3, 1, 1)]:
            cells += [{"kind": kind, "shots": shots, **one} for one in which[: run.pick(99, 2, 1)]]
    rows, wrong = [], []
    results = list(zip(cells, run.cells(measure, cells), strict=True))
    for group in dict.fromkeys(map(_group, cells)):
        found = [one for cell, one in results if _group(cell) == group]
        kernel, tasks, shots = group
        mean = {key: np.mean([one[key] for one in found]) for key in found[0]}
        worst = max(one["wrong"] for one in found)
        wrong.append((mean["wrong"], worst, mean["cover"]))
        rows.append(
            (
                kernel,
                f"{tasks} ({len(found)})",
                str(shots),
                f"{mean['cover']:.1%}",
                f"{mean['settled']:.0%}",
                f"{mean['wrong']:.2%}",
                f"{worst:.1%}",
            )
        )
    header = ("kernel", "tasks", "S", f"{LEVEL:.0%} intervals cover", "settled", "settled wrongly")
    means, worst, covers = np.array(wrong).T
    return [
        "## New points",
        f"{run.pick('Held-out', 'Development', 'Development')} tasks of 2 to 6 qubits (with 1 % "
        "and 4 % of depolarising noise on those of 2 and 3) and splits of Iris with its three "
        "classes; training and new points have S shots each.",
        table((*header, "worst task"), rows),
        f"The target is at most {ERROR_RATE:.0%} settled wrongly: it is {means.min():.1%} to "
        f"{means.max():.1%} of the points, row by row, and {worst.max():.1%} in the worst task. "
        f"Intervals of {LEVEL:.0%} cover {covers.min():.0%} to {covers.max():.0%}.",
    ]
