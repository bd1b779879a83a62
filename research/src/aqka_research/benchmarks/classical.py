"""What needs no shots: classical models and the majority class on the held-out tasks.

The exact quantum kernel stands beside them. Where a classical model agrees with it, shots that buy
agreement buy nothing; so every table of agreement or accuracy has these columns.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.insight.baselines import baselines
from aqka.learners import make_learner
from aqka.maths.metrics import Fold
from aqka_research.compare.total import total_tasks
from aqka_research.figures.page import PageRun
from aqka_research.markdown import mean_and_error, table
from aqka_research.suite import SUITE, QuantumTask
from aqka_research.sweep.store import Cell, Result, stable_name

SEEDS = 5
KINDS = ("data sets", "quantum-labelled")
"""Of tasks: the labels come with the data, or the kernel itself made them."""
GP = "GP on the angles"


@stable_name("benchmarks.classical:measure")
def measure(cell: Cell) -> Result:
    """Return accuracies, and agreement with the exact kernel's labels, of what needs no shots."""
    task = SUITE[cell["task"]].draw(cell["seed"])
    assert isinstance(task, QuantumTask)
    y = np.where(task.y >= 0, 1, -1)
    head = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), Problem(y.astype(float)))
    exact = np.where(head.decision_function(task.test_kernel) >= 0, 1, -1)
    X = np.concatenate([task.X, task.test_X])
    fold = Fold(kept=np.arange(len(y)), held=np.arange(len(y), len(X)))
    labels = np.concatenate([y, task.test_labels.astype(np.int64)])
    found: dict[str, Any] = {n: model(fold) for n, model in baselines(X, labels).items()}
    found[GP] = _gp(task.X, y, task.test_X)
    largest = 1 if np.mean(y == 1) >= 0.5 else -1
    found["majority class"] = np.full(len(exact), largest)
    return {
        "exact": float(np.mean(exact == task.test_labels)),
        "accuracy": {n: float(np.mean(one == task.test_labels)) for n, one in found.items()},
        "agreement": {n: float(np.mean(one == exact)) for n, one in found.items()},
    }


def _gp(X: Any, y: Any, new: Any) -> Any:
    """Return the labels of a Gaussian process whose widths its likelihood chooses."""
    import warnings

    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.ones(X.shape[1])) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a width at its bound is an answer too
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
        return np.where(model.predict(new) >= 0, 1, -1)


def controls(run: PageRun, names: Sequence[str], seeds: int) -> dict[str, Result]:
    """Return each task's means over seeds: exact, best and majority, accuracy and agreement.

    The best classical model is the one with the highest mean accuracy over all of these tasks.
    """
    cells: list[Cell] = [{"task": name, "seed": seed} for name in names for seed in range(seeds)]
    found = run.cells(measure, cells)
    models = [name for name in found[0]["accuracy"] if name != "majority class"]
    best = max(models, key=lambda name: np.mean([one["accuracy"][name] for one in found]))
    means: dict[str, Result] = {}
    for k, name in enumerate(names):
        mine = found[k * seeds : (k + 1) * seeds]
        means[name] = {
            "exact": float(np.mean([one["exact"] for one in mine])),
            "model": best,
            **{
                f"{what}, {short}": float(np.mean([one[what][full] for one in mine]))
                for what in ("accuracy", "agreement")
                for short, full in (("classical", best), ("majority", "majority class"))
            },
        }
    return means


def kind_of(name: str) -> str:
    """Return whether a task's labels come with the data or from the kernel."""
    return KINDS[0] if SUITE[name].kind == "classes" else KINDS[1]


def page(run: PageRun) -> list[str]:
    """Measure every held-out task, and write the page."""
    names = run.pick(total_tasks("confirmation"), total_tasks("development")[:4], QUICK)
    found = controls(run, names, run.pick(SEEDS, 2, 1))
    model = found[names[0]]["model"]
    columns = (
        *("exact", "accuracy, classical", "accuracy, majority"),
        *("agreement, classical", "agreement, majority"),
    )
    rows = [
        (
            f"{kind} ({len(mine)} tasks)",
            *(mean_and_error(found[name][column] for name in mine) for column in columns),
        )
        for kind in KINDS
        if (mine := [name for name in names if kind_of(name) == kind])
    ]
    each = [(name, *(f"{found[name][column]:.1%}" for column in columns)) for name in names]
    header = (
        *("tasks", "exact quantum kernel", model, "majority class"),
        *("agrees with the exact labels", "majority class agrees"),
    )
    return [
        "# What needs no shots",
        f"The held-out tasks of [points against pairs](total.md): accuracy on test points of a "
        "leave-one-out ridge on the exact kernel, which is what endless shots would give, of the "
        f"best of four classical models on the same columns ({model}), and of the majority class. "
        "The last two columns are the shares of test points to which they give the exact kernel's "
        "label, without a shot. Classical models are tuned inside the training points. ± is the "
        "standard error over tasks. *Quantum-labelled*: the kernel itself made the labels, which "
        "gives it the advantage.",
        table(header, rows),
        "## Each task",
        table(header, each),
    ]


QUICK = ["iris, RY-CZ 2 qubits, 60 points, half width, 50% positive"]
