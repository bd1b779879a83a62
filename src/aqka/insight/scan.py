"""Kernels as a budget would show them: simulated shots, and the settings of a map that do best."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray
from aqka.allocators import DEFAULT_ALLOCATOR, Allocator
from aqka.allocators.schedule import Schedule
from aqka.backends.feature_maps import DEFAULT_REPS
from aqka.backends.simulated import MatrixBackend
from aqka.backends.statevector import fidelities
from aqka.core.problem import DEFAULT_C, TargetScale
from aqka.designs import Never
from aqka.estimates.projected import gaussian_projected_kernel, median_gamma
from aqka.estimates.reduced_states import ReducedStates
from aqka.insight import exact_kernels, fold_scores
from aqka.insight.fold_scores import FoldScores, KernelHead
from aqka.learners import DEFAULT_LEARNER
from aqka.maths.metrics import Fold
from aqka.sessions import acquire, predict


@dataclass(frozen=True)
class Spending:
    """How shots would be spent and read.

    Parameters
    ----------
    budget, n_train : int
        Shots for the training kernel, and the number of its points.
    test_shots : int, default=100
        At most so many, on average, for each pair of a held-out and a training point; of a map of
        many qubits, whose points are measured, for each held-out point.
    allocator, schedule, learner : str, Schedule and str, default="uniform", None, "ridge-noise"
    ridge, C : float, default=0.01, 5.0
        As :func:`~aqka.acquire` and the learners take them.
    """

    budget: int
    n_train: int
    test_shots: int = 100
    allocator: str | Allocator = DEFAULT_ALLOCATOR
    schedule: Schedule | None = None
    learner: str = DEFAULT_LEARNER
    ridge: float = 0.01
    C: float = DEFAULT_C

    @property
    def shots_per_pair(self) -> float:
        """Shots for each pair of training points if all get the same."""
        return 2 * self.budget / (self.n_train * (self.n_train - 1))

    def budget_of(self, n_points: int) -> int:
        """Return the shots for another number of points, as many for each pair."""
        return max(2, round(self.shots_per_pair * n_points * (n_points - 1) / 2))


def forecast(
    name: str,
    kernel_of: Callable[[Fold], FloatArray],
    y: NDArray[Any],
    folds: list[Fold],
    spending: Spending,
    on_fold: Callable[[], None] = lambda: None,
) -> FoldScores:
    """Score heads that are bought with simulated shots, each fold with a seed of its own."""
    classes, seeds = fold_scores.has_classes(y), count()

    def answers(fold: Fold) -> NDArray[Any]:
        kernel, targets, seed = kernel_of(fold), y[fold.kept], next(seeds)
        scale = None if classes else TargetScale.of(targets)
        session = acquire(
            MatrixBackend(kernel[np.ix_(fold.kept, fold.kept)], seed=seed),
            targets if scale is None else scale.scaled(targets),
            spending.budget_of(len(fold.kept)),
            spending.allocator,
            schedule=spending.schedule,
            ridge=spending.ridge,
            C=spending.C,
            seed=seed,
        )
        head = session.fit(spending.learner)
        block = kernel[np.ix_(fold.held, fold.kept)]
        backend = MatrixBackend(block, rectangular=True, seed=seed)
        budget = block.size * spending.test_shots
        on_fold()
        if scale is None:
            return np.asarray(predict(head, backend, budget).labels)
        values = predict(head, backend, budget, stop=Never()).in_units(scale.spread, scale.centre)
        return np.asarray(values.f)

    return fold_scores.score_folds(name, answers, y, folds)


def measure_evenly(
    kernel: FloatArray, spending: Spending, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return a kernel as even shots show it: among training points, and the rows of held-out ones.

    Where there is less than a shot a pair, pairs without one read the mean of the others.
    """
    upper = np.triu_indices(len(kernel), 1)
    chances = np.clip(kernel[upper], 0.0, 1.0)
    measured = []
    for per_pair in (spending.shots_per_pair, float(spending.test_shots)):
        shots = np.floor(per_pair + rng.random(len(chances))).astype(np.int64)
        hits = rng.binomial(shots, chances)
        mean = hits.sum() / max(int(shots.sum()), 1)
        seen = np.eye(len(kernel))
        seen[upper] = np.where(shots > 0, hits / np.maximum(shots, 1), mean)
        measured.append(np.maximum(seen, seen.T))
    return measured[0], measured[1]


RANGES: tuple[tuple[float, float], ...] = tuple(
    (round(low * np.pi / 4, 4), round(high * np.pi / 4, 4))
    for low, high in ((0, 1), (0, 2), (0, 4), (0, 8), (3.5, 4.5), (3, 5), (2, 6))
)
"""Angle ranges of a scan. Those around π keep the couplings 2(π - x)(π - y) of a ZZ map small."""

REPS = (1, 2, 3)  # repetitions of a built-in map in a scan


@dataclass(frozen=True, eq=False)
class Candidate:
    """A way to encode the points of a check."""

    settings: Mapping[str, Any]  # by the names a user knows, such as {"range": [0.0, 3.1416]}
    angles: FloatArray = field(repr=False)
    feature_map: exact_kernels.FeatureMap
    repetitions: int = DEFAULT_REPS

    @property
    def is_wide(self) -> bool:
        """Whether only reduced states can be computed, and the kernel is the projected one."""
        return exact_kernels.is_wide(self.angles, self.feature_map)

    @cached_property
    def features(self) -> ReducedStates:
        """The one-qubit states of its points."""
        return exact_kernels.map_features(self.angles, self.feature_map, self.repetitions)

    def kernel(self) -> FloatArray:
        """Return the exact fidelity kernel of its points, or of many qubits the projected one."""
        if self.is_wide:
            return exact_kernels.projected_kernels(self.features)[1]
        return fidelities(exact_kernels.map_states(self.angles, self.feature_map, self.repetitions))

    def measured(
        self, spending: Spending, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return its training kernel and held-out rows by even shots, on points if it is wide."""
        if not self.is_wide:
            return measure_evenly(self.kernel(), spending, rng)
        each = spending.budget / spending.n_train, spending.test_shots
        trained, new = (exact_kernels.drawn_features(self.features, shots, rng) for shots in each)
        gamma = median_gamma(self.features)
        return (
            gaussian_projected_kernel(trained, gamma, keep_noise=True),
            gaussian_projected_kernel(new, gamma, trained, keep_noise=True),
        )

    def changes(self, other: "Candidate") -> dict[str, Any]:
        """Return its settings that another does not have."""
        return {k: v for k, v in self.settings.items() if other.settings.get(k) != v}


@dataclass(frozen=True, eq=False)
class Scan:
    """What trying several settings gave; all scores are at the budget, where there is one."""

    candidates: list[Candidate]  # the first is the user's own
    scores: list[FoldScores]
    nested: FoldScores
    """Score of what looks best by leave-one-out among the points that a fold does not hold out:
    that of the winner, not inflated by choosing it. One repetition of the folds, to save time."""

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
    def changes(self) -> dict[str, Any]:
        """The winner's settings that are not the user's."""
        return self.candidates[self.best].changes(self.candidates[0])

    @property
    def flattery(self) -> float:
        """By how much the winner's own score exceeds the nested one."""
        return fold_scores.difference(self.scores[self.best], self.nested).mean


def scan(
    candidates: list[Candidate],
    y: NDArray[Any],
    folds: list[Fold],
    head: KernelHead,
    spending: Spending | None = None,
    on_candidate: Callable[[], None] = lambda: None,
) -> Scan:
    """Score every candidate on the same folds.

    With a budget, kernels are read as even shots show them, so that none wins that needs more.
    """
    n_folds = fold_scores.folds_a_repetition(folds, len(y))
    not_held = [np.setdiff1d(np.arange(len(y)), fold.held) for fold in folds[:n_folds]]
    scores, inside = [], np.empty((len(candidates), n_folds))
    for number, candidate in enumerate(candidates):
        if spending is None:
            kernel = rows = candidate.kernel()
        else:
            kernel, rows = candidate.measured(spending, np.random.default_rng(number))
            # Every eigenvalue is lifted to the noise's own size: small ridges would blow noise up.
            kernel += 2 * max(0.0, -np.linalg.eigvalsh(kernel)[0]) * np.eye(len(kernel))
        inside[number] = [head.judge(kernel, points) for points in not_held]
        name = ", ".join(f"{key} = {value}" for key, value in candidate.settings.items())
        answers = partial(head.predict, kernel, rows=rows)
        scores.append(fold_scores.score_folds(name, answers, y, folds))
        on_candidate()
    nested = np.array([scores[best].values[k] for k, best in enumerate(inside.argmax(axis=0))])
    return Scan(candidates, scores, FoldScores("best settings, nested", nested, n_folds))
