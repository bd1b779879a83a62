"""What a finished study has to say: accuracy, history, and quoted against used."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray
from aqka.insight.diagnostics import diagnose
from aqka.maths.metrics import balanced_accuracy
from aqka.planning.quotes import Quote
from aqka.planning.usage import price
from aqka.readouts import FittedHead
from aqka.sessions.acquisition import Acquisition
from aqka.study.directory import Prepared
from aqka.study.method import readout_of
from aqka.study.progress import MAX_ESTIMATED_POINTS, estimator, read_entries, rounds_of

MAX_ESTIMATES = 50  # rounds of the history with a Gini and an accuracy


class Predictions(NamedTuple):
    """Classes of the test points, and what they cost.

    Attributes
    ----------
    labels
        Predicted classes.
    settled
        Whether a class is settled; the shots ended before the others were.
    shots
        Shots on pairs of a test and a training point.
    qpu_seconds
        QPU time of these; None if the backend does not say.
    """

    labels: NDArray[Any]
    settled: BoolArray
    shots: int
    qpu_seconds: float | None


def results_of(
    prepared: Prepared,
    session: Acquisition,
    head: FittedHead,
    predictions: Predictions,
    directory: Path,
) -> dict[str, Any]:
    """Return how well the head did, what was used, and the history of the run."""
    study, points = prepared.study, prepared.points
    predicted = predictions.labels
    right = predicted == points.test_labels
    accuracy = float(right.mean())
    table, problem = session.table, session.problem
    diagnostics = diagnose(table, problem)
    entries = read_entries(directory)
    estimate = None
    if table.n_points <= MAX_ESTIMATED_POINTS:
        estimate = estimator(problem, points.train_labels, readout_of(study))
    history = rounds_of(entries, problem.new_table(), estimate, MAX_ESTIMATES)
    seconds = [r.qpu_seconds for r in history if r.qpu_seconds is not None]
    return {
        "results": {
            "accuracy": accuracy,
            "standard_error": float(np.sqrt(accuracy * (1 - accuracy) / len(right))),
            "balanced_accuracy": balanced_accuracy(points.test_labels, predicted),
            "majority_accuracy": points.majority_accuracy,
            "cross_validated_accuracy": history[-1].accuracy if history else None,
            "train_points": table.n_points,
            "test_points": len(right),
            "classes": [str(label) for label in problem.classes],
            "regularisation": head.regularisation,
            "shots": table.total,
            "pairs": table.n_pairs,
            "pairs_seen": int(np.sum(~table.unseen)),
            "diagnostics": asdict(diagnostics) | {"advice": diagnostics.advice},
            "predictions": [str(label) for label in predicted],
            "settled": predictions.settled.tolist(),
        },
        "actual": {
            "shots": table.total,
            "submissions": len(history),
            "qpu_seconds": sum(seconds) if seconds else None,
            "test_shots": predictions.shots,
            "test_qpu_seconds": predictions.qpu_seconds,
            "wall_seconds": sum(r.seconds for r in history),
            "rate": study.budget.rate,
        },
        "history": [asdict(entry) for entry in history],
    }


def quote_versus_actual(offer: Quote, actual: dict[str, Any]) -> list[dict[str, Any]]:
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
        ("shots", offer.shots, actual["shots"]),
        ("submissions", offer.submissions, actual["submissions"]),
        ("QPU seconds", offer.qpu_seconds, used),
        ("cost", offer.cost, cost),
        ("seconds", offer.wall_seconds, actual["wall_seconds"]),
    ]
    return [{"figure": name, "quoted": want, "actual": got} for name, want, got in rows]
