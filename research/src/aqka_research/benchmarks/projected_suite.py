"""Should a projected kernel keep the noise of its shots? On the tasks of the suite.

Run it with ``python -m aqka_research.benchmarks.projected_suite``; it takes about a minute.
``keep_noise`` was chosen on the development tasks. The confirmation tasks were run once, after
that.

A leave-one-out ridge on the Gaussian kernel of one-qubit reduced states of the suite's tasks of 3
to 8 qubits, measured in three settings; γ is tuned in all cases.
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import StatevectorBackend
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import uniform_settings
from aqka.designs import KernelEstimate
from aqka.estimates.projected import gaussian_projected_kernel
from aqka.estimates.reduced_states import ReducedStates, reduced_states
from aqka.learners import make_learner
from aqka.learners.projected_gamma import tuned_gamma
from aqka_research.compare.total import total_tasks
from aqka_research.suite import SUITE, QuantumTask

LEVELS = (12, 24, 48, 96, 192, 384)
EXACT = 3 * 10**7
SEEDS = range(2)
FEWEST_QUBITS = 3


def measured(backend: StatevectorBackend, shots: int) -> ReducedStates:
    """Return the reduced states of a backend's points from ``shots`` shots each."""
    settings = uniform_settings(backend.n_qubits)
    plan = even_plan(np.arange(backend.shape[0]), settings, shots)
    table = PointTable(backend.shape[0], settings)
    table.add(plan, backend.collect(backend.submit(plan, f"{shots} shots a point")))
    return reduced_states(table)


def decisions(
    states: ReducedStates, new: ReducedStates, problem: Problem, keep_noise: bool
) -> FloatArray:
    """Return what the head of the kernel says of new points."""
    gamma = tuned_gamma(states, problem.outputs, keep_noise)
    kernel = gaussian_projected_kernel(states, gamma, keep_noise=keep_noise)
    rows = gaussian_projected_kernel(new, gamma, states, keep_noise=keep_noise)
    return make_learner("ridge-loo").fit(KernelEstimate(kernel), problem).decision_function(rows)


def scores(name: str, seed: int) -> FloatArray:
    """Return levels × (removed, kept) × (agreement with the exact labels, accuracy)."""
    task = SUITE[name].draw(seed)
    assert isinstance(task, QuantumTask)
    problem = Problem(np.sign(task.y) + (task.y == 0))
    old, new = (
        StatevectorBackend(X, task.feature_map(), seed=2 * seed + k)
        for k, X in enumerate((task.X, task.test_X))
    )
    exact = decisions(measured(old, EXACT), measured(new, EXACT), problem, keep_noise=False) >= 0
    found = np.empty((len(LEVELS), 2, 2))
    for level, shots in enumerate(LEVELS):
        states, others = measured(old, shots), measured(new, shots)
        for kept in (False, True):
            positive = decisions(states, others, problem, kept) >= 0
            found[level, int(kept)] = (
                np.mean(positive == exact),
                np.mean(positive == (task.test_labels > 0)),
            )
    return found


def main() -> None:
    """Measure and print a Markdown table."""
    header = ["tasks", "shots a point", "agreement, removed", "kept", "kept − removed"]
    header += ["accuracy, removed", "kept", "kept − removed"]
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for half in ("development", "confirmation"):
        names = [name for name in total_tasks(half) if SUITE[name].features >= FEWEST_QUBITS]
        # The mean over seeds first: tasks, not seeds, are what a rule should hold for.
        found = np.array(
            [np.mean([scores(name, seed) for seed in SEEDS], axis=0) for name in names]
        )
        for level, shots in enumerate(LEVELS):
            cells = [f"{len(names)} {half}", str(shots)]
            for what in (0, 1):
                removed, kept = found[:, level, :, what].T
                gain = kept - removed
                error = np.std(gain, ddof=1) / np.sqrt(len(names))
                cells += [f"{removed.mean():.3f}", f"{kept.mean():.3f}"]
                cells += [f"{gain.mean():+.3f} ± {error:.3f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
