"""The charts of a run's report; each is None where the run has nothing to draw."""

from collections.abc import Sequence

import numpy as np

from aqka._util.arrays import FloatArray, IntArray
from aqka._util.text import percent
from aqka.insight.diagnostics import gini
from aqka.maths.angle_prior import spread_evenly
from aqka.maths.metrics import share_interval
from aqka.report.chart import Chart, Interval, Scale
from aqka.report.run_report import RunReport
from aqka.report.tested import ClassResults, ValueResults

MAX_DRAWN_POINTS = 300
MAX_DRAWN_ENTRIES = 600
CURVE_POINTS = 200  # of a Lorenz curve
SMALL_EIGENVALUE = 1e-6  # of the largest, below which the axis does not reach


def accuracy_by_round(report: RunReport) -> Chart | None:
    """Draw accuracy by cross-validation, and of the test points at the end."""
    chart = accuracy_chart([report], [("c1", "", "cross-validated, 95 %")], "accuracy")
    if chart is not None and isinstance(report.tested, ClassResults):
        place, score = accuracies(report)[-1][0] * 1.03, report.tested.score
        chart.add_level(report.guess.score, "majority class, test points")
        chart.add_line([place] * 2, report.tested.interval, "c2", "test points, 95 % interval")
        chart.add_dot(place, score, "c2", f"test points: {score:.3f}", 4)
    return chart


def loss_by_step(report: RunReport) -> Chart | None:
    """Draw the loss of the feature map's training, and say what it bought."""
    trained = report.map_training
    if trained is None:
        return None
    curve = [(float(k), loss) for k, loss in enumerate(trained.history)]
    axes = Scale(0, max(1.0, curve[-1][0]) * 1.04), Scale.around(trained.history)
    chart = Chart("Training of the feature map", *axes, "step", "loss: minus the alignment")
    chart.add_curve(curve, "c1", "training points", [f"{loss:.3f}" for _, loss in curve])
    chart.note = trained.words
    return chart


def accuracy_chart(
    reports: Sequence[RunReport], looks: Sequence[tuple[str, str, str]], y_label: str
) -> Chart | None:
    """Draw cross-validated accuracy by round; each run has a look, a prefix and a name."""
    if not any(accuracies(report) for report in reports):
        return None
    chart = Chart("Accuracy by round", *accuracy_axes(reports), "training shots", y_label)
    for report, (look, prefix, name) in zip(reports, looks, strict=True):
        curve = accuracies(report)
        bands = [accuracy_band(a, report) for _, a in curve]
        words = [f"{prefix}{int(s):,} shots: {a:.3f}" for s, a in curve]
        chart.add_curve(curve, look, name, words, bands)
    return chart


def accuracies(report: RunReport) -> list[tuple[float, float]]:
    """Return the shots and the cross-validated accuracy of each round that has one."""
    return [(float(r.shots), r.accuracy) for r in report.rounds if r.accuracy is not None]


def accuracy_axes(reports: Sequence[RunReport]) -> tuple[Scale, Scale]:
    """Return the axes that all charts of accuracy against training shots share."""
    values: list[float] = []
    for report in reports:
        for _, a in accuracies(report):
            values += accuracy_band(a, report)
        for part in report.fewer:
            values += accuracy_band(part.accuracy, report, part.error)
        if isinstance(report.tested, ClassResults):
            values += [*report.tested.interval, report.guess.score]
    most = max(1.0, *(float(report.table.total) for report in reports))
    return Scale(0, most * 1.08), Scale.around(values)


def accuracy_band(accuracy: float, report: RunReport, error: float = 0.0) -> Interval:
    """Return Wilson's 95 % interval of a share of the training points.

    ``error`` is that of an accuracy that varies with the shots left out, too.
    """
    n_points = report.table.n_points
    low, high = share_interval(round(accuracy * n_points), n_points)
    return min(low, accuracy - 2 * error), max(high, accuracy + 2 * error)


def diagnostics_by_round(report: RunReport) -> Chart | None:
    """Draw the Gini of the sensitivities and the share of pairs seen."""
    if not report.rounds:
        return None
    n_units = report.measured.shots.size
    seen = [(float(r.shots), r.seen / n_units) for r in report.rounds]
    ginis = [(float(r.shots), r.gini) for r in report.rounds if r.gini is not None]
    axes = accuracy_axes([report])[0], Scale(0, 1.04)
    chart = Chart("Diagnostics by round", *axes, "training shots", "share, Gini")
    words = [f"{int(s):,} shots: {percent(share)} of pairs" for s, share in seen]
    chart.add_curve(seen, "c3", "share of pairs measured", words)
    if ginis:
        words = [f"{int(s):,} shots: Gini {g:.3f}" for s, g in ginis]
        chart.add_curve(ginis, "c4 dashed", "Gini of the sensitivities", words)
        chart.note = "A weak hint: noise pulls a Gini that is read from counts toward 0.6."
    return chart


def fewer_shots_curve(report: RunReport) -> Chart | None:
    """Draw accuracy from shares of the shots."""
    if not report.fewer:
        return None
    points = [(part.fraction * report.table.total, part.accuracy) for part in report.fewer]
    bands = [accuracy_band(part.accuracy, report, part.error) for part in report.fewer]
    words = [
        f"{s:,.0f} shots: {a:.3f}; all shots give {part.gain:+.3f} more"
        for (s, a), part in zip(points, report.fewer, strict=True)
    ]
    axes = accuracy_axes([report])
    chart = Chart("Would fewer shots have done?", *axes, "training shots kept", "accuracy")
    chart.add_curve(points, "c1", "cross-validated, 95 %", words, bands)
    chart.note = (
        "Shots are left out at random from every pair. If accuracy still grows at the right end, "
        "more shots may help."
    )
    return chart


def concentration(report: RunReport) -> Chart:
    """Draw how concentrated the sensitivities and the shots are."""
    chart = lorenz_chart("Concentration", "pairs", "sum")
    chart.note = "The further a curve hangs below the line, the fewer pairs hold most of the sum."
    chart.add_line([0, 1], [0, 1], "even")
    drawn = {"sensitivity |g|": report.measured.sensitivity, "shots": report.measured.shots}
    for (name, values), look in zip(drawn.items(), ("c4 dashed", "c2"), strict=True):
        if values is not None:
            curve, spread = lorenz_curve(values), gini(values.astype(np.float64))
            chart.add_line(*curve, look, f"{name}, Gini {spread:.3f}")
    chart.legend.append(("even", "all pairs alike"))
    return chart


def lorenz_chart(heading: str, units: str, total: str) -> Chart:
    """Return an empty chart for Lorenz curves."""
    axes = Scale(0, 1), Scale(0, 1)
    return Chart(heading, *axes, f"share of {units}, least first", f"share of the {total}")


def lorenz_curve(values: FloatArray | IntArray) -> tuple[list[float], list[float]]:
    """Return the share of the units, least first, and of the sum they hold.

    >>> lorenz_curve(np.array([1.0, 3.0]))
    ([0.0, 0.5, 1.0], [0.0, 0.25, 1.0])
    """
    ordered = np.sort(values.astype(np.float64))
    share = np.concatenate([[0.0], np.cumsum(ordered) / (ordered.sum() or 1.0)])
    keep = spread_evenly(ordered.size + 1, CURVE_POINTS + 1)
    return (keep / ordered.size).tolist(), share[keep].tolist()


def spectrum(report: RunReport) -> Chart | None:
    """Draw the eigenvalues of the kernel estimate, and how far noise alone reaches."""
    values, floor = report.measured.eigenvalues, report.measured.noise_floor
    if not values.size:
        return None
    size = np.maximum(np.abs(values), 1e-12)
    drawn = [*size[size > SMALL_EIGENVALUE * size.max()], floor or size.max()]
    axes = Scale(1, max(values.size, 2)), Scale.around(drawn, log=True)
    chart = Chart("Spectrum of the kernel estimate", *axes, "rank", "eigenvalue, size")
    for k in spread_evenly(values.size, MAX_DRAWN_POINTS):
        look = "c2" if values[k] > 0 else "c1 hollow"
        chart.add_dot(k + 1.0, float(size[k]), look, f"{k + 1}: {values[k]:.4g}", 2.2)
    if (values < 0).any():
        chart.legend += [("c2", "positive"), ("c1 hollow", "negative")]
    chart.note = f"{values.size} eigenvalues are not 0."
    if floor > 0:  # the noise of points is no matrix of independent entries
        chart.add_level(floor, f"noise floor {floor:.2g}")
        above, negative = int(np.sum(values > floor)), int(np.sum(values < 0))
        chart.note = (
            f"{above} of {values.size} eigenvalues are above what shot noise alone reaches "
            f"(2σ√N). {negative} are negative; those of an exact kernel never are."
        )
    return chart


def decision_values(found: ClassResults) -> Chart:
    """Draw the decision values of the test points with their intervals."""
    # Only the closest of many points are drawn: the clearest say least.
    closest = np.argsort(np.abs(found.value), kind="stable")[:MAX_DRAWN_POINTS]
    order = closest[np.lexsort((closest, found.value[closest]))]
    left_out = found.value.size - order.size
    binary = len(found.classes) == 2
    chart = Chart(
        "Decision values",
        Scale(-1, float(order.size)),
        Scale(-found.reach if binary else min(0.0, float(found.narrow[0].min())), found.reach),
        "test points, by decision value",
        "decision value" if binary else "lead over the next class",
        note=f"The {left_out} clearest points are not drawn." if left_out else "",
    )
    chart.legend += [("c2", "right"), ("c1 hollow", "wrong"), ("c5", "90 %, test shots")]
    if found.wide is not None:
        chart.legend.append(("total", "90 %, training shots too"))
    chart.add_level(0.0, f"above: {found.classes[1]}" if binary else "")
    for place, k in enumerate(order):
        value, ends = float(found.value[k]), found.narrow[:, k].tolist()
        if found.wide is not None:
            chart.add_line([place] * 2, found.wide[:, k].tolist(), "total")
        chart.add_line([place] * 2, ends, "c5")
        words = (
            f"{found.ids[k]}: predicted {found.predicted[k]}, is {found.truth[k]}; "
            f"{value:+.3f}, {ends[0]:+.3f} to {ends[1]:+.3f}"
        )
        look, size = "c2" if found.right[k] else "c1 hollow", 2.6 if order.size < 120 else 1.6
        chart.add_dot(place, value, look, words, size)
    return chart


def predicted_values(found: ValueResults) -> Chart:
    """Draw the values of a regression against their targets, with their intervals."""
    order = np.argsort(found.truth, kind="stable")
    drawn = order[spread_evenly(len(order), MAX_DRAWN_POINTS)]
    ends = [found.truth, *found.narrow[:, drawn]]
    if found.target is not None:
        ends += [*found.target[:, drawn]]
    scale = Scale.around(np.concatenate(ends).tolist())
    border = [scale.low, scale.high]
    chart = Chart("Predicted values against targets", scale, scale, "target", "predicted")
    chart.note = "On the line a prediction equals its target."
    chart.add_line(border, border, "c4 dashed", "predicted = target")
    chart.legend.append(("c5", "90 %, shot noise of the test shots"))
    if found.target is not None:
        chart.legend.append(("total", "90 %, the target"))
    for k in drawn:
        x, y = float(found.truth[k]), float(found.value[k])
        if found.target is not None:
            chart.add_line([x, x], found.target[:, k].tolist(), "total")
        chart.add_line([x, x], found.narrow[:, k].tolist(), "c5")
        chart.add_dot(x, y, "c2", f"{found.ids[k]}: {y:.4g}, target {x:.4g}", 2.6)
    return chart


def shots_by_point(report: RunReport) -> Chart:
    """Draw the shots of every point, the fewest first."""
    shots = np.sort(report.measured.shots)
    note = f"From {shots[0]:,} to {shots[-1]:,} shots, {shots.mean():,.0f} on average."
    if shots[0] == shots[-1]:
        note = f"{shots[0]:,} shots each."
    counts = [("", int(count)) for count in shots]
    return _counts("Shots per point", "points, fewest first", counts, "c2", note)


def shots_by_setting(report: RunReport) -> Chart:
    """Draw the shots of every Pauli setting, all points together."""
    by_setting = report.measured.by_setting
    note = (
        f"All points share {len(by_setting)} settings of {len(by_setting[0][0])} qubits; point at "
        "one for its letters, qubit 0 first."
    )
    counts = [(f"{letters}: ", count) for letters, count in by_setting]
    return _counts("Shots per setting", "Pauli settings", counts, "c3", note)


def _counts(
    heading: str, x_label: str, counts: list[tuple[str, int]], look: str, note: str
) -> Chart:
    most = max(1, *(shots for _, shots in counts))
    axes = Scale(0, len(counts) + 1.0), Scale(0, 1.08 * most)
    chart = Chart(heading, *axes, x_label, "shots", note)
    for k in spread_evenly(len(counts), MAX_DRAWN_POINTS):
        prefix, shots = counts[k]
        chart.add_dot(k + 1.0, shots, look, f"{prefix}{shots:,} shots", 2.2)
    return chart


def errors_by_entry(report: RunReport) -> Chart | None:
    """Draw the standard errors of K̂ and, for a fidelity, what shots on every pair would give."""
    entries, errors = report.measured.above_diagonal()
    if not errors.size:
        return None
    worth, line = report.measured.equivalent_shots, np.linspace(0, 1, 41)
    by_pairs = np.zeros(41) if worth is None else np.sqrt(line * (1 - line) / worth)
    highest = float(max(errors.max(initial=0), by_pairs.max()))
    axes = Scale(0, 1), Scale(0, 1.05 * highest or 1.0)
    chart = Chart("How well K̂ is known", *axes, "kernel estimate K̂", "standard error")
    for k in spread_evenly(entries.size, MAX_DRAWN_ENTRIES):
        words = f"K̂ = {entries[k]:.3f} ± {errors[k]:.3f}"
        chart.add_dot(float(entries[k]), float(errors[k]), "c2", words, 1.6)
    chart.legend.append(("c2", "entries"))
    if worth is not None:
        chart.add_line(list(line), list(by_pairs), "c1", f"{worth:,.0f} shots on every pair")
        chart.note = "That many shots on every pair would give the same mean variance."
    return chart
