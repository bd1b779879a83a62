"""The report of one run as a page."""

from html import escape

import numpy as np

from aqka._util.text import inert
from aqka.report.html_document import document, figures, grid, section, shown, table
from aqka.report.html_figures import (
    accuracy_by_round,
    diagnostics_by_round,
    fewer_shots_curve,
    lorenz_curves,
    point_intervals,
    spectrum,
)
from aqka.report.html_heat_map import heat_maps
from aqka.report.run_report import RunReport
from aqka.report.verdict import verdict

MAX_LISTED_POINTS = 30


def run_page(report: RunReport) -> str:
    """Return the whole page of a run."""
    maps, pairs = heat_maps(report)
    body = "".join(
        (
            _header(report),
            _verdict(report),
            section(
                "Where the shots went",
                '<p class="soft">Each cell is a pair of training points, sorted by class. Point at '
                "one for its numbers, or use the arrow keys; hatched pairs were not measured. "
                "K̂ ± its standard error, with half a hit and half a miss added for the error.</p>",
                '<noscript><p class="warning">The heat maps are painted by the page\'s script, '
                "which is switched off.</p></noscript>",
                maps,
            ),
            section(
                "Round by round",
                grid(
                    accuracy_by_round(report),
                    diagnostics_by_round(report),
                    fewer_shots_curve(report),
                ),
            ),
            section("Concentration and spectrum", grid(lorenz_curves(report), spectrum(report))),
            section("Test points", _points(report)),
            section("Quoted and used", _usage(report)),
            section("Ledgers", _ledgers(report)),
            section("Settings", _settings(report)),
        )
    )
    return document(f"aqka: {report.name}", body, pairs)


def _header(report: RunReport) -> str:
    found, shots = report.point_results, report.table.total
    tiles = [(f"{shots:,}", f"training shots of {report.budget:,}")]
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
    notes = [f'<p class="soft">{escape(note)}</p>' for note in report.notes]
    if report.state != "finished":
        notes.insert(
            0,
            f'<p class="warning">This run is <b>{escape(report.state)}</b>: everything here is '
            "from the shots so far.</p>",
        )
    allocator = report.settings.get("method.allocator")
    facts = [report.state, f"backend {report.backend or 'unknown'}", f"aqka {report.version}"]
    if allocator:
        facts.insert(1, f"allocator {allocator}")
    return (
        f"<header><h1>{escape(report.name)}</h1>"
        f'<p class="soft">{escape(" · ".join(facts))}</p>{"".join(notes)}{figures(tiles)}</header>'
    )


def _verdict(report: RunReport) -> str:
    answers = "".join(
        f"<div><dt>{escape(one.question)}</dt><dd>{escape(one.answer)}</dd></div>"
        for one in verdict(report)
    )
    return f'<dl class="verdict">{answers}</dl>'


def _points(report: RunReport) -> str:
    """Draw all points, and list those that are wrong, open or could flip."""
    found = report.point_results
    if found is None:
        return ""
    flips = np.zeros_like(found.settled) if found.could_flip is None else found.could_flip
    doubtful = np.flatnonzero(~found.right | ~found.settled | flips)
    if not doubtful.size:
        words = "<p>Every point is right and settled, and none could flip.</p>"
        return f'<div class="beside">{point_intervals(found)}{words}</div>'
    doubtful = doubtful[np.argsort(np.abs(found.value[doubtful]), kind="stable")]
    rows = []
    for k in doubtful[:MAX_LISTED_POINTS]:
        remarks = [
            words
            for words, is_so in (
                ("wrong", not found.right[k]),
                ("not settled", not found.settled[k]),
                ("could flip", bool(flips[k])),
            )
            if is_so
        ]
        rows.append(
            (
                str(k),
                ", ".join(remarks),
                found.predicted[k],
                found.truth[k],
                f"{found.value[k]:+.3f}",
                f"{found.low[k]:+.3f} to {found.high[k]:+.3f}",
                f"{found.shots[k]:,}",
            )
        )
    header = ("point", "remark", "predicted", "is", "value", "90 %, test shots", "shots")
    more = doubtful.size - len(rows)
    flipping = "" if found.could_flip is None else f", {int(flips.sum())} could flip"
    summary = (
        f"{int((~found.right).sum())} wrong, {int((~found.settled).sum())} not settled{flipping}: "
        f"the {len(rows)} closest to the border" + (f", of {doubtful.size}" if more > 0 else "")
    )
    note = (
        "Settled: more test shots would hardly change the class of this trained head. Could flip: "
        "the same readout on the exact kernel could give another class; of runs with few training "
        "points whose ridge is cross-validated that interval is too narrow."
    )
    return (
        f'<div class="beside">{point_intervals(found)}<div><details open>'
        f"<summary>{escape(summary)}</summary>{table(header, rows, words=(0, 1, 2, 3))}</details>"
        f'<p class="soft">{escape(note)}</p></div></div>'
    )


def _usage(report: RunReport) -> str:
    if not report.usage:
        return ""
    rows = []
    for row in report.usage:
        quoted, used = row["quoted"], row["actual"]
        ratio = f"{used / quoted:.0%}" if quoted and used is not None else "–"
        rows.append((row["figure"], shown(quoted), shown(used), ratio))
    note = (
        "The quote is for a Heron device; a simulator needs no QPU time and no queue. Shots for "
        "predictions are quoted at their most."
    )
    return table(("figure", "quoted", "used", "share"), rows) + f'<p class="soft">{note}</p>'


def _ledgers(report: RunReport) -> str:
    rows = []
    for name, audit in report.ledgers.items():
        rows.append((name, "sound" if audit.sound else "NOT sound", inert(audit.summary, 300)))
    note = "Every entry's digest chain, order, budget and counts were checked for this page."
    return (
        table(("ledger", "check", "what it says"), rows, words=(0, 1, 2))
        + f'<p class="soft">{note}</p>'
    )


def _settings(report: RunReport) -> str:
    if not report.study_text:
        return ""
    lines = (inert(line, 500) for line in report.study_text.splitlines())
    return f"<pre>{escape(chr(10).join(lines))}</pre>"
