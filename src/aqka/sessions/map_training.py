"""A feature map trained on shots: SPSA on the kernel's alignment, as an ask/tell session."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, digest
from aqka.backends.trainable import DIGITS
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import even_plan
from aqka.core.points import PointTable
from aqka.designs import Points
from aqka.errors import InputError
from aqka.estimates.projected import linear_projected_kernel, squared_distances
from aqka.maths.alignment import alignment, kernel_of_distances, pair_targets
from aqka.runs.session import Session

FEWEST_STEPS, MOST_STEPS = 10, 100  # most by default: each is a submission
CHECK_SHARE = 0.2  # of the budget, for the held-out points that decide between θ₀ and θ
PERTURBATION, DELAY, LONGEST, AVERAGED = 0.7, 10, 0.5, 0.3
"""SPSA: radians of the first perturbation, after how many steps their gain falls, longest step,
and share of the last θ that are averaged. Chosen on the development tasks of
``aqka_research.benchmarks.alignment``."""


class MapTraining(Session[Any]):
    """The budget of a map's training, a step a round (simultaneous perturbation, Spall 1992).

    A step measures the same random pairs, one shot each, at θ + cΔ and at θ - cΔ with random signs
    Δ. The difference of the two alignments is a slope along Δ. What is left at the end compares
    θ₀ and the mean of the last θ on pairs with held-out points.

    Points ``held`` are seen by the check alone. ``size`` are the pairs of a step, by default 400 or
    what makes 10 to 100 steps of the budget; ``unit`` is what a radian is for each of θ. Every draw
    comes from a generator seeded by (seed, round). θ of a step is in its plan and so in the ledger:
    a session rebuilt from its recorded answers goes on bit for bit. ``history`` has the loss of
    each step, as its shots showed it.
    """

    _tag_name = "aqka-map"
    SIZE, RATE = "pairs_per_step", 20.0
    NAMES: tuple[str, ...] = ("rows", "cols")
    LEAST, FEW, USUAL = 10, 100, 400

    def __init__(
        self,
        y: NDArray[Any],
        held: IntArray,
        theta0: FloatArray,
        budget: int,
        size: int | None = None,
        *,
        unit: FloatArray,
        classes: bool,
        seed: int = 0,
    ) -> None:
        super().__init__(budget)
        self.y, self.held, self.theta0, self._unit = y, held, theta0, unit
        self.seed = as_count(seed, "seed", minimum=0)
        self.fit = np.setdiff1d(np.arange(len(y)), held)
        self.size = 1
        steps = int((1 - CHECK_SHARE) * self.budget) // self.step_shots  # of size 1
        usual = min(max(self.USUAL, -(-steps // MOST_STEPS)), steps // FEWEST_STEPS)
        wanted = max(self.FEW, usual) if size is None else size
        self.size = as_count(wanted, self.SIZE, minimum=self.LEAST)
        self._check_shots = max(self.step_shots, int(CHECK_SHARE * self.budget) // 2 * 2)
        self.steps_total = (self.budget - self._check_shots) // self.step_shots
        if self.steps_total < FEWEST_STEPS:
            smaller = "" if size is None else f", or lower {self.SIZE}"
            raise InputError(
                f"budget of {self.budget:,} shots is {max(self.steps_total, 0)} steps of "
                f"{self.step_shots:,} shots, and the check at the end; at least {FEWEST_STEPS} "
                f"steps are needed: raise budget to {14 * self.step_shots:,}{smaller}."
            )
        self._targets = pair_targets(y, classes=classes)
        self._theta, self._path = theta0, [theta0]
        self._measured = 0
        self.history: list[float] = []
        self._check: list[tuple[Any, Any]] = []

    @property
    def step_shots(self) -> int:
        """Shots of a step."""
        return 2 * self.size

    @property
    def shots_measured(self) -> int:
        """Shots of all rounds."""
        return self._measured

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        return {
            "labels": digest(self.y) if self.y.dtype.kind in "buif" else digest(self._targets),
            "held_out": digest(self.held),
            "theta0": digest(self.theta0),
            "budget": str(self.budget),
            self.SIZE: str(self.size),
            "seed": str(self.seed),
        }

    def extent(self) -> dict[str, str]:
        """Return what plans may name: every point at two θ."""
        return {"points": str(2 * len(self.y)), "diagonal": "known"}

    def _next_plan(self) -> Plan:
        rng = np.random.default_rng([self.seed, self.round])
        if self.shots_left - self.step_shots >= self._check_shots:
            signs = rng.choice([-1.0, 1.0], len(self.theta0))
            step_by = PERTURBATION / len(self._path) ** 0.101 * self._unit * signs
            return self._plan(np.stack([self._theta + step_by, self._theta - step_by]), rng, False)
        return self._plan(np.stack([self.trained, self.theta0]), rng, True)

    def _plan(self, theta: FloatArray, rng: np.random.Generator, check: bool) -> Plan:
        """Return a plan of random pairs at two θ: each pair as often as any, but for one."""
        pairs = np.argwhere(self._counted(np.arange(len(self.y)), check))
        # Both θ of the check measure the same pairs; an odd shot is θ's.
        whole, rest = divmod(-(-self.shots_left // 2) if check else self.size, len(pairs))
        shots = np.full(len(pairs), whole)
        shots[rng.permutation(len(pairs))[:rest]] += 1
        drawn = np.flatnonzero(shots)
        rows, cols, n = *pairs[drawn].T, len(self.y)
        both = np.concatenate([shots[drawn]] * 2)
        both[-1] -= max(0, int(both.sum()) - self.shots_left)
        return ShotPlan(
            np.concatenate([rows, rows + n]), np.concatenate([cols, cols + n]), both, theta=theta
        )

    def _counted(self, points: IntArray, check: bool) -> BoolArray:
        """Return which pairs of some points a step counts, or the check: those held out."""
        apart = np.isin(points, self.held)
        either = apart[:, None] | apart
        return np.triu(either if check else ~either, 1)

    def take_up(self, plan: Plan) -> None:
        """Make a recorded plan the pending one; refuse one that is no step of this training."""
        if plan.theta is None or plan.theta.shape != (2, len(self.theta0)):
            raise InputError("the plan has no two θ of this map")
        super().take_up(plan)

    def _alignments(self, plans: list[tuple[Any, Any]]) -> list[float]:
        """Return the alignment at both θ of rounds that measured the same ones."""
        n = len(self.y)
        rows, cols, shots, hits = (
            np.concatenate(parts)
            for parts in zip(*((p.rows, p.cols, p.shots, h) for p, h in plans), strict=True)
        )
        found = []
        # A round that was cut short counts by the pairs that were measured at both θ.
        both = [np.tile((p.shots.reshape(2, -1) > 0).all(axis=0), 2) for p, _ in plans]
        for second in (False, True):
            seen = ((rows >= n) == second) & np.concatenate(both)
            t = self._targets[rows[seen] % n, cols[seen] % n]
            # Hits are single shots: a pair of several stands for as many of 0 and 1.
            k, w = np.concatenate([np.ones(len(t)), np.zeros(len(t))]), hits[seen]
            found.append(alignment(k, np.tile(t, 2), np.concatenate([w, shots[seen] - w])))
        return found

    def _take(self, planned: Plan, measured: Plan, answer: Any) -> None:
        self._measured += measured.total
        assert planned.theta is not None
        if not measured.total:
            return
        named = np.concatenate([getattr(planned, name) for name in self.NAMES]) % len(self.y)
        if np.isin(named, self.held).any():
            self._check.append((measured, answer))
            return
        plus, minus = (-value for value in self._alignments([(measured, answer)]))
        self.history.append((plus + minus) / 2)
        slope = (plus - minus) / (planned.theta[0] - planned.theta[1])
        rate = self.RATE / (len(self._path) + DELAY) ** 0.602
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
        # That of a correlation of M pairs of outcomes is (1 - r²)/√M, and both θ have M shots.
        shots = sum(plan.total for plan, _ in self._check) / 2
        return initial, trained, float(np.hypot(1 - trained**2, 1 - initial**2) / np.sqrt(shots))


class PointTraining(MapTraining):
    """The training of a projected kernel: a step measures all points, held-out ones at the end.

    Squared distances are taken less their own variance, so that few shots a point will do.

    ``size`` are the shots of a point in a step, at each θ; by default 30, or what makes 10 to 100
    steps of the budget. The kernel is that of a design, for points of ``n_qubits``.
    """

    SIZE, RATE, NAMES = "shots_per_point", 10.0, ("points",)

    def __init__(self, *given: Any, design: Points, n_qubits: int, **options: Any) -> None:
        kernel: Any = design.reduced_kernel(n_qubits)
        self._kernel = kernel
        self._letters = design.settings_for(n_qubits, options.get("seed", 0), steers=False)
        self.LEAST = self.FEW = kernel.least_shots(self._letters)
        self.USUAL = max(30, self.LEAST)
        super().__init__(*given, **options)

    @property
    def step_shots(self) -> int:
        """Shots of a step."""
        return 2 * self.size * len(self.fit)

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        facts = {"pauli": digest(self._letters), "kernel": self._kernel.describe()}
        return super().settings() | facts

    def extent(self) -> dict[str, str]:
        """Return what plans may name: every point at two θ, in each setting."""
        settings, qubits = map(str, self._letters.shape)
        return {"points": str(2 * len(self.y)), "settings": settings, "qubits": qubits}

    def _plan(self, theta: FloatArray, rng: np.random.Generator, check: bool) -> Plan:
        """Return a plan with the same shots for each point at both θ, held-out ones first."""
        n, points = len(self.y), np.concatenate([self.held, self.fit]) if check else self.fit
        both = np.stack([points, points + n], axis=1).reshape(-1)
        whole, rest = divmod(self.shots_left, len(both)) if check else (self.size, 0)
        plan = even_plan(both, self._letters, whole + (np.arange(len(both)) < rest))
        return replace(plan, theta=theta)

    def _entries(self, plans: list[tuple[Any, Any]]) -> tuple[IntArray, list[FloatArray]]:
        """Return the points that can be read at both θ, and the kernel of these at each."""
        n, table = len(self.y), PointTable(2 * len(self.y), self._letters)
        for plan, answer in plans:
            table.add(plan, answer)
        readable, kernels = np.zeros(2 * n, dtype=bool), []
        readable[self._kernel.readable(table)] = True
        points = np.flatnonzero(readable[:n] & readable[n:])
        for side in (points, points + n) if len(points) > 1 else ():
            states = self._kernel.reduce(table.subset(side))
            if self._kernel.form == "linear":
                kernels.append(linear_projected_kernel(states))
            else:
                kernels.append(kernel_of_distances(squared_distances(states)))
        return points, kernels

    def _alignments(self, plans: list[tuple[Any, Any]]) -> list[float]:
        points, kernels = self._entries(plans)
        check = bool(np.isin(plans[0][0].points % len(self.y), self.held).any())
        return self._aligned(points, kernels, self._counted(points, check))

    def _aligned(
        self, points: IntArray, kernels: list[FloatArray], pairs: BoolArray
    ) -> list[float]:
        targets = self._targets[np.ix_(points, points)][pairs]
        return [alignment(kernel[pairs], targets) for kernel in kernels] or [0.0, 0.0]

    def compare(self) -> tuple[float, float, float]:
        """Return the alignment of held-out points at θ₀ and θ, and the gain's standard error.

        The error is that of leaving out one held-out point after the other (jackknife).
        """
        if not self._check:
            return 0.0, 0.0, 0.0
        points, kernels = self._entries(self._check)
        pairs, gains = self._counted(points, True), []
        trained, initial = self._aligned(points, kernels, pairs)
        for left_out in np.flatnonzero(np.isin(points, self.held)):
            some = pairs.copy()
            some[left_out], some[:, left_out] = False, False
            after, before = self._aligned(points, kernels, some)
            gains.append(after - before)
        error = np.std(gains) * np.sqrt(max(0, len(gains) - 1)) if gains else np.inf
        return initial, trained, float(error)
