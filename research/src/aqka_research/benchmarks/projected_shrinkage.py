"""Should a projected kernel weigh each operator by what is signal? On the tasks of the suite.

The rule was chosen on the development tasks, and the confirmation tasks were run after that.

A leave-one-out ridge on the Gaussian kernel of one-qubit reduced states of the suite's tasks of 3
to 8 qubits, measured in three settings, with the width tuned in both cases: as measured, and with
:func:`~aqka.estimates.reduced_states.shrunk_to_signal` at every number of shots.
"""

from dataclasses import replace

import numpy as np

from aqka._util.text import counted
from aqka.backends import StatevectorBackend
from aqka.core.problem import Problem
from aqka.estimates.reduced_states import FEW_SHOTS, shrunk_to_signal
from aqka_research.benchmarks.classical import MAJORITY, controls
from aqka_research.benchmarks.projected_suite import FEWEST_QUBITS, decisions, measured
from aqka_research.circuit_tasks import by_kind, circuit_tasks, draw, qubits_of
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.suite import SUITE
from aqka_research.sweep.store import Cell, Result, stable_name

LEVELS = (9, 18, 45, 90, 180)
SEEDS = range(8)
HALVES = ("development", "confirmation")
HEADER = ("tasks", "shots a point", "per operator", "as measured", "shrunk", "difference")
CONTROLS = ("best classical model, no shots", MAJORITY)


@stable_name("benchmarks.projected_shrinkage:measure")
def measure(cell: Cell) -> Result:
    """Return levels × (as measured, shrunk): accuracies on the test points."""
    seed, levels = cell["seed"], cell["levels"]
    task = draw(cell["task"], seed)
    problem = Problem(np.sign(task.y) + (task.y == 0))
    old, new = (
        StatevectorBackend(X, task.feature_map(), seed=2 * seed + k)
        for k, X in enumerate((task.X, task.test_X))
    )
    found = np.empty((len(levels), 2))
    for level, shots in enumerate(levels):
        states, others = measured(old, shots), measured(new, shots)
        shrunk = shrunk_to_signal(states, shots=0)  # as if there were few, however many there are
        for arm, train in enumerate((states, shrunk)):
            rows = replace(others, weights=train.weights)
            positive = decisions(train, rows, problem, keep_noise=True) >= 0
            found[level, arm] = np.mean(positive == (task.test_labels > 0))
    return {"found": found}


def page(run: PageRun) -> list[str]:
    """Measure both halves, and write the page."""
    levels, seeds = run.pick((list(LEVELS), SEEDS), ([9, 45], range(1)), ([9], range(1)))
    rows = []
    for half in run.pick(HALVES, HALVES[:1], HALVES[:1]):
        names = [n for n in circuit_tasks(half) if n in SUITE and qubits_of(n) >= FEWEST_QUBITS]
        names = names[: run.pick(None, 2, 1)]
        cells: list[Cell] = [{"task": n, "seed": s, "levels": levels} for n in names for s in seeds]
        every = np.array([one["found"] for one in run.cells(measure, cells)])
        # The mean over seeds first: tasks, not seeds, are what a rule should hold for.
        found = every.reshape(len(names), len(seeds), *every.shape[1:]).mean(axis=1)
        control = controls(run, names, len(seeds))
        for kind, mine in by_kind(names).items():
            at = [names.index(name) for name in mine]
            free = [
                mean_and_error((control[name][f"accuracy, {which}"] for name in mine), ".3f")
                for which in ("classical", "majority")
            ]
            for level, shots in enumerate(levels):
                plain, shrunk = found[at, level].T
                shown = (f"{plain.mean():.3f}", f"{shrunk.mean():.3f}")
                gain = mean_and_error(shrunk - plain, "+.3f")
                head = (
                    f"{half}, {kind} ({counted(len(mine), 'task')})",
                    str(shots),
                    str(shots // 3),
                )
                rows.append((*head, *shown, gain, *free))
    return [
        "# Shrinking to the signal",
        "Accuracies of a projected kernel's head on new points, with every Pauli operator as "
        "measured, and shrunk by the share of its variance that is not shot noise. "
        f"{len(seeds)} seeds a task; standard errors are over tasks. Quantum-labelled tasks are "
        "not among them. The rule was chosen on the development tasks.",
        table((*HEADER, *CONTROLS), rows),
        f"Heads shrink below {FEW_SHOTS} shots per operator, "
        "[as explained](../explanation/points.md#projected-kernels). "
        "[The controls](classical.md) on all tasks.",
    ]
