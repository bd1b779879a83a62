"""New points: how often intervals cover, how often a settled class is wrong, and shots saved.

Run it with ``python -m benchmarks.point_prediction``; it takes some minutes. On all tasks of the
suite with classes, both halves, of 2 to 6 qubits: a head is trained on points of S shots, and each
new point may have S shots too. The truth is what the same head says of the exact state.
"""

import numpy as np

from aqka.backends import StatevectorBackend
from aqka.core.problem import Problem
from aqka.core.settings import uniform_settings
from aqka.evaluation.compare.total import total_tasks
from aqka.evaluation.suite import SUITE, QuantumTask
from aqka.runs.driver import drive
from aqka.sessions.point_acquisition import PointAcquisition
from aqka.sessions.point_heads import FidelityOfPoints, PointHead, ProjectedPoints
from aqka.sessions.point_prediction import predict_points

LEVELS = (32, 128, 512, 2048)
QUBITS = range(2, 7)
LEVEL, ERROR_RATE = 0.9, 0.05
NEVER = 1e-300  # no point is settled at this rate
EXACT = 10**6  # shots a point of a projected kernel


def task_scores(name: str, shots: int, projected: bool) -> list[float]:
    """Return coverage, share settled, share settled wrongly, and shots used of those allowed."""
    task = SUITE[name].draw(0)
    assert isinstance(task, QuantumTask)
    feature_map = task.feature_map()
    old = StatevectorBackend(task.X, feature_map, seed=0)
    new = StatevectorBackend(task.test_X, feature_map, seed=1)
    session = PointAcquisition(
        Problem(np.sign(task.y) + (task.y == 0)),
        task.n_qubits,
        shots * len(task.y),
        settings=uniform_settings(task.n_qubits) if projected else None,
    )
    drive(session, old)
    head = session.fit(kernel=ProjectedPoints() if projected else FidelityOfPoints(rank=1))
    truth = exact_decisions(head, new)
    budget = shots * len(truth)
    every = predict_points(head, new, budget, error_rate=NEVER, level=LEVEL)
    stopped = predict_points(head, new, budget, error_rate=ERROR_RATE)
    settled = stopped.settled
    return [
        float(np.mean((every.low <= truth) & (truth <= every.high))),
        float(np.mean(settled)),
        float(np.mean(settled & ((stopped.f >= 0) != (truth >= 0)))),
        float(stopped.shots.sum() / budget),
    ]


def exact_decisions(head: PointHead, new: StatevectorBackend) -> np.ndarray:
    """Return what a head says of the exact states, or of so many shots that they are exact."""
    if hasattr(head, "decide_exactly"):
        return np.asarray(head.decide_exactly(new.states()))
    many = EXACT * new.shape[0]
    return predict_points(head, new, many, error_rate=NEVER).f


def main() -> None:
    """Measure and print a Markdown table: means over tasks, and the worst of them."""
    header = ["kernel", "S", f"{LEVEL:.0%} intervals cover", "settled", "settled wrongly"]
    header += ["most in a task", "shots used"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    names = [
        name
        for half in ("development", "confirmation")
        for name in total_tasks(half)
        if SUITE[name].features in QUBITS
    ]
    for projected in (False, True):
        for shots in LEVELS:
            found = np.array([task_scores(name, shots, projected) for name in names])
            cover, settled, wrong, used = found.mean(axis=0)
            cells = ["projected" if projected else "fidelity", str(shots), f"{cover:.1%}"]
            cells += [f"{settled:.0%}", f"{wrong:.2%}", f"{found[:, 2].max():.1%}", f"{used:.0%}"]
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{len(names)} tasks")


if __name__ == "__main__":
    main()
