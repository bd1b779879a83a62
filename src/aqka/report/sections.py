"""The sections of a run's page, in their order; each is built by itself and may be absent."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from aqka._util.text import inert, number_text, percent
from aqka.report.chart import Chart, Scale, Strip
from aqka.report.charts import (
    accuracy_by_round,
    concentration,
    decision_values,
    diagnostics_by_round,
    errors_by_entry,
    fewer_shots_curve,
    loss_by_step,
    predicted_values,
    shots_by_point,
    shots_by_setting,
    spectrum,
)
from aqka.report.measured import heat_maps
from aqka.report.run_report import RunReport
from aqka.report.tested import ClassResults, ValueResults
from aqka.report.words import GLOSSARY

MAX_LINE = 500  # characters of a line of the study file
MAX_CLASSES = 20  # of a confusion matrix that can still be read
SHADES = 5  # steps from nothing to a whole row
MAX_LISTED_POINTS = 30
WORST_POINTS = 10
DOUBTFUL = ("point", "remark", "predicted", "is", "intervals", "value", "90 %, test shots", "shots")
WORST = ("point", "target", "predicted", "90 %, test shots", "90 %, target", "shots")


class Section(NamedTuple):
    """A section of a page."""

    name: str  # section_<name>.html is its template
    heading: str
    data: dict[str, Any]  # what its template shows
    pairs: dict[str, Any] | None = None  # data of the heat maps, where it has any


Builder = Callable[[RunReport], Section | None]
ChartOf = Callable[[RunReport], Chart | None]


class UnitPage(NamedTuple):
    """How the page shows a run by what its shots are spent on."""

    maps_heading: str
    charts_heading: str
    charts: tuple[ChartOf, ...]
    by_round: tuple[ChartOf, ...]


UNITS = {
    "pair": UnitPage(
        "Where the shots went",
        "Concentration and spectrum",
        (concentration, spectrum),
        (accuracy_by_round, fewer_shots_curve, diagnostics_by_round, loss_by_step),
    ),
    "point": UnitPage(
        "The kernel that the points give",
        "What was measured, and how well",
        (shots_by_point, shots_by_setting, errors_by_entry, spectrum),
        (accuracy_by_round, loss_by_step),
    ),
}


def run_sections(report: RunReport) -> list[Section]:
    """Return the sections that a run has something to show in."""
    built = (build(report) for build in BUILDERS)
    return [section for section in built if section is not None]


def _rivals(report: RunReport) -> Section | None:
    """Return the table of the run and its rivals."""
    tested, n_train = report.tested, report.table.n_points
    if tested is None or not report.rivals:
        return None
    guess = report.rival("guessing")
    most = max([tested.interval[1], *(one.interval[1] for one in report.rivals)])
    scale = Scale(0, 1 if tested.sign > 0 else most)
    strip = partial(Strip, scale, None if guess is None else guess.score)
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
    data = {
        "rows": rows,
        "tested": tested,
        "exact": any(one.kind == "exact" for one in report.rivals),
        "sampled": sampled if fewest < n_train else "",
    }
    return Section("rivals", "Beside other models", data)


def _test_points(report: RunReport) -> Section | None:
    """Return the predicted classes or values."""
    build: dict[Any, Any] = {ClassResults: _class_section, ValueResults: _value_section}
    return None if report.tested is None else build[type(report.tested)](report.tested)


def _class_section(found: ClassResults) -> Section:
    """Return decision values, the confusion matrix and the points in doubt."""
    example = partial(Strip, Scale(-1.0, 1.0), 0.0, "c2")
    intervals = {  # made up, to explain them
        "clear": (0.6, (0.45, 0.75), (0.3, 0.9)),
        "close": (0.2, (-0.1, 0.5), (-0.2, 0.6)),
        "flip": (0.4, (0.25, 0.55), (-0.15, 0.95)),
    }
    with_wide = found.total_low is not None
    data = {
        "confusion": confusion_matrix(found),
        "decisions": decision_values(found),
        "doubtful": doubtful_points(found),
        "examples": {
            name: example(value, narrow, wide if with_wide else None)
            for name, (value, narrow, wide) in intervals.items()
        },
        "with_wide": with_wide,
        "no_total": found.no_total,
    }
    return Section("test_points", "Test points", data)


def _value_section(found: ValueResults) -> Section:
    """Return the values against their targets, and those that are farthest off."""
    worst = np.argsort(-np.abs(found.value - found.truth), kind="stable")[:WORST_POINTS]
    rows = [_value_row(found, int(k)) for k in worst]
    data = {
        "chart": predicted_values(found),
        "header": WORST,
        "rows": rows,
        "summary": f"The {len(rows)} points farthest from their targets",
    }
    return Section("values", "Test points", data)


def _value_row(found: ValueResults, k: int) -> tuple[str, ...]:
    """Return a line of the table of values."""
    return (
        found.ids[k],
        found.shown(found.truth[k]),
        found.shown(found.value[k]),
        found.shown(*found.narrow(k)),
        "–" if found.target is None else found.shown(*found.target[:, k]),
        f"{found.shots[k]:,}",
    )


def _maps(report: RunReport) -> Section | None:
    """Return the heat maps."""
    maps, unit = heat_maps(report), report.measured.unit
    if maps is None:
        return None
    data = {"panels": maps.panels, "unit": unit}
    return Section("maps", UNITS[unit].maps_heading, data, maps.data)


def _rounds(report: RunReport) -> Section | None:
    """Return what changed from round to round."""
    return _charts(report, "Round by round", UNITS[report.measured.unit].by_round)


def _measured(report: RunReport) -> Section | None:
    """Return charts of what was measured."""
    unit = UNITS[report.measured.unit]
    return _charts(report, unit.charts_heading, unit.charts)


def _charts(report: RunReport, heading: str, charts: tuple[ChartOf, ...]) -> Section | None:
    """Return a section of charts, without those that a run has nothing to draw in."""
    made = [chart(report) for chart in charts]
    drawn = [chart for chart in made if chart is not None]
    return Section("charts", heading, {"charts": drawn}) if drawn else None


def _costs(report: RunReport) -> Section:
    """Return the bill, and quoted against used."""
    guarded = any(row.sentinels for row in report.bill)
    header = ["figure", "training", "predictions", *(["sentinels"] if guarded else []), "in all"]
    bill = []
    for line in report.bill:
        parts = [line.training, line.predictions, *([line.sentinels] if guarded else [])]
        bill.append((line.figure, *map(number_text, [*parts, line.total])))
    rows: list[tuple[str, ...]] = []
    for row in report.usage:
        quoted, used = row["quoted"], row["actual"]
        share = percent(used / quoted) if quoted and used is not None else "–"
        rows.append((row["figure"], number_text(quoted), number_text(used), share))
    return Section("costs", "What it cost", {"header": header, "bill": bill, "usage": rows})


def _circuit(report: RunReport) -> Section | None:
    """Return the feature map, and what became of it on the device."""
    circuit = report.circuit
    if not circuit.facts:
        return None
    facts = {"device": report.backend or "unknown", **circuit.facts}
    data = {"facts": facts, "drawing": circuit.drawing}
    return Section("circuit", "Circuit, layout and calibration", data)


def _ledgers(report: RunReport) -> Section:
    """Return what the check of each ledger says."""
    rows = [
        (name, "sound" if audit.sound else "NOT sound", inert(audit.summary, 300))
        for name, audit in report.ledgers.items()
    ]
    return Section("ledgers", "Ledgers", {"rows": rows})


def _settings(report: RunReport) -> Section | None:
    """Return the study file."""
    if not report.study_text:
        return None
    lines = [inert(line, MAX_LINE) for line in report.study_text.splitlines()]
    return Section("settings", "Settings", {"study": "\n".join(lines)})


def _glossary(_: RunReport) -> Section:
    """Return what the words of the page mean."""
    return Section("glossary", "Glossary", {"terms": GLOSSARY})


BUILDERS: tuple[Builder, ...] = (
    _rivals,
    _test_points,
    _maps,
    _rounds,
    _measured,
    _costs,
    _circuit,
    _ledgers,
    _settings,
    _glossary,
)
"""In the order of the page; a builder returns None for a run that has nothing to show there."""


class ConfusionCell(NamedTuple):
    """How many points of a class got one answer, how dark that is, and whether it is right."""

    number: int
    shade: int
    right: bool


class Confusion(NamedTuple):
    """The answers that were given, and for each true class how often each was."""

    answers: list[str]
    rows: list[tuple[str, list[ConfusionCell], str]]


def confusion_matrix(found: ClassResults) -> Confusion | None:
    """Return true classes by answers; None where there are too many classes to read it."""
    classes = sorted({*found.classes, *found.truth, *found.predicted})
    if len(classes) > MAX_CLASSES:
        return None
    place = {name: k for k, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    for truth, predicted in zip(found.truth, found.predicted, strict=True):
        counts[place[truth], place[predicted]] += 1
    rows = []
    for k, name in enumerate(classes):
        total = int(counts[k].sum())
        cells = [
            ConfusionCell(int(count), int(np.ceil(SHADES * count / max(total, 1))), j == k)
            for j, count in enumerate(counts[k])
        ]
        share = f"{counts[k, k]} of {total}" if total else "–"
        rows.append((name, cells, share))
    return Confusion(classes, rows)


class DoubtfulPoints(NamedTuple):
    """How many there are, in words, and a table of those closest to the border."""

    summary: str
    header: tuple[str, ...]
    rows: list[tuple[str | Strip, ...]]


def doubtful_points(found: ClassResults) -> DoubtfulPoints | None:
    """Return the points that are wrong, not settled or could flip; None where there are none."""
    remarks = {"wrong": ~found.right, "not settled": ~found.settled}
    if found.could_flip is not None:
        remarks["could flip"] = found.could_flip
    doubtful = np.flatnonzero(np.any(list(remarks.values()), axis=0))
    if not doubtful.size:
        return None
    closest = doubtful[np.argsort(np.abs(found.value[doubtful]), kind="stable")]
    strip = partial(Strip, Scale(-found.reach, found.reach), 0.0)
    rows: list[tuple[str | Strip, ...]] = [
        (
            found.ids[k],
            ", ".join(words for words, marked in remarks.items() if marked[k]),
            found.predicted[k],
            found.truth[k],
            strip(look, float(found.value[k]), found.narrow(k), found.wide(k)),
            f"{found.value[k]:+.3f}",
            f"{found.low[k]:+.3f} to {found.high[k]:+.3f}",
            f"{found.shots[k]:,}",
        )
        for k in closest[:MAX_LISTED_POINTS]
        for look in ["c2" if found.right[k] else "c1 hollow"]
    ]
    counts = [f"{int(marked.sum())} {words}" for words, marked in remarks.items()]
    of_all = f" of {doubtful.size}" if doubtful.size > len(rows) else ""
    summary = f"{', '.join(counts)}; the {len(rows)}{of_all} closest to the border"
    return DoubtfulPoints(summary, DOUBTFUL, rows)
