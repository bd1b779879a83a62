"""What follows from a comparison's rows: means, shots saved, cells won and lost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from aqka._util.arrays import FloatArray
from aqka_research.results import Estimate, Results
from aqka_research.spending import EXACT, MAJORITY
from aqka_research.suite import SUITE


@dataclass(frozen=True)
class ShotRatio:
    """How many times more shots the baseline needs; ``bound`` where it never got there.

    ``error`` is the standard error of the mean ratio over tasks, as a factor minus one.
    """

    value: float
    bound: bool
    error: float = float("nan")


@dataclass(frozen=True)
class Gap:
    """By how much a method is ahead of the baseline in one task at one budget."""

    task: str
    budget: float
    by: Estimate

    @property
    def lost(self) -> bool:
        """Behind by more than two standard errors."""
        return self.by.value < -2 * self.by.error

    @property
    def won(self) -> bool:
        """Ahead by more than two standard errors."""
        return self.by.value > 2 * self.by.error


def is_planted(task: str) -> bool:
    """Return whether a task's target was planted on few points or many."""
    return SUITE[task].kind == "planted" if task in SUITE else task.startswith("planted")


@dataclass(frozen=True, eq=False)
class Comparison:
    """All rows of a comparison, and what follows from them.

    Attributes
    ----------
    results, tasks, budgets
        What was measured: rows with task, seed, method, budget and scores.
    baseline
        The method whose shots are the unit.
    """

    results: Results
    tasks: list[str]
    budgets: list[float]
    baseline: str

    @property
    def methods(self) -> list[str]:
        """The methods that were run, in their order."""
        found = dict.fromkeys(row["method"] for row in self.results.rows)
        return [method for method in found if method not in (EXACT, MAJORITY)]

    def overall(self, method: str, measure: str) -> Estimate:
        """Return a measure's mean over tasks and budgets; seeds are what the error counts."""
        conditions: dict[str, Any] = (
            {} if method in (EXACT, MAJORITY) else {"budget": lambda b: b in self.budgets}
        )
        return self.results.mean(measure, method=method, **conditions)

    def best_in_hindsight(self, measure: str) -> Estimate:
        """Return the mean of the best method, chosen in every task and budget afterwards."""
        best: dict[int, list[float]] = {}
        for task in self.tasks:
            for budget in self.budgets:
                cell = self.results.where(task=task, budget=budget)
                means = {name: cell.mean(measure, method=name).value for name in self.methods}
                winner = max(means, key=lambda name: means[name])
                for seed, value in cell.where(method=winner).by_seed(measure).items():
                    best.setdefault(seed, []).append(value)
        return Estimate.of([float(np.mean(values)) for values in best.values()])

    @cached_property
    def _by_cell(self) -> dict[tuple[str, str, float], dict[int, float]]:
        """Correlations by method, task, budget and seed."""
        found: dict[tuple[str, str, float], dict[int, float]] = {}
        for row in self.results.rows:
            if "budget" in row:
                cell = found.setdefault((row["method"], row["task"], row["budget"]), {})
                cell[row["seed"]] = row["correlation"]
        return found

    def _mean(self, method: str, task: str, budget: float) -> float:
        return float(np.mean(list(self._by_cell[method, task, budget].values())))

    @cached_property
    def _baseline_curves(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Each task's budgets of the baseline and its correlations by then, which only rise."""
        budgets: dict[str, list[float]] = {}
        for method, task, budget in self._by_cell:
            if method == self.baseline:
                budgets.setdefault(task, []).append(budget)
        return {
            task: (
                np.array(sorted(mine)),
                np.maximum.accumulate([self._mean(self.baseline, task, b) for b in sorted(mine)]),
            )
            for task, mine in budgets.items()
        }

    def shot_ratio(
        self, task: str, budget: float, method: str, *, by_budget: bool = False
    ) -> ShotRatio:
        """Return how many times more shots the baseline needs for a method's correlation.

        The baseline's means over seeds are made monotone by their running maximum and read in the
        logarithm of the budget. Where the method stands on that curve is divided by where the
        baseline itself stands at this budget, so that the baseline's own ratio is 1: with few
        seeds its curve has dips, and then it stands at fewer shots than it was given. With
        ``by_budget`` it is divided by the shots that were given.
        """
        budgets, means = self._baseline_curves[task]
        reached, own = (
            float(np.exp(np.interp(self._mean(name, task, budget), means, np.log(budgets))))
            for name in (method, self.baseline)
        )
        own = budget if by_budget else own
        return ShotRatio(reached / own, self._mean(method, task, budget) > means[-1])

    def mean_ratio(
        self,
        method: str,
        which: Callable[[str], bool] = lambda task: True,
        *,
        by_budget: bool = False,
    ) -> ShotRatio:
        """Return the geometric mean over tasks and budgets; a bound if any of them is one.

        It is NaN where no task is ``which``.
        """
        per_task = []
        bound = False
        for task in filter(which, self.tasks):
            found = [
                self.shot_ratio(task, budget, method, by_budget=by_budget)
                for budget in self.budgets
            ]
            bound |= any(ratio.bound for ratio in found)
            per_task.append(float(np.mean([np.log(ratio.value) for ratio in found])))
        mean = Estimate.of(per_task) if per_task else Estimate(float("nan"))
        return ShotRatio(float(np.exp(mean.value)), bound, float(np.expm1(mean.error)))

    def gaps(self, method: str) -> list[Gap]:
        """Return by how much a method is ahead in correlation, paired by seed, cell by cell."""
        found = []
        for task in self.tasks:
            for budget in self.budgets:
                ours, theirs = (
                    self._by_cell[name, task, budget] for name in (method, self.baseline)
                )
                differences = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
                found.append(Gap(task, budget, Estimate.of(differences)))
        return found

    def share(self, gaps: Sequence[Gap], how: str) -> float:
        """Return the share of cells that are ``"won"`` or ``"lost"``."""
        return float(np.mean([getattr(gap, how) for gap in gaps]))
