"""Models beside a run's own, without a shot; its results keep what they say for the report."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from aqka._util.arrays import FloatArray
from aqka.backends.statevector import fidelities
from aqka.core.problem import Problem
from aqka.designs import KernelEstimate
from aqka.errors import InputError
from aqka.insight import fold_scores
from aqka.insight.baselines import baselines, guessing
from aqka.insight.exact_kernels import MAX_QUBITS, FeatureMap, map_states
from aqka.learners import make_learner
from aqka.maths.metrics import Fold
from aqka.study.points import Points
from aqka.study.schema import Study

MAX_PLAIN = 500  # training points of a plain model: tuning on more takes seconds
MIN_PLAIN = 200  # but so many whatever the number of columns
MAX_CELLS = 16_000  # numbers that a plain model is tuned on
MAX_EXACT = 1000  # training points of the exact kernel: more take seconds
MAX_JUDGED = 200  # of them for the cross-validation, as in a check
MAX_AMPLITUDES = 2**22  # of all states together: 64 MB, two seconds


@dataclass(frozen=True)
class ExactKernel:
    """What a feature map gives without noise, and how it does among the training points."""

    unknown: str = ""  # why it is not known
    predicted: list[Any] | None = None  # of the test points; None where they are too many
    n_trained: int = 0
    learns: bool | None = None  # better than guessing by two standard errors; None: unknown
    words: str = "a class has too few training points to judge it"  # how it does beside guessing


@dataclass(frozen=True)
class Beside:
    """What models without shots predict for the test points."""

    exact: ExactKernel = field(default_factory=ExactKernel)
    plain: dict[str, list[Any]] = field(default_factory=dict)  # by name
    n_plain: int = 0  # training points that taught them


def models_beside(study: Study, points: Points, feature_map: "FeatureMap | None") -> Beside:
    """Work out the models beside a study's run; plain ones see the user's own columns."""
    exact = ExactKernel("its feature map cannot be read here")
    if feature_map is not None:
        exact = exact_kernel(study, points, feature_map)
    if not len(points.test):
        return Beside(exact)
    train, test = points.train, points.test
    if points.train_columns is not None and points.test_columns is not None:
        train, test = points.train_columns, points.test_columns
    return Beside(exact, *plain_predictions(train, test, points.train_labels))


def stored_beside(results: Mapping[str, Any]) -> Beside | None:
    """Return the models that a run's results hold; None where there are none that can be read."""
    try:
        return TypeAdapter(Beside).validate_json(json.dumps(results.get("beside")))
    except ValidationError:
        return None


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
