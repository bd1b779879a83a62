"""The demo's results as tables, with what they bring and what they do not."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from aqka.demo.iris import PAIRS, POINTS, RATE, TILES, USUAL, IrisDemo
from aqka.demo.paper import ALLOCATORS, READINGS, TABLE_SHOTS_PER_PAIR, Demo
from aqka.planning.budget import duration

NOTE = (
    "Test accuracy ± standard error. Fixed ridge: the paper's learner, diagonal measured. "
    "Tuned ridge: the same cross-validated learner for all, diagonal known.\n"
    "A small fixed ridge does not damp the shot noise that the inverse amplifies, so accuracy "
    "can fall as shots grow;\nnystrom and hybrid reconstruct with it even where the learner is "
    "tuned."
)


def print_iris(demo: IrisDemo, picture: Path | None, console: Console) -> None:
    """Print what both ways cost, and below it where ours does not help."""
    console.print(_iris_table(demo))
    for line in _iris_lines(demo):
        console.print(line, highlight=False, soft_wrap=True)
    if picture:
        console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)


def _iris_table(demo: IrisDemo) -> Table:
    table = Table(title="Iris, 4 qubits: 100 training and 50 new points, three classes")
    table.add_column("shots on", no_wrap=True)
    for heading in ("accuracy", "shots", "QPU time", "price"):
        table.add_column(heading, justify="right", no_wrap=True)
    fewest = demo.enough(PAIRS)
    rows = [(PAIRS, USUAL, f"pairs, {USUAL:,} each")]
    if fewest is not None and fewest != USUAL:
        rows.append((PAIRS, fewest, f"pairs, {fewest} each"))
    shots = demo.enough(POINTS) or demo.levels(POINTS)[-1]
    rows.append((POINTS, shots, f"points, {shots} each, tiled"))
    for way, level, name in rows:
        mean, error = demo.mean(way, level)
        bill = demo.bill(way, level)
        spread = "" if np.isnan(error) else f" ± {error:.3f}"
        table.add_row(
            name,
            f"{mean:.3f}{spread}",
            f"{bill.shots:,}",
            duration(bill.seconds),
            f"${bill.cost:,.0f}",
        )
    table.add_section()
    table.add_row("the kernel, exactly", f"{np.mean(demo.exact):.3f}", "", "", "")
    table.add_row("a plain SVM", f"{np.mean(demo.plain_svm):.3f}", "", "", "$0")
    table.add_row("the largest class", f"{np.mean(demo.majority):.3f}", "", "", "$0")
    return table


def _iris_lines(demo: IrisDemo) -> list[str]:
    """Return what ours saves, and where it does not help."""
    usual = demo.bill(PAIRS, USUAL)
    found = demo.enough(POINTS)
    said = []
    if found is not None:
        ours = demo.bill(POINTS, found)
        said.append(
            f"The same accuracy for {usual.shots / ours.shots:,.0f} times fewer shots and "
            f"{usual.seconds / ours.seconds:,.0f} times less QPU time, predictions included."
        )
        least = demo.enough(PAIRS)
        if least is not None and least != USUAL:
            pairs = demo.bill(PAIRS, least)
            said.append(
                f"Against pairs with just enough shots, a number that nobody knows beforehand: "
                f"{pairs.shots / ours.shots:.1f} and {pairs.seconds / ours.seconds:.1f} times."
            )
    better = np.mean(demo.plain_svm) >= np.mean(demo.exact)
    if better:
        said.append(
            "Where it does not help: a plain SVM on the same data is at least as good, and four "
            "qubits can be simulated. Run aqka check before you buy shots for your own data."
        )
    said.append(
        f"Shots are simulated without noise. QPU time by IBM's formula, 2 s a job and about 350 µs "
        f"an execution; {TILES} circuits of 4 qubits side by side fill a Heron; ${RATE:g} a minute."
    )
    return said


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
