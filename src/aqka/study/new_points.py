"""New points for a finished run: encoded as its own were, measured on its backend."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aqka._util.arrays import FloatArray, digest, text_digest
from aqka._util.text import inert, read_number
from aqka.designs.answered import AnsweredPoints
from aqka.designs.resolve import as_prior
from aqka.errors import InputError
from aqka.planning.device import Usage, make_ceiling
from aqka.planning.quotes import QuotePart, prediction_part
from aqka.planning.split import settled_design, shots_on_top
from aqka.runs.driver import Run, part_of
from aqka.runs.history import History
from aqka.runs.spend import Spend
from aqka.sessions import Prediction, Values
from aqka.study import method
from aqka.study.backends import make_backends
from aqka.study.carry_out import cancelled_jobs, forget_cancel
from aqka.study.directory import NEW_POINTS_NAME, Prepared, hold_run
from aqka.study.points import Encoding
from aqka.study.results import ValueScores, class_scores, prior_facts
from aqka.study.schema import DataSection, Study
from aqka.study.store import RunStore
from aqka.study.tables import FORMATS, Columns, DataTable, other_columns, read_table

MAX_NEW_POINTS = 10_000


class Start(NamedTuple):
    """What is known of new points before the first shot."""

    points: int
    shots: int  # at most
    free: int | None  # points that the prior answers; None where there is none
    audited: int  # points it would answer, had its audit not taken all of them
    unseen: list[dict[str, Any]]  # texts that the run's table does not have


@dataclass(frozen=True, eq=False)
class NewPoints:
    """What a run says about new points."""

    prediction: Values  # classes, or values in the target's units
    directory: Path  # where their ledger is
    budget: int  # shots that could have been spent
    qpu_seconds: float | None  # None if the backend does not say
    clipped: int  # points with a feature outside the training points' range
    others: Columns = field(default_factory=dict)  # columns besides features and target
    truth: list[Any] | None = None  # of the file's target column, None for a point without one
    training_mean: float = 0.0  # of a regression's targets
    prior: dict[str, Any] | None = None  # what cost no shot, and why; None where there is none
    target: FloatArray | None = None  # where they lie: low and high of each point
    id: str | None = None  # the column that names the points, where the file has it
    unseen: list[dict[str, Any]] = field(default_factory=list)  # as in Start

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per point, of plain values."""
        found = self.prediction
        columns: dict[str, Any] = {"point": np.arange(len(found.f))}
        interval = {"low": found.low, "high": found.high}
        if isinstance(found, Prediction):
            columns |= {"label": found.labels, "decision": found.f, **interval}
            columns["settled"] = found.settled
            if found.by_prior is not None:
                columns["answered_by"] = np.array(found.answered_by)
        else:
            columns |= {"value": found.f, **interval}
            if self.target is not None:
                columns |= dict(zip(("target_low", "target_high"), self.target, strict=True))
        columns["shots"] = found.shots
        cells = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in cells]

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the decision values; none for a regression."""
        if not isinstance(self.prediction, Prediction):
            return []
        return [label.item() for label in self.prediction.head.classes]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows with what the file says of each point: its other columns, its truth."""
        return with_others(self.rows(), self.others, self.truth)

    def scores(self) -> dict[str, Any] | None:
        """Return how good the predictions are, on the points whose truth is known."""
        known = [k for k, one in enumerate(self.truth or ()) if one is not None]
        if self.truth is None or not known:
            return None
        found, truth = self.prediction, [self.truth[k] for k in known]
        if not isinstance(found, Prediction):
            values = ValueScores.of(np.array(truth), found.f[known], self.training_mean)
            return {"points": len(known)} | asdict(values)
        texts = np.array([str(one) for one in truth])
        labels = np.array([str(one) for one in found.labels[known]])
        return {"points": len(known)} | class_scores(texts, labels)


def predict_new_points(
    directory: Path,
    data: Path,
    shots: int | None = None,
    on_start: Callable[[Start], None] = lambda start: None,
    *,
    prior: str | None = None,
    confirm: Callable[[QuotePart, str], None] = lambda part, device: None,
    ceiling: str | None = None,
    allow_code: bool = False,
) -> NewPoints:
    """Predict the points of a .csv, .parquet or .npz file with a finished run.

    A pair of a new and a training point, or a new point where points were measured, gets at most
    ``shots`` on average: by default the study's ``test_shots``, or what a training point got. The
    same points with the same number are bought once. ``prior`` replaces the study's
    ``method.prior``. ``on_start`` is called before the first shot; before that, if shots cost
    money, ``confirm`` with the quote and the device's name: it stops by raising.
    """
    prepared, history = finished_run(directory, allow_code)
    study, points, encoding = prepared.study, prepared.points, prepared.points.encoding
    is_real = study.data.task == "regression"
    if prior is not None:
        if as_prior(prior) is not None and is_real:
            raise InputError(
                f"prior {prior!r} answers classes, and the run is a regression; leave it out."
            )
        study = study.changed("method", prior=prior)
        prepared = replace(prepared, study=study)
    table = read_new_points(data, encoding, gaps=study.data.missing == "median")
    features, unseen = encoding.features(table.X), encoding.unseen(table.other_texts)
    budget = len(features) * _shots_of_a_point(study, history, len(points.train), shots)
    head, _ = method.fit_head(prepared, method.begun_session(prepared, history), history)
    made = make_backends(prepared, features)
    assert made.test is not None
    usage = Usage.on(made.test, study.method.design, prepared.n_qubits)
    if made.test.is_paid:
        confirm(prediction_part(budget, study.method.design, usage, not is_real), made.test.name)
    limit = None
    if ceiling is not None:
        seconds, rate = usage.execution_seconds, study.budget.rate
        limit = make_ceiling(ceiling, study.method.design, execution_seconds=seconds, rate=rate)
    # Named by what the file holds: computed features may differ in their last bits elsewhere.
    said = method.prior_of(prepared, head, features)
    suffix = "" if said is None else f" {said.settings.describe()}"
    name = text_digest(f"{digest(table.X)} {budget} {study.seed}{suffix}")
    place = directory / NEW_POINTS_NAME / name
    # A seed of their own: simulated hits must not repeat those of other points.
    prediction = method.prediction_session(prepared, head, features, budget, int(name[:7], 16))
    with hold_run(directory), made.train:
        forget_cancel(directory)
        spend = Spend(place, limit, cancel=lambda: cancelled_jobs(directory))
        with Run(prediction, made.test, spend, part_of(history.run_id, place.name)) as run:
            new, audited = prediction.new, 0
            if isinstance(new, AnsweredPoints) and not new.answers.free.any():
                audited = int(new.answers.audited.sum())
            free = None if new.by_prior is None else int(new.by_prior.sum())
            on_start(Start(len(features), budget - new.reserved, free, audited, unseen))
            run.spend()
            used = run.history().qpu_seconds or None
    others, truth = _others_and_truth(data, prepared, len(features))
    answers = method.answers_of(prediction, points)
    return NewPoints(
        prediction=answers,
        directory=place,
        budget=budget,
        qpu_seconds=used,
        clipped=encoding.n_outside(table.X),
        others=others,
        truth=truth,
        prior=prior_facts(answers, points, features, truth),
        training_mean=float(np.mean(points.train_labels)) if is_real else 0.0,
        target=method.target_interval(answers, points) if is_real else None,
        id=study.data.id,
        unseen=unseen,
    )


def with_others(
    rows: list[dict[str, Any]], others: Columns, truth: list[Any] | None = None
) -> list[dict[str, Any]]:
    """Return rows with a file's other columns after the number of the point, and the truth last."""
    taken = {*rows[0], "truth"} if rows else set()
    names = {name: f"{name} (file)" if name in taken else name for name in others}
    found = []
    for k, row in enumerate(rows):
        kept = {names[name]: cells[k] for name, cells in others.items()}
        known = {} if truth is None else {"truth": truth[k]}
        found.append({"point": row["point"]} | kept | row | known)
    return found


def finished_run(directory: Path, allow_code: bool) -> tuple[Prepared, History]:
    """Return a run that has spent its training budget, its design settled, and its history."""
    store = RunStore(directory)
    prepared, history = store.prepared(allow_code=allow_code), store.training
    if history is None or not history.finished or history.budget is None:
        raise InputError(
            f"{inert(directory, 300)} has not spent its budget yet, so it has no trained model; "
            f"finish it by 'aqka resume {inert(directory, 300)}'."
        )
    study = prepared.study.changed("method", design=history.extent.design)
    return replace(prepared, study=study), history


def _shots_of_a_point(study: Study, history: History, n_train: int, asked: int | None) -> int:
    assert history.budget is not None
    design, each = study.method.design, study.budget.test_shots
    if asked is None and each == 0 and settled_design(design).counts_entries:
        raise InputError(
            "the run was trained with test_shots = 0, so say how many shots a pair of a new and a "
            "training point may take: --shots, for example --shots 100."
        )
    each = each if asked is None else asked
    trained = history.budget - (history.extent.calibration or 0)
    return shots_on_top(design, trained, n_train, 1, each or None)


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


def read_new_points(data: Path, encoding: Encoding, *, gaps: bool = False) -> DataTable:
    """Read the columns of a file that an encoding was fitted on."""
    if data.suffix.lower() not in FORMATS:
        raise InputError(
            f"new points must be in a file ending in {', '.join(FORMATS)}, got "
            f"{inert(data.name)!r}."
        )
    given: Any = {"features": encoding.columns, "missing": "median" if gaps else "refuse"}
    table = read_table(data, DataSection.model_construct(**given), labelled=False)
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
