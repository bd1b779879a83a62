"""New points for a finished run: encoded as its own were, measured on its backend."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from aqka._util.arrays import digest, text_digest
from aqka._util.text import inert, read_number
from aqka.backends import Backend
from aqka.errors import InputError
from aqka.maths.metrics import balanced_accuracy, share_interval
from aqka.planning.device import Usage, make_ceiling
from aqka.runs.driver import Run, replay
from aqka.runs.history import History
from aqka.runs.spend import Spend
from aqka.sessions import Values
from aqka.study.backends import make_backends
from aqka.study.cancel import cancelled_jobs, forget_cancel
from aqka.study.data import READERS
from aqka.study.directory import (
    NEW_POINTS_NAME,
    Prepared,
    hold_run,
    n_qubits_of,
    read_run,
    same_device,
)
from aqka.study.encoding import Encoding
from aqka.study.method import new_session, with_begun_design
from aqka.study.mitigated import fit_head
from aqka.study.other_columns import Columns, other_columns
from aqka.study.progress import read_begun_history
from aqka.study.schema import Study
from aqka.study.table_files import FORMATS, DataTable
from aqka.study.tested_points import Tested, session_for, tested
from aqka.study.value_scores import ValueScores

MAX_NEW_POINTS = 10_000


@dataclass(frozen=True, eq=False)
class NewPoints:
    """What a run says about new points.

    Attributes
    ----------
    prediction
        Labels, decision values, intervals and what is settled; or values in the target's units.
    directory
        Where their ledger is.
    budget
        Shots that could have been spent.
    qpu_seconds
        QPU time they took, all in all; None if the backend does not say.
    clipped
        Points with a feature outside the training points' range, which is clipped to it.
    others
        Columns of the file besides the features and the target, such as names of the points.
    truth
        Labels or numbers of the file's target column, None of a point without one; None
        if the file has no such column.
    training_mean
        Of a regression's targets.
    """

    prediction: Tested
    directory: Path
    budget: int
    qpu_seconds: float | None
    clipped: int
    others: Columns = field(default_factory=dict)
    truth: list[Any] | None = None
    training_mean: float = 0.0

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per point, of plain values."""
        found = self.prediction
        return [self._answer(k) | {"shots": int(found.shots[k])} for k in range(len(found.f))]

    def _answer(self, k: int) -> dict[str, Any]:
        found = self.prediction
        interval = {"low": found.low[k].tolist(), "high": found.high[k].tolist()}
        if isinstance(found, Values):
            return {"point": k, "value": float(found.f[k])} | interval
        answer = {"point": k, "label": found.labels[k].item(), "decision": found.f[k].tolist()}
        return answer | interval | {"settled": bool(found.settled[k])}

    def records(self) -> list[dict[str, Any]]:
        """Return the rows with what the file says of each point: its other columns, its truth."""
        rows = self.rows()
        taken = {*rows[0], "truth"} if rows else set()
        names = {name: f"{name} (file)" if name in taken else name for name in self.others}
        found = []
        for k, row in enumerate(rows):
            kept = {names[name]: cells[k] for name, cells in self.others.items()}
            truth = {} if self.truth is None else {"truth": self.truth[k]}
            found.append({"point": row.pop("point")} | kept | row | truth)
        return found

    def scores(self) -> dict[str, Any] | None:
        """Return how good the predictions are, on the points whose truth is known."""
        known = [k for k, one in enumerate(self.truth or ()) if one is not None]
        if self.truth is None or not known:
            return None
        found, truth = self.prediction, [self.truth[k] for k in known]
        if isinstance(found, Values):
            values = ValueScores.of(np.array(truth), found.f[known], self.training_mean)
            return {"points": len(known)} | asdict(values)
        labels = found.labels[known]
        right = np.array([str(a) == str(b) for a, b in zip(labels, truth, strict=True)])
        low, high = share_interval(int(right.sum()), right.size)
        texts = np.array([str(one) for one in truth]), np.array([str(one) for one in labels])
        return {
            "points": len(known),
            "accuracy": float(right.mean()),
            "interval": [low, high],
            "balanced_accuracy": balanced_accuracy(*texts),
        }


def predict_new_points(
    directory: Path,
    data: Path,
    shots_per_pair: int | None = None,
    on_start: Callable[[int, int], None] | None = None,
    *,
    confirm: Callable[[Backend, int, str], None] | None = None,
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
        kept as they are, and the study's target scores the predictions. Of an .npz, the array ``X``
        with as many columns.
    shots_per_pair
        At most so many shots, on average, for each pair of a new and a training point; the
        study's ``test_shots`` if None. Of a run of points, for each new point; what a training
        point got if None. The same points with the same number are bought once.
    on_start
        Called with the numbers of points and of shots before the first shot.
    confirm
        Called with the backend, the shots and the design before that, if they cost money; it stops
        by raising.
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
    study = with_begun_design(study, history)
    budget = len(features) * _shots_of_a_point(study, history, len(points.train), shots_per_pair)
    session = new_session(study, points, history.budget, n_qubits_of(prepared))
    replay(session, history)
    head, noise = fit_head(study, session, history, n_qubits_of(prepared))
    name = text_digest(f"{digest(features)} {budget} {study.method.seed}")
    place = directory / NEW_POINTS_NAME / name
    asked = replace(points, test=features, test_labels=table.y)
    section = same_device(study.backend, directory)
    made = make_backends(
        *(section, asked, prepared.circuit, prepared.code), design=study.method.design
    )
    assert made.test is not None
    if confirm is not None and made.test.is_paid:
        confirm(made.test, budget, study.method.design)
    if on_start is not None:
        on_start(len(features), budget)
    limit = None
    if ceiling is not None:
        usage = Usage.on(made.test, study.method.design, n_qubits_of(prepared))
        limit = make_ceiling(
            ceiling, execution_seconds=usage.execution_seconds, rate=study.budget.rate
        )
    # A seed of their own: simulated hits must not repeat those of other points.
    prediction = session_for(study, head, len(features), budget, int(name[:7], 16))
    with hold_run(directory), made:
        forget_cancel(directory)
        spend = Spend(place, limit, cancel=lambda: cancelled_jobs(directory))
        with Run(prediction, made.test, spend, {"parent": history.run_id}) as run:
            run.spend()
            used = run.history().qpu_seconds
    as_measured = noise is not None and noise.applied
    found = tested(prediction, points, as_measured=as_measured)
    clipped = int(outside.any(axis=1).sum())
    others, truth = _others_and_truth(data, prepared, len(features))
    mean = float(np.mean(points.train_labels)) if study.data.task == "regression" else 0.0
    return NewPoints(found, place, budget, used, clipped, others, truth, mean)


def _shots_of_a_point(study: Study, history: History, n_train: int, asked: int | None) -> int:
    """Return the shots that a new point may take on average."""
    assert history.budget is not None
    if study.method.design == "points":
        trained = history.budget - (history.extent.calibration or 0)
        return asked or trained // n_train
    per_pair = study.budget.test_shots if asked is None else asked
    if per_pair == 0:
        raise InputError(
            "the run was trained with test_shots = 0, so say how many shots a pair of a new and a "
            "training point may take: --shots, for example --shots 100."
        )
    return n_train * per_pair


def _others_and_truth(
    data: Path, prepared: Prepared, n_points: int
) -> tuple[Columns, list[Any] | None]:
    """Return what else a file says of its points, and the truth where it has the target."""
    section, labels = prepared.study.data, prepared.points.train_labels
    is_npz = data.suffix.lower() == ".npz"
    target = section.target or ("y" if is_npz else None)
    first = [name for name in (target, section.id) if name is not None]
    others = other_columns(data, prepared.points.encoding.columns, first, n_points)
    texts = others.pop(target, None) if target is not None else None
    if texts is None:
        return others, None
    truth = [_as_truth(text, labels.dtype.kind) for text in texts]
    return others, None if all(one is None for one in truth) else truth


def _as_truth(text: str, kind: str) -> Any:
    """Return a cell of the target as the run's labels are: text, a whole number or a number."""
    if kind == "U":
        return text or None
    number = read_number(text)
    if number is None or not math.isfinite(number):
        return None
    return number if kind == "f" else int(number) if number.is_integer() else None


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
