"""Support vector classification under a shot budget."""

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.core.problem import DEFAULT_C, Problem
from aqka.estimators._base import QuantumClassifier, with_parameters
from aqka.learners import Learner
from aqka.learners.svm import Svm


@with_parameters
class QuantumSVC(QuantumClassifier):
    """Support vector classification under a shot budget.

    More than two classes are separated each from the rest, by machines that share one kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import minmax_scale
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> X = minmax_scale(X, (1.5, 3.1))
    >>> model = QuantumSVC(budget=20_000).fit(X[:60], y[:60])
    >>> bool(model.score(X[60:], y[60:]) > 0.8)
    True
    """

    C: float = DEFAULT_C
    _described = QuantumClassifier._described | {
        "C": f"""float, default={DEFAULT_C:g}
    Box of the dual: the larger, the fewer training points are left on the wrong side.""",
    }

    def _chosen_learner(self, default: str) -> Learner:
        return Svm()

    def _make_problem(self, y: NDArray[np.int64], weights: FloatArray | None) -> Problem:
        return Problem(y, C=self.C, weights=weights)  # type: ignore[arg-type]
