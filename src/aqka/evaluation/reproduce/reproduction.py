"""Runs an experiment of the paper: cells through the sweep, then verdicts, figures and a report."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqka.evaluation.reproduce.claims import Judgement
from aqka.evaluation.reproduce.experiment import Parameters
from aqka.evaluation.reproduce.experiments import (
    Experiment,
    as_parameters,
    make_experiment,
    reading_of,
)
from aqka.evaluation.results import Results
from aqka.sweep.cells import OnCell, cell_seconds, run_cells
from aqka.sweep.store import Cell

if TYPE_CHECKING:
    from distributed import Client

STORE, REPORT, CLAIMS = "results.jsonl", "reproduction.md", "claims.json"


@dataclass(frozen=True)
class Plan:
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

    plan: Plan
    results: Results
    judgements: list[Judgement]
    summary: list[dict[str, Any]]
    pictures: list[str]


def plan(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    seeds: int | None = None,
    protocol: str = "paper",
    kernel: Path | None = None,
) -> Plan:
    """Prepare an experiment; nothing is run or written yet."""
    experiment = make_experiment(name)
    reading_of(protocol)
    parameters = as_parameters(experiment, quick, seeds, kernel)
    cells = experiment.cells(parameters, protocol)
    return Plan(name, experiment, parameters, protocol, out / protocol / name, cells)


def reproduce(
    made: Plan,
    *,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
    on_cell: OnCell | None = None,
) -> Reproduction:
    """Run what is missing of a plan, judge its claims, draw, and write all of it down."""
    from aqka.evaluation.reproduce.page import write_report

    experiment, cells, store = made.experiment, made.cells, made.directory / STORE
    measured = run_cells(
        experiment.measure, cells, store, workers=workers, scheduler=scheduler, on_cell=on_cell
    )
    rows = (
        {**cell, **row}
        for cell, result in zip(cells, measured, strict=True)
        for row in result["rows"]
    )
    results = Results(rows, made.protocol, cell_seconds(experiment.measure, cells, store))
    done = Reproduction(
        made,
        results,
        [claim.judge(results) for claim in experiment.claims],
        experiment.summarise(results),
        _draw(experiment, results, made.directory),
    )
    experiment.save(made.parameters, made.directory)
    (made.directory / CLAIMS).write_text(json.dumps(as_json(done), indent=2) + "\n")
    write_report(done, made.directory / REPORT)
    return done


def _draw(experiment: Experiment, results: Results, directory: Path) -> list[str]:
    """Draw where matplotlib is installed."""
    try:
        from aqka.evaluation import style
    except ImportError:
        return []
    with style.style():
        return style.save(experiment.figures(results), directory, ("png", "svg"))


def as_json(done: Reproduction) -> dict[str, Any]:
    """Return the verdicts, as plain data."""
    return {
        "experiment": done.plan.name,
        "protocol": done.plan.protocol,
        "parameters": done.plan.parameters,
        "seconds": round(sum(done.results.seconds), 3),
        "claims": [_judgement_as_json(judgement) for judgement in done.judgements],
        "pictures": done.pictures,
    }


def _judgement_as_json(judgement: Judgement) -> dict[str, Any]:
    claim, ours = judgement.claim, judgement.ours
    return {
        "place": claim.place,
        "says": claim.says,
        "unit": claim.unit,
        "rule": claim.rule.text,
        "paper": claim.paper.value,
        "paper_error": _finite(claim.paper.error),
        "ours": None if ours is None else _finite(ours.value),
        "our_error": None if ours is None else _finite(ours.error),
        "seeds": None if ours is None else ours.count,
        "verdict": judgement.verdict,
        "remark": judgement.remark,
        "explanation": judgement.explanation,
    }


def _finite(number: float) -> float | None:
    """Return None for NaN and infinities, which JSON does not have."""
    return number if abs(number) < float("inf") else None


def count_verdicts(reproductions: Sequence[Reproduction]) -> dict[str, int]:
    """Return how many claims got which verdict."""
    counts: dict[str, int] = {}
    for done in reproductions:
        for judgement in done.judgements:
            counts[judgement.verdict] = counts.get(judgement.verdict, 0) + 1
    return counts
