"""Several runs against the first of them: in words, and figure by figure."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from aqka.maths.metrics import compare_shares
from aqka.report.number_text import number_text, p_text, range_text
from aqka.report.point_results import PointResults
from aqka.report.rivals import LEVEL
from aqka.report.run_report import RunReport
from aqka.report.verdict import best_plain, decide, rival_of

MISSING = "–"

Better = Literal["more", "less"]


class Figure(NamedTuple):
    """A figure of every run.

    Attributes
    ----------
    texts
        What it is in each run.
    best
        Numbers of the runs that have the better value; empty where none is better.
    """

    name: str
    texts: list[str]
    best: list[int]


class FigureReader(NamedTuple):
    """How a figure is read: as text, and as a number of which more or less is better."""

    text: Callable[[RunReport], str]
    number: Callable[[RunReport], float | None] | None = None
    better: Better = "less"


def letter_names(reports: Sequence[RunReport]) -> list[str]:
    """Return a letter and the name of each run: directories may be called alike."""
    return [f"{_letter(k)}: {report.name}" for k, report in enumerate(reports)]


def comparison_sentences(reports: Sequence[RunReport]) -> list[str]:
    """Say of each run how it differs from the first, and whether that can be told from noise."""
    first, *others = reports
    return [_sentence(first, other, _letter(k)) for k, other in enumerate(others, start=1)]


def compare_figures(reports: Sequence[RunReport]) -> list[Figure]:
    """Return each figure with what it is in every run, and which run has the better value."""
    return [
        Figure(name, [reader.text(report) for report in reports], _best(reports, reader))
        for name, reader in FIGURES.items()
    ]


def differing_settings(reports: Sequence[RunReport]) -> list[tuple[str, ...]]:
    """Return a row for each setting that is not the same in all runs."""
    names = dict.fromkeys(name for report in reports for name in report.settings)
    rows = [(name, *(report.settings.get(name, MISSING) for report in reports)) for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def _best(reports: Sequence[RunReport], reader: FigureReader) -> list[int]:
    if reader.number is None:
        return []
    values = [reader.number(report) for report in reports]
    known = [value for value in values if value is not None]
    if len(known) < 2 or min(known) == max(known):
        return []
    best = max(known) if reader.better == "more" else min(known)
    return [k for k, value in enumerate(values) if value == best]


def _letter(k: int) -> str:
    return chr(ord("A") + k)


def _sentence(first: RunReport, other: RunReport, letter: str) -> str:
    spent = f"{letter} spent {other.table.total:,} training shots, A {first.table.total:,}."
    one, two = first.point_results, other.point_results
    if one is None or two is None:
        return f"{spent} {'A' if one is None else letter} has no predictions to compare yet."
    scores = f"{spent} Accuracy {two.accuracy:.3f} against {one.accuracy:.3f}"
    if first.data != other.data:
        return f"{scores}, {_on_different_points(one, two, letter)}"
    if np.array_equal(one.right, two.right):
        return (
            f"{scores} on the same {one.right.size} test points: both are right on the same points."
        )
    return f"{scores}, {_on_the_same_points(one, two, letter)}"


def _on_the_same_points(one: PointResults, two: PointResults, letter: str) -> str:
    """Say what the exact McNemar test makes of two runs on the same points."""
    found = compare_shares(two.right, one.right)
    better = found.p_value < LEVEL
    more = "more" if found.difference > 0 else "less"
    conclusion = f"{letter} is {more} accurate" if better else "which is better cannot be told"
    return (
        f"point by point on the same {found.n_points} test points: {letter} alone is right on "
        f"{found.only_first}, A alone on {found.only_second}; {found.difference:+.3f}, exact "
        f"McNemar {p_text(found.p_value)}: {conclusion}."
    )


def _on_different_points(one: PointResults, two: PointResults, letter: str) -> str:
    """Say what Fisher's exact test makes of two runs on points that are not the same."""
    from scipy.stats import fisher_exact

    counts = [[int(p.right.sum()), int((~p.right).sum())] for p in (two, one)]
    p_value = float(fisher_exact(counts).pvalue)
    gain = two.accuracy - one.accuracy
    conclusion = "which is better cannot be told"
    if p_value < LEVEL:
        conclusion = f"{letter} is {'more' if gain > 0 else 'less'} accurate"
    return (
        f"on different test points: {gain:+.3f}, Fisher's exact test {p_text(p_value)}: "
        f"{conclusion}."
    )


def _used(figure: str) -> Callable[[RunReport], float | None]:
    """Return what reads a figure of the usage."""
    return lambda report: next(
        (row["actual"] for row in report.usage if row["figure"] == figure), None
    )


def _billed(figure: str) -> Callable[[RunReport], float | None]:
    """Return what reads the total of a figure of the bill."""
    return lambda report: next(
        (row.total for row in report.bill if row.figure.startswith(figure)), None
    )


def _number(read: Callable[[RunReport], float | None]) -> FigureReader:
    return FigureReader(lambda report: number_text(read(report)), read)


def _of_points(
    text: Callable[[PointResults], str],
    number: Callable[[PointResults], float | None] | None = None,
    better: Better = "more",
) -> FigureReader:
    """Return what reads the test points, where there are any."""

    def read_text(report: RunReport) -> str:
        return MISSING if report.point_results is None else text(report.point_results)

    def read_number(report: RunReport) -> float | None:
        if report.point_results is None or number is None:
            return None
        return number(report.point_results)

    return FigureReader(read_text, None if number is None else read_number, better)


def _a_pair(run: RunReport) -> str:
    if run.measures_points:
        return f"{run.table.total / run.table.n_points:.0f} a point"
    return f"{run.table.total / run.pairs.n_pairs:.2f}"


def _measured(run: RunReport) -> str:
    return "–" if run.measures_points else f"{float(np.mean(~run.pairs.unseen)):.0%}"


def _could_flip(found: PointResults) -> float | None:
    return None if found.could_flip is None else int(found.could_flip.sum())


def _steering(report: RunReport) -> str:
    found = report.steering
    if found is None:
        return MISSING
    return f"{found.ratio:.2f}" + ("" if found.error is None else f" ± {found.error:.2f}")


def _steering_ratio(report: RunReport) -> float | None:
    return None if report.steering is None else report.steering.ratio


def _gini(report: RunReport) -> str:
    return MISSING if report.diagnostics is None else f"{report.diagnostics.gini:.3f}"


def _exact(report: RunReport) -> str:
    exact = rival_of(report, "exact")
    return MISSING if exact is None else f"{exact.score:.3f}"


def _plain(report: RunReport) -> str:
    plain = best_plain(report)
    return MISSING if plain is None else f"{plain.score:.3f} ({plain.name})"


FIGURES: dict[str, FigureReader] = {
    "verdict": FigureReader(lambda run: decide(run).headline),
    "state": FigureReader(lambda run: run.state),
    "test accuracy, 95 %": _of_points(
        lambda p: f"{p.accuracy:.3f}, {range_text(*p.interval)}", lambda p: p.accuracy
    ),
    "balanced accuracy": _of_points(
        lambda p: f"{p.balanced_accuracy:.3f}", lambda p: p.balanced_accuracy
    ),
    "majority class": _of_points(lambda p: f"{p.majority_accuracy:.3f}"),
    "exact kernel": FigureReader(_exact),
    "best plain model": FigureReader(_plain),
    "training points": FigureReader(lambda run: f"{run.table.n_points:,}"),
    "training shots": _number(lambda run: run.table.total),
    "shots with predictions": _number(_billed("shots")),
    "shots a pair": FigureReader(_a_pair),
    "pairs measured": FigureReader(_measured),
    "rounds": FigureReader(lambda run: str(len(run.rounds))),
    "test points settled": _of_points(
        lambda p: f"{int(p.settled.sum())} of {len(p.truth)}", lambda p: float(p.settled.mean())
    ),
    "could flip": _of_points(lambda p: number_text(_could_flip(p)), _could_flip, better="less"),
    "variance over even shots'": FigureReader(_steering, _steering_ratio),
    "Gini of the sensitivities": FigureReader(_gini),
    "QPU seconds with predictions": _number(_billed("QPU seconds, as")),
    "cost with predictions": _number(_billed("cost")),
    "seconds": _number(_used("seconds")),
}
