"""A comparison's means as a table."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from aqka.evaluation.compare.comparison import Comparison
from aqka.evaluation.compare.page import aim_lines, overall_rows


def print_comparison(found: Comparison, page: Path, console: Console) -> None:
    """Print the means, what was reached of what was aimed at, and where the page is."""
    table = Table(title="Means over all tasks and budgets")
    table.add_column("allocator + readout")
    for heading in ("accuracy", "balanced", "correlation"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in overall_rows(found):
        table.add_row(*row)
    console.print(table)
    for line in aim_lines(found):
        console.print(line.replace("`", "").replace("**", ""), markup=False, highlight=False)
    console.print(f"Full tables: {page}", markup=False, highlight=False)
