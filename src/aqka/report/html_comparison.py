"""Several runs on one page: what differs between them, and what it brought."""

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from aqka.report.html_document import document, grid, section, shown, table
from aqka.report.html_figures import figure, lorenz
from aqka.report.run_report import RunReport
from aqka.report.svg import Chart, Scale
from aqka.report.verdict import SURE

LOOKS = ("c1", "c2 dashed", "c3", "c4 dashed", "c5", "total dashed")


def comparison_page(reports: Sequence[RunReport]) -> str:
    """Return a page that compares runs with the first of them."""
    names = numbered(reports)
    title = f"Comparison of {len(reports)} runs"
    answers = "".join(f"<p>{escape(sentence)}</p>" for sentence in compared(reports))
    body = "".join(
        (
            f"<header><h1>{escape(title)}</h1>"
            f'<p class="soft">{escape(" · ".join(names))}</p></header>',
            section("In words", answers),
            section("Figures", table(("figure", *names), _figures(reports))),
            section("Side by side", grid(_accuracies(reports, names), _shots(reports, names))),
            section("Settings that differ", _settings(reports, names)),
        )
    )
    return document(f"aqka: {title}", body)


def numbered(reports: Sequence[RunReport]) -> list[str]:
    """Return a letter and the name of each run: directories may be called alike."""
    return [f"{chr(ord('A') + k)}: {report.name}" for k, report in enumerate(reports)]


def compared(reports: Sequence[RunReport]) -> list[str]:
    """Say of each run how it differs from the first, and whether that can be told from noise."""
    first = reports[0]
    sentences = []
    for k, other in enumerate(reports[1:], start=1):
        letter = chr(ord("A") + k)
        spent = f"{letter} spent {other.table.total:,} training shots, A {first.table.total:,}."
        one, two = first.point_results, other.point_results
        if one is None or two is None:
            missing = "A" if one is None else letter
            sentences.append(f"{spent} {missing} has no predictions to compare yet.")
            continue
        gain = two.accuracy - one.accuracy
        if first.data == other.data:
            each = two.right.astype(float) - one.right
            error = float(np.std(each) / np.sqrt(each.size))
            how = f"point by point on the same {each.size} test points"
        else:
            error = float(np.hypot(one.standard_error, two.standard_error))
            how = "on different test points"
        if first.data == other.data and np.array_equal(one.right, two.right):
            verdict = "both are right on the same points"
        elif abs(gain) > SURE * error:
            verdict = f"{letter} is {'more' if gain > 0 else 'less'} accurate"
        else:
            verdict = "which is more accurate cannot be told"
        sentences.append(
            f"{spent} Accuracy {two.accuracy:.3f} against {one.accuracy:.3f}: {gain:+.3f} ± "
            f"{error:.3f} {how}; {verdict}."
        )
    return sentences


def _figures(reports: Sequence[RunReport]) -> list[tuple[str, ...]]:
    def used(figure: str) -> Callable[[RunReport], str]:
        return lambda r: shown(
            next((row["actual"] for row in r.usage if row["figure"] == figure), None)
        )

    def tested(text: Callable[[RunReport], str]) -> Callable[[RunReport], str]:
        return lambda r: "–" if r.point_results is None else text(r)

    def accuracy(r: RunReport) -> str:
        found = r.point_results
        return "–" if found is None else f"{found.accuracy:.3f} ± {found.standard_error:.3f}"

    def settled(r: RunReport) -> str:
        found = r.point_results
        return "–" if found is None else f"{int(found.settled.sum())} of {len(found.truth)}"

    def flips(r: RunReport) -> str:
        found = r.point_results
        return "–" if found is None or found.could_flip is None else str(found.could_flip.sum())

    def steered(r: RunReport) -> str:
        found = r.steering
        if found is None:
            return "–"
        return f"{found.ratio:.2f}" + ("" if found.error is None else f" ± {found.error:.2f}")

    rows: list[tuple[str, Callable[[RunReport], str]]] = [
        ("state", lambda r: r.state),
        ("training points", lambda r: f"{r.table.n_points:,}"),
        ("training shots", lambda r: f"{r.table.total:,}"),
        ("shots a pair", lambda r: f"{r.table.total / r.table.n_pairs:.2f}"),
        ("pairs measured", lambda r: f"{float(np.mean(~r.table.unseen)):.0%}"),
        ("rounds", lambda r: str(len(r.rounds))),
        ("test accuracy ± SE", accuracy),
        ("balanced accuracy", tested(lambda r: _decimal(r.point_results, "balanced_accuracy"))),
        ("majority class", tested(lambda r: _decimal(r.point_results, "majority_accuracy"))),
        ("test points settled", settled),
        ("could flip", flips),
        ("variance over even shots'", steered),
        ("Gini of the sensitivities", lambda r: _decimal(r.diagnostics, "gini")),
        ("shots for predictions", used("shots for predictions")),
        ("QPU seconds", used("QPU seconds")),
        ("cost", used("cost")),
        ("seconds", used("seconds")),
    ]
    return [(name, *(text(report) for report in reports)) for name, text in rows]


def _decimal(found: object, name: str) -> str:
    return "–" if found is None else f"{getattr(found, name):.3f}"


def _accuracies(reports: Sequence[RunReport], names: Sequence[str]) -> str:
    curves = [
        [(float(r.shots), r.accuracy) for r in report.rounds if r.accuracy is not None]
        for report in reports
    ]
    points = [point for curve in curves for point in curve]
    if not points:
        return ""
    chart = Chart(
        "Accuracy by round",
        Scale(0, max(s for s, _ in points) * 1.05),
        Scale.around([a for _, a in points]),
        "training shots",
        "accuracy, cross-validated",
    )
    legend = []
    for k, (curve, name) in enumerate(zip(curves, names, strict=True)):
        look = LOOKS[k % len(LOOKS)]
        chart.line([s for s, _ in curve], [a for _, a in curve], look)
        for s, a in curve:
            chart.dot(s, a, look, f"{name}, {int(s):,} shots: {a:.3f}")
        legend.append((look, name))
    return figure(chart, "Accuracy by round", "", legend)


def _shots(reports: Sequence[RunReport], names: Sequence[str]) -> str:
    chart = Chart(
        "How concentrated the shots are",
        Scale(0, 1),
        Scale(0, 1),
        "share of pairs, least first",
        "share of the shots",
    )
    for k, report in enumerate(reports):
        x, y = lorenz(report.table.shots.astype(np.float64))
        chart.line(list(x), list(y), LOOKS[k % len(LOOKS)])
    legend = [(LOOKS[k % len(LOOKS)], name) for k, name in enumerate(names)]
    return figure(chart, "How concentrated the shots are", "", legend)


def _settings(reports: Sequence[RunReport], names: Sequence[str]) -> str:
    keys = dict.fromkeys(key for report in reports for key in report.settings)
    rows = [(key, *(report.settings.get(key, "–") for report in reports)) for key in keys]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    if not differing:
        return "<p>None: the study files say the same.</p>"
    words = range(len(names) + 1)
    return table(("setting", *names), differing, words=words)
