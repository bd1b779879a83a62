"""Should a projected kernel weigh each operator by what is signal? On the tasks of the suite.

``python -m aqka_research.benchmarks.projected_shrinkage`` writes docs/measured/shrinkage.md; it
takes about ten minutes. The rule was chosen on the development tasks, and the confirmation tasks
were run once after that.

A leave-one-out ridge on the Gaussian kernel of one-qubit reduced states of the suite's tasks of 3
to 8 qubits, measured in three settings, with the width tuned in both cases: as measured, and with
:func:`~aqka.estimates.reduced_states.shrunk_to_signal` at every number of shots.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.backends import StatevectorBackend
from aqka.core.problem import Problem
from aqka.estimates.reduced_states import FEW_SHOTS, shrunk_to_signal
from aqka_research.benchmarks.projected_suite import FEWEST_QUBITS, decisions, measured
from aqka_research.benchmarks.tables import MEASURED, table
from aqka_research.compare.total import total_tasks
from aqka_research.suite import SUITE, QuantumTask

LEVELS = (9, 18, 45, 90, 180)
SEEDS = range(8)
HALVES = ("development", "confirmation")
PAGE = MEASURED / "shrinkage.md"
HEADER = ("tasks", "shots a point", "of an operator", "as measured", "shrunk", "difference")


def scores(name: str, seed: int) -> FloatArray:
    """Return levels × (as measured, shrunk): accuracies on the test points."""
    task = SUITE[name].draw(seed)
    assert isinstance(task, QuantumTask)
    problem = Problem(np.sign(task.y) + (task.y == 0))
    old, new = (
        StatevectorBackend(X, task.feature_map(), seed=2 * seed + k)
        for k, X in enumerate((task.X, task.test_X))
    )
    found = np.empty((len(LEVELS), 2))
    for level, shots in enumerate(LEVELS):
        states, others = measured(old, shots), measured(new, shots)
        shrunk = shrunk_to_signal(states, shots=0)  # as if there were few, however many there are
        for arm, train in enumerate((states, shrunk)):
            rows = replace(others, weights=train.weights)
            positive = decisions(train, rows, problem, keep_noise=True) >= 0
            found[level, arm] = np.mean(positive == (task.test_labels > 0))
    return found


def measure(half: str) -> Sequence[tuple[str, ...]]:
    """Return the table's rows of one half of the suite."""
    names = [name for name in total_tasks(half) if SUITE[name].features >= FEWEST_QUBITS]
    # The mean over seeds first: tasks, not seeds, are what a rule should hold for.
    found = np.array([np.mean([scores(name, seed) for seed in SEEDS], axis=0) for name in names])
    rows = []
    for level, shots in enumerate(LEVELS):
        plain, shrunk = found[:, level].T
        error = np.std(shrunk - plain, ddof=1) / np.sqrt(len(names))
        gain = f"{np.mean(shrunk - plain):+.3f} ± {error:.3f}"
        cells = f"{len(names)} {half}", str(shots), str(shots // 3)
        rows.append((*cells, f"{plain.mean():.3f}", f"{shrunk.mean():.3f}", gain))
    return rows


def main() -> None:
    """Measure both halves and write the page."""
    rows = [row for half in HALVES for row in measure(half)]
    sections = [
        "# Shrinking to the signal",
        "Written by `python -m aqka_research.benchmarks.projected_shrinkage`: accuracies of a "
        "projected kernel's head on new points, with every Pauli operator as measured, and shrunk "
        f"by the share of its variance that is not shot noise. {len(SEEDS)} seeds a task; "
        "standard errors are over tasks. Chosen on the development tasks; the confirmation tasks "
        "were run once, after that.",
        table(HEADER, rows),
        f"Heads shrink below {FEW_SHOTS} shots of an operator, "
        "[as explained](../explanation/points.md#projected-kernels).",
    ]
    PAGE.write_text("\n\n".join(sections) + "\n")
    print(table(HEADER, rows))


if __name__ == "__main__":
    main()
