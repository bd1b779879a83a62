"""How the readings were run: designs, seeds, standard errors, processor time, changed rules."""

from collections.abc import Iterable, Sequence

import numpy as np

from aqka_research.markdown import table
from aqka_research.reproduce.reading_design import EXPERIMENTS, ReadingDesign
from aqka_research.reproduce.reading_study import ReadingStudy

RULE_CHANGES: tuple[str, ...] = (
    "with fewer than three seeds under a reading there is no verdict, added when an unfinished run "
    "gave verdicts on one",
    "before the finished run seeds were raised toward the standard error that is aimed at, and the "
    "live experiment, now on the exact noisy kernel of its circuit, got all its switches",
    "that run was stopped by the clock with two thirds of those seeds, in the same proportion "
    "everywhere and before a result was looked at",
    "then seeds were raised again where standard errors were largest, by the errors alone",
)
"""What was changed in the rules since the first run, with the reason."""
WANTED_ERROR = 1.5
"""The standard error, in points, that the seeds are meant to reach."""


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table and the empty line after it."""
    return [table(head, rows), ""]


def how_it_was_run(study: ReadingStudy) -> list[str]:
    """Return the section on designs, seeds, errors and time."""
    rows = []
    for name, seeds in study.seeds.items():
        design, errors = EXPERIMENTS[name], _errors(study, name)
        rows.append(
            [
                name,
                design.kind,
                ", ".join(f"`{switch}`" for switch in design.reach),
                str(len(design.readings())),
                _seeds_of(seeds, design),
                f"{np.median(errors):.1f} and {np.quantile(errors, 0.9):.1f}" if errors else "",
            ]
        )
    errors = [error for name in study.seeds for error in _errors(study, name)]
    reached = 100 * np.mean(np.array(errors) <= WANTED_ERROR) if errors else 100.0
    head = [
        "experiment",
        "design",
        "switches changed",
        "readings",
        "seeds",
        "SE in pts, median and 90 %",
    ]
    return [
        "## How it was run",
        "",
        f"All readings use common random numbers. The target is a standard error of at "
        f"most {WANTED_ERROR} pts for 90 % of the gains under the readings; {reached:.0f} % have "
        f"it ({'reached' if reached >= 90 else '**not reached**'}), and the median is "
        f"{np.median(errors) if errors else 0.0:.1f} pts. With fewer seeds, verdicts "
        "on sizes are more lenient and those on directions stricter.",
        "",
        *markdown_table(head, rows),
        "Rules changed since the first run: " + ("; ".join(RULE_CHANGES) or "none") + ".",
        "",
    ]


def _seeds_of(seeds: int, design: ReadingDesign) -> str:
    fewer = "".join(f", panel {panel} {min(seeds, most)}" for panel, most in design.fewer)
    return f"{seeds} of {design.seeds}{fewer}"


def _errors(study: ReadingStudy, name: str) -> list[float]:
    """Return the standard errors of an experiment's gains under all readings."""
    return [
        judgement.ours.error
        for fate in study.fates
        if fate.experiment == name and fate.claim.unit == "pts"
        for judgement in fate.judgements.values()
        if judgement.ours is not None and np.isfinite(judgement.ours.error)
    ]
