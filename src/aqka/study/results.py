"""What a finished study has to say: accuracy, history, and quoted against used."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka._util.text import percent
from aqka.core.problem import Problem
from aqka.designs.prior import PredictionPrior
from aqka.insight.baselines import process_labels
from aqka.insight.diagnostics import count_sensitivity, diagnose_sensitivity
from aqka.learners import FittedHead
from aqka.maths.metrics import balanced_accuracy, share_interval
from aqka.maths.spectrum import Spectrum
from aqka.planning.budget import price
from aqka.planning.quotes import CALIBRATION, PREDICTIONS, SENTINELS, Quote
from aqka.runs.export import empty_table
from aqka.runs.history import History
from aqka.sessions import Prediction, Training, Values
from aqka.study.directory import Prepared
from aqka.study.map_training import MAP_TRAINING
from aqka.study.method import Mitigation, target_interval
from aqka.study.points import Points
from aqka.study.progress import MAX_ASSESSED_POINTS, make_assess, summarise_rounds
from aqka.study.rivals import models_beside
from aqka.study.schema import Study

MAX_ASSESSED = 50  # rounds of the history with a Gini and an accuracy


class Predicted(NamedTuple):
    """The test points: what was predicted, what the ledger says about it, and the ledger's end."""

    prediction: Values
    history: History
    end: str


def results_of(
    prepared: Prepared,
    session: Training,
    history: History,
    head: FittedHead,
    made: Predicted | None,
    noise: Mitigation | None,
) -> dict[str, Any]:
    """Return how well the head did, models beside it, what was used, and the run's history."""
    study, points = prepared.study, prepared.points
    predicted = None if made is None else made.prediction
    table, problem, assess = session.table, session.problem, None
    facts = session.design.results(table, head.estimate)
    if session.design.counts_entries:
        sensitivity = count_sensitivity(table, problem, measured_spectrum(session, head))
        found = diagnose_sensitivity(table, problem, sensitivity)
        facts["diagnostics"] = asdict(found) | {"advice": found.advice}
        if table.n_points <= MAX_ASSESSED_POINTS:
            assess = make_assess(study, points, found)
    rounds = summarise_rounds(history, empty_table(history), assess, MAX_ASSESSED)
    beside = None
    with suppress(Exception):  # a run never fails for them; its report tries again and says why
        beside = asdict(models_beside(study, points, prepared.feature_map))
    return {
        "results": {
            **_scores(study, points, problem, predicted),
            "cross_validated_accuracy": rounds[-1].accuracy if rounds else None,
            "train_points": table.n_points,
            "test_points": len(points.test),
            "regularisation": head.regularisation,
            "shots": table.total,
            **facts,
        },
        "prior": prior_facts(predicted, points, points.test, points.test_labels.tolist()),
        "sentinels": None if noise is None else asdict(noise),
        "actual": used_by(history, None if made is None else made.history, study.budget.rate),
        "beside": beside,
        "test_ids": points.test_ids,
        "history": [asdict(entry) for entry in rounds],
    }


def used_by(
    history: History, predictions: History | None = None, rate: float | None = None
) -> dict[str, Any]:
    """Return what training and predictions used, a calibration by itself as quotes have it.

    QPU time is None where the backend says none; a device that runs in this process says 0.
    """
    rounds, tests = [r for r in history.rounds if r.planned.calibrates], predictions or History()
    watched = [r.remarks["sentinels"] for r in history.rounds if "sentinels" in r.remarks]
    shots, used = sum(round.measured.total for round in rounds), history.qpu_seconds or None
    seconds = sum(round.qpu_seconds or 0.0 for round in rounds)
    found = {
        "shots": history.shots - shots,
        "submissions": len(history.rounds) - len(rounds),
        "qpu_seconds": None if used is None else used - seconds,
        "wall_seconds": wall_seconds(history),
        "test_shots": tests.shots,
        "test_submissions": tests.ended,
        "test_qpu_seconds": tests.qpu_seconds or None,
        "test_wall_seconds": wall_seconds(tests),
        "sentinel_shots": sum(sum(noted["shots"]) for noted in watched),
        "rate": rate,
    }
    if rounds:
        found |= {
            "calibration_shots": shots,
            "calibration_submissions": len(rounds),
            "calibration_qpu_seconds": None if used is None else seconds,
        }
    return found


def measured_spectrum(session: Training, head: FittedHead | None) -> Spectrum:
    """Return the spectrum of the counts' kernel; a head has it, unless it completed rows."""
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
    """Return what the test points say about a head for classes, or about one for numbers."""
    if study.data.task == "regression":
        if prediction is None:
            return {"task": "regression", "predictions": []}
        mean, target = float(points.train_labels.mean()), target_interval(prediction, points)
        ends = [None, None] if target is None else target.tolist()
        return {
            "task": "regression",
            **asdict(ValueScores.of(points.test_labels, prediction.f, mean)),
            "predictions": prediction.f.tolist(),
            "low": prediction.low.tolist(),
            "high": prediction.high.tolist(),
            "target_low": ends[0],
            "target_high": ends[1],
            "level": prediction.level,
        }
    classes = [str(label) for label in problem.classes]
    if not isinstance(prediction, Prediction):
        names = (*CLASS_SCORES, "majority_accuracy")
        return dict.fromkeys(names) | {"classes": classes, "predictions": [], "settled": []}
    return {
        **class_scores(points.test_labels, prediction.labels),
        "majority_accuracy": points.majority_accuracy,
        "classes": classes,
        "predictions": [str(label) for label in prediction.labels],
        "settled": prediction.settled.tolist(),
    }


def prior_facts(
    found: Values | None, points: Points, X: FloatArray, truth: Sequence[Any] | None = None
) -> dict[str, Any] | None:
    """Return what a prior answered, its audit, and how a model without a shot does beside it.

    None where there is no prior. ``X`` are the predicted points, as the circuits take them, and
    ``truth`` their classes, None of those it is not known of.
    """
    if not isinstance(found, Prediction) or found.by_prior is None:
        return None
    audit, count, free = found.audit, len(found.f), int(found.by_prior.sum())
    assert audit is not None
    control = process_labels(points.train, points.train_labels, X)
    agreement = float(np.mean(control == found.labels))
    known = {k: str(one) for k, one in enumerate(truth or ()) if one is not None}
    accuracy, own = (
        float(np.mean([str(labels[k]) == text for k, text in known.items()])) if known else None
        for labels in (control, found.labels)
    )
    shots = f"{int(found.shots.sum()):,} shots"
    first = f"The prior answers {free} of {count} points without a shot; the other {count - free} "
    first += f"cost {shots}."
    if not free and audit.passed and len(audit.points):
        first = (
            f"The prior would answer {len(audit.points)} of {count} points without a shot, but its "
            f"audit measures at least {PredictionPrior.least_audited}; all {count} cost {shots}."
        )
    sentences = [
        first,
        audit.sentence,
        f"A Gaussian process on the labels alone, without any shot, agrees with "
        f"{percent(agreement, 1)} of the classes"
        f"{'' if accuracy is None else f' and has an accuracy of {accuracy:.3f}'}.",
    ]
    if agreement >= 1 - audit.level or (accuracy is not None and accuracy >= (own or 0)):
        sentences.append("For more points like these, use that and buy no shots.")
    return {
        "without_shots": free,
        "answered_by": found.answered_by,
        "audit": asdict(audit)
        | {"points": audit.points.tolist(), "interval": list(audit.interval)},
        "control": {"agreement": agreement, "accuracy": accuracy},
        "sentences": sentences,
    }


CLASS_SCORES = ("accuracy", "standard_error", "interval", "balanced_accuracy")


def class_scores(truth: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Return the accuracy with its standard error and 95 % interval, and the balanced one."""
    right = truth == predicted
    accuracy = float(right.mean())
    error = float(np.sqrt(accuracy * (1 - accuracy) / right.size))
    interval = list(share_interval(int(right.sum()), right.size))
    found = (accuracy, error, interval, balanced_accuracy(truth, predicted))
    return dict(zip(CLASS_SCORES, found, strict=True))


# What each part of a quote is called, and the prefix of its figures among those used.
PREFIXES = {
    PREDICTIONS: "test_",
    SENTINELS: "sentinel_",
    CALIBRATION: "calibration_",
    MAP_TRAINING: "map_",
}


def quote_versus_actual(quoted: Quote, actual: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was quoted and used, training first, then everything; None where unknown."""

    def cost(seconds: float | None) -> float | None:
        rate = actual["rate"]
        return None if seconds is None or rate is None else price(seconds, rate)

    def in_all(figure: str) -> Any:
        used = [actual.get(prefix + figure) for prefix in ("", *PREFIXES.values())]
        known = [value for value in used if value is not None]
        return sum(known) if known else None

    seconds, total = in_all("qpu_seconds"), quoted.total
    rows = [
        ("shots", quoted.shots, actual["shots"]),
        ("submissions", quoted.submissions, actual["submissions"]),
        ("QPU seconds", quoted.qpu_seconds, actual["qpu_seconds"]),
        ("cost", quoted.cost, cost(actual["qpu_seconds"])),
        ("seconds", quoted.wall_seconds, actual["wall_seconds"]),
    ]
    if quoted.parts:
        rows += [
            (f"shots for {part.name}", part.shots, actual.get(f"{PREFIXES[part.name]}shots", 0))
            for part in quoted.parts
        ]
        rows += [
            ("shots in all", total.shots, in_all("shots")),
            ("submissions in all", total.submissions, in_all("submissions")),
            ("QPU seconds in all", total.qpu_seconds, seconds),
            ("cost in all", quoted.total_cost, cost(seconds)),
            ("seconds in all", quoted.total_wall_seconds, in_all("wall_seconds")),
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

    @property
    def rmse_interval(self) -> tuple[float, float]:
        """95 % interval of the root mean square error."""
        reach = 1.96 * self.rmse_error
        return max(0.0, self.rmse - reach), self.rmse + reach

    @classmethod
    def of(cls, truth: FloatArray, predicted: FloatArray, training_mean: float) -> "ValueScores":
        """Score predictions against the truth."""
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
