"""New points for a finished run: encoded as its own were, measured on its backend."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aqka._util.arrays import digest, text_digest
from aqka._util.text import inert
from aqka.backends import Backend
from aqka.errors import InputError
from aqka.planning.ceilings import make_ceiling
from aqka.runs.driver import Run, replay
from aqka.sessions.prediction import PredictionSession
from aqka.sessions.prediction_result import Prediction
from aqka.study.backends import make_backends
from aqka.study.cancel import cancelled_jobs, forget_cancel
from aqka.study.data import READERS
from aqka.study.directory import NEW_POINTS_NAME, hold_run, n_qubits_of, read_run, same_device
from aqka.study.encoding import Encoding
from aqka.study.method import new_session, reads_as_measured
from aqka.study.mitigated import fit_head
from aqka.study.progress import read_begun_history
from aqka.study.table_files import FORMATS, DataTable

MAX_NEW_POINTS = 10_000


@dataclass(frozen=True, eq=False)
class NewPoints:
    """What a run says about new points.

    Attributes
    ----------
    prediction
        Labels, decision values, intervals and what is settled.
    directory
        Where their ledger is.
    budget
        Shots that could have been spent.
    qpu_seconds
        QPU time they took, all in all; None if the backend does not say.
    clipped
        Points with a feature outside the training points' range, which is clipped to it.
    """

    prediction: Prediction
    directory: Path
    budget: int
    qpu_seconds: float | None
    clipped: int

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per point, of plain values."""
        found = self.prediction
        rows = []
        for k, label in enumerate(found.labels):
            rows.append(
                {
                    "point": k,
                    "label": label.item(),
                    "decision": found.f[k].tolist(),
                    "low": found.low[k].tolist(),
                    "high": found.high[k].tolist(),
                    "settled": bool(found.settled[k]),
                    "shots": int(found.shots[k]),
                }
            )
        return rows


def predict_new_points(
    directory: Path,
    data: Path,
    shots_per_pair: int | None = None,
    on_start: Callable[[int, int], None] | None = None,
    *,
    confirm: Callable[[Backend, int], None] | None = None,
    ceiling: str | None = None,
    allow_code: bool = False,
) -> NewPoints:
    """Predict the points of a file with a finished run.

    Parameters
    ----------
    directory
        The run's.
    data
        A .csv, .parquet or .npz file with the columns that the run was trained on; others are
        not looked at. Of an .npz, the array ``X`` with as many columns.
    shots_per_pair
        At most so many shots, on average, for each pair of a new and a training point; the
        study's ``test_shots`` if None. The same points with the same number are bought once.
    on_start
        Called with the numbers of points and of shots before the first shot.
    confirm
        Called with the backend and the shots before that, if they cost money; it stops by raising.
    ceiling
        Shots, QPU time or money that these points may take; None sets no limit.
    allow_code
        Whether code that makes the study's backend may run.
    """
    prepared = read_run(directory, allow_code=allow_code)
    history = read_begun_history(directory)
    if history is None or not history.finished or history.budget is None:
        raise InputError(
            f"{inert(directory, 300)} has not spent its budget yet, so there is no head to predict "
            f"with; finish it by 'aqka resume {inert(directory, 300)}'."
        )
    study, points = prepared.study, prepared.points
    table = read_new_points(data, points.encoding)
    features = points.encoding.features(table.X)
    # A feature at an end of the range may lie beyond it, or be the training point that made it.
    reduced = (table.X - points.encoding.centre) @ points.encoding.components.T
    outside = (reduced < points.encoding.lowest) | (reduced > points.encoding.highest)
    per_pair = study.budget.test_shots if shots_per_pair is None else shots_per_pair
    if per_pair == 0:
        raise InputError(
            "the run was trained with test_shots = 0, so say how many shots a pair of a new and a "
            "training point may take: --shots, for example --shots 100."
        )
    budget = len(features) * len(points.train) * per_pair
    session = new_session(study, points, history.budget)
    replay(session, history)
    head, noise = fit_head(study, session, history, n_qubits_of(prepared))
    name = text_digest(f"{digest(features)} {budget} {study.method.seed}")
    place = directory / NEW_POINTS_NAME / name
    asked = replace(points, test=features, test_labels=table.y)
    section = same_device(study.backend, directory)
    made = make_backends(section, asked, prepared.circuit, prepared.code)
    assert made.test is not None
    if confirm is not None and made.test.is_paid:
        confirm(made.test, budget)
    if on_start is not None:
        on_start(len(features), budget)
    limit = None
    if ceiling is not None:
        depth = None if made.test.circuit is None else max(1, int(made.test.circuit.depth()))
        limit = make_ceiling(
            ceiling, n_qubits=max(2, n_qubits_of(prepared)), depth=depth, rate=study.budget.rate
        )
    # A seed of their own: simulated hits must not repeat those of other points.
    prediction = PredictionSession(head, len(features), budget, seed=int(name[:7], 16))
    with hold_run(directory), made:
        forget_cancel(directory)
        with Run(
            prediction,
            made.test,
            place,
            begin_with={"parent": history.run_id},
            ceiling=limit,
            cancelled=lambda: cancelled_jobs(directory),
        ) as run:
            run.spend()
            used = run.history().qpu_seconds
    as_measured = reads_as_measured(history) or (noise is not None and noise.applied)
    found = prediction.result(as_measured=as_measured)
    return NewPoints(found, place, budget, used, int(outside.any(axis=1).sum()))


def read_new_points(data: Path, encoding: Encoding) -> DataTable:
    """Read the columns of a file that an encoding was fitted on."""
    reader = READERS.get(data.suffix.lower())
    if reader is None:
        raise InputError(
            f"new points must be in a file ending in {', '.join(FORMATS)}, got "
            f"{inert(data.name)!r}."
        )
    table = reader(data, None, encoding.columns, labelled=False)
    if table.X.shape[1] != len(encoding.columns):
        raise InputError(
            f"{inert(data.name)} has {table.X.shape[1]} columns in X, but the run was trained on "
            f"{len(encoding.columns)}: {inert(', '.join(encoding.columns), 200)}."
        )
    if len(table.X) > MAX_NEW_POINTS:
        raise InputError(
            f"{inert(data.name)} has {len(table.X):,} points; give at most {MAX_NEW_POINTS:,} at "
            "a time."
        )
    return table
