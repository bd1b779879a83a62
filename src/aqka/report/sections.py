"""The sections of a run's page, in their order; each is built by itself and may be absent."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from aqka._util.text import inert, number_text, percent
from aqka.report import charts
from aqka.report.chart import Chart, Scale, Strip
from aqka.report.measured import heat_maps
from aqka.report.run_report import RunReport
from aqka.report.tested import ClassResults, ValueResults
from aqka.report.words import GLOSSARY

TIMES = ("QPU seconds", "seconds", "cost")  # figures that a simulator has none of
MAX_LINE = 500  # characters of a line of the study file
MAX_CLASSES = 20  # of a confusion matrix that can still be read
MAX_LISTED_POINTS = 30
WORST_POINTS = 10


class Section(NamedTuple):
    """A section of a page: its template is section_<name>.html, which shows the data."""

    name: str
    heading: str
    data: dict[str, Any]


ChartOf = Callable[[RunReport], Chart | None]


UNITS: dict[str, tuple[str, str, tuple[ChartOf, ...], tuple[ChartOf, ...]]] = {
    "pair": (
        "Where the shots went",
        "Concentration and spectrum",
        (charts.concentration, charts.spectrum),
        (
            charts.accuracy_by_round,
            charts.fewer_shots_curve,
            charts.diagnostics_by_round,
            charts.loss_by_step,
        ),
    ),
    "point": (
        "The kernel that the points give",
        "What was measured, and how well",
        (charts.shots_by_point, charts.shots_by_setting, charts.errors_by_entry, charts.spectrum),
        (charts.accuracy_by_round, charts.loss_by_step),
    ),
}
"""By what shots are spent on: headings of heat maps and of charts, charts, those by round."""


def run_sections(report: RunReport) -> list[Section]:
    """Return the sections of a run's page, without those that it has nothing to show in."""
    maps_heading, charts_heading, measured, by_round = UNITS[report.measured.unit]
    panels, pairs = heat_maps(report)
    circuit = {"device": report.backend or "unknown", **report.circuit}
    checks = [
        (name, "sound" if history.sound else "NOT sound", inert(history.summary, 300))
        for name, history in report.ledgers.items()
    ]
    tested = report.tested
    values = _values(tested) if isinstance(tested, ValueResults) else {}
    classes = _classes(tested) if isinstance(tested, ClassResults) else {}
    study = "\n".join(inert(line, MAX_LINE) for line in report.study_text.splitlines())
    found = [
        Section("rivals", "Compared with other models", _rivals(report)),
        Section("values", "Test points", values),
        Section("test_points", "Test points", classes),
        Section("maps", maps_heading, {"panels": panels, "pairs": pairs} if panels else {}),
        Section("charts", "Round by round", _charts(report, by_round)),
        Section("charts", charts_heading, _charts(report, measured)),
        Section("costs", "What it cost", _costs(report)),
        Section("circuit", "Circuit, layout and calibration", circuit if report.circuit else {}),
        Section("ledgers", "Ledgers", {"rows": checks}),
        Section("settings", "Settings", {"study": study} if study else {}),
        Section("glossary", "Glossary", {"terms": GLOSSARY}),
    ]
    return [section for section in found if section.data]


def _charts(report: RunReport, drawn: tuple[ChartOf, ...]) -> dict[str, Any]:
    made = [chart for draw in drawn if (chart := draw(report)) is not None]
    return {"charts": made} if made else {}


def _rivals(report: RunReport) -> dict[str, Any]:
    tested, n_train = report.tested, report.table.n_points
    if tested is None or not report.rivals:
        return {}
    most = max([tested.interval[1], *(one.interval[1] for one in report.rivals)])
    scale = Scale(0, 1 if tested.sign > 0 else most)
    strip = partial(Strip, scale, report.guess.score)
    own = ("this run", "c2", tested.score, tested.interval, tested.detail, "–", n_train)
    models = [own] + [
        (one.name, look, one.score, one.interval, one.detail, one.compared, one.n_trained)
        for one in report.rivals
        for look in ["c4" if one.kind == "exact" else "grey"]
    ]
    rows = [
        (name, tested.shown(score), strip(look, score, ends), tested.shown(*ends), *more, f"{n:,}")
        for name, look, score, ends, *more, n in models
    ]
    fewest = min((one.n_trained for one in report.rivals if one.n_trained), default=n_train)
    sampled = f"Some learn from a sample of {fewest:,} of the {n_train:,} training points."
    return {
        "rows": rows,
        "tested": tested,
        "exact": report.exact_rival is not None,
        "sampled": sampled if fewest < n_train else "",
    }


def _classes(found: ClassResults) -> dict[str, Any]:
    example = partial(Strip, Scale(-1.0, 1.0), 0.0, "c2")
    intervals = {  # made up, to explain them
        "clear": (0.6, (0.45, 0.75), (0.3, 0.9)),
        "close": (0.2, (-0.1, 0.5), (-0.2, 0.6)),
        "flip": (0.4, (0.25, 0.55), (-0.15, 0.95)),
    }
    with_wide = found.wide is not None
    return {
        "confusion": confusion_matrix(found),
        "decisions": charts.decision_values(found),
        "doubtful": doubtful_points(found),
        "examples": {
            name: example(value, narrow, wide if with_wide else None)
            for name, (value, narrow, wide) in intervals.items()
        },
        "with_wide": with_wide,
        "no_wide": found.no_wide,
    }


def _values(found: ValueResults) -> dict[str, Any]:
    worst = np.argsort(-np.abs(found.value - found.truth), kind="stable")[:WORST_POINTS]
    rows = [
        (
            found.ids[k],
            found.shown(found.truth[k]),
            found.shown(found.value[k]),
            found.shown(*found.narrow[:, k]),
            "–" if found.target is None else found.shown(*found.target[:, k]),
            f"{found.shots[k]:,}",
        )
        for k in map(int, worst)
    ]
    return {"chart": charts.predicted_values(found), "rows": rows}


def _costs(report: RunReport) -> dict[str, Any]:
    guarded = any(row.sentinels for row in report.bill)
    header = ["figure", "training", "predictions", *(["sentinels"] if guarded else []), "in all"]
    bill = []
    for line in report.bill:
        parts = [line.training, line.predictions, *([line.sentinels] if guarded else [])]
        bill.append((line.figure, *map(number_text, [*parts, line.total])))
    return {"header": header, "bill": bill, "usage": usage_rows(report), "timed": report.timed}


def usage_rows(report: RunReport) -> list[tuple[str, ...]]:
    """Return what was quoted and used, and its share; a simulator has no times to compare."""
    rows: list[tuple[str, ...]] = []
    for row in report.usage:
        quoted, used = row["quoted"], row["actual"]
        share = percent(used / quoted) if quoted and used is not None else "–"
        if report.timed or not row["figure"].startswith(TIMES):
            rows.append((row["figure"], number_text(quoted), number_text(used), share))
    return rows


def confusion_matrix(found: ClassResults) -> tuple[list[str], list[list[int]]] | None:
    """Return the classes, and how many points of each got which answer; None if very many."""
    classes = sorted({*found.classes, *found.truth, *found.predicted})
    if len(classes) > MAX_CLASSES:
        return None
    counts = Counter(zip(found.truth, found.predicted, strict=True))
    return classes, [[counts[truth, answer] for answer in classes] for truth in classes]


def doubtful_points(found: ClassResults) -> tuple[str, list[tuple[str | Strip, ...]]] | None:
    """Return how many points are wrong, open or could flip, if any, and a table of the closest."""
    remarks = {"wrong": ~found.right, "not settled": ~found.settled}
    if found.could_flip is not None:
        remarks["could flip"] = found.could_flip
    doubtful = np.flatnonzero(np.any(list(remarks.values()), axis=0))
    if not doubtful.size:
        return None
    closest = doubtful[np.argsort(np.abs(found.value[doubtful]), kind="stable")]
    strip = partial(Strip, Scale(-found.reach, found.reach), 0.0)
    wide = [None] * len(found.value) if found.wide is None else found.wide.T
    rows: list[tuple[str | Strip, ...]] = [
        (
            found.ids[k],
            ", ".join(words for words, marked in remarks.items() if marked[k]),
            found.predicted[k],
            found.truth[k],
            strip(look, found.value[k], found.narrow[:, k], wide[k]),
            f"{found.value[k]:+.3f}",
            "{:+.3f} to {:+.3f}".format(*found.narrow[:, k]),
            f"{found.shots[k]:,}",
        )
        for k in closest[:MAX_LISTED_POINTS]
        for look in ["c2" if found.right[k] else "c1 hollow"]
    ]
    counts = [f"{int(marked.sum())} {words}" for words, marked in remarks.items()]
    of_all = f" of {doubtful.size}" if doubtful.size > len(rows) else ""
    summary = f"{', '.join(counts)}; the {len(rows)}{of_all} closest to the border"
    return summary, rows
