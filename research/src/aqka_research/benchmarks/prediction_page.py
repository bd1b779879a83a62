"""Measure all that docs/measured/prediction.md shows, and write it: ``make prediction-page``."""

import platform
from collections.abc import Iterator
from datetime import date

import numpy as np

from aqka import MatrixBackend, Problem, acquire, predict
from aqka.demo.tasks import Task, breast_cancer, planted_sparse
from aqka.designs import KernelEstimate
from aqka.learners import make_learner
from aqka.planning import split_budget
from aqka_research.benchmarks.bars import Bar, bar_table
from aqka_research.benchmarks.prediction import (
    AGREEMENTS,
    SPLITS,
    WAYS,
    Savings,
    circles_task,
    digits,
    digits_task,
    false_decisions,
    planted_task,
    savings,
    shot_coverage,
    total_coverage,
    zz_task,
)
from aqka_research.benchmarks.tables import MEASURED, table

PAGE = MEASURED / "prediction.md"
SHARES = (0.1, 0.3, 0.5, 0.7)  # of a budget for training, beside the recommended one
SPLIT_SEEDS = 2
SHOTS_IN_ALL = (2, 10)  # for each pair, of training and of new points
NEW_POINTS = (10, 60, 200)


def savings_table() -> str:
    """Return what reading, allocation and stopping save."""
    rows = []
    for found in _all_savings():
        print(found, flush=True)
        for k, agreement in enumerate(AGREEMENTS):
            numbers = [_shots(found.shots[way][k]) for way in WAYS]
            ratio = f"{found.error_ratio:.1f} ×" if k == 0 else ""
            name = f"{found.task}, `{found.learner}`, {found.training_shots}" if k == 0 else ""
            rows.append((name, f"{agreement:.0%}", *numbers, ratio))
    header = ("task, learner, training shots a pair", "agreement", *WAYS, "squared error of f")
    return table(header, rows)


def _all_savings() -> Iterator[Savings]:
    yield savings(circles_task, "ridge-loo", training_shots=10)
    for make_task in (zz_task, digits_task):
        for learner in ("ridge-noise", "svm"):
            yield savings(make_task, learner)
    yield savings(planted_task, "ridge-noise")


def _shots(number: float) -> str:
    return "not reached" if np.isnan(number) else f"{number:.3g}"


def interval_bars() -> Iterator[Bar]:
    """Measure the error rate, and the coverage of both intervals."""
    for task in (breast_cancer(), digits(), planted_sparse(80, 30, 8, 1, largest_class=0.7)):
        yield false_decisions(task, repetitions=10)
        yield shot_coverage(task, repetitions=40)
    small_zz = breast_cancer(60, 10)
    for learner, shots in (("ridge", 4), ("ridge", 16), ("svm", 16)):
        yield total_coverage(small_zz, learner, shots)
    for shots in (4, 16, 64):
        yield total_coverage(small_zz, "ridge-kfold", shots)
    yield total_coverage(small_zz, "ridge-noise", 16)
    small_planted = planted_sparse(60, 10, 6, 1, largest_class=0.7)
    for shots in (4, 16):
        yield total_coverage(small_planted, "ridge-kfold", shots)
    # So few points cannot tell their ridge, and shots shift the choice by a factor of thousands.
    for shots in (4, 16, 64):
        yield total_coverage(breast_cancer(30, 10), "ridge-kfold", shots)
    yield total_coverage(breast_cancer(30, 10), "ridge-noise", 16)


def split_table() -> str:
    """Return how well splits of one budget agree with the labels of the exact kernel."""
    rows = []
    for n_new in NEW_POINTS:
        for shots in SHOTS_IN_ALL:
            found = np.mean([_agreements(*case, shots) for case in _split_cases(n_new)], axis=0)
            share = split_budget(10**6, 60, n_new).train / 10**6
            print(n_new, shots, share, found, flush=True)
            rows.append((str(n_new), str(shots), f"{share:.0%}", *(f"{a:.1%}" for a in found)))
    header = ("new points", "shots a pair", "recommended", "agreement there")
    return table((*header, *(f"at {share:.0%}" for share in SHARES)), rows)


def _split_cases(n_new: int) -> Iterator[tuple[Task, int]]:
    for seed in range(SPLIT_SEEDS):
        yield breast_cancer(60, n_new, seed), seed
        yield digits(60, n_new, seed), seed
        yield planted_sparse(60, n_new, 8, seed, largest_class=0.7), seed


def _agreements(task: Task, seed: int, shots: int) -> list[float]:
    n_train, n_new = len(task.y), len(task.test_labels)
    budget = shots * (n_train * (n_train - 1) // 2 + n_train * n_new)
    exact = make_learner("ridge-loo").fit(KernelEstimate(task.kernel), Problem(task.y, task.ridge))
    truth = exact.predict(task.test_kernel)
    found = []
    for share in (split_budget(budget, n_train, n_new).train / budget, *SHARES):
        training = MatrixBackend(task.kernel, seed=seed)
        session = acquire(training, task.y, round(share * budget), "uniform", seed=seed)
        test = MatrixBackend(task.test_kernel, rectangular=True, seed=seed)
        predicted = predict(session.fit("ridge-loo"), test, budget - round(share * budget))
        found.append(float(np.mean(predicted.labels == truth)))
    return found


def main() -> None:
    """Measure and write the page."""
    bars = []
    for bar in interval_bars():
        print(bar, flush=True)
        bars.append(bar)
    parts = [
        "# Shots for prediction, measured",
        f"Written by `make prediction-page` on {date.today()} (Python "
        f"{platform.python_version()}). [What is measured here](../explanation/prediction.md).",
        "## What reading, allocation and stopping save",
        f"Mean test shots a pair until a share of the labels agrees with those of exact test "
        f"entries ({SPLITS} splits, 100 test points each). The last column: by how much the "
        "squared error of f is smaller by linear Bayes than as measured, at as many test shots as "
        "training shots. Shots at equal agreement carry an error of about 30 %.",
        savings_table(),
        "## Wrong classes and coverage",
        bar_table(bars),
        "## How to split a budget",
        "Share of the labels that agree with those of the exact kernel, 60 training points, "
        f"`ridge-loo`, mean over breast cancer, digits and planted, {SPLIT_SEEDS} splits each; "
        "standard errors are 1 to 3 points.",
        split_table(),
    ]
    PAGE.write_text("\n\n".join(parts) + "\n")
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
