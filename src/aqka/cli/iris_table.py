"""The demo's results as a table, and what it brings or does not."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from aqka.demo.iris import PAIRS, POINTS, RATE, TILES, USUAL, IrisDemo
from aqka.planning.budget import duration


def print_iris(demo: IrisDemo, picture: Path | None, console: Console) -> None:
    """Print the bill of both ways, and the honest lines below it."""
    console.print(_table(demo))
    for line in lines(demo):
        console.print(line, highlight=False, soft_wrap=True)
    if picture:
        console.print(f"Picture: {picture}", highlight=False, soft_wrap=True)


def _table(demo: IrisDemo) -> Table:
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


def lines(demo: IrisDemo) -> list[str]:
    """Return what ours brings, and where it brings nothing."""
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
                f"Against pairs with just enough shots, which nobody knows beforehand: "
                f"{pairs.shots / ours.shots:.1f} and {pairs.seconds / ours.seconds:.1f} times."
            )
    better = np.mean(demo.plain_svm) >= np.mean(demo.exact)
    if better:
        said.append(
            "Where it brings nothing: a plain SVM on the same data is at least as good, and four "
            "qubits can be simulated. Ask aqka check before you buy shots for data of your own."
        )
    said.append(
        f"Shots are simulated without noise. QPU time by IBM's formula, 2 s a job and about 350 µs "
        f"an execution; {TILES} circuits of 4 qubits side by side fill a Heron; ${RATE:g} a minute."
    )
    return said
