"""Points: each shot prepares one point's state and measures all its qubits."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, digest
from aqka._util.text import unknown
from aqka.backends.base import Backend
from aqka.core.calibration import N_REFERENCES
from aqka.core.plans import Landmarks, Plan
from aqka.core.point_plans import PointPlan, even_plan
from aqka.core.points import PointTable
from aqka.core.problem import Problem
from aqka.core.settings import as_settings, choose_settings, neighbour_settings
from aqka.designs._base import NewPoints, Settle, Stop
from aqka.designs._point_kernel import PointEstimate, PointKernel
from aqka.designs.fidelity import MAX_FIDELITY_QUBITS, Fidelity
from aqka.designs.projected import Projected
from aqka.errors import InputError
from aqka.learners import Decided, FittedHead
from aqka.maths.metrics import normal_quantile

SETTLING_LOOKS = 4  # the first after an eighth of a point's shots, each other after twice as many


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

    >>> point_kernel_names()[2:5]
    ['projected', 'projected-2', 'projected-2-all']
    """
    return list(NAMED)


def as_point_kernel(kernel: str | PointKernel) -> PointKernel:
    """Return the kernel of that name, or the given one.

    >>> as_point_kernel("projected-2")
    Projected(locality=2, form='gaussian', gamma=None, confusion=None, pairs='neighbours')
    """
    made = NAMED.get(kernel) if isinstance(kernel, str) else kernel
    if not isinstance(made, PointKernel):
        raise unknown("kernel of points", kernel, NAMED, " or a PointKernel")
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
class Points:
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
        qubits in 0, and all in 1. They measure the readout errors, which are then removed from the
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
    not_shown: ClassVar[tuple[str, ...]] = (
        "Shots were spent on points, not on pairs: there is no comparison of allocators, and "
        "intervals count the new points' own shots.",
    )
    no_total_interval: ClassVar[str] = "they are not available when points are measured"

    def __post_init__(self) -> None:
        if self.kernel is not None:
            as_point_kernel(self.kernel)  # refuses an unknown name
        count = as_count(self.calibration_shots, "calibration_shots", minimum=0)
        if count % N_REFERENCES:
            raise InputError(
                "calibration_shots must be even, for half of them go to each of two circuits; got "
                f"{count}, take {count + 1}."
            )
        if self.settings is not None:  # an array could be neither compared nor hashed
            rows = tuple(map(tuple, as_settings(self.settings).tolist()))
            object.__setattr__(self, "settings", rows)

    def reads(self, measured: object) -> bool:
        """Whether it can read what another design has measured: any counts of points."""
        return isinstance(measured, Points)

    def on(self, lattice: IntArray | None, n_qubits: int | None) -> "Points":
        """Return it with the neighbours of a lattice, if any, in place of those on a line."""
        if lattice is None or n_qubits is None:
            return self
        if isinstance(self._chosen, Projected):
            return replace(self, kernel=self._chosen.on(lattice))
        if self.kernel is None and self.settings is None and n_qubits > MAX_FIDELITY_QUBITS:
            return replace(self, settings=neighbour_settings(n_qubits, lattice))
        return self

    def check_backend(
        self, backend: Backend, n_points: int, head: FittedHead | None = None
    ) -> None:
        """Refuse a backend that cannot prepare states to read, or has another number of points."""
        n_qubits = qubits_of(backend)
        if backend.shape[0] != n_points:
            raise InputError(f"y labels {n_points} points, but the backend has {backend.shape[0]}.")
        estimate: Any = None if head is None else head.estimate
        kernel = self._kernel_on(n_qubits) if head is None else estimate.kernel_of_points
        kernel.check_backend(backend)

    def _kernel_on(self, n_qubits: int) -> PointKernel:
        settings = self.settings_for(n_qubits, 0, steers=False)
        return self._chosen or default_point_kernel(settings)

    def reduced_kernel(self, n_qubits: int) -> Any:
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
        kernel, many, own = self._chosen, n_qubits > MAX_FIDELITY_QUBITS, None
        if kernel is not None:
            kernel.check(n_qubits)
        if isinstance(kernel, Fidelity) and isinstance(self.kernel, str):
            kernel.check(n_qubits, MAX_FIDELITY_QUBITS)
        if self.settings is not None:
            given = as_settings(self.settings)
            if kernel is not None:
                kernel.check_settings(given)
            return given
        if kernel is not None and (not steers or many):
            own = kernel.settings(n_qubits)
        return choose_settings(n_qubits, seed) if own is None else own

    @property
    def _chosen(self) -> PointKernel | None:
        return None if self.kernel is None else as_point_kernel(self.kernel)

    def kernel_for(self, table: PointTable) -> PointKernel:
        """Return the kernel that a table is read as."""
        return self._chosen or default_point_kernel(table.settings)

    def units(self, n_points: int, n_pairs: int) -> tuple[int, str]:
        """Return how many points training measures, and how that comes about."""
        return n_points, "each measured once"

    def shots_per_entry(self, shots: int, n_pairs: int) -> None:
        """Return None: no kernel entry has shots of its own."""

    def new_units(self, n_train: int, n_new: int) -> int:
        """Return how many points are measured for new points."""
        return n_new

    def new_shots(self, shots: int, n_train: int) -> int:
        """Return what a new point gets on top of so many training shots: as one of training."""
        return shots // n_train

    def shares(self, n_train: int, n_new: int) -> tuple[float, float, str]:
        """Return how training and predictions share a budget, and why."""
        reason = (
            f"a new point costs what a training point does, so {n_train:,} training and {n_new:,} "
            "new points get the same shots each."
        )
        return n_train, n_new, reason

    def sensitivity(self, table: PointTable, problem: Problem, spectrum: Any = None) -> None:
        """Return None: no pair has shots of its own that could have been others'."""

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
        kernel = self.kernel_for(table)
        if kernel.confusion is None:
            kernel = replace(kernel, confusion=confusion)  # type: ignore[type-var]
        return kernel.read(table, self, problem)

    def new_points(
        self, head: FittedHead, n_points: int, budget: int, stop: Stop, seed: int
    ) -> NewPoints:
        """Return new points to be measured as the training points were."""
        return NewStates(head, n_points, budget, stop, self.looks(stop), seed)

    def decide_known(
        self, head: FittedHead, table: PointTable, rows: IntArray, columns: IntArray
    ) -> FloatArray:
        """Return f from the points' own counts."""
        return head.values(table.subset(rows))

    def least_shots(self, table: PointTable) -> int:
        """Return the shots that a point needs before it can be read."""
        return self.kernel_for(table).least_shots(table.settings)

    def facts(self, table: PointTable) -> dict[str, str]:
        """Return the settings, and the calibration where there is one."""
        facts = {"design": self.name, "pauli": digest(table.settings)}
        if self.calibration_shots:
            facts["calibration"] = str(self.calibration_shots)
        return facts

    def results(self, table: PointTable, estimate: Any) -> dict[str, Any]:
        """Return the settings, a point's shots, and which kernel was read how well."""
        confusion = estimate.kernel_of_points.confusion
        return {
            "settings": table.n_settings,
            "shots_per_point": table.total / table.n_points,
            "kernel": estimate.meaning,
            "states": [test.sentence for test in estimate.tests],
            "confusion": None if confusion is None else confusion.tolist(),
        }

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


class NewStates(NewPoints):
    """New points measured as the training points were, and no longer than their decision needs.

    Every round gives each open point as many shots as it has, over all settings evenly. A point
    whose class is settled gets no more; what it leaves over goes to the points that are still open
    at the last look. An equal share of the error rate is spent at each look: a class is settled
    where f is further from the decision than the normal quantile of that share. The law of f is
    normal where shots are many; docs/explanation/points.md has the rates that were measured.
    """

    def __init__(
        self, head: FittedHead, n_points: int, budget: int, stop: Stop, looks: int, seed: int
    ) -> None:
        estimate = head.estimate
        assert isinstance(estimate, PointEstimate)
        settings = estimate.table.settings
        super().__init__(head, PointTable(n_points, settings), seed)
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
        super().take(round, planned, measured, answer)
        self._decided = None
        if measured.total == planned.total and round < len(self.milestones) - 1:
            self.settled = self.settled_at_end()

    def settled_at_end(self) -> BoolArray:
        """Return the points whose lead is beyond the quantile, now or at an earlier look."""
        gap, deviation = self.decide().lead()
        far = np.abs(gap) > self._quantile * np.maximum(deviation, 1e-300)
        return np.asarray(self.settled | far)

    def decide(self) -> Decided:
        """Return f of the measured points."""
        if self._decided is None:
            self._decided = super().decide()
        return self._decided

    def improve(self, decided: Decided, points: IntArray) -> Decided:
        """Read open points with the training points' states as a prior, where there are states."""
        return self.head.estimate.improve(self.head, self.table, decided, points, self.seed)

    def extent(self) -> dict[str, str]:
        """Return which points and settings plans may name."""
        return self.table.extent("new_points")  # type: ignore[no-any-return]
