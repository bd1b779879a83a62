"""Several runs against the first of them: in words, and figure by figure."""

from collections.abc import Callable, Sequence

import numpy as np

from aqka.report.answers import SURE
from aqka.report.number_text import number_text
from aqka.report.point_results import PointResults
from aqka.report.run_report import RunReport

MISSING = "–"


def letter_names(reports: Sequence[RunReport]) -> list[str]:
    """Return a letter and the name of each run: directories may be called alike."""
    return [f"{_letter(k)}: {report.name}" for k, report in enumerate(reports)]


def comparison_sentences(reports: Sequence[RunReport]) -> list[str]:
    """Say of each run how it differs from the first, and whether that can be told from noise."""
    first, *others = reports
    return [_sentence(first, other, _letter(k)) for k, other in enumerate(others, start=1)]


def compare_figures(reports: Sequence[RunReport]) -> list[tuple[str, ...]]:
    """Return a row for each figure: its name, and what it is in each run."""
    return [(name, *(text(report) for report in reports)) for name, text in FIGURES.items()]


def differing_settings(reports: Sequence[RunReport]) -> list[tuple[str, ...]]:
    """Return a row for each setting that is not the same in all runs."""
    names = dict.fromkeys(name for report in reports for name in report.settings)
    rows = [(name, *(report.settings.get(name, MISSING) for report in reports)) for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def _letter(k: int) -> str:
    return chr(ord("A") + k)


def _sentence(first: RunReport, other: RunReport, letter: str) -> str:
    spent = f"{letter} spent {other.table.total:,} training shots, A {first.table.total:,}."
    one, two = first.point_results, other.point_results
    if one is None or two is None:
        return f"{spent} {'A' if one is None else letter} has no predictions to compare yet."
    same_points = first.data == other.data
    gain, error = two.accuracy - one.accuracy, _gain_error(one, two, same_points)
    how = (
        f"point by point on the same {one.right.size} test points"
        if same_points
        else "on different test points"
    )
    if same_points and np.array_equal(one.right, two.right):
        conclusion = "both are right on the same points"
    elif abs(gain) > SURE * error:
        conclusion = f"{letter} is {'more' if gain > 0 else 'less'} accurate"
    else:
        conclusion = "which is more accurate cannot be told"
    return (
        f"{spent} Accuracy {two.accuracy:.3f} against {one.accuracy:.3f}: {gain:+.3f} ± "
        f"{error:.3f} {how}; {conclusion}."
    )


def _gain_error(one: PointResults, two: PointResults, same_points: bool) -> float:
    if same_points:
        each = two.right.astype(np.float64) - one.right
        return float(np.std(each) / np.sqrt(each.size))
    return float(np.hypot(one.standard_error, two.standard_error))


def _usage(figure: str) -> Callable[[RunReport], str]:
    """Return what reads a figure of the usage."""
    return lambda report: number_text(
        next((row["actual"] for row in report.usage if row["figure"] == figure), None)
    )


def _of_points(text: Callable[[PointResults], str]) -> Callable[[RunReport], str]:
    """Return what reads the test points, where there are any."""
    return lambda report: MISSING if report.point_results is None else text(report.point_results)


def _could_flip(found: PointResults) -> str:
    return MISSING if found.could_flip is None else str(found.could_flip.sum())


def _steering(report: RunReport) -> str:
    found = report.steering
    if found is None:
        return MISSING
    return f"{found.ratio:.2f}" + ("" if found.error is None else f" ± {found.error:.2f}")


def _gini(report: RunReport) -> str:
    return MISSING if report.diagnostics is None else f"{report.diagnostics.gini:.3f}"


FIGURES: dict[str, Callable[[RunReport], str]] = {
    "state": lambda run: run.state,
    "training points": lambda run: f"{run.table.n_points:,}",
    "training shots": lambda run: f"{run.table.total:,}",
    "shots a pair": lambda run: f"{run.table.total / run.table.n_pairs:.2f}",
    "pairs measured": lambda run: f"{float(np.mean(~run.table.unseen)):.0%}",
    "rounds": lambda run: str(len(run.rounds)),
    "test accuracy ± SE": _of_points(lambda p: f"{p.accuracy:.3f} ± {p.standard_error:.3f}"),
    "balanced accuracy": _of_points(lambda p: f"{p.balanced_accuracy:.3f}"),
    "majority class": _of_points(lambda p: f"{p.majority_accuracy:.3f}"),
    "test points settled": _of_points(lambda p: f"{int(p.settled.sum())} of {len(p.truth)}"),
    "could flip": _of_points(_could_flip),
    "variance over even shots'": _steering,
    "Gini of the sensitivities": _gini,
    "shots for predictions": _usage("shots for predictions"),
    "QPU seconds": _usage("QPU seconds"),
    "cost": _usage("cost"),
    "seconds": _usage("seconds"),
}
