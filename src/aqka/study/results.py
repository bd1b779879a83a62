"""What a finished study has to say: accuracy, history, and quoted against used."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from aqka._util.arrays import FloatArray
from aqka.core.problem import Problem
from aqka.insight.diagnostics import count_sensitivity, diagnose_sensitivity
from aqka.learners import FittedHead
from aqka.maths.metrics import balanced_accuracy
from aqka.maths.spectrum import Spectrum
from aqka.planning.budget import price
from aqka.planning.quotes import CALIBRATION, PREDICTIONS, SENTINELS, Quote
from aqka.runs.export import empty_table
from aqka.runs.history import History
from aqka.sessions import Prediction, Training, Values
from aqka.study.method import Mitigation, class_labels_of, learner_of
from aqka.study.points import Points
from aqka.study.rounds import (
    MAX_ASSESSED_POINTS,
    make_assess,
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
    table, problem, assess = session.table, session.problem, None
    facts = session.design.results(table, head.estimate)
    if session.design.counts_entries:
        sensitivity = count_sensitivity(table, problem, measured_spectrum(session, head))
        found = diagnose_sensitivity(table, problem, sensitivity)
        facts["diagnostics"] = asdict(found) | {"advice": found.advice}
        if table.n_points <= MAX_ASSESSED_POINTS:
            assess = make_assess(problem, class_labels_of(study, points), learner_of(study), found)
    rounds = summarise_rounds(history, empty_table(history), assess, MAX_ASSESSED)
    return {
        "results": {
            **_scores(study, points, problem, None if made is None else made.prediction),
            "cross_validated_accuracy": rounds[-1].accuracy if rounds else None,
            "train_points": table.n_points,
            "test_points": len(points.test),
            "regularisation": head.regularisation,
            "shots": table.total,
            **facts,
        },
        "sentinels": None if noise is None else asdict(noise),
        "actual": {
            **training_use(history),
            "test_shots": 0 if made is None else int(made.prediction.shots.sum()),
            "test_qpu_seconds": None if made is None else made.history.qpu_seconds,
            "test_submissions": 0 if made is None else made.history.ended,
            "test_wall_seconds": 0.0 if made is None else wall_seconds(made.history),
            "sentinel_shots": 0 if noise is None else noise.shots,
            "wall_seconds": wall_seconds(history),
            "rate": study.budget.rate,
        },
        "test_ids": points.origin.test_ids,
        "history": [asdict(entry) for entry in rounds],
    }


def training_use(history: History) -> dict[str, Any]:
    """Return what a training run used, its calibration by itself as quotes have it."""
    rounds = [round for round in history.rounds if round.planned.calibrates]
    shots, used = sum(round.measured.total for round in rounds), history.qpu_seconds
    seconds = sum(round.qpu_seconds or 0.0 for round in rounds)
    found = {
        "shots": history.shots - shots,
        "submissions": len(history.rounds) - len(rounds),
        "qpu_seconds": None if used is None else used - seconds,
    }
    if rounds:
        found |= {
            "calibration_shots": shots,
            "calibration_submissions": len(rounds),
            "calibration_qpu_seconds": None if used is None else seconds,
        }
    return found


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
    rate = actual["rate"]

    def cost(seconds: float | None) -> float | None:
        return None if seconds is None or rate is None else price(seconds, rate)

    rows = [
        ("shots", quoted.shots, actual["shots"]),
        ("submissions", quoted.submissions, actual["submissions"]),
        # A fake device reports 0, which is no QPU time.
        ("QPU seconds", quoted.qpu_seconds, actual["qpu_seconds"] or None),
        ("cost", quoted.cost, cost(actual["qpu_seconds"])),
        ("seconds", quoted.wall_seconds, actual["wall_seconds"]),
    ]
    if quoted.parts:
        # What each part of a quote is called, and the prefix of its figures among those used.
        prefixes = {PREDICTIONS: "test_", SENTINELS: "sentinel_", CALIBRATION: "calibration_"}

        def used(figure: str, otherwise: float | None = 0) -> list[Any]:
            return [actual.get(prefix + figure, otherwise) for prefix in prefixes.values()]

        times = [actual["qpu_seconds"], *used("qpu_seconds", None)]
        known = [time for time in times if time is not None]
        seconds = sum(known) or None
        total = quoted.total
        rows += [
            (f"shots for {part.name}", part.shots, actual.get(f"{prefixes[part.name]}shots", 0))
            for part in quoted.parts
        ]
        rows += [
            ("shots in all", total.shots, actual["shots"] + sum(used("shots"))),
            (
                "submissions in all",
                total.submissions,
                actual["submissions"] + sum(used("submissions")),
            ),
            ("QPU seconds in all", total.qpu_seconds, seconds),
            ("cost in all", quoted.total_cost, cost(seconds)),
            (
                "seconds in all",
                quoted.total_wall_seconds,
                actual["wall_seconds"] + sum(used("wall_seconds")),
            ),
        ]
    return [{"figure": name, "quoted": want, "actual": got} for name, want, got in rows]


@dataclass(frozen=True)
class ValueScores:
    """Scores of predicted values."""

    rmse: float  # root mean square error
    rmse_error: float  # its standard error
    mean_absolute_error: float
    r2: float  # share of the targets' variance that is explained; below 0, worse than their mean
    mean_rmse: float  # of always answering the training points' mean
    gain: float  # by how much squared errors are smaller than that answer's, point by point
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
