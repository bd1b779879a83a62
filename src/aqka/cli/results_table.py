"""The results of a study, printed: the same words as in its report."""

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import inert
from aqka.maths.metrics import share_interval

if TYPE_CHECKING:
    from aqka.report.run_report import RunReport

COLOURS = {"learnt": "green", "guessing": "red", "plain": "yellow", "open": "blue"}


def print_results(results: dict[str, Any], report: "RunReport | None", console: Console) -> None:
    """Print the verdict, accuracy, what was used, and what to do next.

    Verdict and advice are the report's; without one there are figures only.
    """
    if report is not None:
        _print_verdict(report, console)
    _print_figures(results, console)
    if report is not None:
        _print_advice(report, console)


def _print_verdict(report: "RunReport", console: Console) -> None:
    from aqka.report.verdict import decide

    verdict = decide(report)
    line = Text(inert(verdict.headline, limit=None), style=f"bold {COLOURS[verdict.outcome]}")
    line.append(f": {inert(verdict.reason, limit=None)}", style="default not bold")
    console.print(line, highlight=False, soft_wrap=True)


def _print_advice(report: "RunReport", console: Console) -> None:
    from aqka.report.answers import answer_questions

    for answer in answer_questions(report):
        words = f"{answer.question} {inert(answer.words, limit=None)}"
        console.print(words, highlight=False, markup=False, soft_wrap=True)


def _class_scores(found: dict[str, Any]) -> list[tuple[str, str]]:
    count = found["test_points"]
    low, high = share_interval(round(found["accuracy"] * count), count)
    return [
        ("accuracy", f"{found['accuracy']:.3f}, 95 %: {low:.2f} to {high:.2f}"),
        ("balanced accuracy", f"{found['balanced_accuracy']:.3f}"),
        ("majority class", f"{found['majority_accuracy']:.3f}"),
        ("settled", f"{sum(found['settled'])} of {found['test_points']}"),
    ]


def _value_scores(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("root mean square error", f"{found['rmse']:.4g} ± {found['rmse_error']:.2g}"),
        ("mean absolute error", f"{found['mean_absolute_error']:.4g}"),
        ("R²", f"{found['r2']:.3f}"),
        ("training mean's error", f"{found['mean_rmse']:.4g}"),
    ]


def _print_figures(results: dict[str, Any], console: Console) -> None:
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


def _rows(results: dict[str, Any]) -> list[tuple[str, str]]:
    found = results["results"]
    rows = [("shots a point", f"{found.get('shots_per_point', 0):,.0f}")]
    if "pairs" in found:
        rows = [("pairs seen", f"{found['pairs_seen']:,} of {found['pairs']:,}")]
    is_regression = found.get("task") == "regression"
    if not found["predictions"]:
        by_folds = found["cross_validated_accuracy"]
        told = "–" if by_folds is None else f"{by_folds:.3f}"
        return [("accuracy, cross-validated", told), *rows, ("predictions", "none: trained only")]
    return [
        *(_value_scores(found) if is_regression else _class_scores(found)),
        *rows,
        (
            "shots for predictions",
            f"{results['actual']['test_shots']:,} of {results['test_shots']:,}",
        ),
        ("shots in all", f"{_shots_in_all(results['actual']):,}"),
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _shots_in_all(actual: dict[str, Any]) -> int:
    return int(actual["shots"] + actual.get("calibration_shots", 0) + actual["test_shots"])
