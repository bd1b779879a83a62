"""What a finished study has to say: accuracy, history, and quoted against used."""

from dataclasses import asdict
from typing import Any

import numpy as np

from aqka.core.problem import Problem
from aqka.insight.diagnostics import count_sensitivity, diagnose_sensitivity
from aqka.maths.metrics import balanced_accuracy
from aqka.maths.spectrum import Spectrum
from aqka.planning.quotes import Quote
from aqka.planning.usage import price
from aqka.readouts import FittedHead
from aqka.runs.history import History
from aqka.sessions.acquisition import Acquisition
from aqka.sessions.value_prediction import ValuePrediction
from aqka.study.data import Points
from aqka.study.method import class_labels_of, readout_of
from aqka.study.rounds import MAX_ASSESSED_POINTS, make_assess, summarise_rounds
from aqka.study.schema import Study
from aqka.study.tested_points import Tested
from aqka.study.value_scores import ValueScores

MAX_ASSESSED = 50  # rounds of the history with a Gini and an accuracy


def results_of(
    study: Study,
    points: Points,
    session: Acquisition,
    history: History,
    head: FittedHead,
    prediction: Tested,
    predictions: History,
) -> dict[str, Any]:
    """Return how well the head did, what was used, and the history of the run.

    ``history`` and ``predictions`` are what the ledgers of training and predictions say.
    """
    table, problem = session.table, session.problem
    sensitivity = count_sensitivity(table, problem, measured_spectrum(session, head))
    diagnostics = diagnose_sensitivity(table, problem, sensitivity)
    assess = None
    if table.n_points <= MAX_ASSESSED_POINTS:
        labels = class_labels_of(study, points)
        assess = make_assess(problem, labels, readout_of(study), diagnostics)
    rounds = summarise_rounds(history, problem.new_table(), assess, MAX_ASSESSED)
    return {
        "results": {
            **_scores(points, problem, prediction),
            "cross_validated_accuracy": rounds[-1].accuracy if rounds else None,
            "train_points": table.n_points,
            "test_points": len(points.test),
            "regularisation": head.regularisation,
            "shots": table.total,
            "pairs": table.n_pairs,
            "pairs_seen": int(np.sum(~table.unseen)),
            "diagnostics": asdict(diagnostics) | {"advice": diagnostics.advice},
        },
        "actual": {
            "shots": table.total,
            "submissions": len(rounds),
            "qpu_seconds": history.qpu_seconds,
            "test_shots": int(prediction.shots.sum()),
            "test_qpu_seconds": predictions.qpu_seconds,
            "wall_seconds": seconds_at_work(history, predictions),
            "rate": study.budget.rate,
        },
        "test_ids": None if points.origin is None else points.origin.test_ids,
        "history": [asdict(entry) for entry in rounds],
    }


def seconds_at_work(history: History, predictions: History | None) -> float:
    """Return the time from a run's first entry to its last prediction, without idle time.

    Read from the ledgers alone, so that results written anew are the same.
    """
    last = history if predictions is None or predictions.empty else predictions
    if history.started_at is None or last.updated_at is None:
        return 0.0
    idle = history.idle_seconds + (0.0 if last is history else last.idle_seconds)
    return max(0.0, last.updated_at - history.started_at - idle)


def measured_spectrum(session: Acquisition, head: FittedHead | None) -> Spectrum:
    """Return the spectrum of the kernel as a session's problem reads its counts.

    A head that was fitted to the counts has it, unless it completed rows from landmarks.
    """
    if head is not None and head.spectrum is not None and session.landmarks is None:
        return head.spectrum
    return Spectrum.of(session.problem.reading.kernel(session.table))


def _scores(points: Points, problem: Problem, prediction: Tested) -> dict[str, Any]:
    """Return what the test points say of a head for classes, or of one for numbers."""
    if isinstance(prediction, ValuePrediction):
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
    used, rate = actual["qpu_seconds"], actual["rate"]
    cost = None if used is None or rate is None else price(used, rate)
    rows = [
        ("shots", quoted.shots, actual["shots"]),
        ("submissions", quoted.submissions, actual["submissions"]),
        ("QPU seconds", quoted.qpu_seconds, used),
        ("cost", quoted.cost, cost),
        ("seconds", quoted.wall_seconds, actual["wall_seconds"]),
    ]
    return [{"figure": name, "quoted": want, "actual": got} for name, want, got in rows]
