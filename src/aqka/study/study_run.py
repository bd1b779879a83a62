"""StudyRun: a study's run in memory, as carried out just now or as read from its directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import BoolArray
from aqka.core.blocks import BlockTable
from aqka.errors import LedgerError
from aqka.runs.audit import Audit
from aqka.runs.driver import replay
from aqka.runs.history import History, fold
from aqka.runs.ledger import Ledger, ledger_path
from aqka.sessions.acquisition import Acquisition
from aqka.study.data import Points
from aqka.study.directory import PREDICTIONS_NAME, STUDY_NAME, read_points, read_results
from aqka.study.method import new_session
from aqka.study.schema import Study, load_study


@dataclass(frozen=True, eq=False)
class PredictedPoints:
    """What is known of the test points.

    Attributes
    ----------
    labels
        Predicted classes, as text.
    settled
        Whether a class is settled; the shots ended before the others were.
    table
        Counts of the test-by-train block.
    """

    labels: list[str]
    settled: BoolArray
    table: BlockTable


@dataclass(frozen=True, eq=False)
class StudyRun:
    """All that a report or a table of results needs of a run.

    Attributes
    ----------
    directory, study, text, points
        Where it is, the study, the file that was read, the encoded points.
    session, history
        The training session with all that was measured, and what its ledger says.
    audits
        What the check of each ledger says, by name.
    predicted
        The test points; None before they are predicted.
    results
        What stands in ``results.json``.
    """

    directory: Path
    study: Study
    text: str
    points: Points
    session: Acquisition
    history: History
    audits: dict[str, Audit]
    predicted: PredictedPoints | None
    results: dict[str, Any]


def load_study_run(directory: Path, history: History) -> StudyRun:
    """Read a run of a study, finished or not; ``history`` is that of its own ledger."""
    study, text = load_study(directory / STUDY_NAME)
    points = read_points(directory)
    assert history.budget is not None
    session = new_session(study, points, history.budget)
    replay(session, history)
    audits = {"training": Audit.of(history)}
    results = read_results(directory)
    predicted = None
    place = directory / PREDICTIONS_NAME
    if place.is_dir():
        made = _predictions(place)
        audits["predictions"] = made if isinstance(made, Audit) else Audit.of(made)
        if isinstance(made, History) and made.sound and session.done:
            predicted = _predicted(made, points, results)
    return StudyRun(directory, study, text, points, session, history, audits, predicted, results)


def _predictions(place: Path) -> History | Audit:
    try:
        with Ledger(ledger_path(place)) as ledger:
            return fold(ledger.entries())
    except LedgerError as error:
        return Audit.of_unreadable(error)


def _predicted(history: History, points: Points, results: dict[str, Any]) -> PredictedPoints | None:
    """Return the counts from the ledger, and classes as the results say; None if they differ."""
    table = BlockTable(len(points.test), len(points.train))
    if history.block != table.shots.shape:
        return None
    for round in history.rounds:
        table.add(round.measured, round.hits)
    found = results.get("results")
    if not isinstance(found, dict):
        return None
    labels, settled = found.get("predictions"), found.get("settled")
    if not isinstance(labels, list) or not isinstance(settled, list):
        return None
    if not len(labels) == len(settled) == len(points.test):
        return None
    return PredictedPoints(
        [str(label) for label in labels], np.array([bool(s) for s in settled]), table
    )
