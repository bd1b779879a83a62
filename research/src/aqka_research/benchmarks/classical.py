"""A plain classical model on the held-out tasks of the comparison of points and pairs.

Run it with ``python -m aqka_research.benchmarks.classical``; it takes a minute and writes
``docs/measured/classical.md``. It answers whether the quantum kernel is worth any shots on these
tasks, which the comparison of shots cannot.
"""

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.insight.baselines import baselines
from aqka.learners import make_learner
from aqka.maths.metrics import Fold
from aqka_research.benchmarks.tables import MEASURED, table
from aqka_research.compare.total import total_tasks
from aqka_research.suite import SUITE, QuantumTask

SEEDS = 5  # as in docs/measured/total.md
MODEL = "RBF SVM"
PAGE = MEASURED / "classical.md"


def scores(name: str, seed: int) -> tuple[float, float, float]:
    """Return the accuracy of the exact kernel, of the plain model and of the majority class."""
    task = SUITE[name].draw(seed)
    assert isinstance(task, QuantumTask)
    y = np.where(task.y >= 0, 1.0, -1.0)
    head = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), Problem(y))
    exact = np.where(head.decision_function(task.test_kernel) >= 0, 1.0, -1.0)
    X = np.concatenate([task.X, task.test_X])
    n_train = len(y)
    fold = Fold(kept=np.arange(n_train), held=np.arange(n_train, len(X)))
    everything = np.concatenate([y, task.test_labels]).astype(np.int64)
    plain = baselines(X, everything)[MODEL](fold)
    found = [float(np.mean(labels == task.test_labels)) for labels in (exact, plain)]
    return found[0], found[1], task.majority_accuracy


def main() -> None:
    """Measure every task, and write the page."""
    names = total_tasks("confirmation")
    means = np.array(
        [np.mean([scores(name, seed) for seed in range(SEEDS)], axis=0) for name in names]
    )
    natural = np.array([SUITE[name].kind == "classes" for name in names])
    groups = {"data sets": natural, "targets made from the kernel": ~natural}
    rows = [
        (f"{group} ({which.sum()} tasks)", *_cells(means[which])) for group, which in groups.items()
    ]
    header = ("tasks", "exact quantum kernel", MODEL, "majority class")
    each = [
        (name, *(f"{score:.1%}" for score in row)) for name, row in zip(names, means, strict=True)
    ]
    PAGE.write_text(
        "# A classical model on the held-out tasks\n\n"
        "Written by `python -m aqka_research.benchmarks.classical`. The tasks of "
        f"[points against pairs](total.md), {SEEDS} seeds each: accuracy on test points of a "
        "leave-one-out ridge on the exact kernel, which is what endless shots would give, and of "
        "an RBF SVM on the same columns, which needs no shots. Its penalty and width are tuned by "
        "cross-validation inside the training "
        "points. ± is the standard error over tasks. Where the target was made from the quantum "
        "kernel itself, that kernel has the advantage by construction.\n\n"
        f"{table(header, rows)}\n\n## Each task\n\n{table(header, each)}\n",
        encoding="utf-8",
    )
    print(PAGE)


def _cells(means: FloatArray) -> tuple[str, ...]:
    errors = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    return tuple(f"{m:.1%} ± {e:.1%}" for m, e in zip(means.mean(axis=0), errors, strict=True))


if __name__ == "__main__":
    main()
