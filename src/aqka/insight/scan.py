"""Tries settings of a feature map on the same folds, and says how much the best is flattered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.backends.statevector import fidelities
from aqka.insight.fold_scores import (
    FoldScores,
    folds_a_repetition,
    has_classes,
    score,
)
from aqka.insight.forecast import Spending, measure_evenly
from aqka.insight.kernel_scores import KernelHead
from aqka.insight.phase_maps import ComplexArray, FeatureMap, map_states
from aqka.maths.metrics import Fold

QUARTER = np.pi / 4
RANGES: tuple[tuple[float, float], ...] = tuple(
    (round(low, 4), round(high, 4))
    for low, high in (
        (0.0, QUARTER),
        (0.0, 2 * QUARTER),
        (0.0, 4 * QUARTER),
        (0.0, 8 * QUARTER),
        (3.5 * QUARTER, 4.5 * QUARTER),
        (3 * QUARTER, 5 * QUARTER),
        (2 * QUARTER, 6 * QUARTER),
    )
)
"""Angle ranges of a scan. Those around π keep the couplings 2(π - x)(π - y) of a ZZ map small."""

REPS = (1, 2, 3)
"""Repetitions of a built-in map in a scan."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to encode the points of a check.

    Attributes
    ----------
    settings
        What it is, by the names a user knows, such as ``{"range": [0.0, 3.1416]}``.
    angles
        The points as the circuit takes them.
    feature_map, repetitions
        See :func:`~aqka.insight.phase_maps.map_states`.
    """

    settings: Mapping[str, Any]
    angles: FloatArray = field(repr=False)
    feature_map: FeatureMap
    repetitions: int = DEFAULT_REPS

    def states(self) -> ComplexArray:
        """Return the state of each point."""
        return map_states(self.angles, self.feature_map, self.repetitions)

    def kernel(self) -> FloatArray:
        """Return the exact fidelity kernel of its points."""
        return fidelities(self.states())

    def changes(self, other: "Candidate") -> dict[str, Any]:
        """Return its settings that another does not have."""
        return {
            name: value
            for name, value in self.settings.items()
            if other.settings.get(name) != value
        }


@dataclass(frozen=True, eq=False)
class Scan:
    """What trying several settings gave; all scores are at the budget, where there is one.

    Attributes
    ----------
    candidates
        As given; the first is the user's own.
    scores
        Of each candidate, on the same folds.
    nested
        Score of whatever looks best, by leave-one-out, among the points that a fold does not hold
        out: an estimate for the winner that choosing it has not flattered.
    """

    candidates: list[Candidate]
    scores: list[FoldScores]
    nested: FoldScores

    @property
    def order(self) -> list[int]:
        """Numbers of the candidates, best first; among equals the one with fewest changes."""
        return sorted(
            range(len(self.candidates)),
            key=lambda k: (
                -round(float(self.scores[k].means[0]), 9),
                len(self.candidates[k].changes(self.candidates[0])),
            ),
        )

    @property
    def best(self) -> int:
        """Number of the winner."""
        return self.order[0]

    @property
    def flattery(self) -> float:
        """By how much the winner's own score exceeds the nested one."""
        return float(self.scores[self.best].means[0] - self.nested.means[0])


def scan(
    candidates: list[Candidate],
    y: NDArray[Any],
    folds: list[Fold],
    head: KernelHead,
    spending: Spending | None = None,
    on_candidate: Callable[[], None] | None = None,
) -> Scan:
    """Score every candidate on the same folds.

    With a budget, kernels are taken as the same shots on every pair would show them, so that a
    kernel that needs more than there are does not win.
    """
    n_folds = folds_a_repetition(folds, len(y))
    everything = np.arange(len(y))
    scores, inside = [], np.empty((len(candidates), len(folds)))
    for number, candidate in enumerate(candidates):
        kernel = rows = candidate.kernel()
        if spending is not None:
            kernel, rows = measure_evenly(kernel, spending, np.random.default_rng(number))
        values = []
        for k, fold in enumerate(folds):
            values.append(score(y[fold.held], head.predict(kernel, fold, rows), has_classes(y)))
            inside[number, k] = head.judge(kernel, np.setdiff1d(everything, fold.held))
        name = ", ".join(f"{key} = {value}" for key, value in candidate.settings.items())
        scores.append(FoldScores(name, np.array(values), n_folds))
        if on_candidate is not None:
            on_candidate()
    chosen = inside.argmax(axis=0)
    nested = np.array([scores[number].values[k] for k, number in enumerate(chosen)])
    return Scan(candidates, scores, FoldScores("best settings, nested", nested, n_folds))
