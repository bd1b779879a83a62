"""Everything about the readings of the paper: both protocols, the sweep, and the best reading."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aqka._util.files import as_json, write_atomically
from aqka_research.paper_reading import PaperReading
from aqka_research.reproduce.claims import Judgement
from aqka_research.reproduce.reading_design import EXPERIMENTS
from aqka_research.reproduce.reading_sweep import (
    SweepResults,
    finished_sweep,
    run_sweep,
    sweep_cells,
)
from aqka_research.reproduce.reading_verdicts import (
    FEWEST_SEEDS,
    ClaimUnderReadings,
    best_reading,
    facts,
    judge,
    judge_all,
)
from aqka_research.reproduce.reproduction import STORE as PROTOCOL_STORE
from aqka_research.reproduce.reproduction import Reproduction, Setup, reproduce, set_up
from aqka_research.results import Results
from aqka_research.sweep.cells import OnCell, finished_cells
from aqka_research.sweep.store import Cell

if TYPE_CHECKING:
    from distributed import Client

STORE, BEST_STORE, FACTS = "results.jsonl", "best.jsonl", "readings.json"
PROTOCOLS = ("paper", "fair")


@dataclass(frozen=True)
class ReadingStudy:
    """What came out.

    Attributes
    ----------
    protocols
        Both protocols' reproductions, by name and experiment.
    fates
        Every claim under every reading of its experiment's design.
    best
        The reading that makes most claims true.
    under_best
        Every claim's verdict under it, by experiment and number.
    results
        What was measured, by experiment and reading.
    seeds
        Seeds under the readings, by experiment.
    seconds
        Processor time of the protocols and of the readings.
    quick
        Whether it is too small for its verdicts to count.
    """

    protocols: dict[str, dict[str, Reproduction]]
    fates: list[ClaimUnderReadings]
    best: PaperReading
    under_best: dict[tuple[str, int], Judgement]
    results: dict[str, dict[PaperReading, Results]]
    seeds: dict[str, int]
    seconds: dict[str, float]
    quick: bool

    def under(self, protocol: str, fate: ClaimUnderReadings) -> Judgement:
        """Return a claim's verdict under a protocol."""
        return self.protocols[protocol][fate.experiment].judgements[fate.number]


@dataclass(frozen=True)
class HowToRun:
    """Where and how cells are run: see :func:`~aqka_research.sweep.cells.run_cells`.

    With ``so_far`` nothing is run but the best reading, on the seeds that are finished.
    """

    workers: int | None = None
    scheduler: "str | Client | None" = None
    on_cell: OnCell | None = None
    so_far: bool = False
    quick: bool = False
    seeds: int | None = None


def study_readings(
    names: Sequence[str],
    out: Path,
    how: HowToRun,
    say: Callable[[str], None] = lambda stage: None,
) -> ReadingStudy:
    """Run what is missing of both protocols and of the readings, and judge every claim."""
    protocols: dict[str, dict[str, Reproduction]] = {}
    for protocol in PROTOCOLS:
        say(protocol)
        protocols[protocol] = {name: _reproduced(name, out, how, protocol) for name in names}
    say("readings")
    sweep = _swept(names, out, how)
    counts = {
        name: len(next(iter(found.values())).unique("seed"))
        for name, found in sweep.results.items()
    }
    fewest = 1 if how.quick else FEWEST_SEEDS
    fates = judge_all(protocols["paper"], sweep.results, fewest)
    best = best_reading(fates)
    say("best reading")
    everywhere = sweep.merged_with(_swept_best(best, sweep, counts, out, how))
    under_best = {
        (fate.experiment, fate.number): judge(
            fate.claim,
            everywhere.results[fate.experiment][EXPERIMENTS[fate.experiment].relevant(best)],
            fewest,
        )
        for fate in fates
    }
    write_atomically(out / "readings" / FACTS, as_json([facts(fate) for fate in fates]))
    seconds = {
        protocol: sum(sum(one.results.seconds) for one in done.values())
        for protocol, done in protocols.items()
    }
    seconds["readings"] = everywhere.seconds
    return ReadingStudy(
        protocols, fates, best, under_best, everywhere.results, counts, seconds, how.quick
    )


def _reproduced(name: str, out: Path, how: HowToRun, protocol: str) -> Reproduction:
    setup = set_up(name, out, quick=how.quick, seeds=how.seeds, protocol=protocol)
    if how.so_far:
        store = setup.directory / PROTOCOL_STORE
        cells = finished_cells(setup.experiment.measure, setup.cells, store)
        setup = replace(setup, cells=cells)
        if not cells:
            return _nothing_yet(setup)
    return reproduce(setup, workers=how.workers, scheduler=how.scheduler, on_cell=how.on_cell)


def _nothing_yet(setup: Setup) -> Reproduction:
    """Return an experiment of which nothing is finished: no claim can be tested."""
    judgements = [
        Judgement(claim, None, "not testable here", "Nothing of it is finished yet.")
        for claim in setup.experiment.claims
    ]
    return Reproduction(setup, Results([], setup.protocol), judgements, [], [])


def _swept(names: Sequence[str], out: Path, how: HowToRun) -> SweepResults:
    """Return the experiments under the readings of their designs."""
    readings = {name: EXPERIMENTS[name].readings() for name in names}
    cells = sweep_cells(readings, quick=how.quick, seeds=how.seeds)
    store = out / "readings" / STORE
    if how.so_far:
        return finished_sweep(readings, cells, store)
    return _run(readings, cells, store, how)


def _swept_best(
    best: PaperReading, sweep: SweepResults, counts: dict[str, int], out: Path, how: HowToRun
) -> SweepResults:
    """Return the experiments under the best reading where their designs do not have it."""
    missing = {
        name: [EXPERIMENTS[name].relevant(best)]
        for name, found in sweep.results.items()
        if EXPERIMENTS[name].relevant(best) not in found
    }
    cells = sweep_cells(missing, quick=how.quick, seeds=counts)
    return _run(missing, cells, out / "readings" / BEST_STORE, how)


def _run(
    readings: dict[str, list[PaperReading]], cells: list[Cell], store: Path, how: HowToRun
) -> SweepResults:
    return run_sweep(
        readings,
        cells,
        store,
        workers=how.workers,
        scheduler=how.scheduler,
        on_cell=how.on_cell,
    )
