"""Points: each shot prepares one point's state and measures all its qubits."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, digest
from aqka._util.text import did_you_mean, inert
from aqka.backends.base import Backend
from aqka.core.calibration import N_REFERENCES, CalibrationTable
from aqka.core.plans import Landmarks, Plan
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import as_settings, choose_settings, neighbour_settings
from aqka.designs._base import Design, NewPoints, Settle, Stop
from aqka.designs._point_kernel import PointEstimate, PointKernel
from aqka.designs.fidelity import MAX_FIDELITY_QUBITS, Fidelity
from aqka.designs.projected import Projected
from aqka.errors import InputError
from aqka.learners import Decided, FittedHead
from aqka.maths.metrics import normal_quantile

SETTLING_LOOKS = 4
"""The first after an eighth of a point's shots, each of the others after twice as many."""


NAMED: dict[str, PointKernel] = {
    "purified": Fidelity("purified"),
    "device": Fidelity("device"),
    "projected": Projected(1),
    "projected-2": Projected(2),
    "projected-2-all": Projected(2, pairs="all"),
    "projected-linear": Projected(1, "linear"),
    "projected-2-linear": Projected(2, "linear"),
}


def point_kernel_names() -> list[str]:
    """Return the names of all kernels of points.

    ``"purified"`` and ``"device"`` are the fidelity of fitted states, without most of a device's
    noise or with it, of at most eight qubits. ``"projected"`` is the Gaussian projected kernel of
    one-qubit reduced states, for any number of qubits; ``"projected-2"`` is that of two-qubit
    states of neighbours on a line, and ``"projected-2-all"`` of all pairs of qubits. With
    ``"-linear"`` they are the mean overlap of these states.

    Examples
    --------
    >>> point_kernel_names()[2:5]
    ['projected', 'projected-2', 'projected-2-all']
    """
    return list(NAMED)


def as_point_kernel(kernel: str | PointKernel) -> PointKernel:
    """Return the kernel of that name, or the given one.

    Examples
    --------
    >>> as_point_kernel("projected-2")
    Projected(locality=2, form='gaussian', gamma=None, confusion=None, pairs='neighbours')
    """
    made = NAMED.get(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(made, PointKernel):
        raise InputError(
            f"kernel of points must be one of {', '.join(map(repr, NAMED))} or a PointKernel, got "
            f"{inert(repr(kernel), 100)}.{did_you_mean(kernel, NAMED)}"
        )
    return made


def default_point_kernel(settings: IntArray) -> PointKernel:
    """Return the kernel of counts for which none is named, by the settings they were measured in.

    The fidelity up to eight qubits and the projected kernel above; and also where all qubits have
    one letter in every setting, which only gives one-qubit states.
    """
    n_qubits = settings.shape[1]
    is_uniform = n_qubits > 1 and bool(np.all(settings == settings[:, :1]))
    return Projected() if n_qubits > MAX_FIDELITY_QUBITS or is_uniform else Fidelity()


@dataclass(frozen=True)
class Points(Design):
    """Spend shots on single points, each measured in Pauli settings that all points share.

    Shots grow with the number of points, not with that of their pairs, circuits are half as deep,
    and a new point costs what a training point does.

    Parameters
    ----------
    kernel : str or PointKernel, optional
        Which kernel is read out of the counts: a name from
        :func:`~aqka.designs.point_kernel_names` or a kernel with settings of its own. The default
        is the fidelity up to eight qubits, and the projected kernel above.
    calibration_shots : int, default=0
        Shots of the budget that are spent first, half of them on each of two reference states: all
        qubits in 0, and all in 1. They tell the readout errors, which are then removed from the
        states; docs/explanation/points.md says how many are enough. 0 corrects nothing.
    settings : array of shape (settings, qubits), optional
        Pauli settings, 0, 1, 2 for X, Y, Z. The default draws them from the seed, or takes the
        kernel's own where fewer will do.
    """

    kernel: str | PointKernel | None = None
    calibration_shots: int = 0
    settings: ArrayLike | None = None
    name: ClassVar[str] = "points"
    unit: ClassVar[str] = "point"
    default_learner: ClassVar[str] = "ridge-loo"
    runs_inverse: ClassVar[bool] = False
    counts_entries: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.kernel is not None:
            as_point_kernel(self.kernel)
        count = as_count(self.calibration_shots, "calibration_shots", minimum=0)
        if count % N_REFERENCES:
            raise InputError(
                "calibration_shots must be even, for half of them go to each of two circuits; got "
                f"{count}, take {count + 1}."
            )

    def on(self, lattice: IntArray | None, n_qubits: int | None) -> "Points":
        """Return it with the neighbours of a lattice, if any, in place of those on a line."""
        if lattice is None or n_qubits is None:
            return self
        kernel = None if self.kernel is None else as_point_kernel(self.kernel)
        if isinstance(kernel, Projected):
            return replace(self, kernel=kernel.on(lattice))
        if kernel is None and self.settings is None and n_qubits > MAX_FIDELITY_QUBITS:
            return replace(self, settings=neighbour_settings(n_qubits, lattice))
        return self

    def check_backend(self, backend: Backend, n_points: int) -> None:
        """Refuse a backend that cannot prepare states, or has another number of points."""
        n_qubits = qubits_of(backend)
        if backend.shape[0] != n_points:
            raise InputError(f"y labels {n_points} points, but the backend has {backend.shape[0]}.")
        self._kernel_on(n_qubits).check_backend(backend)

    def _kernel_on(self, n_qubits: int) -> PointKernel:
        settings = self.settings_for(n_qubits, 0, steers=False)
        return (
            default_point_kernel(settings) if self.kernel is None else as_point_kernel(self.kernel)
        )

    def reduced_kernel(self, n_qubits: int) -> Projected | None:
        """Return the kernel of reduced states that it reads; None where it is the fidelity."""
        kernel = self._kernel_on(n_qubits)
        return kernel if isinstance(kernel, Projected) else None

    def default_shots(self, n_points: int, n_qubits: int) -> int:
        """Return 16 for each of the 2ⁿ amplitudes of a point's state, of ten qubits at most."""
        return n_points * 16 << min(n_qubits, 10)

    def training_table(
        self, problem: Problem | None, n_qubits: int | None, seed: int, steers: bool
    ) -> PointTable:
        """Return an empty table in the settings that all points will share."""
        if problem is None or n_qubits is None:
            raise InputError("design 'points' needs n_qubits, the qubits of a point's state.")
        table = PointTable(problem.n_points, self.settings_for(n_qubits, seed, steers))
        if table.n_qubits != n_qubits:
            raise InputError(
                f"settings must name {n_qubits} qubits, those of the feature map, got "
                f"{table.n_qubits}."
            )
        return table

    def settings_for(self, n_qubits: int, seed: int, steers: bool) -> IntArray:
        """Return the Pauli settings: those given, or the kernel's own where fewer will do.

        An allocator that steers looks at states, for which those would not be enough; above eight
        qubits there are none.
        """
        if self.kernel is not None:
            self._check_qubits(n_qubits)
        if self.settings is not None:
            given = as_settings(self.settings)
            if self.kernel is not None:
                as_point_kernel(self.kernel).check_settings(given)
            return given
        own = None
        if self.kernel is not None and (not steers or n_qubits > MAX_FIDELITY_QUBITS):
            own = as_point_kernel(self.kernel).settings(n_qubits)
        return choose_settings(n_qubits, seed) if own is None else own

    def _check_qubits(self, n_qubits: int) -> None:
        assert self.kernel is not None
        kernel = as_point_kernel(self.kernel)
        kernel.check(n_qubits)
        named = isinstance(self.kernel, str) and isinstance(kernel, Fidelity)
        if named and n_qubits > MAX_FIDELITY_QUBITS:
            raise InputError(
                f"kernel {inert(repr(self.kernel), 100)} fits states of at most "
                f"{MAX_FIDELITY_QUBITS} qubits, and the points have {n_qubits}; take 'projected', "
                "or leave it out."
            )

    def kernel_for(self, table: PointTable) -> PointKernel:
        """Return the kernel that a table is read as."""
        if self.kernel is None:
            return default_point_kernel(table.settings)
        return as_point_kernel(self.kernel)

    def plan(self, table: PointTable, shots: IntArray, landmarks: Landmarks | None) -> PointPlan:
        """Return the plan that spreads each point's shots evenly over all settings."""
        points = np.flatnonzero(shots)
        return even_plan(points, table.settings, shots[points])

    def read(
        self,
        table: PointTable,
        problem: Problem | None,
        landmarks: Landmarks | None = None,
        confusion: FloatArray | None = None,
    ) -> PointEstimate:
        """Return the kernel that the counts give, with readout errors taken out."""
        kernel = self.kernel_for(table).with_confusion(confusion)
        return kernel.read(table, self, problem)

    def new_points(
        self, head: FittedHead, n_points: int, budget: int, stop: Stop, seed: int
    ) -> NewPoints:
        """Return new points to be measured as the training points were."""
        return NewStates(head, n_points, budget, stop, self.looks(stop), seed)

    def check_new_points(self, backend: Backend, head: FittedHead) -> None:
        """Refuse a backend that cannot prepare states, or not those that the kernel reads."""
        qubits_of(backend)
        assert isinstance(head.estimate, PointEstimate)
        head.estimate.kernel_of_points.check_backend(backend)

    def decide_known(
        self, head: FittedHead, table: PointTable, rows: IntArray, columns: IntArray
    ) -> FloatArray:
        """Return f from the points' own counts."""
        return head.decide(table.subset(rows)).f

    def least_shots(self, table: PointTable) -> int:
        """Return the shots that a point needs before it can be read."""
        return self.kernel_for(table).least_shots(table.settings)

    def new_calibration(self, table: PointTable) -> CalibrationTable | None:
        """Return an empty table of the reference states."""
        return CalibrationTable(table.n_qubits) if self.calibration_shots else None

    def facts(self, table: PointTable) -> dict[str, str]:
        """Return the settings, and the calibration where there is one."""
        facts = {"design": self.name, "pauli": digest(table.settings)}
        if self.calibration_shots:
            facts["calibration"] = str(self.calibration_shots)
        return facts

    def extent(self, table: PointTable) -> dict[str, str]:
        """Return which points and settings plans may name."""
        return {"points": str(table.n_points), **_pauli_extent(table)}

    def results(self, table: PointTable, estimate: PointEstimate) -> dict[str, Any]:
        """Return the settings, a point's shots, and which kernel was read how well."""
        confusion = estimate.kernel_of_points.confusion
        return {
            "settings": table.n_settings,
            "shots_per_point": table.total / table.n_points,
            "kernel": estimate.meaning,
            "states": [test.sentence for test in estimate.tests],
            "confusion": None if confusion is None else confusion.tolist(),
        }

    def figures(self, table: PointTable) -> dict[str, object]:
        """Return the number of settings."""
        return {"settings": table.n_settings}

    def looks(self, stop: Stop) -> int:
        """Return the rounds of a prediction: one where nothing is settled on the way."""
        return stop.looks or (SETTLING_LOOKS if isinstance(stop, Settle) else 1)


def qubits_of(backend: Backend) -> int:
    """Return the qubits of a point's state, or refuse a backend that only measures pairs."""
    if backend.n_qubits is None:
        raise InputError(
            f"design='points' needs a backend that prepares states, but {type(backend).__name__} "
            "only measures pairs; use StatevectorBackend or another of a feature map, or "
            "design='pairs'."
        )
    return backend.n_qubits


def _pauli_extent(table: PointTable) -> dict[str, str]:
    return {"settings": str(table.n_settings), "qubits": str(table.n_qubits)}


class NewStates(NewPoints):
    """New points measured as the training points were, and no longer than their decision needs.

    Every round gives each open point as many shots as it has, over all settings evenly. A point
    whose class is settled gets no more; what it leaves over goes to the points that are still open
    at the last look. An equal share of the error rate is spent at each look: a class is settled
    where f is further from the decision than the normal quantile of that share. The law of f is
    normal where shots are many; docs/explanation/points.md has the rates that were measured.
    """

    table: PointTable

    def __init__(
        self, head: FittedHead, n_points: int, budget: int, stop: Stop, looks: int, seed: int
    ) -> None:
        estimate = head.estimate
        assert isinstance(estimate, PointEstimate)
        settings = estimate.table.settings
        self.head, self.seed = head, seed
        self.table = PointTable(as_count(n_points, "n_points"), settings)
        each = estimate.kernel_of_points.least_shots(settings)
        least = each * self.table.n_points
        if budget < least:
            shots = "a shot" if each == 1 else f"{each} shots"
            raise InputError(
                f"budget must give every point {shots}, {least} in all: {budget} shots for "
                f"{self.table.n_points} points."
            )
        ends = budget / 2.0 ** np.arange(looks - 1, -1, -1)
        self.milestones = sorted({max(least, int(end)) for end in ends})
        self.settled: BoolArray = np.zeros(self.table.n_points, dtype=np.bool_)
        self._quantile = (
            normal_quantile(1 - 2 * stop.error_rate / looks) if isinstance(stop, Settle) else np.inf
        )
        self._decided: Decided | None = None

    def plan(self, round: int, spent: int, left: int) -> PointPlan:
        """Give every open point the same shots."""
        open_points = np.flatnonzero(~self.settled)
        last = len(self.milestones) - 1
        # Counted from what is measured, so shots that a failed round did not use come along; the
        # shots that settled points leave over stay for the last round.
        before = 0 if round == 0 else self.milestones[min(round - 1, last)]
        share = len(open_points) / self.table.n_points
        shots = left if round >= last else int((self.milestones[round] - before) * share)
        shots = max(1, min(shots, left))
        each = np.full(len(open_points), shots // len(open_points))
        each[: shots % len(open_points)] += 1
        asked = each > 0
        return even_plan(open_points[asked], self.table.settings, each[asked])

    def take(self, round: int, planned: Plan, measured: Plan, answer: Any) -> None:
        """Count the outcomes; the last look stops nothing, nor does one at a cut round."""
        self.table.add(measured, answer)  # type: ignore[arg-type]
        self._decided = None
        if measured.total == planned.total and round < len(self.milestones) - 1:
            self.settled = self.settled_at_end(self.decide())

    def settled_at_end(self, decided: Decided) -> BoolArray:
        """Return the points whose lead is beyond the quantile, now or at an earlier look."""
        gap, deviation = decided.lead()
        far = np.abs(gap) > self._quantile * np.maximum(deviation, 1e-300)
        return np.asarray(self.settled | far)

    def decide(self) -> Decided:
        """Return f of the measured points."""
        if self._decided is None:
            self._decided = self.head.decide(self.table, self.seed)
        return self._decided

    def improve(self, decided: Decided, points: IntArray) -> Decided:
        """Read open points with the training points' states as a prior, where there are states."""
        return self.head.estimate.improve(self.head, self.table, decided, points, self.seed)

    @property
    def shots_per_point(self) -> IntArray:
        """Shots of each new point."""
        return self.table.shots_per_point

    def extent(self) -> dict[str, str]:
        """Return which points and settings plans may name."""
        return {"new_points": str(self.table.n_points), **_pauli_extent(self.table)}
