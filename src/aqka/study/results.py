"""What a finished study has to say: its accuracy, models without shots, and what was used."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka._util.text import percent
from aqka.backends.statevector import fidelities
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.designs.prior import PredictionPrior
from aqka.errors import InputError
from aqka.insight import fold_scores
from aqka.insight.baselines import baselines, guessing, process_labels
from aqka.insight.diagnostics import diagnose_sensitivity
from aqka.insight.exact_kernels import MAX_QUBITS, FeatureMap, map_states
from aqka.learners import FittedHead, make_learner
from aqka.maths.metrics import Fold, balanced_accuracy, share_interval
from aqka.maths.spectrum import Spectrum
from aqka.planning.budget import price
from aqka.planning.quotes import CALIBRATION, PREDICTIONS, SENTINELS, Quote
from aqka.runs.export import empty_table
from aqka.runs.history import History
from aqka.sessions import Prediction, Training, Values
from aqka.study.map_training import MAP_TRAINING
from aqka.study.method import Mitigation, target_interval
from aqka.study.points import Points
from aqka.study.progress import MAX_ASSESSED_POINTS, make_assess, summarise_rounds
from aqka.study.schema import Study
from aqka.study.store import StudyRun

MAX_ASSESSED = 50  # rounds of the history with a Gini and an accuracy
MAX_PLAIN = 500  # training points of a plain model: tuning on more takes seconds
MIN_PLAIN = 200  # but so many whatever the number of columns
MAX_CELLS = 16_000  # numbers that a plain model is tuned on
MAX_EXACT = 1000  # training points of the exact kernel: more take seconds
MAX_JUDGED = 200  # of them for the cross-validation, as in a check
MAX_AMPLITUDES = 2**22  # of all states together: 64 MB, two seconds


def results_of(run: StudyRun, noise: Mitigation | None, quoted: Quote) -> dict[str, Any]:
    """Return how well the head and other models did, what was used, and the run's history."""
    study, points, session, head = run.study, run.points, run.session, run.head
    assert head is not None
    table, problem, assess = session.table, session.problem, None
    facts = session.design.results(table, head.estimate)
    sensitivity = session.design.sensitivity(table, problem, counted_spectrum(session, head))
    if sensitivity is not None:
        found = diagnose_sensitivity(table, problem, sensitivity)
        facts["diagnostics"] = asdict(found) | {"advice": found.advice}
        if table.n_points <= MAX_ASSESSED_POINTS:
            assess = make_assess(study, points, found)
    rounds = summarise_rounds(run.history, empty_table(run.history), assess, MAX_ASSESSED)
    beside = None
    with suppress(Exception):  # a run never fails for them; its report tries again and says why
        beside = asdict(models_beside(study, points, run.feature_map))
    actual = used_by(
        run.history, run.ledgers.get("predictions"), study.budget.rate, run.map_training
    )
    return {
        "results": {
            **_scores(run),
            "cross_validated_accuracy": rounds[-1].accuracy if rounds else None,
            "train_points": table.n_points,
            "test_points": len(points.test),
            "regularisation": head.regularisation,
            "shots": table.total,
            **facts,
        },
        "prior": prior_facts(run.found, points, points.test, points.test_labels.tolist()),
        "sentinels": None if noise is None else asdict(noise),
        "actual": actual,
        "beside": beside,
        "test_ids": points.test_ids,
        "history": [asdict(entry) for entry in rounds],
        "quote_versus_actual": quote_versus_actual(quoted, actual),
    }


def used_by(
    history: History,
    predictions: History | None = None,
    rate: float | None = None,
    map_training: Mapping[str, Any] | None = None,
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
    if map_training and map_training.get("shots"):  # it has none in simulation
        figures = ("shots", "submissions", "qpu_seconds", "wall_seconds")
        found |= {f"map_{name}": map_training.get(name) for name in figures}
    return found


def counted_spectrum(session: Training, head: FittedHead | None) -> Spectrum | None:
    """Return the spectrum of the counts' kernel, which a head has unless it completed rows."""
    spectrum = None if head is None or session.landmarks is not None else head.spectrum
    return spectrum if isinstance(spectrum, Spectrum) else None


def wall_seconds(history: History) -> float:
    """Return the time from a ledger's first entry to its last answer, without idle time."""
    if not history.rounds or history.started_at is None:
        return 0.0
    rounds = sum(max(0.0, round.ended_at - round.planned_at) for round in history.rounds)
    # Time before a process that took it up when all was answered lies beyond the last answer.
    return max(rounds, history.rounds[-1].ended_at - history.started_at - history.idle_seconds)


def _scores(run: StudyRun) -> dict[str, Any]:
    """Return what the test points say about a head for classes, or about one for numbers."""
    points, prediction = run.points, run.found
    if run.study.data.task == "regression":
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
    classes = [str(label) for label in run.session.problem.classes]
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
    """Return what a prior answered, its audit, and how a model without a shot compares.

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
FIGURES = {"shots": "shots", "submissions": "submissions", "QPU seconds": "qpu_seconds"}
FIGURES |= {"cost": "cost", "seconds": "wall_seconds"}


def quote_versus_actual(quoted: Quote, actual: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was quoted and used, training first, then everything; None where unknown."""

    def used(figure: str, *prefixes: str) -> Any:
        if figure == "cost":
            seconds, rate = used("qpu_seconds", *prefixes), actual["rate"]
            return None if seconds is None or rate is None else price(seconds, rate)
        found = [actual.get(prefix + figure) for prefix in prefixes]
        known = [value for value in found if value is not None]
        return sum(known) if known else None

    rows = [(name, getattr(quoted, figure), used(figure, "")) for name, figure in FIGURES.items()]
    if quoted.parts:
        rows += [
            (f"shots for {part.name}", part.shots, actual.get(f"{PREFIXES[part.name]}shots", 0))
            for part in quoted.parts
        ]
        total = vars(quoted.total) | {"cost": quoted.total_cost}
        total |= {"wall_seconds": quoted.total_wall_seconds}
        rows += [
            (f"{name} in all", total[figure], used(figure, "", *PREFIXES.values()))
            for name, figure in FIGURES.items()
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
        squared, plain = (predicted - truth) ** 2, (truth - training_mean) ** 2
        rmse, more = float(np.sqrt(squared.mean())), plain - squared
        variance, n_points = float(np.var(truth)), len(truth)
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


@dataclass(frozen=True)
class ExactKernel:
    """What a feature map gives without noise, and how it does among the training points."""

    unknown: str = ""  # why it is not known
    predicted: list[Any] | None = None  # of the test points; None where they are too many
    n_trained: int = 0
    learns: bool | None = None  # better than guessing by two standard errors; None: unknown
    words: str = "a class has too few training points to judge it"  # how it compares with guessing


@dataclass(frozen=True)
class Beside:
    """What models without shots predict for the test points."""

    exact: ExactKernel = field(default_factory=ExactKernel)
    plain: dict[str, list[Any]] = field(default_factory=dict)  # by name
    n_plain: int = 0  # training points that taught them


def models_beside(study: Study, points: Points, feature_map: FeatureMap) -> Beside:
    """Compute the models to compare a study's run with; plain ones see the user's own columns."""
    exact = exact_kernel(study, points, feature_map)
    if not len(points.test):
        return Beside(exact)
    train, test = points.train, points.test
    if points.train_columns is not None and points.test_columns is not None:
        train, test = points.train_columns, points.test_columns
    return Beside(exact, *plain_predictions(train, test, points.train_labels))


def exact_kernel(study: Study, points: Points, feature_map: FeatureMap) -> ExactKernel:
    """Simulate a run's kernel and learn from it, by its SVM or a tuned ridge; or say why not."""
    train, test, labels = points.train, points.test, points.train_labels
    reps = study.feature_map.reps
    svm, C = study.method.learner == "svm", study.method.C
    n_qubits: int = getattr(feature_map, "num_qubits", None) or train.shape[1]
    if n_qubits > MAX_QUBITS:
        return ExactKernel(
            f"{n_qubits} qubits are too many to simulate here; the most is {MAX_QUBITS}"
        )
    room = MAX_AMPLITUDES // 2**n_qubits
    chosen = fold_scores.subsample(labels, min(MAX_EXACT, room), 0)
    y, predicted = labels[chosen], None
    try:
        states = map_states(train[chosen], feature_map, reps)
        known = fidelities(states)
        learner = make_learner("svm" if svm else "ridge-loo")
        head = learner.fit(KernelEstimate(known), Problem(y, C=C))
        if 0 < len(test) <= room:
            block = fidelities(map_states(test, feature_map, reps), states)
            predicted = head.predict(block).tolist()
    except (InputError, ImportError) as error:
        return ExactKernel(str(error).rstrip("."))
    judged = fold_scores.subsample(y, MAX_JUDGED, 0)
    try:
        learns, words = _judge(known[np.ix_(judged, judged)], y[judged], svm, C)
    except InputError:  # a class without a point in some fold: there is nothing to cross-validate
        return ExactKernel("", predicted, len(chosen))
    return ExactKernel("", predicted, len(chosen), learns, words)


def _judge(kernel: FloatArray, y: NDArray[Any], svm: bool, C: float) -> tuple[bool, str]:
    """Return whether a kernel is better than guessing by cross-validation, and by how much."""
    folds, head = fold_scores.repeated_folds(y), fold_scores.KernelHead(y, svm, C)
    scores = fold_scores.score_folds(
        "exact kernel", lambda fold: head.predict(kernel, fold), y, folds
    )
    guess = fold_scores.score_folds(*guessing(y), y, folds)
    gap = fold_scores.difference(scores, guess)
    words = (
        f"{fold_scores.metric_names(y)[0]} {scores.means[0]:.2f} ± {scores.errors[0]:.2f} by "
        f"cross-validation on {len(y)} training points, guessing {guess.means[0]:.2f}; {gap}"
    )
    return gap.clear, words


def plain_predictions(
    train: FloatArray, test: FloatArray, labels: NDArray[Any]
) -> tuple[dict[str, list[Any]], int]:
    """Return what plain, tuned models predict by name, and how many points taught them."""
    affordable = max(MIN_PLAIN, min(MAX_PLAIN, MAX_CELLS // train.shape[1]))
    chosen = fold_scores.subsample(labels, affordable, 0)
    X = np.concatenate([train[chosen], test])
    # Labels of test points are not looked at, but a model wants one for every row.
    y = np.concatenate([labels[chosen], np.resize(labels[chosen], len(test))])
    fold = Fold(np.arange(len(chosen)), np.arange(len(chosen), len(X)))
    found = {name: predict(fold).tolist() for name, predict in baselines(X, y).items()}
    return found, len(chosen)
