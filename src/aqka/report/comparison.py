"""Several runs against the first of them: in words, figure by figure, and as a page."""

from collections.abc import Sequence
from string import ascii_uppercase

import numpy as np

from aqka._util.text import number_text, percent
from aqka.maths.metrics import compare_shares
from aqka.report.answers import decide
from aqka.report.charts import accuracy_chart, lorenz_chart, lorenz_curve
from aqka.report.run_page import LOOKS, render
from aqka.report.run_report import RunReport
from aqka.report.tested import LEVEL, ClassResults
from aqka.report.words import capital, p_text

MISSING = "–"


def comparison_page(reports: Sequence[RunReport]) -> str:
    """Return a page that compares runs with the first of them."""
    names = letter_names(reports)
    looks = [(look, f"{name}, ", name) for look, name in zip(LOOKS, names, strict=False)]
    accuracy = accuracy_chart(reports, looks, "accuracy, cross-validated")
    if accuracy is not None:
        accuracy.note = (
            "Bands are 95 % intervals over the training points; runs on the same points move "
            "together more than their bands show."
        )
    units = sorted({f"{report.measured.unit}s" for report in reports})
    shots = lorenz_chart("How concentrated the shots are", " or ".join(units), "shots")
    for report, (look, _, name) in zip(reports, looks, strict=True):
        shots.add_line(*lorenz_curve(report.measured.shots), look, name)
    figures = compare_figures(reports)
    return render(
        "comparison.html",
        names=names,
        verdicts=[(name, decide(one)) for name, one in zip(names, reports, strict=True)],
        sentences=comparison_sentences(reports),
        figures=[(name, *texts) for name, (texts, _) in figures.items()],
        best=[(row, k + 1) for row, (_, best) in enumerate(figures.values()) for k in best],
        charts=[shots] if accuracy is None else [accuracy, shots],
        settings=differing_settings(reports),
        pairs=None,
    )


def letter_names(reports: Sequence[RunReport]) -> list[str]:
    """Return a letter and the name of each run: directories may be called alike."""
    return [f"{letter}: {one.name}" for letter, one in zip(ascii_uppercase, reports, strict=False)]


def comparison_sentences(reports: Sequence[RunReport]) -> list[str]:
    """Say for each run how it differs from the first, and whether that stands out from noise."""
    letters = zip(ascii_uppercase[1:], reports[1:], strict=False)
    return [_sentence(reports[0], other, letter) for letter, other in letters]


def compare_figures(reports: Sequence[RunReport]) -> dict[str, tuple[list[str], list[int]]]:
    """Return figures by name: what each is in every run, and the runs with the better value."""
    read = [_figures(report) for report in reports]
    found = {}
    for name in dict.fromkeys(name for figures in read for name in figures):
        texts, merits = zip(*(figures.get(name, (MISSING, None)) for figures in read), strict=True)
        known = [merit for merit in merits if merit is not None]
        best = []  # where all are alike
        if len(known) > 1 and min(known) < max(known):
            best = [k for k, merit in enumerate(merits) if merit == max(known)]
        if any(text != MISSING for text in texts):
            found[name] = list(texts), best
    return found


def differing_settings(reports: Sequence[RunReport]) -> list[tuple[str, ...]]:
    """Return a row for each setting that is not the same in all runs."""
    names = dict.fromkeys(name for report in reports for name in report.settings)
    rows = [(name, *(report.settings.get(name, MISSING) for report in reports)) for name in names]
    return [row for row in rows if len(set(row[1:])) > 1]


def _sentence(first: RunReport, other: RunReport, letter: str) -> str:
    """Say how a run differs from the first, by a paired test where the points are the same."""
    spent = f"{letter} spent {other.table.total:,} training shots, A {first.table.total:,}."
    one, two = first.tested, other.tested
    if one is None or two is None:
        return f"{spent} {'A' if one is None else letter} has no predictions to compare yet."
    if one.metric != two.metric:
        return f"{spent} One predicts classes and the other values, so they are not compared."
    scores = f"{spent} {capital(one.metric)} {two.shown(two.score)} against {one.shown(one.score)}"
    if not isinstance(one, ClassResults) or not isinstance(two, ClassResults):
        return f"{scores}."
    if first.data != other.data:
        from scipy.stats import fisher_exact

        counts = [[int(run.right.sum()), int((~run.right).sum())] for run in (two, one)]
        gain, p_value = two.score - one.score, float(fisher_exact(counts).pvalue)
        where, test = "on different test points", "Fisher's exact test"
    elif np.array_equal(one.right, two.right):
        return f"{scores}; both are right on the same of the {one.right.size} test points."
    else:
        found = compare_shares(two.right, one.right)
        gain, p_value = found.difference, found.p_value
        where = (
            f"on the same {found.n_points} test points: only {letter} is right on "
            f"{found.only_first}, only A on {found.only_second}"
        )
        test = "exact McNemar test"
    conclusion = f"{letter} is {'more' if gain > 0 else 'less'} accurate"
    if p_value >= LEVEL:
        conclusion = "the difference is not significant"
    tested = f"(difference {gain:+.3f}, {test} {p_text(p_value)})"
    return f"{scores}, {where} {tested}: {conclusion}."


def _figures(run: RunReport) -> dict[str, tuple[str, float | None]]:
    """Return each known figure as text, and how good it is; None where none is better."""
    tested, measured, steered = run.tested, run.measured, run.steering
    used = {row["figure"]: row["actual"] for row in run.usage}

    def cost(value: float | None) -> tuple[str, float | None]:
        return number_text(value), None if value is None else -value

    def billed(figure: str) -> tuple[str, float | None]:
        return cost(next((row.total for row in run.bill if row.figure.startswith(figure)), None))

    found: dict[str, tuple[str, float | None]] = {
        "verdict": (decide(run).headline, None),
        "state": (run.state, None),
    }
    if tested is not None:
        name = f"{'test ' if isinstance(tested, ClassResults) else ''}{tested.metric}, 95 %"
        text = f"{tested.shown(tested.score)}, {tested.shown(*tested.interval)}"
        found[name] = text, tested.sign * tested.score
    if isinstance(tested, ClassResults):
        found["balanced accuracy"] = f"{tested.balanced_accuracy:.3f}", tested.balanced_accuracy
        found["majority class"] = f"{run.guess.score:.3f}", None
        found["test points settled"] = tested.settled_words, float(tested.settled.mean())
        flips = tested.could_flip
        found["could flip"] = cost(None if flips is None else int(flips.sum()))
    for name, rival in (("exact kernel", run.exact_rival), ("best plain model", run.best_plain)):
        if tested is not None and rival is not None:
            which = "" if rival.kind == "exact" else f" ({rival.name})"
            found[name] = f"{tested.shown(rival.score)}{which}", None
    found |= {
        "training points": (f"{run.table.n_points:,}", None),
        "training shots": cost(run.table.total),
        "shots with predictions": billed("shots"),
        "shots per pair or point": (measured.a_unit, None),
        "pairs or points measured": (percent(measured.seen), None),
        "rounds": (str(len(run.rounds)), None),
    }
    if steered is not None:
        error = "" if steered.error is None else f" ± {steered.error:.2f}"
        found["variance over that of even shots"] = f"{steered.ratio:.2f}{error}", -steered.ratio
    if run.diagnostics is not None:
        found["Gini of the sensitivities"] = f"{run.diagnostics.gini:.3f}", None
    return found | {
        "QPU seconds with predictions": billed("QPU seconds, as"),
        "cost with predictions": billed("cost"),
        "seconds": cost(used.get("seconds")),
    }
