"""Runs the experiments under many readings of the paper, with runs shared wherever they agree."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aqka_research.paper_reading import LEVELS, PaperReading
from aqka_research.read_runs import forget_runs
from aqka_research.reproduce.experiments import make_experiment
from aqka_research.reproduce.reading_design import EXPERIMENTS
from aqka_research.results import Results, Row
from aqka_research.sweep.cells import OnCell, cell_seconds, finished_cells, run_cells
from aqka_research.sweep.store import Cell, Result, stable_name, to_json

if TYPE_CHECKING:
    from distributed import Client

Part = list[Any]
"""An experiment's name, one of its cells without a protocol, and the readings it is run under."""

SAME_RUNS = {
    **dict.fromkeys(("synthetic", "shofar-tau", "nystrom-sweep", "hybrid", "ridge-cv"), "rbf"),
    **dict.fromkeys(("quantum",), "zz"),
    **dict.fromkeys(("hardware",), "device"),
}
"""Experiments whose cells of one seed measure the same task, and so go into one cell."""


@stable_name("aqka.reproduce.readings:measure")
def measure_readings(cell: Cell) -> Result:
    """Measure some experiments' cells of one seed under all their readings.

    A row that several readings share is kept once: ``rows`` are the different ones, and
    ``found`` has their numbers, by part and by reading.
    """
    forget_runs()
    numbers: dict[str, int] = {}
    found: list[dict[str, list[int]]] = [{} for _ in cell["parts"]]
    names = list(dict.fromkeys(name for *_, readings in cell["parts"] for name in readings))
    for name in names:
        for part, (experiment, settings, readings) in enumerate(cell["parts"]):
            if name in readings:
                measure = make_experiment(experiment).measure
                rows = measure({**settings, "protocol": name})["rows"]
                keys = (to_json(row) for row in rows)
                found[part][name] = [numbers.setdefault(key, len(numbers)) for key in keys]
    forget_runs()
    return {"rows": [json.loads(text) for text in numbers], "found": found}


def sweep_cells(
    readings: Mapping[str, Sequence[PaperReading]],
    *,
    quick: bool = False,
    seeds: int | Mapping[str, int] | None = None,
) -> list[Cell]:
    """Return the cells that measure experiments under readings, by their seeds."""
    grouped: dict[tuple[Any, ...], list[Part]] = {}
    # In the order of the designs, so that a cell does not depend on how experiments are named.
    for name, design in EXPERIMENTS.items():
        chosen = readings.get(name)
        if chosen is None:
            continue
        experiment = make_experiment(name)
        parameters = dict(experiment.quick if quick else experiment.full)
        wanted = parameters["seeds"] if quick else design.seeds
        given = seeds[name] if isinstance(seeds, Mapping) else seeds
        parameters["seeds"] = wanted if given is None else given
        for cell in experiment.cells(parameters, "literal"):
            if not isinstance(seeds, int) and cell["seed"] >= design.seeds_of(cell):
                continue
            settings = {key: value for key, value in cell.items() if key != "protocol"}
            settings |= dict(design.settings)
            group = _group(name, cell)
            different = dict.fromkeys(_in_cell(name, cell, reading).name for reading in chosen)
            part = [name, settings, list(different)]
            grouped.setdefault((group, cell["seed"]), []).append(part)
    cells: list[Cell] = [{"seed": seed, "parts": parts} for (_, seed), parts in grouped.items()]
    # What a stopped run has finished is then about the same share of every experiment's seeds.
    return sorted(cells, key=_share_of_seeds)


def _share_of_seeds(cell: Cell) -> float:
    wanted = (EXPERIMENTS[name].seeds_of(settings) for name, settings, _ in cell["parts"])
    return float(max((cell["seed"] + 1) / seeds for seeds in wanted))


def _group(name: str, cell: Cell) -> str:
    """Return what a cell shares its runs by; its own text if it shares none."""
    if name == "fill":
        return str(cell["task"])
    if name == "head-to-head" and cell["panel"][0] in "ab":
        return {"a": "zz", "b": "device"}[cell["panel"][0]]
    return SAME_RUNS.get(name) or f"{name} {to_json(cell)}"


def _in_cell(name: str, cell: Cell, reading: PaperReading) -> PaperReading:
    """Return the reading with what cannot reach this cell of its experiment at literal levels."""
    idle: set[str] = set()
    if name == "fill" and cell["task"] == "zz":
        idle = {"width"}
    if name == "head-to-head" and cell["panel"][0] != "a":
        idle = {"inputs", "tests"}
    if name == "gini" and not cell["task"].startswith("planted"):
        idle = {"width", "tests"}
    return reading.restricted_to(set(LEVELS) - idle)


@dataclass(frozen=True)
class SweepResults:
    """Every experiment's results under each of its readings, and the processor time of it all."""

    results: dict[str, dict[PaperReading, Results]]
    seconds: float
    cells: int

    def merged_with(self, other: "SweepResults") -> "SweepResults":
        """Return both together."""
        names = dict.fromkeys([*self.results, *other.results])
        both = {n: {**self.results.get(n, {}), **other.results.get(n, {})} for n in names}
        return SweepResults(both, self.seconds + other.seconds, self.cells + other.cells)


def run_sweep(
    readings: Mapping[str, Sequence[PaperReading]],
    cells: Sequence[Cell],
    store: Path,
    *,
    workers: int | None = None,
    scheduler: "str | Client | None" = None,
    on_cell: OnCell | None = None,
) -> SweepResults:
    """Run what is missing of the cells of :func:`sweep_cells`, and return all results."""
    measured = run_cells(
        measure_readings, cells, store, workers=workers, scheduler=scheduler, on_cell=on_cell
    )
    seconds = sum(cell_seconds(measure_readings, cells, store))
    return SweepResults(gather(readings, zip(cells, measured, strict=True)), seconds, len(cells))


def finished_sweep(
    readings: Mapping[str, Sequence[PaperReading]], cells: Sequence[Cell], store: Path
) -> SweepResults:
    """Return the results that a store has, of those seeds that an experiment has finished."""
    there = finished_cells(measure_readings, cells, store)
    found = run_sweep(readings, there, store)
    kept = set(map(id, there))
    missing = {
        (name, cell["seed"]) for cell in cells if id(cell) not in kept for name, *_ in cell["parts"]
    }
    results = {
        name: {
            reading: Results(
                [row for row in one.rows if (name, row["seed"]) not in missing], one.protocol
            )
            for reading, one in by_reading.items()
        }
        for name, by_reading in found.results.items()
    }
    return SweepResults(results, found.seconds, found.cells)


def gather(
    readings: Mapping[str, Sequence[PaperReading]], measured: Iterable[tuple[Cell, Result]]
) -> dict[str, dict[PaperReading, Results]]:
    """Return the rows of cells by experiment and reading."""
    rows: dict[str, dict[PaperReading, list[Row]]] = {
        name: {reading: [] for reading in chosen} for name, chosen in readings.items()
    }
    for cell, result in measured:
        for (name, settings, _), found in zip(cell["parts"], result["found"], strict=True):
            for reading, mine in rows[name].items():
                numbers = found[_in_cell(name, settings, reading).name]
                mine += [{**settings, **result["rows"][number]} for number in numbers]
    return {
        name: {reading: Results(found, reading.name) for reading, found in by_reading.items()}
        for name, by_reading in rows.items()
    }
