"""Algorithm 1 as an ask/tell session, over pairs or points; and in one call on a backend."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_array, as_count, digest, exact_sum
from aqka.allocators import Allocation, Allocator
from aqka.allocators.schedule import Schedule
from aqka.allocators.targets import round_to_multiples
from aqka.backends.base import Backend, as_backend
from aqka.core.calibration import N_REFERENCES, CalibrationPlan, CalibrationTable
from aqka.core.plans import Landmarks, Plan
from aqka.core.problem import DEFAULT_C, FAIR, Problem, Reading
from aqka.designs import Design
from aqka.designs.resolve import resolve
from aqka.errors import InputError
from aqka.estimates.readout import known_confusion
from aqka.learners import Estimate, FittedHead, Learner, make_learner
from aqka.runs.driver import drive
from aqka.runs.session import Session
from aqka.runs.spend import Spend


class Training(Session[Plan]):
    """A shot budget being spent on training points, round by round (Algorithm 1).

    Parameters
    ----------
    problem : Problem
        Labels, head and reading.
    budget : int
        Total number B of shots; the session spends exactly this many.
    allocator : str or Allocator, optional
        A name from :func:`~aqka.allocator_names`, or an allocator; even shots by default.
    schedule : Schedule, optional
        Warm-up, rounds and exploration; the allocator's own by default.
    seed : int, default=0
        Every draw comes from a generator seeded by (seed, round), so a session rebuilt from its
        recorded answers goes on bit for bit as the uninterrupted one.
    design : str or Design, default="auto"
        What a shot is spent on: ``"pairs"``, ``"points"``, an object with options, or what labels
        better; see :func:`~aqka.designs.resolve.resolve`.
    n_qubits : int, optional
        Qubits of a point's state, which points need; pairs by default without it.

    Attributes
    ----------
    table
        What was measured of the training points.
    calibration
        What was measured of the reference states; None without a calibration.
    landmarks
        The points whose rows are measured, where the allocator reconstructs the others.
    reason
        Why this design, where it was chosen for the user; else empty.

    Examples
    --------
    A lab that runs the circuits by hand:

    >>> session = Training(Problem([0, 1, 1]), budget=30, allocator="uniform")
    >>> plan = session.ask()
    >>> list(zip(plan.rows.tolist(), plan.cols.tolist(), plan.shots.tolist()))
    [(0, 1, 10), (0, 2, 10), (1, 2, 10)]
    >>> session.tell([2, 3, 9])
    >>> session.done, session.table.estimate()
    (True, array([0.2, 0.3, 0.9]))

    The same with points of one qubit:

    >>> from aqka.core import OutcomeCounts
    >>> session = Training(Problem([0, 1]), budget=12, design="points", n_qubits=1)
    >>> plan = session.ask()
    >>> plan.points.tolist(), plan.settings.tolist(), plan.shots.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [2, 2, 2, 2, 2, 2])
    >>> z, not_z = (2, 0), (1, 1)  # of two shots, how many gave 0 and 1
    >>> session.tell(OutcomeCounts.of_dense([not_z, not_z, z, not_z, not_z, z[::-1]]))
    >>> session.done, session.estimate().kernel.round(2) + 0.0
    (True, array([[1., 0.],
           [0., 1.]]))
    """

    def __init__(
        self,
        problem: Problem,
        budget: int,
        allocator: str | Allocator | None = None,
        schedule: Schedule | None = None,
        seed: int = 0,
        *,
        design: str | Design = "auto",
        n_qubits: int | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"problem must be a Problem, got {type(problem).__name__}.")
        super().__init__(budget)
        self.problem = problem
        choice = resolve(
            design,
            allocator,
            n_points=problem.n_points,
            n_qubits=n_qubits,
            budget=self.budget,
            on_top=True,
        )
        self.design: Design = choice.design
        self.allocator, self.reason = choice.allocator, choice.reason
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
        # Line 2: s ← 0, c ← 0.
        table: Any = self.design.training_table(problem, n_qubits, self.seed, self.allocator.steers)
        self.table = table
        reserved = self.design.calibration_shots
        self.calibration = CalibrationTable(table.n_qubits) if reserved else None
        self._calibration_rounds = 0
        self._least_shots = self.design.least_shots(table) * problem.n_points
        self._check_budget(reserved)
        self.landmarks: Landmarks | None = None
        self._milestones = [
            reserved + end for end in self.schedule.milestones(self.budget - reserved)
        ]
        self._unfinished: Plan | None = None  # rest of a cut plan whose choice must hold

    def _check_budget(self, reserved: int) -> None:
        """Refuse a budget that gives some point too few shots to be read."""
        n_points = self.problem.n_points
        if self.budget - reserved < max(self._least_shots, 1):
            beside = f" beside {reserved} of calibration" if reserved else ""
            each = self._least_shots // n_points
            shots = f"{each} shots, so that each qubit is measured twice in X, Y and Z"
            if each == 1:
                shots = f"a shot, better {4 * 2 ** min(self.table.n_qubits, 12)}"
            raise InputError(
                f"budget must give every point {shots}: {self.budget} shots for {n_points} points"
                f"{beside}."
            )

    def _figures(self) -> dict[str, object]:
        return {
            **self.table._figures(),
            "allocator": type(self.allocator).__name__,
            "shots": f"{self.shots_spent:,} of {self.budget:,}",
            "rounds": f"{self.round} of {self.rounds_total}",
        }

    def _picture(self) -> FloatArray | None:
        return self.table._picture()  # type: ignore[no-any-return]

    @property
    def shots_measured(self) -> int:
        """Shots in the tables."""
        calibration = 0 if self.calibration is None else self.calibration.total
        return int(self.table.total) + calibration

    @property
    def rounds_total(self) -> int:
        """Number of times ``ask`` will be answered if no round fails, the warm-up included."""
        return len(self._milestones) + (0 if self.calibration is None else 1)

    @property
    def _tag_name(self) -> str:
        return f"aqka-{self.design.name}-{type(self.allocator).__name__.lower()}"

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
            **self.design.facts(self.table),
        }

    def extent(self) -> dict[str, str]:
        """Return what plans may name."""
        return self.table.extent()  # type: ignore[no-any-return]

    @property
    def _ending(self) -> str:
        return f"the budget of {self.budget} shots is spent"

    def _take(self, planned: Plan, measured: Plan, answer: Any) -> None:
        if self.calibration is not None and measured.calibrates:
            self.calibration.add(measured, answer)  # type: ignore[arg-type]
            self._calibration_rounds += 1
            return
        self.table.add(measured, answer)  # line 11
        self.landmarks = planned.landmarks or self.landmarks
        self._unfinished = None
        if self.allocator.chooses_once and self.landmarks is not None:
            self._unfinished = planned.without(measured)

    @property
    def confusion(self) -> FloatArray | None:
        """Readout errors as the calibration shows them, a 2 × 2 matrix for each qubit.

        Entry (q, r, t) is the probability to read r where qubit q is t. None without a
        calibration, and until both reference states have been read.
        """
        return known_confusion(self.calibration)

    def estimate(self, design: Design | None = None) -> Estimate:
        """Return what was measured as a kernel estimate.

        ``design`` reads the same counts in another way, such as ``Points("projected")``.
        """
        chosen = self.design if design is None else design
        if not isinstance(chosen, type(self.design)):
            raise InputError(f"design must be a {type(self.design).__name__}, got {chosen!r}.")
        confusion = self.confusion
        if self.calibration is not None and confusion is None:
            shots = self.calibration.shots
            warnings.warn(
                f"the calibration brought {shots[0]} and {shots[1]} shots of the two reference "
                "states, so readout errors are not corrected",
                RuntimeWarning,
                stacklevel=3,
            )
        return chosen.read(self.table, self.problem, self.landmarks, confusion)

    def fit(self, learner: str | Learner | None = None, design: Design | None = None) -> FittedHead:
        """Fit a head to what was measured; by default with the learner of the design."""
        chosen = make_learner(self.design.default_learner if learner is None else learner)
        if self.table.total < self.problem.n_points:
            warnings.warn(
                f"{self.table.total} shots on {len(self.table.unit_shots):,} {self.design.name} "
                "are far too few to learn from; spend at least one for each point.",
                RuntimeWarning,
                stacklevel=2,
            )
        return chosen.fit(self.estimate(design), self.problem)

    def _next_plan(self) -> Plan:
        calibration = self._calibration_plan()
        if calibration is not None and calibration.total:
            return calibration
        if self._unfinished is not None and self._unfinished.total:
            return self._unfinished
        rng = np.random.default_rng([self.seed, self.round])
        spent: IntArray = self.table.unit_shots
        # Counted from what is measured, so shots that an earlier round did not use come along.
        # After the last milestone come rounds only if some failed.
        done = min(self.round - self._calibration_rounds, len(self._milestones) - 1)
        milestone = next(end for end in self._milestones[done:] if end > self.shots_spent)
        round_shots = milestone - self.shots_spent
        landmarks = None
        budget = self.budget - self.design.calibration_shots
        warm = self._milestones[0] if self.schedule.has_warmup(budget) else 0
        if self.shots_spent < warm:
            shots = self.schedule.explore_pairs(spent, warm - self.shots_spent, rng)  # line 3
        else:
            explore = self.schedule.exploration_shots(round_shots)
            allocation = self._allocate(round_shots - explore, rng)  # lines 5 to 9
            shots, landmarks = allocation.shots, allocation.landmarks
            shots = shots + self.schedule.explore_pairs(spent + shots, explore, rng)  # line 10
        if self.schedule.quantum > 1:
            shots = round_to_multiples(shots, self.schedule.quantum, rng)
        return self.design.plan(self.table, shots, landmarks)

    def _calibration_plan(self) -> CalibrationPlan | None:
        """Return what the calibration lacks; shots that it lost are bought again.

        They are the points' then, of which every one keeps the fewest that can be read.
        """
        if self.calibration is None:
            return None
        lacking = self.calibration.missing(self.design.calibration_shots // N_REFERENCES)
        most = max(0, (self.shots_left - self._least_shots) // N_REFERENCES)
        plan = lacking.cut_to(np.minimum(lacking.shots, most))
        if not plan.total and not self.table.total:
            known_confusion(self.calibration)  # refuses a qubit that cannot be read, in time
        return plan

    def _allocate(self, shots: int, rng: np.random.Generator) -> Allocation:
        """Ask the allocator, and trust its answer only as far as the budget goes."""
        # A copy that cannot be written: what was measured is not the allocator's to change.
        allocation = self.allocator.ask(self.table.read_only(), self.problem, shots, rng)
        name, size = type(self.allocator).__name__, len(self.table.unit_shots)
        if not isinstance(allocation, Allocation):
            raise InputError(
                f"allocator {name} must return an Allocation, got {type(allocation).__name__}; "
                "return Allocation(shots)."
            )
        given = as_array(allocation.shots, f"the shots of allocator {name}")
        if given.shape != (size,) or given.dtype.kind not in "iu":
            raise InputError(
                f"allocator {name} must return {size} whole numbers of shots, got shape "
                f"{given.shape} and dtype {given.dtype}."
            )
        counts = given.astype(np.int64)
        if given.min() < 0 or exact_sum(counts) != shots:
            raise InputError(
                f"allocator {name} must allocate exactly {shots} shots, none negative; got "
                f"{exact_sum(counts)} with a smallest entry of {given.min()}."
            )
        return Allocation(counts, allocation.landmarks)


def acquire(
    backend: Backend,
    y: "ArrayLike | Problem",
    budget: int,
    allocator: str | Allocator | None = None,
    *,
    design: str | Design = "auto",
    new_points: int | None = None,
    ridge: float = 0.01,
    C: float = DEFAULT_C,
    reading: str | Reading = FAIR,
    schedule: Schedule | None = None,
    true_kernel: FloatArray | None = None,
    seed: int = 0,
    **spend: Any,
) -> Training:
    """Spend a shot budget on a backend and return the finished session.

    Parameters
    ----------
    backend : Backend
        What runs the shots, for example :class:`~aqka.MatrixBackend`.
    y : array of shape (points,) or Problem
        Labels of two or more classes, or real targets, of the backend's points.
    budget : int
        Shots for training.
    allocator : str or Allocator, optional
        A name from :func:`~aqka.allocator_names`, or an allocator; even shots by default.
    design : str or Design, default="auto"
        What a shot is spent on: ``"pairs"``, ``"points"``, an object with options such as
        ``Points("projected")``, or ``"auto"``, which takes the one that promises better labels
        (:func:`~aqka.designs.resolve.resolve`); ``reason`` of the session says why.
    new_points : int, optional
        Number of points to predict later, with the same shots each; used by ``"auto"``. Defaults to
        the number of training points.
    ridge, C, reading, true_kernel : default=0.01, 5.0, "fair", None
        Two floats, a str or Reading, and an array, as of :class:`~aqka.Problem`, unless y is one.
    schedule : Schedule, optional
        Warm-up, rounds and exploration; the allocator's own by default.
    seed : int, default=0
        Seed of every draw.
    **spend
        The fields of :class:`~aqka.runs.Spend`. With ``directory`` a run survives a crash at any
        instant: the same call resumes it, and returns a finished one without spending a shot.

    Examples
    --------
    >>> from aqka import MatrixBackend, StatevectorBackend
    >>> kernel = [[1.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 1.0]]
    >>> session = acquire(MatrixBackend(kernel), y=[1, 1, -1], budget=300)
    >>> session.table.total
    300
    >>> points = StatevectorBackend([[0.1, 0.2], [0.2, 0.1], [1.0, 2.0]])
    >>> session = acquire(points, y=[1, 1, -1], budget=300, design="points")
    >>> session.table.shots_per_point
    array([100, 100, 100])
    """
    session = new_training(
        backend,
        y if isinstance(y, Problem) else Problem(y, ridge, C, reading, true_kernel),  # type: ignore[arg-type]
        budget,
        allocator,
        design=design,
        new_points=new_points,
        schedule=schedule,
        seed=seed,
    )
    drive(session, backend, Spend(**spend))
    return session  # line 13: K̂ = c / s is session.table.estimate()


def new_training(
    backend: Backend,
    problem: Problem,
    budget: int,
    allocator: str | Allocator | None = None,
    *,
    design: str | Design = "auto",
    new_points: int | None = None,
    schedule: Schedule | None = None,
    seed: int = 0,
) -> Training:
    """Return the session of :func:`acquire` before its first shot."""
    backend, shots = as_backend(backend), as_count(budget, "budget")
    n_points = problem.n_points
    choice = resolve(
        design,
        allocator,
        n_points=n_points,
        n_qubits=backend.n_qubits,
        budget=shots,
        new_points=new_points,
        on_top=True,
        measures_pairs=backend.measures_pairs,
    )
    measured = choice.design.on(backend.lattice, backend.n_qubits)
    measured.check_backend(backend, n_points)
    session = Training(
        problem,
        shots,
        choice.allocator,
        schedule,
        seed,
        design=measured,
        n_qubits=backend.n_qubits or backend.flipped_bits,
    )
    session.reason = choice.reason
    backend.settle_on(session.design.name)
    return session
