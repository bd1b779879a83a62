"""The sections of a run's page, in their order; each is built by itself and may be absent."""

from collections.abc import Callable
from typing import Any, NamedTuple

from aqka._util.text import inert
from aqka.report.chart import Scale
from aqka.report.confusion import confusion_matrix
from aqka.report.doubtful_points import doubtful_points, interval_examples
from aqka.report.glossary import GLOSSARY
from aqka.report.heat_maps import heat_maps, kernel_map
from aqka.report.interval_strip import StripAxis
from aqka.report.number_text import number_text, p_text, range_text
from aqka.report.point_charts import errors_by_entry, shots_by_point, shots_by_setting
from aqka.report.rivals import Rival
from aqka.report.run_charts import (
    accuracy_by_round,
    concentration,
    decision_values,
    diagnostics_by_round,
    fewer_shots_curve,
    spectrum,
)
from aqka.report.run_report import RunReport
from aqka.report.value_results import HEADER, values_chart, worst_points
from aqka.report.value_rivals import HEADER as RIVALS_HEADER
from aqka.report.value_rivals import rival_rows

UNDRAWN = " For this run the wide intervals are not drawn: it has several classes, or is large."
MAX_LINE = 500  # characters of a line of the study file


class Section(NamedTuple):
    """A section of a page.

    Attributes
    ----------
    name
        ``section_<name>.html`` is its template.
    heading
        What stands above it.
    data
        What its template shows.
    pairs
        Data of the heat maps, of a section that has any.
    """

    name: str
    heading: str
    data: dict[str, Any]
    pairs: dict[str, Any] | None = None


Builder = Callable[[RunReport], Section | None]


def run_sections(report: RunReport) -> list[Section]:
    """Return the sections that a run has something to say in."""
    built = (build(report) for build in BUILDERS)
    return [section for section in built if section is not None]


def _rivals(report: RunReport) -> Section | None:
    found = report.point_results
    if found is None or not report.rivals:
        return None
    axis = StripAxis(Scale(0, 1), found.majority_accuracy)
    own = axis.strip("c2", found.accuracy, found.interval)
    n_train = report.table.n_points
    rows: list[tuple[Any, ...]] = [
        ("this run", f"{found.accuracy:.3f}", own, range_text(*found.interval), "–", "–", n_train)
    ]
    rows += [_rival_row(one, axis) for one in report.rivals]
    fewest = min((one.n_trained for one in report.rivals if one.n_trained), default=n_train)
    return Section(
        "rivals",
        "Beside other models",
        {
            "rows": [(*row[:-1], f"{row[-1]:,}") for row in rows],
            "sampled": _sampled(fewest, n_train),
        },
    )


def _value_rivals(report: RunReport) -> Section | None:
    found = report.values
    if found is None:
        return None
    n_train = report.table.n_points
    fewest = min(one.n_trained for one in found.rivals)
    data = {
        "header": RIVALS_HEADER,
        "rows": rival_rows(found.scores, n_train, found.rivals),
        "sampled": _sampled(fewest, n_train),
    }
    return Section("value_rivals", "Beside other models", data)


def _sampled(fewest: int, n_train: int) -> str:
    if fewest >= n_train:
        return ""
    return f"Some learn from a sample of {fewest:,} of the {n_train:,} training points."


def _rival_row(one: Rival, axis: StripAxis) -> tuple[Any, ...]:
    against = one.against
    return (
        one.name,
        f"{one.score:.3f}",
        axis.strip("c4" if one.kind == "exact" else "grey", one.score, one.interval),
        range_text(*one.interval),
        f"{against.only_second} : {against.only_first}",
        _compared(one),
        one.n_trained,
    )


def _compared(one: Rival) -> str:
    p = p_text(one.p_value)
    if one.better:
        return f"better, {p}"
    return f"worse, {p}" if one.worse else f"not shown to differ, {p}"


def _test_points(report: RunReport) -> Section | None:
    found = report.point_results
    if found is None:
        return None
    return Section(
        "test_points",
        "Test points",
        {
            "confusion": confusion_matrix(found),
            "decisions": decision_values(found),
            "doubtful": doubtful_points(found),
            "examples": interval_examples(),
            "undrawn": "" if found.total_low is not None else UNDRAWN,
        },
    )


def _values(report: RunReport) -> Section | None:
    found = report.values
    if found is None:
        return None
    rows = worst_points(found)
    data = {"chart": values_chart(found), "header": HEADER, "rows": rows}
    summary = f"The {len(rows)} points farthest from their targets"
    return Section("values", "Test points", data | {"summary": summary})


def _shots(report: RunReport) -> Section | None:
    if report.measures_points:
        return None
    maps = heat_maps(report)
    return Section("shots", "Where the shots went", {"panels": maps.panels}, maps.data)


def _kernel_of_points(report: RunReport) -> Section | None:
    if report.measured is None:
        return None
    maps = kernel_map(report, report.measured)
    return Section("kernel", "The kernel that the points give", {"panels": maps.panels}, maps.data)


def _shots_of_points(report: RunReport) -> Section | None:
    if not report.measures_points:
        return None
    charts = [shots_by_point(report), shots_by_setting(report)]
    if report.measured is not None:
        if report.measured.errors is not None:
            charts.append(errors_by_entry(report.measured))
        charts.append(spectrum(report))
    return Section("charts", "What was measured, and how well", {"charts": charts})


def _rounds(report: RunReport) -> Section | None:
    charts = (accuracy_by_round(report), fewer_shots_curve(report), diagnostics_by_round(report))
    drawn = [chart for chart in charts if chart is not None]
    return Section("charts", "Round by round", {"charts": drawn}) if drawn else None


def _concentration(report: RunReport) -> Section | None:
    if report.measures_points:
        return None
    charts = [concentration(report), spectrum(report)]
    return Section("charts", "Concentration and spectrum", {"charts": charts})


def _costs(report: RunReport) -> Section:
    guarded = any(row.sentinels for row in report.bill)
    header = ["figure", "training", "predictions", *(["sentinels"] if guarded else []), "in all"]
    bill = []
    for line in report.bill:
        parts = [line.training, line.predictions, *([line.sentinels] if guarded else [])]
        bill.append((line.figure, *map(number_text, [*parts, line.total])))
    rows: list[tuple[str, ...]] = []
    for row in report.usage:
        quoted, used = row["quoted"], row["actual"]
        share = f"{used / quoted:.0%}" if quoted and used is not None else "–"
        rows.append((row["figure"], number_text(quoted), number_text(used), share))
    data = {"header": header, "bill": bill, "usage": rows}
    return Section("costs", "What it cost", data)


def _circuit(report: RunReport) -> Section | None:
    circuit = report.circuit
    if not circuit.facts:
        return None
    facts = {"device": report.backend or "unknown", **circuit.facts}
    return Section(
        "circuit",
        "Circuit, layout and calibration",
        {"facts": facts, "drawing": circuit.drawing},
    )


def _ledgers(report: RunReport) -> Section:
    rows = [
        (name, "sound" if audit.sound else "NOT sound", inert(audit.summary, 300))
        for name, audit in report.ledgers.items()
    ]
    return Section("ledgers", "Ledgers", {"rows": rows})


def _settings(report: RunReport) -> Section | None:
    if not report.study_text:
        return None
    lines = [inert(line, MAX_LINE) for line in report.study_text.splitlines()]
    return Section("settings", "Settings", {"study": "\n".join(lines)})


def _glossary(_: RunReport) -> Section:
    return Section("glossary", "Glossary", {"terms": GLOSSARY})


BUILDERS: tuple[Builder, ...] = (
    _rivals,
    _value_rivals,
    _test_points,
    _values,
    _shots,
    _kernel_of_points,
    _shots_of_points,
    _rounds,
    _concentration,
    _costs,
    _circuit,
    _ledgers,
    _settings,
    _glossary,
)
"""In the order of the page; a run that has no use for one gets None of it."""
