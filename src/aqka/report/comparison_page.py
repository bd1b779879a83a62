"""Several runs on one page: what differs between them, and what it brought."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np

from aqka.report.chart import Chart, Scale
from aqka.report.comparison import (
    compare_figures,
    comparison_sentences,
    differing_settings,
    letter_names,
)
from aqka.report.lorenz import lorenz_curve
from aqka.report.render import render
from aqka.report.run_charts import accuracy_axes, accuracy_band
from aqka.report.run_report import RunReport
from aqka.report.verdict import decide

LOOKS = ("c1", "c2 dashed", "c3", "c4 dashed", "c5", "total dashed")


def comparison_page(reports: Sequence[RunReport]) -> str:
    """Return a page that compares runs with the first of them."""
    names = letter_names(reports)
    charts = (_accuracies(reports, names), _concentrations(reports, names))
    figures = compare_figures(reports)
    return render(
        "comparison.html",
        names=names,
        verdicts=[(name, decide(one)) for name, one in zip(names, reports, strict=True)],
        sentences=comparison_sentences(reports),
        figures=[(figure.name, *figure.texts) for figure in figures],
        best=[(row, k + 1) for row, figure in enumerate(figures) for k in figure.best],
        charts=[chart for chart in charts if chart is not None],
        settings=differing_settings(reports),
        pairs=None,
    )


def _accuracies(reports: Sequence[RunReport], names: Sequence[str]) -> Chart | None:
    curves = [
        [(float(r.shots), r.accuracy) for r in report.rounds if r.accuracy is not None]
        for report in reports
    ]
    if not any(curves):
        return None
    chart = Chart(
        "Accuracy by round",
        "Accuracy by round",
        *accuracy_axes(reports),
        "training shots",
        "accuracy, cross-validated",
        note="Bands are 95 % intervals over the training points; runs on the same points move "
        "together more than their bands show.",
    )
    for report, curve, name, look in zip(reports, curves, names, cycle(LOOKS), strict=False):
        bands = [accuracy_band(a, report.table.n_points) for _, a in curve]
        if curve:
            low, high = [one for one, _ in bands], [two for _, two in bands]
            chart.add_band([s for s, _ in curve], low, high, look)
        chart.add_line([s for s, _ in curve], [a for _, a in curve], look)
        for s, a in curve:
            chart.add_dot(s, a, look, f"{name}, {int(s):,} shots: {a:.3f}")
        chart.add_key(look, name)
    return chart


def _concentrations(reports: Sequence[RunReport], names: Sequence[str]) -> Chart:
    chart = Chart(
        "How concentrated the shots are",
        "How concentrated the shots are",
        Scale(0, 1),
        Scale(0, 1),
        "share of pairs, least first",
        "share of the shots",
    )
    for report, name, look in zip(reports, names, cycle(LOOKS), strict=False):
        x, y = lorenz_curve(report.table.shots.ravel().astype(np.float64))
        chart.add_line(list(x), list(y), look)
        chart.add_key(look, name)
    return chart
