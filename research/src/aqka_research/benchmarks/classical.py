"""What needs no shots: classical models and the majority class on the held-out tasks.

The exact quantum kernel stands beside them. Where a classical model agrees with it, shots that buy
agreement buy nothing; so every table of agreement or accuracy has these columns.
"""

from collections.abc import Sequence

import numpy as np

from aqka.insight.baselines import baselines
from aqka.maths.metrics import Fold
from aqka_research.circuit_tasks import KINDS, by_kind, circuit_tasks, draw, quick_tasks
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.quantum_tasks import GP, exact_labels, gp_labels
from aqka_research.sweep.store import Cell, Result, stable_name

SEEDS = 5
MAJORITY = "majority class"


@stable_name("benchmarks.classical:measure")
def measure(cell: Cell) -> Result:
    """Return accuracies, and agreement with the exact kernel's labels, of what needs no shots."""
    task = draw(cell["task"], cell["seed"])
    y = np.where(task.y >= 0, 1, -1)
    exact = exact_labels(task)
    X = np.concatenate([task.X, task.test_X])
    fold = Fold(kept=np.arange(len(y)), held=np.arange(len(y), len(X)))
    labels = np.concatenate([y, task.test_labels.astype(np.int64)])
    found = {name: model(fold) for name, model in baselines(X, labels).items()}
    found[GP] = gp_labels(task)
    found[MAJORITY] = np.full(len(exact), 1 if np.mean(y == 1) >= 0.5 else -1)
    return {
        "exact": float(np.mean(exact == task.test_labels)),
        "accuracy": {n: float(np.mean(one == task.test_labels)) for n, one in found.items()},
        "agreement": {n: float(np.mean(one == exact)) for n, one in found.items()},
    }


def controls(run: PageRun, names: Sequence[str], seeds: int) -> dict[str, Result]:
    """Return each task's means over seeds: exact, best and majority, accuracy and agreement.

    The best classical model is that of the task, by its mean over seeds: chosen in hindsight, so
    that the control is not too easy.
    """
    cells: list[Cell] = [{"task": name, "seed": seed} for name in names for seed in range(seeds)]
    found = run.cells(measure, cells)
    means: dict[str, Result] = {}
    for k, name in enumerate(names):
        mine = found[k * seeds : (k + 1) * seeds]
        means[name] = {"exact": float(np.mean([one["exact"] for one in mine]))}
        for what in ("accuracy", "agreement"):
            by_model = {m: float(np.mean([one[what][m] for one in mine])) for m in mine[0][what]}
            means[name][f"{what}, majority"] = by_model.pop(MAJORITY)
            means[name][f"{what}, classical"] = max(by_model.values())
    return means


def page(run: PageRun) -> list[str]:
    """Measure every held-out task, and write the page."""
    names = run.pick(circuit_tasks("confirmation"), quick_tasks(), quick_tasks()[:1])
    found = controls(run, names, run.pick(SEEDS, 2, 1))
    columns = (
        *("exact", "accuracy, classical", "accuracy, majority"),
        *("agreement, classical", "agreement, majority"),
    )
    rows = [
        (
            f"{kind} ({len(mine)} tasks)",
            *(mean_and_error(found[name][column] for name in mine) for column in columns),
        )
        for kind, mine in by_kind(names).items()
    ]
    each = [(name, *(f"{found[name][column]:.1%}" for column in columns)) for name in names]
    header = (
        *("tasks", "exact quantum kernel", "best classical model", MAJORITY),
        *("classical agrees with the exact labels", "majority agrees"),
    )
    return [
        "# What needs no shots",
        "The held-out tasks: accuracy on test points of a leave-one-out ridge on the exact kernel, "
        "which is what endless shots would give, of the best of four classical models on the same "
        "columns (RBF SVM, logistic regression, gradient boosting, Gaussian process; each tuned "
        "inside the training points, the best chosen in hindsight), and of the majority class. "
        "The last two columns are the shares of test points to which they give the exact kernel's "
        "label, without a shot. ± is the standard error over tasks.",
        "\n".join(f"- *{kind}*: {words}." for kind, words in KINDS.items()),
        table(header, rows),
        "## Each task",
        table(header, each),
    ]
