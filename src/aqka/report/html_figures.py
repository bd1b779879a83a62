"""The charts of a run's report; each is None where the run has nothing to draw."""

from collections.abc import Sequence
from html import escape

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.insight.diagnostics import gini
from aqka.report.point_results import PointResults
from aqka.report.run_report import RunReport
from aqka.report.svg import Chart, Scale

MAX_DRAWN_POINTS = 300
CURVE_POINTS = 200


def figure(chart: Chart | None, title: str, words: str, legend: Sequence[tuple[str, str]]) -> str:
    """Return a chart with its title, an explanation and a legend of (look, name)."""
    if chart is None:
        return ""
    names = "".join(f'<span class="key {look}">{escape(name)}</span>' for look, name in legend)
    return (
        f"<figure><figcaption><h3>{escape(title)}</h3></figcaption>{chart.svg()}"
        f'<div class="legend">{names}</div><p>{escape(words)}</p></figure>'
    )


def accuracy_by_round(report: RunReport) -> str:
    """Draw accuracy by cross-validation, and of the test points at the end."""
    rounds = [(r.shots, r.accuracy) for r in report.rounds if r.accuracy is not None]
    if not rounds:
        return ""
    shots, accuracy = [float(s) for s, _ in rounds], np.array([a for _, a in rounds])
    error = np.sqrt(accuracy * (1 - accuracy) / report.table.n_points)
    found = report.point_results
    levels = [] if found is None else [*found.interval, found.majority_accuracy]
    chart = Chart(
        "Accuracy by round",
        Scale(0, max(shots) * 1.08),
        Scale.around([*(accuracy - error), *(accuracy + error), *levels]),
        "training shots",
        "accuracy",
    )
    legend = [("c1", "cross-validated ± SE")]
    chart.band(shots, list(accuracy - error), list(accuracy + error), "c1")
    chart.line(shots, list(accuracy), "c1")
    for s, a in zip(shots, accuracy, strict=True):
        chart.dot(s, a, "c1", f"{int(s):,} shots: {a:.3f}")
    if found is not None:
        chart.level(found.majority_accuracy, "majority class, test points")
        chart.upright(shots[-1] * 1.03, *found.interval, "c2")
        chart.dot(shots[-1] * 1.03, found.accuracy, "c2", f"test points: {found.accuracy:.3f}", 4)
        legend.append(("c2", "test points, 95 % interval"))
    return figure(chart, "Accuracy by round", "", legend)


def diagnostics_by_round(report: RunReport) -> str:
    """Draw the Gini of the sensitivities and the share of pairs seen."""
    if not report.rounds:
        return ""
    shots = [float(r.shots) for r in report.rounds]
    seen = [r.pairs_seen / report.table.n_pairs for r in report.rounds]
    ginis = [(float(r.shots), r.gini) for r in report.rounds if r.gini is not None]
    chart = Chart(
        "Diagnostics by round",
        Scale(0, max(*shots, 1.0) * 1.05),
        Scale(0, 1.04),
        "training shots",
        "share, Gini",
    )
    legend = [("c3", "share of pairs measured")]
    chart.line(shots, seen, "c3")
    for s, share in zip(shots, seen, strict=True):
        chart.dot(s, share, "c3", f"{int(s):,} shots: {share:.0%} of pairs")
    if ginis:
        chart.line([s for s, _ in ginis], [g for _, g in ginis], "c4 dashed")
        for s, g in ginis:
            chart.dot(s, g, "c4", f"{int(s):,} shots: Gini {g:.3f}")
        legend.append(("c4 dashed", "Gini of the sensitivities"))
    words = "Read from counts the Gini is pulled toward 0.6 whatever the truth: a weak hint."
    return figure(chart, "Diagnostics by round", words if ginis else "", legend)


def fewer_shots_curve(report: RunReport) -> str:
    """Draw accuracy from shares of the shots."""
    if not report.fewer:
        return ""
    shots = [part.fraction * report.table.total for part in report.fewer]
    low = [part.accuracy - part.error for part in report.fewer]
    high = [part.accuracy + part.error for part in report.fewer]
    chart = Chart(
        "Accuracy from fewer shots",
        Scale.around(shots, log=True),
        Scale.around([*low, *high]),
        "training shots kept",
        "accuracy",
    )
    chart.band(shots, low, high, "c1")
    chart.line(shots, [part.accuracy for part in report.fewer], "c1")
    for s, part in zip(shots, report.fewer, strict=True):
        words = f"{s:,.0f} shots: {part.accuracy:.3f}; all shots give {part.gain:+.3f} more"
        chart.dot(s, part.accuracy, "c1", words)
    words = (
        "Shots are left out at random from every pair, without a new one: does accuracy still "
        "grow at the right end?"
    )
    return figure(chart, "Would fewer shots have done?", words, [("c1", "cross-validated ± SE")])


def lorenz(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Lorenz curve: share of the pairs, least first, and of the sum they hold.

    Examples
    --------
    >>> x, y = lorenz(np.array([1.0, 3.0]))
    >>> x.tolist(), y.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    """
    ordered = np.sort(values)
    total = ordered.sum() or 1.0
    share = np.concatenate([[0.0], np.cumsum(ordered) / total])
    keep = np.unique(np.linspace(0, ordered.size, min(ordered.size, CURVE_POINTS) + 1).astype(int))
    return keep / ordered.size, share[keep]


def lorenz_curves(report: RunReport) -> str:
    """Draw how concentrated the sensitivities and the shots are."""
    chart = Chart(
        "Lorenz curve",
        Scale(0, 1),
        Scale(0, 1),
        "share of pairs, least first",
        "share of the sum",
    )
    chart.line([0, 1], [0, 1], "even")
    legend = []
    if report.sensitivity is not None:
        x, y = lorenz(report.sensitivity)
        chart.line(list(x), list(y), "c4 dashed")
        legend.append(("c4 dashed", f"sensitivity |g|, Gini {gini(report.sensitivity):.3f}"))
    shots = report.table.shots.astype(np.float64)
    x, y = lorenz(shots)
    chart.line(list(x), list(y), "c2")
    legend += [("c2", f"shots, Gini {gini(shots):.3f}"), ("even", "all pairs alike")]
    words = "The further a curve hangs below the line, the fewer pairs hold most of it."
    return figure(chart, "Concentration", words, legend)


def spectrum(report: RunReport) -> str:
    """Draw the eigenvalues of the kernel estimate, and how far noise alone reaches."""
    values, floor = report.eigenvalues, report.noise_floor
    size = np.maximum(np.abs(values), 1e-12)
    ranks = np.arange(1, values.size + 1)
    chart = Chart(
        "Eigenvalues of the kernel estimate",
        Scale(1, max(values.size, 2)),
        Scale.around([*size[size > 1e-6 * size.max()], floor or size.max()], log=True),
        "rank",
        "eigenvalue, size",
    )
    keep = np.unique(np.linspace(0, values.size - 1, MAX_DRAWN_POINTS).astype(int))
    for k in keep:
        look = "c2" if values[k] > 0 else "c1 hollow"
        chart.dot(float(ranks[k]), float(size[k]), look, f"{ranks[k]}: {values[k]:.4g}", 2.2)
    if floor > 0:
        chart.level(floor, f"noise floor {floor:.2g}")
    above = int(np.sum(values > floor))
    words = (
        f"{above} of {values.size} eigenvalues are above what shot noise alone reaches (2σ√N). "
        f"{int(np.sum(values < 0))} are negative, which no exact kernel's are."
    )
    legend = [("c2", "positive"), ("c1 hollow", "negative")]
    return figure(chart, "Spectrum of the kernel estimate", words, legend)


def point_intervals(found: PointResults | None) -> str:
    """Draw the decision values of the test points with their intervals."""
    if found is None:
        return ""
    order = np.argsort(found.value, kind="stable")
    left_out = max(0, order.size - MAX_DRAWN_POINTS)
    if left_out:  # the clearest decisions say least
        closest = np.argsort(np.abs(found.value), kind="stable")[:MAX_DRAWN_POINTS]
        order = closest[np.argsort(found.value[closest], kind="stable")]
    low = found.low if found.total_low is None else np.minimum(found.low, found.total_low)
    high = found.high if found.total_high is None else np.maximum(found.high, found.total_high)
    binary = len(found.classes) == 2
    chart = Chart(
        "Test points with intervals",
        Scale(-1, float(order.size)),
        Scale.around([*low[order], *high[order], 0.0]),
        "test points, by decision value",
        "decision value" if binary else "lead over the next class",
    )
    legend = [("c2", "right"), ("c1 hollow", "wrong"), ("c5", "90 %, test shots")]
    chart.level(0.0, f"above: {found.classes[1]}" if binary else "")
    for place, k in enumerate(order):
        if found.total_low is not None and found.total_high is not None:
            chart.upright(place, float(found.total_low[k]), float(found.total_high[k]), "total")
        chart.upright(place, float(found.low[k]), float(found.high[k]), "c5")
        words = (
            f"point {k}: predicted {found.predicted[k]}, is {found.truth[k]}; "
            f"{found.value[k]:+.3f}, {found.low[k]:+.3f} to {found.high[k]:+.3f}"
        )
        look = "c2" if found.right[k] else "c1 hollow"
        chart.dot(place, float(found.value[k]), look, words, 2.6 if order.size < 120 else 1.6)
    if found.total_low is not None:
        legend.append(("total", "90 %, training shots too"))
    words = f"The {left_out} clearest points are not drawn." if left_out else ""
    return figure(chart, "Decision values", words, legend)
