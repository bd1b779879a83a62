"""The report of a run as a page and as figures for a program, and the file it is written to.

A page is one HTML file that needs nothing else: its style, script and data are inside. Every text
that a template is given is escaped where it stands; nothing else in the room writes HTML.
"""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from aqka._util import colours
from aqka._util.files import explained, write_atomically
from aqka._util.text import inert, number_text
from aqka.errors import InputError
from aqka.report.answers import answer_questions, can_learn, decide
from aqka.report.run_report import RunReport, run_report
from aqka.report.sections import run_sections
from aqka.report.words import axis_text, glossed, word_id

TEMPLATES = Path(__file__).parent / "templates"
LOOKS = ("c1", "c2 dashed", "c3", "c4 dashed", "c5", "total dashed")
MAX_COMPARED = len(LOOKS)  # more columns and colours than that look alike


def collect(directories: Sequence[Path]) -> list[RunReport]:
    """Read the runs; refuse more than can be compared."""
    if len(directories) > MAX_COMPARED:
        raise InputError(f"{len(directories)} runs are too many; compare at most {MAX_COMPARED}.")
    return [run_report(directory) for directory in directories]


def write_report(reports: Sequence[RunReport], target: Path) -> None:
    """Write one run's page, or a comparison of several, complete or not at all."""
    from aqka.report.comparison import comparison_page  # which renders its page here

    page = run_page(reports[0]) if len(reports) == 1 else comparison_page(reports)
    remedy = "; name another with --output"
    with explained(f"the report {inert(target, 300)} cannot be written", remedy):
        write_atomically(target, page.encode())


def run_page(report: RunReport) -> str:
    """Return the whole page of a run."""
    sections = run_sections(report)
    return render(
        "run.html",
        report=report,
        verdict=decide(report),
        tiles=key_figures(report),
        answers=answer_questions(report),
        sections=sections,
        pairs=next((one.data["pairs"] for one in sections if one.name == "maps"), None),
    )


def key_figures(report: RunReport) -> list[tuple[str, str]]:
    """Return the large figures of the page, each with what it is."""
    total = next((row.total for row in report.bill if row.figure == "shots"), None)
    error = report.measured.median_error
    return [
        (f"{report.table.total:,}", f"training shots of {report.budget:,}"),
        *([] if total is None else [(number_text(total), "shots with predictions")]),
        *([] if error is None else [(f"{error:.2g}", "standard error of K̂, median")]),
        *([] if report.tested is None else report.tested.tiles(report.guess)),
    ]


def summary(report: RunReport) -> dict[str, Any]:
    """Return what the page says as plain values; the counts are in the ledger's export."""
    table, measured, verdict = report.table, report.measured, decide(report)
    return {
        "name": report.name,
        "verdict": verdict.outcome,
        "words": verdict.words,
        "can_learn": can_learn(report),
        "rivals": [
            asdict(one) | {"p_value": one.p_value, "better": one.better, "worse": one.worse}
            for one in report.rivals
        ],
        "bill": [row._asdict() for row in report.bill],
        "circuit": report.circuit,
        "state": report.state,
        "backend": report.backend,
        "version": report.version,
        "shots": table.total,
        "budget": report.budget,
        "training_points": table.n_points,
        "unit": measured.unit,
        "units": measured.shots.size,
        "units_seen": int(np.sum(measured.shots > 0)),
        "kernel_of_points": measured.facts() if measured.by_setting else None,
        "rounds": [asdict(one) for one in report.rounds],
        "diagnostics": None if report.diagnostics is None else asdict(report.diagnostics),
        "noise_floor": measured.noise_floor,
        "eigenvalues_above_it": int(np.sum(measured.eigenvalues > measured.noise_floor)),
        "steering": None if report.steering is None else asdict(report.steering),
        "fewer_shots": [asdict(part) for part in report.fewer],
        **({"test_points": None} if report.tested is None else report.tested.facts(report.guess)),
        "quote_versus_actual": report.usage,
        "ledgers": {name: history.audit() for name, history in report.ledgers.items()},
        "settings": report.settings,
        "notes": report.notes,
    }


def render(template: str, **values: Any) -> str:
    """Return a page; its policy forbids every request, and every script but its own."""
    script = _own_file("fold.js") + _own_file("heat_map.js")
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{content_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    own = {"style": _own_file("page.css"), "script": script, "policy": policy, "colours": colours}
    return ENVIRONMENT.get_template(template).render(values | own)


def new_environment(templates: Path) -> Environment:
    """Return what fills the templates of a folder: escaped, and nothing missing silently."""
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The filter writes JSON that cannot end the script element it stands in.
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}
    environment.filters |= {"axis_text": axis_text, "glossed": glossed, "word_id": word_id}
    return environment


ENVIRONMENT = new_environment(TEMPLATES)


def _own_file(name: str) -> Markup:
    """Return a file of the package, which is written as it is and read by no template engine."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def own_colours() -> str:
    """Return the colours of all pages as a style."""
    return ENVIRONMENT.get_template("colours.css").render(colours=colours)


def content_hash(text: str) -> str:
    """Return how a policy names a script or a style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
