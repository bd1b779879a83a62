"""What needs no shots: classical models and the majority class on the held-out tasks.

The exact quantum kernel stands beside them. Where a classical model agrees with it, shots that buy
agreement buy nothing; so every table of agreement or accuracy has these columns.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.insight.baselines import baselines
from aqka.maths.metrics import Fold, balanced_accuracy
from aqka_research.circuit_tasks import KINDS, by_kind, circuit_tasks, draw_any, quick_tasks
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.quantum_tasks import GP, exact_labels, gp_labels
from aqka_research.sweep.store import Cell, Result, stable_name

SEEDS = 5
MAJORITY = "majority class"


def labels_without_shots(X: FloatArray, y: FloatArray, new: FloatArray) -> dict[str, FloatArray]:
    """Return the labels of new points by every classical model and by the majority class."""
    both = np.concatenate([X, new])
    fold = Fold(kept=np.arange(len(X)), held=np.arange(len(X), len(both)))
    labels = np.where(y >= 0, 1, -1)
    # Labels of new points are never looked at: models see those that the fold keeps.
    padded = np.concatenate([labels, np.resize(labels, len(new))])
    found = {name: model(fold) for name, model in baselines(both, padded).items()}
    found[MAJORITY] = np.full(len(new), 1 if np.mean(labels == 1) >= 0.5 else -1)
    return found


def best_and_majority(shares: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """Return the mean share over seeds of the best classical model, and of the majority class."""
    means = {name: float(np.mean([one[name] for one in shares])) for name in shares[0]}
    majority = means.pop(MAJORITY)
    return max(means.values()), majority


@stable_name("benchmarks.classical:measure")
def measure(cell: Cell) -> Result:
    """Return accuracies, and agreement with the exact kernel's labels, of what needs no shots."""
    task = draw_any(cell["task"], cell["seed"])
    exact, found = exact_labels(task), labels_without_shots(task.X, task.y, task.test_X)
    found[GP] = gp_labels(task)
    truth = task.test_labels
    return {
        "exact": float(np.mean(exact == truth)),
        "accuracy": {n: float(np.mean(one == truth)) for n, one in found.items()},
        "balanced": {n: balanced_accuracy(truth, one) for n, one in found.items()},
        "agreement": {n: float(np.mean(one == exact)) for n, one in found.items()},
    }


def controls(run: PageRun, names: Sequence[str], seeds: int) -> dict[str, Result]:
    """Return each task's means over seeds: exact; best and majority in three measures.

    The best classical model is that of the task, by its mean over seeds: chosen in hindsight, so
    that the control is not too easy.
    """
    cells: list[Cell] = [{"task": name, "seed": seed} for name in names for seed in range(seeds)]
    found = run.cells(measure, cells)
    means: dict[str, Result] = {}
    for k, name in enumerate(names):
        mine = found[k * seeds : (k + 1) * seeds]
        means[name] = {"exact": float(np.mean([one["exact"] for one in mine]))}
        for what in ("accuracy", "balanced", "agreement"):
            best, majority = best_and_majority([one[what] for one in mine])
            means[name] |= {f"{what}, majority": majority, f"{what}, classical": best}
    return means


def page(run: PageRun) -> list[str]:
    """Measure every held-out task, and write the page."""
    names = run.pick(circuit_tasks("confirmation"), quick_tasks(), quick_tasks()[:1])
    found = controls(run, names, run.pick(SEEDS, 2, 1))
    columns = (
        "exact",
        "accuracy, classical",
        "accuracy, majority",
        "agreement, classical",
        "agreement, majority",
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
        "tasks",
        "exact quantum kernel",
        "best classical model",
        MAJORITY,
        "classical agrees with the exact labels",
        "majority agrees",
    )
    return [
        "# What needs no shots",
        "Accuracy on the test points of the held-out tasks. *Exact quantum kernel*: a "
        "leave-one-out ridge on it, which is what unlimited shots would give. *Best classical "
        "model*: the best of four on the same columns (RBF SVM, logistic regression, gradient "
        "boosting, Gaussian process), each tuned on the training points, the best chosen in "
        "hindsight. The last two columns are the shares of test points on which they give the "
        "exact kernel's label. ± is the standard error over tasks.",
        "\n".join(f"- *{kind}*: {words}." for kind, words in KINDS.items()),
        table(header, rows),
        "## Each task",
        table(header, each),
    ]
