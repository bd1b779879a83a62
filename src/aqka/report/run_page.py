"""The report of one run as a page."""

from aqka.report.answers import answer_questions
from aqka.report.number_text import number_text, range_text
from aqka.report.render import render
from aqka.report.run_report import RunReport
from aqka.report.run_sections import run_sections
from aqka.report.value_results import value_tiles
from aqka.report.verdict import decide


def run_page(report: RunReport) -> str:
    """Return the whole page of a run."""
    sections = run_sections(report)
    return render(
        "run.html",
        name=report.name,
        state=report.state,
        verdict=decide(report),
        facts=_facts(report),
        notes=report.notes,
        tiles=_tiles(report),
        answers=answer_questions(report),
        sections=sections,
        pairs=next((one.pairs for one in sections if one.pairs is not None), None),
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
    total = next((row.total for row in report.bill if row.figure == "shots"), None)
    tiles = [(f"{report.table.total:,}", f"training shots of {report.budget:,}")]
    if total is not None:
        tiles.append((number_text(total), "shots with predictions"))
    if report.measured is not None and report.measured.median_error is not None:
        tiles.append((f"{report.measured.median_error:.2g}", "standard error of K̂, median"))
    if found is not None:
        interval = f"test accuracy, 95\u00a0%: {range_text(*found.interval)}"
        tiles += [
            (f"{found.accuracy:.3f}", interval),
            (f"{found.majority_accuracy:.3f}", "majority class"),
            (f"{found.balanced_accuracy:.3f}", "balanced accuracy"),
            (f"{int(found.settled.sum())} of {len(found.truth)}", "test points settled"),
        ]
    return tiles if report.values is None else tiles + value_tiles(report.values)
