"""The report of one run as a page."""

from aqka._util.text import inert
from aqka.report.answers import answer_questions
from aqka.report.doubtful_points import doubtful_points
from aqka.report.heat_maps import heat_maps
from aqka.report.number_text import number_text
from aqka.report.render import render
from aqka.report.run_charts import (
    accuracy_by_round,
    concentration,
    decision_values,
    diagnostics_by_round,
    fewer_shots_curve,
    spectrum,
)
from aqka.report.run_report import RunReport

MAX_LINE = 500  # characters of a line of the study file


def run_page(report: RunReport) -> str:
    """Return the whole page of a run."""
    found = report.point_results
    maps = heat_maps(report)
    by_round = (accuracy_by_round(report), diagnostics_by_round(report), fewer_shots_curve(report))
    return render(
        "run.html",
        name=report.name,
        state=report.state,
        facts=_facts(report),
        notes=report.notes,
        tiles=_tiles(report),
        answers=answer_questions(report),
        panels=maps.panels,
        pairs=maps.data,
        by_round=[chart for chart in by_round if chart is not None],
        concentration=[concentration(report), spectrum(report)],
        decisions=None if found is None else decision_values(found),
        doubtful=None if found is None else doubtful_points(found),
        usage=_usage(report),
        ledgers=_ledgers(report),
        study="\n".join(inert(line, MAX_LINE) for line in report.study_text.splitlines()),
    )


def _facts(report: RunReport) -> list[str]:
    allocator = report.settings.get("method.allocator")
    return [
        report.state,
        *([f"allocator {allocator}"] if allocator else []),
        f"backend {report.backend or 'unknown'}",
        f"aqka {report.version}",
    ]


def _tiles(report: RunReport) -> list[tuple[str, str]]:
    """Return the large figures, each with what it is."""
    found = report.point_results
    tiles = [(f"{report.table.total:,}", f"training shots of {report.budget:,}")]
    if found is not None:
        low, high = found.interval
        tiles += [
            (f"{found.accuracy:.3f}", f"test accuracy, 95\u00a0%: {low:.2f} to {high:.2f}"),
            (f"{found.balanced_accuracy:.3f}", "balanced accuracy"),
            (f"{found.majority_accuracy:.3f}", "majority class"),
            (f"{int(found.settled.sum())} of {len(found.truth)}", "test points settled"),
        ]
    if report.diagnostics is not None:
        tiles.append((f"{report.diagnostics.gini:.3f}", "Gini of the sensitivities"))
    return tiles


def _usage(report: RunReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for row in report.usage:
        quoted, used = row["quoted"], row["actual"]
        share = f"{used / quoted:.0%}" if quoted and used is not None else "–"
        rows.append((row["figure"], number_text(quoted), number_text(used), share))
    return rows


def _ledgers(report: RunReport) -> list[tuple[str, ...]]:
    return [
        (name, "sound" if audit.sound else "NOT sound", inert(audit.summary, 300))
        for name, audit in report.ledgers.items()
    ]
