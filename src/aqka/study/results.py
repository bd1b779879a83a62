"""What a finished study has to say: accuracy, history, and quoted against used."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.calibration import CalibrationPlan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.designs import PointEstimate
from aqka.insight.diagnostics import count_sensitivity, diagnose_sensitivity
from aqka.learners import FittedHead
from aqka.maths.metrics import balanced_accuracy
from aqka.maths.spectrum import Spectrum
from aqka.planning.budget import price
from aqka.planning.quotes import CALIBRATION, PREDICTIONS, SENTINELS, Quote
from aqka.runs.history import History
from aqka.sessions import Prediction, Training, Values
from aqka.study.method import Mitigation, class_labels_of, learner_of
from aqka.study.points import Points
from aqka.study.rounds import (
    MAX_ASSESSED_POINTS,
    RoundSummary,
    make_assess,
    summarise_point_rounds,
    summarise_rounds,
)
from aqka.study.schema import Study

MAX_ASSESSED = 50  # rounds of the history with a Gini and an accuracy


class Predicted(NamedTuple):
    """The test points: what was predicted, what the ledger says of it, and the ledger's end."""

    prediction: Values
    history: History
    end: str


def results_of(
    study: Study,
    points: Points,
    session: Training,
    history: History,
    head: FittedHead,
    made: Predicted | None,
    noise: Mitigation | None,
) -> dict[str, Any]:
    """Return how well the head did, what was used, and the history of the run.

    ``made`` is None for a run that only trains, ``noise`` for one without sentinels.
    """
    table = session.table
    if isinstance(head.estimate, PointEstimate):
        facts, rounds = _point_facts(session, history, head.estimate)
    else:
        facts, rounds = _pair_facts(study, points, session, history, head)
    return {
        "results": {
            **_scores(study, points, session.problem, None if made is None else made.prediction),
            "cross_validated_accuracy": rounds[-1].accuracy if rounds else None,
            "train_points": table.n_points,
            "test_points": len(points.test),
            "regularisation": head.regularisation,
            "shots": table.total,
            **facts,
        },
        "sentinels": None if noise is None else asdict(noise),
        "actual": _actual(study, history, made, 0 if noise is None else noise.shots),
        "test_ids": points.origin.test_ids,
        "history": [asdict(entry) for entry in rounds],
    }


def _pair_facts(
    study: Study, points: Points, session: Training, history: History, head: FittedHead
) -> tuple[dict[str, Any], list[RoundSummary]]:
    """Return what a run of pairs has measured, and its rounds."""
    table, problem = session.table, session.problem
    sensitivity = count_sensitivity(table, problem, measured_spectrum(session, head))
    diagnostics = diagnose_sensitivity(table, problem, sensitivity)
    assess = None
    if table.n_points <= MAX_ASSESSED_POINTS:
        labels = class_labels_of(study, points)
        assess = make_assess(problem, labels, learner_of(study), diagnostics)
    facts = {
        "pairs": table.n_pairs,
        "pairs_seen": int(np.sum(~table.unseen)),
        "diagnostics": asdict(diagnostics) | {"advice": diagnostics.advice},
    }
    return facts, summarise_rounds(history, problem.new_table(), assess, MAX_ASSESSED)


def _point_facts(
    session: Training, history: History, estimate: PointEstimate
) -> tuple[dict[str, Any], list[RoundSummary]]:
    """Return what a run of points has measured, and its rounds."""
    table = session.table
    facts = {
        "settings": table.n_settings,
        "shots_per_point": table.total / table.n_points,
        "kernel": estimate.meaning,
        "states": [test.sentence for test in estimate.tests],
        "confusion": None if session.confusion is None else session.confusion.tolist(),
    }
    return facts, summarise_point_rounds(history, PointTable(table.n_points, table.settings))


def _actual(
    study: Study, history: History, made: Predicted | None, sentinel_shots: int
) -> dict[str, Any]:
    """Return what was used."""
    return {
        **training_use(history),
        "test_shots": 0 if made is None else int(made.prediction.shots.sum()),
        "test_qpu_seconds": None if made is None else made.history.qpu_seconds,
        "test_submissions": 0 if made is None else made.history.ended,
        "test_wall_seconds": 0.0 if made is None else wall_seconds(made.history),
        "sentinel_shots": sentinel_shots,
        "wall_seconds": wall_seconds(history),
        "rate": study.budget.rate,
    }


def training_use(history: History) -> dict[str, Any]:
    """Return what a training run used, its calibration by itself as quotes have it."""
    rounds = [r for r in history.rounds if isinstance(r.planned, CalibrationPlan)]
    if not rounds:
        return {
            "shots": history.shots,
            "submissions": len(history.rounds),
            "qpu_seconds": history.qpu_seconds,
        }
    shots = sum(r.measured.total for r in rounds)
    seconds = sum(r.qpu_seconds or 0.0 for r in rounds)
    used = history.qpu_seconds
    return {
        "shots": history.shots - shots,
        "submissions": len(history.rounds) - len(rounds),
        "qpu_seconds": None if used is None else used - seconds,
        "calibration_shots": shots,
        "calibration_submissions": len(rounds),
        "calibration_qpu_seconds": None if used is None else seconds,
    }


def measured_spectrum(session: Training, head: FittedHead | None) -> Spectrum:
    """Return the spectrum of the kernel as a session's problem reads its counts.

    A head that was fitted to the counts has it, unless it completed rows from landmarks.
    """
    spectrum = None if head is None else head.spectrum
    if isinstance(spectrum, Spectrum) and session.landmarks is None:
        return spectrum
    return Spectrum.of(session.problem.reading.kernel(session.table))


def wall_seconds(history: History) -> float:
    """Return the time from a ledger's first entry to its last answer, without idle time."""
    if not history.rounds or history.started_at is None:
        return 0.0
    rounds = sum(max(0.0, round.ended_at - round.planned_at) for round in history.rounds)
    # Time before a process that took it up when all was answered lies beyond the last answer.
    return max(rounds, history.rounds[-1].ended_at - history.started_at - history.idle_seconds)


def _scores(
    study: Study, points: Points, problem: Problem, prediction: Values | None
) -> dict[str, Any]:
    """Return what the test points say of a head for classes, or of one for numbers."""
    if prediction is None and study.data.task == "regression":
        return {"task": "regression", "predictions": []}
    if prediction is None:
        names = ("accuracy", "standard_error", "balanced_accuracy", "majority_accuracy")
        classes = [str(label) for label in problem.classes]
        return dict.fromkeys(names) | {"classes": classes, "predictions": [], "settled": []}
    if not isinstance(prediction, Prediction):
        mean = float(points.train_labels.mean())
        return {
            "task": "regression",
            **asdict(ValueScores.of(points.test_labels, prediction.f, mean)),
            "predictions": prediction.f.tolist(),
            "low": prediction.low.tolist(),
            "high": prediction.high.tolist(),
            "level": prediction.level,
        }
    right = prediction.labels == points.test_labels
    accuracy = float(right.mean())
    return {
        "accuracy": accuracy,
        "standard_error": float(np.sqrt(accuracy * (1 - accuracy) / len(right))),
        "balanced_accuracy": balanced_accuracy(points.test_labels, prediction.labels),
        "majority_accuracy": points.majority_accuracy,
        "classes": [str(label) for label in problem.classes],
        "predictions": [str(label) for label in prediction.labels],
        "settled": prediction.settled.tolist(),
    }


def quote_versus_actual(quoted: Quote, actual: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was quoted and what was used, a row per figure; None where it is unknown.

    First the training kernel, then everything: predictions, sentinels and calibration too, which
    are quoted at most.

    Examples
    --------
    >>> from aqka import quote
    >>> actual = {"shots": 5000, "submissions": 5, "qpu_seconds": 10.0, "wall_seconds": 14.5,
    ...           "rate": 96.0}
    >>> for row in quote_versus_actual(quote(20, 5000, rate=96), actual):
    ...     print(row["figure"], round(row["quoted"], 1), row["actual"])
    shots 5000 5000
    submissions 5 5
    QPU seconds 11.8 10.0
    cost 18.8 16.0
    seconds 12.8 14.5
    """
    rows = [
        ("shots", quoted.shots, actual["shots"]),
        ("submissions", quoted.submissions, actual["submissions"]),
        ("QPU seconds", quoted.qpu_seconds, actual["qpu_seconds"]),
        ("cost", quoted.cost, _cost(actual["qpu_seconds"], actual["rate"])),
        ("seconds", quoted.wall_seconds, actual["wall_seconds"]),
    ]
    if quoted.parts:
        rows += _rows_of_everything(quoted, actual)
    return [{"figure": name, "quoted": want, "actual": got} for name, want, got in rows]


def _cost(seconds: float | None, rate: float | None) -> float | None:
    return None if seconds is None or rate is None else price(seconds, rate)


def _rows_of_everything(
    quoted: Quote, actual: dict[str, Any]
) -> list[tuple[str, float | None, float | None]]:
    """Return a row per part, and the totals."""
    used = {
        PREDICTIONS: actual.get("test_shots", 0),
        SENTINELS: actual.get("sentinel_shots", 0),
        CALIBRATION: actual.get("calibration_shots", 0),
    }
    rows: list[tuple[str, float | None, float | None]] = [
        (f"shots for {part.name}", part.shots, used.get(part.name)) for part in quoted.parts
    ]
    names = ("qpu_seconds", "calibration_qpu_seconds", "test_qpu_seconds")
    known = [time for time in map(actual.get, names) if time is not None]
    seconds = sum(known) if known else None
    rows += [
        ("shots in all", quoted.total.shots, actual["shots"] + sum(used.values())),
        (
            "submissions in all",
            quoted.total.submissions,
            actual["submissions"]
            + actual.get("calibration_submissions", 0)
            + actual.get("test_submissions", 0),
        ),
        ("QPU seconds in all", quoted.total.qpu_seconds, seconds),
        ("cost in all", quoted.total_cost, _cost(seconds, actual["rate"])),
        (
            "seconds in all",
            quoted.total_wall_seconds,
            actual["wall_seconds"] + actual.get("test_wall_seconds", 0.0),
        ),
    ]
    return rows


@dataclass(frozen=True)
class ValueScores:
    """Scores of predicted values.

    Attributes
    ----------
    rmse, rmse_error
        Root mean square error, and its standard error.
    mean_absolute_error
        Mean size of the errors.
    r2
        Share of the targets' variance that is explained; below 0, worse than their mean.
    mean_rmse
        Root mean square error of always answering the training points' mean.
    gain, gain_error
        By how much the squared errors are smaller than that answer's, point by point, and its
        standard error.
    """

    rmse: float
    rmse_error: float
    mean_absolute_error: float
    r2: float
    mean_rmse: float
    gain: float
    gain_error: float

    @classmethod
    def of(cls, truth: FloatArray, predicted: FloatArray, training_mean: float) -> "ValueScores":
        """Score predictions against the truth.

        Examples
        --------
        >>> scores = ValueScores.of(np.array([1.0, 2.0, 6.0]), np.array([1.0, 3.0, 5.0]), 3.0)
        >>> round(scores.rmse, 3), round(scores.r2, 3), round(scores.mean_rmse, 3)
        (0.816, 0.857, 2.16)
        """
        squared = (predicted - truth) ** 2
        plain = (truth - training_mean) ** 2
        n_points = len(truth)
        rmse, more = float(np.sqrt(squared.mean())), plain - squared
        variance = float(np.var(truth))
        return cls(
            rmse=rmse,
            # To first order: the deviation of a root is that of its square over twice the root.
            rmse_error=float(np.std(squared) / np.sqrt(n_points) / (2 * rmse)) if rmse else 0.0,
            mean_absolute_error=float(np.mean(np.sqrt(squared))),
            r2=1 - rmse**2 / variance if variance else float("nan"),
            mean_rmse=float(np.sqrt(plain.mean())),
            gain=float(more.mean()),
            gain_error=float(np.std(more) / np.sqrt(n_points)),
        )
