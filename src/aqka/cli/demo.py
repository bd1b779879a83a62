"""The command ``aqka demo``: parse, call, print what it brings and what it does not."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from aqka._util.progress_bar import progress_bar
from aqka._util.text import percent
from aqka.cli.options import AsJson, make_table, say
from aqka.errors import InputError

if TYPE_CHECKING:
    from aqka.demo.iris import IrisDemo


def demo(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Repetitions to average.")] = 5,
    picture: Annotated[Path, typer.Option(help="Where the PNG goes.")] = Path("aqka-demo.png"),
    as_json: AsJson = False,
) -> None:
    """Run Iris end to end, comparing the usual approach with aqka's: accuracy, shots, cost."""
    from threadpoolctl import threadpool_limits

    from aqka.demo import iris

    if not picture.parent.is_dir():
        raise InputError(f"--picture: the directory {picture.parent} does not exist.")
    if picture.suffix != ".png" or picture.is_dir():
        raise InputError(f"--picture must be a file name ending in .png, got {picture}.")
    # Matrices of a few hundred rows are faster on one BLAS thread than on several.
    with threadpool_limits(1), progress_bar("spending shots", seeds * len(iris.STEPS)) as bar:
        finished = iris.run_iris(seeds, on_run=bar.advance)
    saved: str | None = str(picture)
    try:
        iris.draw_iris(finished, picture)
    except ImportError:
        say("No picture: matplotlib is missing. pip install 'aqka[plot]' brings it.", err=True)
        saved = None
    if as_json:
        typer.echo(json.dumps(asdict(finished) | {"picture": saved}, indent=2))
        return
    _print_demo(finished, Console())
    if saved:
        say(f"Picture: {saved}")


def _print_demo(demo: "IrisDemo", console: Console) -> None:
    """Print what each step costs and saves, from the usual way to ours, and where none helps."""
    import numpy as np

    from aqka.demo.iris import RATE, STEPS
    from aqka.planning.budget import duration

    rows = []
    for step in STEPS:
        bill, accuracy = demo.bill(step.name), percent(demo.mean(step.name)[0], 1)
        figures = (f"{bill.shots:,}", f"{bill.executions:,}", str(bill.jobs))
        rows.append((step.name, accuracy, *figures, duration(bill.seconds), f"${bill.cost:,.0f}"))
    headings = ["step", "accuracy", "shots", "executions", "jobs", "QPU time", "price"]
    title = "Iris, 4 qubits: 100 training and 50 new points, three classes"
    table = make_table(title, headings, rows, compact=True)
    table.add_section()
    free = ("0", "0", "0", "0 s", "$0")
    table.add_row("exact kernel", percent(float(np.mean(demo.exact)), 1))
    table.add_row("a plain SVM", percent(float(np.mean(demo.plain_svm)), 1), *free)
    table.add_row("majority class", percent(float(np.mean(demo.majority)), 1), *free)
    console.print(table)
    seconds = [demo.bill(step.name).seconds for step in STEPS]
    saved = []
    for step, before, after in zip(STEPS[1:], seconds, seconds[1:], strict=False):
        times = f"{before / after:.1f} × less" if after < before else f"{after / before:.1f} × more"
        saved.append(f"{step.name} {times}")
    errors, sure = [demo.mean(step.name)[1] for step in STEPS], ""
    if np.all(np.isfinite(errors)):
        sure = f" Accuracies have standard errors of at most {percent(max(errors), 1)}."
    say(f"QPU time, step by step: {'; '.join(saved)}.{sure}")
    if np.mean(demo.plain_svm) >= np.mean(demo.exact):
        say(
            "Where it does not help: a plain SVM on the same data is at least as good, and four "
            "qubits can be simulated. Run aqka check before you buy shots for your own data."
        )
    say(
        "Shots are simulated without noise, and their numbers were fixed before the first one. QPU "
        "time by IBM's formula, 2 s a job and about 350 µs an execution; "
        f"${RATE:g} a minute was IBM's list price, pay as you go, in May 2026."
    )
