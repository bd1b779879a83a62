"""A feature map trained on shots: SPSA on the alignment of random pairs, as an ask/tell session."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import FloatArray, IntArray, as_count, digest
from aqka.backends.trainable import DIGITS
from aqka.core.plans import ShotPlan
from aqka.errors import InputError
from aqka.maths.alignment import alignment, pair_targets
from aqka.runs.session import Session

FEWEST_STEPS = 10
CHECK_SHARE = 0.2
"""Of the budget, for the pairs of held-out points that decide between θ₀ and θ."""
PERTURBATION, RATE, DELAY, LONGEST, AVERAGED = 0.7, 20.0, 10, 0.5, 0.3
"""Of SPSA: radians of the first perturbation, gain of the steps and after how many of them it
falls, longest step, and share of the last θ that are averaged. Chosen on the development tasks of
``aqka_research.benchmarks.alignment``."""


class MapTraining(Session[ShotPlan]):
    """The budget of a map's training, a step a round (simultaneous perturbation, Spall 1992).

    A step measures the same random pairs, one shot each, at θ + cΔ and at θ - cΔ with random signs
    Δ. The difference of the two alignments is a slope along Δ. What is left at the end compares
    θ₀ and the mean of the last θ on pairs with held-out points.

    Parameters
    ----------
    y : array of shape (points,)
        Labels or targets of all points.
    held : array of int
        Points held out; no step sees them.
    theta0 : array of float
        Where to start.
    budget, pairs_per_step : int
        Shots in all, and pairs of a step.
    unit : array of float
        What a radian is for each of θ.
    classes : bool
        Whether ``y`` are classes.
    seed : int, default=0
        Every draw comes from a generator seeded by (seed, round). θ of a step is in its plan and
        so in the ledger: a session rebuilt from its recorded answers goes on bit for bit.

    Attributes
    ----------
    history
        The loss of each step, as its pairs showed it.
    """

    def __init__(
        self,
        y: NDArray[Any],
        held: IntArray,
        theta0: FloatArray,
        budget: int,
        pairs_per_step: int = 400,
        *,
        unit: FloatArray,
        classes: bool,
        seed: int = 0,
    ) -> None:
        super().__init__(budget)
        self.y, self.held, self.theta0, self._unit = y, held, theta0, unit
        self.pairs_per_step = as_count(pairs_per_step, "pairs_per_step", minimum=10)
        self.seed = as_count(seed, "seed", minimum=0)
        step = 2 * self.pairs_per_step
        self._check_shots = max(step, int(CHECK_SHARE * self.budget) // 2 * 2)
        self.steps_total = (self.budget - self._check_shots) // step
        if self.steps_total < FEWEST_STEPS:
            raise InputError(
                f"budget of {self.budget:,} shots is {max(self.steps_total, 0)} steps of "
                f"{self.pairs_per_step} pairs, at two shots each, and the check at the end; at "
                f"least {FEWEST_STEPS} steps are needed: raise budget to {14 * step:,}, or lower "
                "pairs_per_step."
            )
        self._targets = pair_targets(y, classes=classes)
        upper = np.triu(np.ones((len(y), len(y)), dtype=bool), 1)
        apart = np.zeros(len(y), dtype=bool)
        apart[held] = True
        either = apart[:, None] | apart
        self._pairs = np.argwhere(upper & ~either), np.argwhere(upper & either)
        self._theta, self._path = theta0, [theta0]
        self._measured = 0
        self.history: list[float] = []
        self._check: list[tuple[ShotPlan, IntArray]] = []

    @property
    def shots_measured(self) -> int:
        """Shots of all rounds."""
        return self._measured

    @property
    def _tag_name(self) -> str:
        return "aqka-map"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "labels": digest(self.y) if self.y.dtype.kind in "buif" else digest(self._targets),
            "held_out": digest(self.held),
            "theta0": digest(self.theta0),
            "budget": str(self.budget),
            "pairs_per_step": str(self.pairs_per_step),
            "seed": str(self.seed),
        }

    def extent(self) -> dict[str, str]:
        """Return what plans may name: every point at two θ."""
        return {"points": str(2 * len(self.y)), "diagonal": "known"}

    def _next_plan(self) -> ShotPlan:
        rng = np.random.default_rng([self.seed, self.round])
        step = 2 * self.pairs_per_step
        if self.shots_left - step >= self._check_shots:
            signs = rng.choice([-1.0, 1.0], len(self.theta0))
            step_by = PERTURBATION / len(self._path) ** 0.101 * self._unit * signs
            ends = np.stack([self._theta + step_by, self._theta - step_by])
            return self._plan(self._pairs[0], self.pairs_per_step, ends, rng)
        # Both θ of the check measure the same pairs; an odd shot is θ's.
        ends = np.stack([self.trained, self.theta0])
        return self._plan(self._pairs[1], -(-self.shots_left // 2), ends, rng)

    def _plan(
        self, pairs: IntArray, count: int, theta: FloatArray, rng: np.random.Generator
    ) -> ShotPlan:
        """Return a plan of random pairs at two θ: each pair as often as any, but for one."""
        whole, rest = divmod(count, len(pairs))
        shots = np.full(len(pairs), whole)
        shots[rng.permutation(len(pairs))[:rest]] += 1
        drawn = np.flatnonzero(shots)
        rows, cols, n = *pairs[drawn].T, len(self.y)
        both = np.concatenate([shots[drawn]] * 2)
        both[-1] -= max(0, int(both.sum()) - self.shots_left)
        return ShotPlan(
            np.concatenate([rows, rows + n]), np.concatenate([cols, cols + n]), both, theta=theta
        )

    def take_up(self, plan: ShotPlan) -> None:
        """Make a recorded plan the pending one; refuse one that is no step of this training."""
        if plan.theta is None or plan.theta.shape != (2, len(self.theta0)):
            raise InputError("the plan has no two θ of this map")
        super().take_up(plan)

    def _alignments(self, plans: list[tuple[ShotPlan, IntArray]]) -> list[float]:
        """Return the alignment at both θ of rounds that measured the same ones."""
        n = len(self.y)
        rows, cols, shots, hits = (
            np.concatenate(parts)
            for parts in zip(*((p.rows, p.cols, p.shots, h) for p, h in plans), strict=True)
        )
        found = []
        for second in (False, True):
            here = (rows >= n) == second
            seen = here & (shots > 0)
            t = self._targets[rows[seen] % n, cols[seen] % n]
            # Hits are single shots: a pair of several stands for as many of 0 and 1.
            k, w = np.concatenate([np.ones(len(t)), np.zeros(len(t))]), hits[seen]
            found.append(alignment(k, np.tile(t, 2), np.concatenate([w, shots[seen] - w])))
        return found

    def _take(self, planned: ShotPlan, measured: ShotPlan, answer: IntArray) -> None:
        self._measured += measured.total
        assert planned.theta is not None
        named = np.concatenate([planned.rows, planned.cols]) % len(self.y)
        if np.isin(named, self.held).any():
            self._check.append((measured, answer))
            return
        plus, minus = (-value for value in self._alignments([(measured, answer)]))
        self.history.append((plus + minus) / 2)
        slope = (plus - minus) / (planned.theta[0] - planned.theta[1])
        rate = RATE / (len(self._path) + DELAY) ** 0.602
        step = self._unit * np.clip(rate * self._unit * slope, -LONGEST, LONGEST)
        self._theta = planned.theta.mean(axis=0) - step
        self._path.append(self._theta)

    @property
    def trained(self) -> FloatArray:
        """The mean of the last θ: a single one has the noise of its last steps."""
        last = max(1, round(AVERAGED * len(self._path)))
        return np.asarray(np.mean(self._path[-last:], axis=0).round(DIGITS))

    def compare(self) -> tuple[float, float, float]:
        """Return the alignment of held-out points at θ₀ and θ, and the gain's standard error."""
        if not self._check:
            return 0.0, 0.0, 0.0
        trained, initial = self._alignments(self._check)
        # Of a correlation of M pairs of outcomes it is (1 - r²)/√M, and both θ have M shots.
        shots = sum(plan.total for plan, _ in self._check) / 2
        return initial, trained, float(np.hypot(1 - trained**2, 1 - initial**2) / np.sqrt(shots))
