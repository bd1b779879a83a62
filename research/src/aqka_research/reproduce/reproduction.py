"""Runs an experiment of the paper: cells through the sweep, then verdicts, figures and a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqka._util.files import as_json, write_atomically
from aqka_research.protocols import BALANCED, reading_of
from aqka_research.reproduce.claims import Judgement
from aqka_research.reproduce.experiments import Experiment, as_parameters, make_experiment
from aqka_research.reproduce.experiments._base import Parameters
from aqka_research.results import Results
from aqka_research.sweep.cells import OnCell, cell_seconds, run_cells
from aqka_research.sweep.store import Cell

if TYPE_CHECKING:
    from distributed import Client

STORE, REPORT, CLAIMS = "results.jsonl", "reproduction.md", "claims.json"


@dataclass(frozen=True)
class Setup:
    """An experiment with its parameters, protocol and directory: all that a run is made of."""

    name: str
    experiment: Experiment
    parameters: Parameters
    protocol: str
    directory: Path
    cells: list[Cell]


@dataclass(frozen=True)
class Reproduction:
    """What came out of an experiment."""

    setup: Setup
    results: Results
    judgements: list[Judgement]
    summary: list[dict[str, Any]]
    pictures: list[str]


def set_up(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    seeds: int | None = None,
    protocol: str = "paper",
    kernel: Path | None = None,
) -> Setup:
    """Prepare an experiment; nothing is run or written yet."""
    experiment = make_experiment(name)
    reading_of(protocol)
    parameters = as_parameters(experiment, quick, seeds, kernel)
    cells = experiment.cells(parameters, protocol)
    if protocol == "fair":  # said in the cell, so that results of unbalanced tasks are not taken
        cells = [{**cell, "largest_class": BALANCED} for cell in cells]
    return Setup(name, experiment, parameters, protocol, out / protocol / name, cells)


def reproduce(
    setup: Setup,
    *,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
    on_cell: OnCell | None = None,
) -> Reproduction:
    """Run what is missing of an experiment, judge its claims, draw, and write all of it down."""
    from aqka_research.reproduce.page import write_experiment_report

    experiment, cells, store = setup.experiment, setup.cells, setup.directory / STORE
    measured = run_cells(
        experiment.measure, cells, store, workers=workers, scheduler=scheduler, on_cell=on_cell
    )
    rows = (
        {**cell, **row}
        for cell, result in zip(cells, measured, strict=True)
        for row in result["rows"]
    )
    results = Results(rows, setup.protocol, cell_seconds(experiment.measure, cells, store))
    done = Reproduction(
        setup,
        results,
        [claim.judge(results) for claim in experiment.claims],
        experiment.summarise(results),
        _draw_figures(experiment, results, setup.directory),
    )
    experiment.save(setup.parameters, setup.directory)
    write_atomically(setup.directory / CLAIMS, as_json(verdicts(done)))
    write_experiment_report(done, setup.directory / REPORT)
    return done


def _draw_figures(experiment: Experiment, results: Results, directory: Path) -> list[str]:
    """Draw where matplotlib is installed."""
    try:
        from aqka_research import style
    except ImportError:
        return []
    with style.style():
        return style.save_figures(experiment.figures(results), directory, ("png", "svg"))


def verdicts(done: Reproduction) -> dict[str, Any]:
    """Return the verdicts, as plain data."""
    return {
        "experiment": done.setup.name,
        "protocol": done.setup.protocol,
        "parameters": done.setup.parameters,
        "seconds": round(sum(done.results.seconds), 3),
        "claims": [_judgement_facts(judgement) for judgement in done.judgements],
        "pictures": done.pictures,
    }


def _judgement_facts(judgement: Judgement) -> dict[str, Any]:
    claim, ours = judgement.claim, judgement.ours
    return {
        "place": claim.place,
        "says": claim.says,
        "unit": claim.unit,
        "rule": claim.rule.text,
        "paper": claim.paper.value,
        "paper_error": claim.paper.error,
        "ours": None if ours is None else ours.value,
        "our_error": None if ours is None else ours.error,
        "seeds": None if ours is None else ours.count,
        "verdict": judgement.verdict,
        "remark": judgement.remark,
        "explanation": judgement.explanation,
    }


def count_verdicts(reproductions: Sequence[Reproduction]) -> dict[str, int]:
    """Return how many claims got which verdict."""
    counts: dict[str, int] = {}
    for done in reproductions:
        for judgement in done.judgements:
            counts[judgement.verdict] = counts.get(judgement.verdict, 0) + 1
    return counts
