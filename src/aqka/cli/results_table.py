"""The results of a study, printed."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import inert


def print_results(results: dict[str, Any], console: Console) -> None:
    """Print accuracy, advice, and what was quoted against what was used."""
    found = results["results"]
    table = Table(title=f"{found['test_points']} test points", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in _rows(results):
        table.add_row(name, value)
    console.print(table)
    use = Table(title="quoted and used")
    for heading in ("figure", "quoted", "used"):
        use.add_column(heading, justify="left" if heading == "figure" else "right", no_wrap=True)
    for row in results["quote_versus_actual"]:
        use.add_row(Text(row["figure"]), _number(row["quoted"]), _number(row["actual"]))
    console.print(use)
    console.print(
        inert(found["diagnostics"]["advice"], limit=None),
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _rows(results: dict[str, Any]) -> list[tuple[str, str]]:
    found = results["results"]
    rows = [("pairs seen", f"{found['pairs_seen']:,} of {found['pairs']:,}")]
    if found["accuracy"] is None:
        by_folds = found["cross_validated_accuracy"]
        told = "–" if by_folds is None else f"{by_folds:.3f}"
        return [("accuracy, cross-validated", told), *rows, ("predictions", "none: trained only")]
    return [
        ("accuracy", f"{found['accuracy']:.3f} ± {found['standard_error']:.3f}"),
        ("balanced accuracy", f"{found['balanced_accuracy']:.3f}"),
        ("majority class", f"{found['majority_accuracy']:.3f}"),
        ("settled", f"{sum(found['settled'])} of {found['test_points']}"),
        *rows,
        (
            "shots for predictions",
            f"{results['actual']['test_shots']:,} of {results['test_shots']:,}",
        ),
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"
