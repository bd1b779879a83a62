"""What ``aqka reproduce --readings`` does: run, write the page and its picture, print a summary."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from aqka._util.progress_bar import progress_bar
from aqka_research.commands.stopping import keeping_finished_cells

if TYPE_CHECKING:
    from aqka_research.reproduce.reading_study import HowToRun


def reproduce_readings(
    names: Sequence[str],
    out: Path,
    page: Path,
    how: "HowToRun",
    as_json: bool,
) -> None:
    """Run both protocols and all readings of some experiments, and write the page."""
    from aqka._util.files import as_json as written
    from aqka_research.reproduce.pages import draw_headlines
    from aqka_research.reproduce.reading_study import study_readings
    from aqka_research.reproduce.reading_verdicts import facts
    from aqka_research.reproduce.readings_page import PICTURE, readings_text

    with keeping_finished_cells(), progress_bar("", _cells(names, out, how)) as bar:
        study = study_readings(names, out, replace(how, on_cell=bar.advance), bar.describe)
    page.parent.mkdir(parents=True, exist_ok=True)
    drawn = draw_headlines(study, page.with_name(PICTURE))
    page.write_text(readings_text(study, drawn), encoding="utf-8")
    if as_json:
        typer.echo(written([facts(fate) for fate in study.fates]), nl=False)
        return
    held = sum(bool(fate.holds_under) for fate in study.fates)
    typer.echo(f"{held} of {len(study.fates)} claims hold under some reading.")
    typer.echo(f"Most of them hold under: {study.best.name}")
    typer.echo(f"Page: {page}")


def _cells(names: Sequence[str], out: Path, how: "HowToRun") -> int:
    """Return how many cells there are, those of the best reading not counted."""
    from aqka_research.reproduce.reading_design import EXPERIMENTS
    from aqka_research.reproduce.reading_study import PROTOCOLS
    from aqka_research.reproduce.reading_sweep import sweep_cells
    from aqka_research.reproduce.reproduction import set_up

    readings = {name: EXPERIMENTS[name].readings() for name in names}
    swept = len(sweep_cells(readings, quick=how.quick, seeds=how.seeds))
    return swept + sum(
        len(set_up(name, out, quick=how.quick, seeds=how.seeds, protocol=protocol).cells)
        for protocol in PROTOCOLS
        for name in names
    )
