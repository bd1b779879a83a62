"""The kernel of a run without noise, where it can be simulated: what shots could reach at best."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.backends.statevector import fidelities
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.insight.baselines import guessing
from aqka.insight.exact_kernels import MAX_QUBITS, FeatureMap, map_states
from aqka.insight.fold_scores import (
    FoldScores,
    KernelHead,
    difference,
    metric_names,
    repeated_folds,
    score_folds,
    subsample,
)
from aqka.readouts import make_readout

MAX_TRAINED = 1000  # training points of the exact kernel: more take seconds
MAX_JUDGED = 200  # of them for the cross-validation, as in a check
MAX_AMPLITUDES = 2**22  # of all states together: 64 MB, two seconds


@dataclass(frozen=True, eq=False)
class ExactKernel:
    """What a feature map gives without noise.

    Attributes
    ----------
    predicted
        Of the test points; None where they are too many to simulate.
    n_trained
        Training points it learnt from.
    scores, guessing
        Of the kernel and of what needs no data, by cross-validation among the training points;
        None where a class has too few.
    n_judged
        Points of the cross-validation.
    metric
        Name of the score that decides there.
    """

    predicted: NDArray[Any] | None
    n_trained: int
    scores: FoldScores | None
    guessing: FoldScores | None
    n_judged: int
    metric: str

    @property
    def learns(self) -> bool | None:
        """Whether it is better than guessing by two standard errors; None: cannot be told."""
        if self.scores is None or self.guessing is None:
            return None
        return difference(self.scores, self.guessing).clear


def exact_kernel(
    feature_map: FeatureMap,
    train: FloatArray,
    test: FloatArray,
    labels: NDArray[Any],
    *,
    svm: bool,
    C: float,
    repetitions: int = DEFAULT_REPS,
) -> ExactKernel | str:
    """Simulate a run's kernel and learn from it; where that cannot be done, say why.

    Parameters
    ----------
    feature_map
        As :func:`~aqka.insight.exact_kernels.map_states` takes it.
    train, test
        Angles.
    labels
        Of the training points.
    svm, C
        The head: an SVM, or ridge regression tuned by leave-one-out.
    repetitions
        Of a map that is given by its name.
    """
    n_qubits: int = getattr(feature_map, "num_qubits", None) or train.shape[1]
    if n_qubits > MAX_QUBITS:
        return f"{n_qubits} qubits are too many to simulate here; the most is {MAX_QUBITS}"
    room = MAX_AMPLITUDES // 2**n_qubits
    chosen = subsample(labels, min(MAX_TRAINED, room), 0)
    try:
        states = map_states(train[chosen], feature_map, repetitions)
        known = fidelities(states)
        head = make_readout("svm" if svm else "ridge-loo").fit_kernel(
            known, Problem(labels[chosen], C=C)
        )
        predicted = None
        if 0 < len(test) <= room:
            others = map_states(test, feature_map, repetitions)
            predicted = head.predict(fidelities(others, states))
    except (InputError, ImportError) as error:
        return str(error).rstrip(".")
    return _judged(known, labels[chosen], predicted, KernelHead(labels[chosen], svm, C))


def _judged(
    kernel: FloatArray, labels: NDArray[Any], predicted: NDArray[Any] | None, head: KernelHead
) -> ExactKernel:
    judged = subsample(labels, MAX_JUDGED, 0)
    inner, y = kernel[np.ix_(judged, judged)], labels[judged]
    head = KernelHead(y, head.svm, head.C)
    scores = guess = None
    try:
        folds = repeated_folds(y)
        scores = score_folds("exact kernel", lambda fold: head.predict(inner, fold), y, folds)
        guess = score_folds(*guessing(y), y, folds)
    except InputError:
        pass  # a class without a point in some fold: there is nothing to cross-validate
    return ExactKernel(predicted, len(labels), scores, guess, len(judged), metric_names(y)[0])
