"""Shots until a share of labels agrees with the exact ones, for points and for pairs."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from aqka._util.arrays import FloatArray
from aqka.designs.resolve import better_design

BASELINE, OURS, POINTS, AUTO = (
    "pairs, ridge by leave-one-out, equal test shots",
    "pairs, our learner",
    "points",
    "auto",
)
TARGETS = (0.9, 0.95)
NEW_POINTS = (100, 1000)
RESAMPLES = 200


@dataclass(frozen=True)
class Saving:
    """Total shots of one task at one target and number of new points.

    Attributes
    ----------
    task, target, new_points
        Which.
    shots
        Those of the baseline (its split of training and test shots chosen in hindsight), of pairs
        with our learner, of points and of ``design="auto"``. Where the most shots that were tried
        do not reach the target, these.
    unreached
        The methods of which that is so: their shots are a lower bound.
    ratio, error
        The baseline's shots divided by each method's, and the standard error of its logarithm by
        resampling seeds.
    """

    task: str
    target: float
    new_points: int
    shots: dict[str, float]
    unreached: frozenset[str]
    ratio: dict[str, float]
    error: dict[str, float]


@dataclass(frozen=True, eq=False)
class TotalFindings:
    """Agreement with the exact labels of all tasks, seeds and levels of shots.

    Attributes
    ----------
    by_task
        Results of each seed of each task, as :func:`aqka_research.compare.total.measure` gives
        them.
    levels, point_levels
        Shots a pair, and shots a point.
    """

    by_task: dict[str, list[dict[str, Any]]]
    levels: list[float]
    point_levels: list[int]
    _savings: dict[tuple[float, int], list[Saving]] = field(default_factory=dict)

    def savings(self, target: float, new_points: int) -> list[Saving]:
        """Return what each task needs for a share of exact labels; resampled once."""
        key = (target, new_points)
        if key not in self._savings:
            self._savings[key] = [self._saving(task, *key) for task in self.by_task]
        return self._savings[key]

    def qubits(self, task: str) -> int:
        """Return the qubits of a task."""
        return int(self.by_task[task][0]["qubits"])

    def _saving(self, task: str, target: float, new_points: int) -> Saving:
        results = self.by_task[task]
        plain, most = self._shots(results, target, new_points), self._most(results[0], new_points)
        shots = {name: min(value, most[name]) for name, value in plain.items()}
        unreached = frozenset(name for name, value in plain.items() if not np.isfinite(value))
        random = np.random.default_rng(0)
        again = [
            self._shots(
                [results[k] for k in random.integers(len(results), size=len(results))],
                target,
                new_points,
            )
            for _ in range(RESAMPLES)
        ]
        ratio = {name: shots[BASELINE] / value for name, value in shots.items()}
        error = {}
        for name in shots:
            pairs = [
                (min(one[BASELINE], most[BASELINE]), min(one[name], most[name])) for one in again
            ]
            error[name] = float(np.std([np.log(theirs / ours) for theirs, ours in pairs]))
        return Saving(task, target, new_points, shots, unreached, ratio, error)

    def _most(self, result: dict[str, Any], new_points: int) -> dict[str, float]:
        """Return the shots of the highest levels that were tried."""
        n_points = result["points"]
        pairs = self.levels[-1] * (n_points * (n_points - 1) / 2 + n_points * new_points)
        points = float(self.point_levels[-1] * (n_points + new_points))
        return {BASELINE: pairs, OURS: pairs, POINTS: points, AUTO: max(pairs, points)}

    def _shots(
        self, results: list[dict[str, Any]], target: float, new_points: int
    ) -> dict[str, float]:
        n_points, qubits = results[0]["points"], results[0]["qubits"]
        agreement = {
            name: np.mean([result["agreement"][name] for result in results], axis=0)
            for name in (BASELINE, OURS, POINTS)
        }
        pairs = n_points * (n_points - 1) / 2, n_points * new_points
        per_point = crossing(np.array(self.point_levels, dtype=float), agreement[POINTS], target)
        found = {
            name: self._best_split(agreement[name], pairs, target) for name in (BASELINE, OURS)
        }
        found[POINTS] = per_point * (n_points + new_points)
        even = np.diagonal(agreement[OURS])
        found[AUTO] = self._auto(agreement[POINTS], even, (n_points, qubits, new_points), target)
        return found

    def _best_split(
        self, agreement: FloatArray, pairs: tuple[float, float], target: float
    ) -> float:
        """Return the fewest shots over all splits between training and test pairs."""
        levels = np.array(self.levels)
        return min(
            float(level) * pairs[0] + crossing(levels, row, target) * pairs[1]
            for level, row in zip(levels, agreement, strict=True)
        )

    def _auto(
        self,
        points: FloatArray,
        even_pairs: FloatArray,
        sizes: tuple[int, int, int],
        target: float,
    ) -> float:
        """Return the smallest budget at which the design that is chosen for it reaches the target.

        Pairs get the same shots everywhere, which needs no hindsight.
        """
        n_points, qubits, new_points = sizes
        everything = n_points * (n_points - 1) / 2 + n_points * new_points
        by_points = crossing(np.array(self.point_levels, dtype=float), points, target)
        by_pairs = crossing(np.array(self.levels), even_pairs, target) * everything
        by_points *= n_points + new_points
        for budget in sorted((by_points, by_pairs)):
            if not np.isfinite(budget):
                break
            chosen, _ = better_design(n_points, qubits, max(1, round(budget)), new_points)
            if budget >= (by_points if chosen.name == "points" else by_pairs):
                return budget
        return max(by_points, by_pairs)


def crossing(levels: FloatArray, agreement: FloatArray, target: float) -> float:
    """Return the level at which a rising curve reaches the target, interpolated in its logarithm.

    The curve is first made to rise by isotonic regression, so that neither one lucky level nor one
    unlucky one decides.

    Examples
    --------
    >>> float(crossing(np.array([1.0, 4.0, 16.0]), np.array([0.5, 0.8, 1.0]), 0.9))
    8.0
    """
    curve = np.asarray(isotonic_regression(agreement).x)
    if curve[-1] < target:
        return float("inf")
    first = int(np.argmax(curve >= target))
    if first == 0:
        return float(levels[0])
    share = (target - curve[first - 1]) / (curve[first] - curve[first - 1])
    return float(levels[first - 1] * (levels[first] / levels[first - 1]) ** share)


def bound(unreached: Iterable[frozenset[str]], baseline: str, method: str) -> str:
    """Return what stands before the baseline's shots over a method's, given who fell short where.

    Examples
    --------
    >>> bound([frozenset(), frozenset({"pairs"})], "pairs", "points")
    '> '
    """
    short = frozenset().union(*unreached)
    if {baseline, method} <= short:
        return "~ "
    return "> " if baseline in short else "< " if method in short else ""


def geometric_mean(values: list[float]) -> tuple[float, float]:
    """Return the geometric mean and the standard error of its logarithm over tasks."""
    logs = np.log(values)
    error = float(logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else float("nan")
    return float(np.exp(logs.mean())), error
