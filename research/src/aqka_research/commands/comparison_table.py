"""Comparisons as tables."""

from rich.console import Console
from rich.table import Table

from aqka.cli.options import make_table
from aqka_research.compare import paper
from aqka_research.compare.findings import Comparison
from aqka_research.compare.page import HEADINGS, aims, overall_rows

SHOWN = ("balanced accuracy", "correlation", "shots, all", "cells lost")
"""What fits into a terminal; the page has the rest."""


def print_comparison(found: Comparison, console: Console) -> None:
    """Print the means, and which targets were reached."""
    table = Table(title="Means over all tasks and budgets")
    table.add_column("allocator + learner")
    shown = [HEADINGS.index(heading) for heading in SHOWN]
    for heading in SHOWN:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in overall_rows(found):
        table.add_row(row[0], *(row[column] for column in shown))
    console.print(table)
    for aim in aims(found):
        text = str(aim).replace("`", "").replace("**", "")
        console.print(f"- {text}", markup=False, highlight=False)


def paper_table(demo: paper.Demo, task: str) -> Table:
    """Return the accuracy of every allocator on a task, at one budget."""

    def cells(allocator: str) -> list[str]:
        found = []
        for reading in paper.READINGS:
            key = (task, reading, allocator, paper.TABLE_SHOTS_PER_PAIR)
            mean, error = demo.mean(*key, "accuracy")
            balanced, _ = demo.mean(*key, "balanced_accuracy")
            spread = "" if error is None else f" ± {error:.3f}"
            found += [f"{mean:.3f}{spread}", f"{balanced:.3f}"]
        return found

    runs = [run for run in demo.results if run.task == task]
    shots = next(run.shots for run in runs if run.shots_per_pair == paper.TABLE_SHOTS_PER_PAIR)
    title = f"{task}: {shots:,} shots, {paper.TABLE_SHOTS_PER_PAIR:g} per pair"
    headings = ["allocator", "fixed ridge", "balanced", "tuned ridge", "balanced"]
    table = make_table(title, headings, [[name, *cells(name)] for name in paper.ALLOCATORS])
    guess = f"{demo.majority[task]:.3f}"
    table.add_section()
    table.add_row("majority class", guess, "0.500", guess, "0.500")
    table.add_row("exact kernel", f"{demo.exact[task]:.3f}", "", "", "")
    return table
