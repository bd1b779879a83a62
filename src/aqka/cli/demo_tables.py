"""The demo's results as tables, with what they bring and what they do not."""

from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from aqka.demo.iris import RATE, STEPS, Bill, IrisDemo, Step
from aqka.demo.paper import ALLOCATORS, READINGS, TABLE_SHOTS_PER_PAIR, Demo
from aqka.planning.budget import duration

MATTERS = 1.05  # times less QPU time: below, a step brings nothing
NOTE = (
    "Test accuracy ± standard error. Fixed ridge: the paper's learner, diagonal measured. "
    "Tuned ridge: the same cross-validated learner for all, diagonal known.\n"
    "A small fixed ridge does not damp the shot noise that the inverse amplifies, so accuracy "
    "can fall as shots grow;\nnystrom and hybrid reconstruct with it even where the learner is "
    "tuned."
)


def print_iris(demo: IrisDemo, picture: Path | None, console: Console) -> None:
    """Print what each step costs, and below it where none of them helps."""
    console.print(_iris_table(demo))
    for line in _iris_lines(demo):
        console.print(line, highlight=False, soft_wrap=True)
    if picture:
        console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)


def _iris_table(demo: IrisDemo) -> Table:
    title = "Iris, 4 qubits: 100 training and 50 new points, three classes"
    table = Table(title=title, box=box.SIMPLE, padding=0)
    table.add_column("step", no_wrap=True)
    for heading in ("accuracy", "shots", "executions", "jobs", "QPU time", "price"):
        table.add_column(heading, justify="right", no_wrap=True)
    for step in STEPS:
        bill = demo.bill(step.name)
        table.add_row(
            step.name,
            f"{demo.mean(step.name)[0]:.1%}",
            f"{bill.shots:,}",
            f"{bill.executions:,}",
            str(bill.jobs),
            duration(bill.seconds),
            f"${bill.cost:,.0f}",
        )
    table.add_section()
    table.add_row("the kernel, exactly", f"{np.mean(demo.exact):.1%}")
    table.add_row("a plain SVM", f"{np.mean(demo.plain_svm):.1%}", "0", "0", "0", "0 s", "$0")
    table.add_row("the largest class", f"{np.mean(demo.majority):.1%}", "0", "0", "0", "0 s", "$0")
    return table


def _iris_lines(demo: IrisDemo) -> list[str]:
    """Return what each step saves of the one before it, and where none of it helps."""
    bills = [demo.bill(step.name) for step in STEPS]
    steps = zip(STEPS[1:], bills, bills[1:], strict=False)
    said = [f"Less QPU time by step: {'; '.join(_saved(*step) for step in steps)}."]
    errors = [demo.mean(step.name)[1] for step in STEPS]
    if np.all(np.isfinite(errors)):
        said[0] += f" Accuracies have standard errors of at most {max(errors):.1%}."
    if np.mean(demo.plain_svm) >= np.mean(demo.exact):
        said.append(
            "Where it does not help: a plain SVM on the same data is at least as good, and four "
            "qubits can be simulated. Run aqka check before you buy shots for your own data."
        )
    said.append(
        "Shots are simulated without noise, and their numbers were fixed before the first one. QPU "
        "time by IBM's formula, 2 s a job and about 350 µs an execution; "
        f"${RATE:g} a minute was IBM's list price, pay as you go, in May 2026."
    )
    return said


def _saved(step: Step, before: Bill, after: Bill) -> str:
    times = before.seconds / after.seconds
    return f"{step.name} {times:.1f} ×" if times > MATTERS else f"{step.name} brings nothing"


def print_demo(demo: Demo, picture: Path | None, console: Console) -> None:
    """Print a table for each task, what its kernel is like, and where the picture is."""
    for task in demo.majority:
        console.print(_task_table(demo, task))
        console.print(
            f"  The exact kernel has {demo.true_diagnostics[task].advice}\n"
            f"  After these shots: {demo.diagnostics[task].advice}\n",
            highlight=False,
            soft_wrap=True,
        )
    console.print(NOTE, highlight=False, soft_wrap=True)
    if picture:
        console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)


def _task_table(demo: Demo, task: str) -> Table:
    at_table = (run for run in demo.results if run.shots_per_pair == TABLE_SHOTS_PER_PAIR)
    shots = next(run.shots for run in at_table if run.task == task)
    table = Table(title=f"{task}: {shots:,} shots, {TABLE_SHOTS_PER_PAIR:g} per pair")
    table.add_column("allocator", no_wrap=True)
    for heading in ("fixed ridge", "balanced", "tuned ridge", "balanced"):
        table.add_column(heading, justify="right")
    for allocator in ALLOCATORS:
        table.add_row(allocator, *_accuracy_cells(demo, task, allocator))
    table.add_section()
    majority = f"{demo.majority[task]:.3f}"
    table.add_row("majority class", majority, "0.500", majority, "0.500")
    table.add_row("exact kernel", f"{demo.exact[task]:.3f}", "", "", "")
    return table


def _accuracy_cells(demo: Demo, task: str, allocator: str) -> list[str]:
    """Return accuracy and balanced accuracy under each reading."""
    cells = []
    for reading in READINGS:
        key = (task, reading, allocator, TABLE_SHOTS_PER_PAIR)
        mean, error = demo.mean(*key, "accuracy")
        balanced, _ = demo.mean(*key, "balanced_accuracy")
        spread = "" if error is None else f" ± {error:.3f}"
        cells += [f"{mean:.3f}{spread}", f"{balanced:.3f}"]
    return cells
