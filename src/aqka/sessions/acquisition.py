"""Algorithm 1 as an ask/tell session."""

import numpy as np

from aqka._util.arrays import FloatArray, IntArray, as_count, digest
from aqka.allocators import Allocation, Allocator, make_allocator
from aqka.allocators.schedule import Schedule
from aqka.allocators.targets import round_to_multiples
from aqka.core.defaults import DEFAULT_ALLOCATOR, DEFAULT_READOUT
from aqka.core.plans import Landmarks, ShotPlan
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.readouts import FittedHead, Readout, make_readout
from aqka.runs.session import Session
from aqka.sessions.checked_allocation import checked_allocation
from aqka.sessions.design import DesignChoice


class Acquisition(Session[ShotPlan]):
    """A shot budget being spent round by round (Algorithm 1).

    Parameters
    ----------
    problem
        Labels, head and reading.
    budget
        Total number B of shots; the session spends exactly this many.
    allocator
        A name from :func:`~aqka.allocator_names`, or an :class:`~aqka.allocators.Allocator`.
    schedule
        Warm-up, rounds and exploration; the allocator's own when None.
    seed
        Every draw comes from a generator seeded by (seed, round), so a session rebuilt from
        its recorded hits goes on bit for bit as the uninterrupted one.

    Attributes
    ----------
    design_choice
        Why pairs are measured, where ``design="auto"`` chose them; else None.

    Examples
    --------
    A lab that runs the circuits by hand:

    >>> session = Acquisition(Problem([0, 1, 1]), budget=30, allocator="uniform")
    >>> plan = session.ask()
    >>> list(zip(plan.rows.tolist(), plan.cols.tolist(), plan.shots.tolist()))
    [(0, 1, 10), (0, 2, 10), (1, 2, 10)]
    >>> session.tell([2, 3, 9])
    >>> session.done, session.table.estimate()
    (True, array([0.2, 0.3, 0.9]))
    """

    design_choice: DesignChoice | None = None

    def __init__(
        self,
        problem: Problem,
        budget: int,
        allocator: str | Allocator = DEFAULT_ALLOCATOR,
        schedule: Schedule | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"problem must be a Problem, got {type(problem).__name__}.")
        super().__init__(budget)
        self.problem = problem
        self.allocator = make_allocator(allocator)
        if schedule is not None and not isinstance(schedule, Schedule):
            raise InputError(f"schedule must be a Schedule, got {type(schedule).__name__}.")
        self.schedule = schedule or self.allocator.schedule
        self.seed = as_count(seed, "seed", minimum=0)
        if self.allocator.chooses_once and self.schedule.rounds > 1:
            raise InputError(
                f"rounds must be 1 for {type(self.allocator).__name__}, which chooses its "
                f"landmarks once; got {self.schedule.rounds}."
            )
        self.allocator.check(problem)
        self.table = problem.new_table()  # line 2: s ← 0, c ← 0
        self.landmarks: Landmarks | None = None
        self._milestones = self.schedule.milestones(self.budget)
        self._unfinished: ShotPlan | None = None  # rest of a cut plan whose choice must hold

    def _figures(self) -> dict[str, object]:
        shots = f"{self.shots_spent:,} of {self.budget:,}"
        return {
            "points": self.problem.n_points,
            "allocator": type(self.allocator).__name__,
            "shots": shots,
            "rounds": f"{self.round} of {self.rounds_total}",
            "pairs seen": f"{self.table.n_pairs - int(self.table.unseen.sum()):,}",
        }

    def _picture(self) -> FloatArray:
        return self.problem.reading.kernel(self.table)

    @property
    def shots_measured(self) -> int:
        """Shots in the table."""
        return self.table.total

    @property
    def rounds_total(self) -> int:
        """Number of times ``ask`` will be answered if no round fails, the warm-up included."""
        return len(self._milestones)

    @property
    def _tag_name(self) -> str:
        return f"aqka-{type(self.allocator).__name__.lower()}"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        problem, true_kernel = self.problem, self.problem.true_kernel
        return {
            "labels": digest(problem.y),
            "budget": str(self.budget),
            "allocator": self.allocator.describe(),
            "schedule": self.schedule.describe(),
            "reading": problem.reading.describe(),
            "ridge": repr(problem.ridge),
            "C": repr(problem.C),
            "true_kernel": "none" if true_kernel is None else digest(true_kernel),
            "seed": str(self.seed),
        }

    def extent(self) -> dict[str, str]:
        """Return which pairs plans may name."""
        return {"points": str(self.problem.n_points), "diagonal": self.table.diagonal}

    @property
    def _ending(self) -> str:
        return f"the budget of {self.budget} shots is spent"

    def _take(self, planned: ShotPlan, measured: ShotPlan, hits: IntArray) -> None:
        self.table.add(measured, hits)  # line 11
        self.landmarks = planned.landmarks or self.landmarks
        self._unfinished = None
        if self.allocator.chooses_once and self.landmarks is not None:
            self._unfinished = planned.without(measured)

    def fit(self, readout: str | Readout = DEFAULT_READOUT) -> FittedHead:
        """Train a head on what was measured."""
        return make_readout(readout).fit(self.table, self.problem, self.landmarks)

    def _next_plan(self) -> ShotPlan:
        if self._unfinished is not None and self._unfinished.total:
            return self._unfinished
        rng = np.random.default_rng([self.seed, self.round])
        spent = self.table.shots
        # Counted from what is measured, so shots that an earlier round did not use come along.
        # After the last milestone come rounds only if some failed.
        milestone = self._milestones[min(self.round, len(self._milestones) - 1)]
        round_shots = milestone - self.shots_spent
        warm = self._milestones[0] if self.schedule.has_warmup(self.budget) else 0
        if self.shots_spent < warm:
            round_shots = warm - self.shots_spent
            shots, landmarks = self.schedule.explore_pairs(spent, round_shots, rng), None  # line 3
        else:
            explore = self.schedule.exploration_shots(round_shots)
            allocation = self._allocate(round_shots - explore, rng)  # lines 5 to 9
            shots, landmarks = allocation.shots, allocation.landmarks
            shots = shots + self.schedule.explore_pairs(spent + shots, explore, rng)  # line 10
        if self.schedule.quantum > 1:
            shots = round_to_multiples(shots, self.schedule.quantum, rng)
        index = np.flatnonzero(shots)
        rows, cols = self.table.pairs(index)
        return ShotPlan(rows, cols, shots[index], landmarks)

    def _allocate(self, shots: int, rng: np.random.Generator) -> Allocation:
        """Ask the allocator, and trust its answer only as far as the budget goes."""
        # A copy that cannot be written: what was measured is not the allocator's to change.
        allocation = self.allocator.ask(self.table.read_only(), self.problem, shots, rng)
        if not isinstance(allocation, Allocation):
            raise InputError(
                f"allocator {type(self.allocator).__name__} must return an Allocation, got "
                f"{type(allocation).__name__}; return Allocation(shots)."
            )
        given = checked_allocation(self.allocator, allocation.shots, self.table.n_pairs, shots)
        return Allocation(given, allocation.landmarks)
