"""Total shots with and without the prior, and how often it answers and errs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka_research.benchmarks.classical import best_and_majority
from aqka_research.compare.total_findings import crossing

PLAIN, STATES, FREE, COMBINED, ALONE = (
    "points",
    "read with training states",
    "answers of the prior",
    "prior combined with shots",
    "prior alone",
)
"""Without any prior; new points read with the training states as prior; besides, sure answers of
the prior on gate angles cost nothing; besides, the open points' f is combined with that prior; and
that prior for all new points, without a shot on any of them."""
METHODS = (PLAIN, STATES, FREE, COMBINED, ALONE)
NEW_POINTS = (100, 1000, 10_000)
AIMS = ("90 % of the exact labels", "95 % of the exact labels", "accuracy within a point")
RESAMPLES = 100
AUDIT, LEAST_AUDITED = 0.05, 10
"""Share and least number of the prior's answers that are measured all the same."""
REFERENCE = 128
"""Shots a training point at which shares of settled points are given."""


@dataclass(frozen=True)
class PriorSaving:
    """Total shots of one task for one aim and number of new points.

    Attributes
    ----------
    task
        Which.
    shots
        Those of points without a prior, and of each method; where the most shots that were tried
        do not reach the aim, these.
    unreached
        The methods of which that is so: their shots are a lower bound.
    error
        Standard error of log(shots of points / shots of the method), by resampling seeds.
    """

    task: str
    shots: dict[str, float]
    unreached: frozenset[str]
    error: dict[str, float]

    def ratio(self, method: str) -> float:
        """Return how many times fewer shots than points without a prior."""
        return self.shots[PLAIN] / self.shots[method]


@dataclass(frozen=True)
class Settled:
    """Points of one task that the prior answered, over all seeds at one level of shots."""

    task: str
    points: int
    free: int
    wrong: int
    not_exact: int

    @property
    def share(self) -> float:
        """Share of the new points."""
        return self.free / self.points

    @property
    def wrong_share(self) -> float:
        """Share of the answers that endless shots would contradict; 0 where there are none."""
        return self.wrong / max(self.free, 1)

    def exceeds(self, rate: float) -> bool:
        """Return whether more are wrong than chance at this rate gives once in twenty tasks."""
        from scipy.stats import binom

        return bool(self.wrong > 0 and binom.sf(self.wrong - 1, self.free, rate) < 0.05)


@dataclass(frozen=True, eq=False)
class PriorFindings:
    """What was measured of all tasks and seeds.

    Attributes
    ----------
    groups
        Names of natural and of quantum-labelled tasks.
    by_task
        Results of each seed, as :func:`aqka_research.compare.prior.measure` gives them.
    """

    groups: dict[str, list[str]]
    by_task: dict[str, list[dict[str, Any]]]

    @property
    def levels(self) -> FloatArray:
        """Shots a point."""
        first = next(iter(self.by_task.values()))[0]
        return np.array([row["shots"] for row in first["levels"]], dtype=float)

    def settled(self, group: str, shots: float = REFERENCE) -> list[Settled]:
        """Return what the prior answered in each task of a group at a level of shots."""
        level = int(np.argmin(np.abs(self.levels - shots)))
        found = []
        for task in self.groups[group]:
            results = self.by_task[task]
            rows = [result["levels"][level] for result in results]
            sums = (sum(row[what] for row in rows) for what in ("free", "wrong", "not exact"))
            found.append(Settled(task, sum(r["test points"] for r in results), *sums))
        return found

    def control(self, task: str) -> dict[str, float]:
        """Return the exact kernel's accuracy, and what is reached without a shot.

        The best classical model is chosen in hindsight, as in
        :func:`~aqka_research.benchmarks.classical.controls`.
        """
        controls = [result["control"] for result in self.by_task[task]]
        found = {"exact": float(np.mean([control["exact"] for control in controls]))}
        for what in ("accuracy", "agreement"):
            best, majority = best_and_majority([control[what] for control in controls])
            found |= {f"{what}, classical": best, f"{what}, majority": majority}
        return found

    def control_reaches(self, task: str, aim: str) -> bool:
        """Return whether a classical model reaches an aim, so that shots for it are wasted."""
        control = self.control(task)[f"{_what(aim)}, classical"]
        return control >= _target(aim, self.by_task[task])

    def savings(self, group: str, aim: str, new_points: int) -> list[PriorSaving]:
        """Return what each task of a group needs for an aim."""
        return [self._saving(task, aim, new_points) for task in self.groups[group]]

    def _saving(self, task: str, aim: str, new_points: int) -> PriorSaving:
        results = self.by_task[task]
        shots, unreached = self._shots(results, aim, new_points)
        count = len(results)
        choices: Iterable[Sequence[int]] = product(range(count), repeat=count)  # all, of few seeds
        if count**count > RESAMPLES:
            choices = np.random.default_rng(0).integers(count, size=(RESAMPLES, count)).tolist()
        drawn = [
            self._shots([results[k] for k in choice], aim, new_points)[0] for choice in choices
        ]
        # A bootstrap of n seeds has a variance that is too small by (n - 1)/n.
        few = math.sqrt(count / (count - 1))
        error = {
            method: few * float(np.std([np.log(one[PLAIN] / one[method]) for one in drawn]))
            for method in shots
        }
        return PriorSaving(task, shots, unreached, error)

    def _shots(
        self, results: list[dict[str, Any]], aim: str, new_points: int
    ) -> tuple[dict[str, float], frozenset[str]]:
        target, shots, unreached = _target(aim, results), {}, set()
        for method in METHODS:
            curve = np.mean(
                [[row[method][_what(aim)] for row in result["levels"]] for result in results],
                axis=0,
            )
            cost = np.mean([_costs(result, method, new_points) for result in results], axis=0)
            level = crossing(self.levels, curve, target)
            if not np.isfinite(level):
                unreached.add(method)
                level = self.levels[-1]
            at = np.interp(np.log(level), np.log(self.levels), np.log(cost))
            shots[method] = float(np.exp(at))
        return shots, frozenset(unreached)


def _what(aim: str) -> str:
    return "accuracy" if aim == AIMS[2] else "agreement"


def _target(aim: str, results: list[dict[str, Any]]) -> float:
    if aim == AIMS[2]:
        return float(np.mean([result["control"]["exact"] for result in results])) - 0.01
    return 0.9 if aim == AIMS[0] else 0.95


def _costs(result: dict[str, Any], method: str, new_points: int) -> list[float]:
    """Return total shots at each level: training, new points that are open, and the audit."""
    costs = []
    for row in result["levels"]:
        bought = float(new_points)
        if method == ALONE:
            bought = 0.0
        if method in (FREE, COMBINED):
            free = new_points * row["free"] / result["test points"]
            bought -= free - min(free, max(math.ceil(AUDIT * free), LEAST_AUDITED))
        costs.append(row["shots"] * (result["points"] + bought))
    return costs
