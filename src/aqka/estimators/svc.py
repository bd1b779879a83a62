"""Support vector classification under a shot budget."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.backends.factory import STATEVECTOR
from aqka.core.problem import DEFAULT_C, Problem
from aqka.estimators._base import QuantumClassifier
from aqka.learners import Learner
from aqka.learners.svm import Svm


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

    _head_parameter = f"""\
C : float, default={DEFAULT_C:g}
    Box of the dual: the larger, the fewer training points are left on the wrong side.
"""

    def __init__(
        self,
        feature_map: Any = None,
        backend: Any = STATEVECTOR,
        budget: int | str | None = None,
        allocator: Any = None,
        C: float = DEFAULT_C,
        *,
        directory: str | Path | None = None,
        seed: int = 0,
        design: Any = "auto",
        new_points: int | None = None,
        prior: Any = "auto",
    ) -> None:
        super().__init__(
            feature_map,
            backend,
            budget,
            allocator,
            directory=directory,
            seed=seed,
            design=design,
            new_points=new_points,
            prior=prior,
        )
        self.C = C

    def _chosen_learner(self, default: str) -> Learner:
        return Svm()

    def _make_problem(self, y: NDArray[np.int64], weights: FloatArray | None) -> Problem:
        return Problem(y, C=self.C, weights=weights)  # type: ignore[arg-type]
