"""A comparison's means as a table."""

from rich.console import Console
from rich.table import Table

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
