"""Points measured once each under a budget, as an ask/tell session."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray, as_count, digest
from aqka.allocators.points import PointAllocator, make_point_allocator
from aqka.allocators.schedule import Schedule
from aqka.core.calibration import N_REFERENCES, CalibrationPlan, CalibrationTable
from aqka.core.outcomes import OutcomeCounts
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import as_settings
from aqka.errors import InputError
from aqka.estimates.readout import known_confusion
from aqka.runs.session import Session
from aqka.sessions.checked_allocation import checked_allocation
from aqka.sessions.design import DesignChoice
from aqka.sessions.point_contract import PointHead, PointKernel
from aqka.sessions.point_kernels import default_point_kernel, make_point_kernel, settings_for

DEFAULT_POINT_ALLOCATOR = "even"


class PointAcquisition(Session[PointPlan | CalibrationPlan]):
    """A shot budget being spent on points, each measured in shared Pauli settings.

    Shots grow with the number of points, not with that of their pairs, and a new point costs what
    a training point does.

    Parameters
    ----------
    problem
        Labels and head.
    n_qubits
        Qubits of a point's state, as the backend says.
    budget
        Total number of shots; the session spends exactly this many.
    allocator
        A name from :func:`~aqka.allocators.points.point_allocator_names`, or an allocator.
    schedule
        Warm-up and rounds; the allocator's own when None.
    settings
        Pauli settings, one row each (``aqka.core.settings``); None draws them from the seed.
    seed
        Of the settings.
    calibration_shots
        Shots of the budget that are spent first, half of them on each of two reference states: all
        qubits in 0, and all in 1. What is read of them tells the readout errors (``confusion``),
        which are taken out of the states; docs/explanation/points.md says how many are enough. 0
        corrects nothing.
    kernel
        Which kernel will be read out of the counts: a name from
        :func:`~aqka.sessions.point_kernel_names`, or a :class:`~aqka.sessions.PointKernel`. The
        settings are then its own where fewer will do: three for one-qubit reduced states. None is
        the fidelity where there are at most eight qubits, and the projected kernel above.

    Attributes
    ----------
    table, calibration
        What was measured of the points, and of the reference states.
    design_choice
        Why points are measured, where ``design="auto"`` chose them; else None.

    Examples
    --------
    >>> session = PointAcquisition(Problem([0, 1]), n_qubits=1, budget=12)
    >>> plan = session.ask()
    >>> plan.points.tolist(), plan.settings.tolist(), plan.shots.tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [2, 2, 2, 2, 2, 2])
    >>> z, not_z = (2, 0), (1, 1)  # of two shots, how many gave 0 and 1
    >>> session.tell(OutcomeCounts.of_dense([not_z, not_z, z, not_z, not_z, z[::-1]]))
    >>> session.done, session.fit().states.kernel().round(2) + 0.0
    (True, array([[1., 0.],
           [0., 1.]]))
    """

    design_choice: DesignChoice | None = None

    def __init__(
        self,
        problem: Problem,
        n_qubits: int,
        budget: int,
        allocator: str | PointAllocator = DEFAULT_POINT_ALLOCATOR,
        schedule: Schedule | None = None,
        settings: ArrayLike | None = None,
        seed: int = 0,
        calibration_shots: int = 0,
        kernel: str | PointKernel | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"problem must be a Problem, got {type(problem).__name__}.")
        super().__init__(budget)
        self.problem = problem
        self.seed = as_count(seed, "seed", minimum=0)
        self.allocator = make_point_allocator(allocator)
        if schedule is not None and not isinstance(schedule, Schedule):
            raise InputError(f"schedule must be a Schedule, got {type(schedule).__name__}.")
        self.schedule = schedule or self.allocator.schedule
        named = None if kernel is None else make_point_kernel(kernel, n_qubits)
        if settings is None:
            settings = settings_for(named, self.allocator, n_qubits, self.seed)
        self.table = PointTable(problem.n_points, as_settings(settings))
        self.kernel = named or default_point_kernel(self.table.settings)
        if self.table.n_qubits != n_qubits:
            raise InputError(
                f"settings must name {n_qubits} qubits, those of the feature map, got "
                f"{self.table.n_qubits}."
            )
        self.calibration_shots = as_calibration_shots(calibration_shots)
        self.calibration = CalibrationTable(n_qubits)
        self._calibration_rounds = 0
        left = self.budget - self.calibration_shots
        if left < problem.n_points:
            beside = f" beside {self.calibration_shots} of calibration" if calibration_shots else ""
            raise InputError(
                f"budget must give every point a shot: {self.budget} shots for "
                f"{problem.n_points} points{beside}; better {4 * 2 ** min(n_qubits, 12)} a point."
            )
        least = self.kernel.least_shots(self.table.settings)
        self._least_shots = least * problem.n_points
        if left < self._least_shots:
            raise InputError(
                f"budget must give every point {least} shots, so that each qubit is measured twice "
                f"in X, Y and Z: {left} shots for {problem.n_points} points."
            )
        ends = self.schedule.milestones(left)
        self._milestones = [self.calibration_shots + end for end in ends]

    def _figures(self) -> dict[str, object]:
        return {
            "points": self.problem.n_points,
            "settings": self.table.n_settings,
            "allocator": type(self.allocator).__name__,
            "shots": f"{self.shots_spent:,} of {self.budget:,}",
            "rounds": self.round,
        }

    @property
    def shots_measured(self) -> int:
        """Shots in the tables."""
        return self.table.total + self.calibration.total

    @property
    def rounds_total(self) -> int:
        """Number of times ``ask`` will be answered if no round fails, the warm-up included."""
        return len(self._milestones) + (1 if self.calibration_shots else 0)

    @property
    def _tag_name(self) -> str:
        return f"aqka-points-{type(self.allocator).__name__.lower()}"

    def settings(self) -> dict[str, str]:
        """Return all that a run depends on besides the backend, as texts."""
        facts = {
            "design": "points",
            "labels": digest(self.problem.y),
            "budget": str(self.budget),
            "allocator": self.allocator.describe(),
            "schedule": self.schedule.describe(),
            "pauli": digest(self.table.settings),  # type: ignore[arg-type]
            "seed": str(self.seed),
        }
        if self.calibration_shots:
            facts["calibration"] = str(self.calibration_shots)
        return facts

    def extent(self) -> dict[str, str]:
        """Return which points and settings plans may name."""
        table = self.table
        return {
            "points": str(table.n_points),
            "settings": str(table.n_settings),
            "qubits": str(table.n_qubits),
        }

    @property
    def confusion(self) -> FloatArray | None:
        """Readout errors as the calibration shows them, a 2 × 2 matrix for each qubit.

        Entry (q, r, t) is the probability to read r where qubit q is t. None without a
        calibration, and until both reference states have been read.
        """
        return known_confusion(self.calibration)

    def fit(self, readout: Any = None, kernel: str | PointKernel | None = None) -> PointHead:
        """Train a head on what was measured.

        Parameters
        ----------
        readout
            A name or a readout, as for pairs; None chooses the ridge by its leave-one-out error.
        kernel
            Which kernel is read out of the counts, by name or as one; None is the session's own.
            Readout errors are those of the calibration where there was one, unless it names
            others.
        """
        chosen = self.kernel if kernel is None else make_point_kernel(kernel, self.table.n_qubits)
        if self.calibration_shots:
            chosen = chosen.with_confusion(self._known_confusion())
        return chosen.fit(self.table, self.problem, readout)

    def _known_confusion(self) -> FloatArray | None:
        confusion = self.confusion
        if confusion is None:
            warnings.warn(
                f"the calibration brought {self.calibration.shots[0]} and "
                f"{self.calibration.shots[1]} shots of the two reference states, so readout errors "
                "are not corrected",
                RuntimeWarning,
                stacklevel=3,
            )
        return confusion

    @property
    def _ending(self) -> str:
        return f"the budget of {self.budget} shots is spent"

    def _take(
        self,
        planned: PointPlan | CalibrationPlan,
        measured: PointPlan | CalibrationPlan,
        answer: OutcomeCounts,
    ) -> None:
        if isinstance(measured, CalibrationPlan):
            self.calibration.add(measured, answer)
            self._calibration_rounds += 1
        else:
            self.table.add(measured, answer)

    def _next_plan(self) -> PointPlan | CalibrationPlan:
        calibration = self._calibration_plan()
        if calibration.total:
            return calibration
        if self.calibration_shots and not self.table.total:
            _ = self.confusion  # a qubit that cannot be read is told before points are bought
        # Counted from what is measured, so shots that an earlier round did not use come along; a
        # calibration that lost shots may have used those of the first.
        done = min(self.round - self._calibration_rounds, len(self._milestones) - 1)
        milestone = next(end for end in self._milestones[done:] if end > self.shots_spent)
        shots = self._allocate(milestone - self.shots_spent)
        points = np.flatnonzero(shots)
        return even_plan(points, self.table.settings, shots[points])

    def _calibration_plan(self) -> CalibrationPlan:
        """Return what the calibration lacks; shots that it lost are bought again.

        They are the points' then, of which every one keeps the fewest that can be read.
        """
        lacking = self.calibration.missing(self.calibration_shots // N_REFERENCES)
        most = max(0, (self.shots_left - self._least_shots) // N_REFERENCES)
        return lacking.cut_to(np.minimum(lacking.shots, most))

    def _allocate(self, shots: int) -> IntArray:
        """Ask the allocator, and trust its answer only as far as the budget goes."""
        table = self.table.read_only()
        answer = self.allocator.point_shots(table, self.problem.outputs, shots)
        return checked_allocation(self.allocator, answer, table.n_points, shots)


def as_calibration_shots(shots: int, design: str = "points") -> int:
    """Return the shots of a calibration, half of them for each of its two circuits."""
    count = as_count(shots, "calibration_shots", minimum=0)
    if count and design != "points":
        raise InputError(
            f"calibration_shots are for design='points', got {count} with design={design!r}: "
            "readout errors of pairs are not corrected."
        )
    if count % N_REFERENCES:
        raise InputError(
            f"calibration_shots must be even, for half of them go to each of two circuits; got "
            f"{count}, take {count + 1}."
        )
    return count
