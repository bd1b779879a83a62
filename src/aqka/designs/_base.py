"""The contract of a design: what a shot is spent on, and how counts of that are read."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aqka._util.arrays import BoolArray, FloatArray, IntArray, as_count, as_fraction
from aqka.backends.base import Backend
from aqka.core.plans import Landmarks, Plan, UnitTable
from aqka.core.problem import Problem
from aqka.errors import InputError
from aqka.learners import Decided, Estimate, FittedHead


def check_error_rate(rate: float) -> None:
    """Refuse a chance of a wrong class that is not one."""
    if not 0 < as_fraction(rate, "error_rate") < 0.5:
        raise InputError(
            f"error_rate must lie above 0 and below 0.5, got {rate!r}; for example 0.05."
        )


@dataclass(frozen=True)
class Settle:
    """Stop buying shots for a new point as soon as its class is settled.

    Parameters
    ----------
    error_rate : float, default=0.05
        Chance, per point, that it is declared settled with another class than endless shots on it
        would give.
    looks : int, optional
        How often the counts are looked at while the budget lasts, each look one submission. The
        default is that of the design: 12 for pairs, 4 for points.
    """

    error_rate: float = 0.05
    looks: int | None = None

    def __post_init__(self) -> None:
        check_error_rate(self.error_rate)
        if self.looks is not None:
            as_count(self.looks, "looks")

    def describe(self) -> str:
        """Return the rule as ledgers write it."""
        return f"settle at {self.error_rate!r} in {self.looks or 'default'} looks"


@dataclass(frozen=True)
class Never:
    """Spend the whole budget: real targets have no class to settle.

    Parameters
    ----------
    looks : int, optional
        Submissions in which the budget is spent. The default is that of the design: 4 for pairs,
        whose shots follow what was seen, 1 for points.
    """

    looks: int | None = None

    def __post_init__(self) -> None:
        if self.looks is not None:
            as_count(self.looks, "looks")

    def describe(self) -> str:
        """Return the rule as ledgers write it."""
        return f"never settle, in {self.looks or 'default'} looks"


Stop = Settle | Never


class NewPoints(ABC):
    """New points being measured: what is known of them, and what to measure next.

    Attributes
    ----------
    table
        Counts of the new points.
    settled
        Points whose class is settled.
    reserved
        Shots of the budget that are kept back: those of points that a prior answers.
    by_prior, audit
        Points that a prior answers, and what shots say of its answers; None where there is none.
    """

    table: Any
    settled: BoolArray
    reserved: int = 0
    by_prior: BoolArray | None = None
    audit: Any = None

    def decisions(self) -> dict[str, IntArray]:
        """Return what was computed before the first shot, for a ledger."""
        return {}

    def take_up_decisions(self, kept: Mapping[str, IntArray]) -> None:
        """Take what a ledger keeps of :meth:`decisions`."""
        return

    def expect(self, plan: Plan) -> None:
        """Take notice of a recorded plan before it is counted."""
        return

    @property
    def shots_measured(self) -> int:
        """Shots whose outcomes are known."""
        return int(self.table.total)

    @abstractmethod
    def plan(self, round: int, spent: int, left: int) -> Plan:
        """Return a round's plan for the open points, with so many shots spent and left."""

    @abstractmethod
    def take(self, round: int, planned: Plan, measured: Plan, answer: Any) -> None:
        """Count what came back, and settle what can be settled."""

    @abstractmethod
    def decide(self) -> Decided:
        """Return f of all points and its deviation."""

    def settled_at_end(self, decided: Decided) -> BoolArray:
        """Return the settled points once no more shots follow."""
        return self.settled

    def improve(self, decided: Decided, points: IntArray) -> Decided:
        """Return it with points that are not settled read by what training points are like."""
        return decided

    def winners(self) -> IntArray | None:
        """Return the numbers of the settled classes where a test declared them; else None."""
        return None

    @property
    @abstractmethod
    def shots_per_point(self) -> IntArray:
        """Shots of each new point."""

    @abstractmethod
    def extent(self) -> dict[str, str]:
        """Return what plans may name, as texts."""


class Design(ABC):
    """What a shot is spent on.

    It knows its table of counts, how shots per unit become a plan, how counts are read as a kernel
    estimate, and how new points are measured. :class:`~aqka.designs.Pairs` and
    :class:`~aqka.designs.Points` are the two there are.
    """

    name: ClassVar[str]
    """What it is called in settings and ledgers."""
    unit: ClassVar[str]
    """What an allocator gives shots to: a pair or a point."""
    default_learner: ClassVar[str]
    runs_inverse: ClassVar[bool]
    """Whether a shot runs the feature map's inverse too, so that it must have one."""
    counts_entries: ClassVar[bool]
    """Whether each kernel entry has counts of its own."""
    calibration_shots: int = 0
    """Shots of the budget for a calibration of the readout errors."""

    def reads(self, measured: "Design") -> bool:
        """Whether it can read what another design has measured."""
        return self.name == measured.name

    def on(self, lattice: IntArray | None, n_qubits: int | None) -> "Design":
        """Return the design for a feature map whose gates act on these pairs of qubits."""
        return self

    def reduced_kernel(self, n_qubits: int) -> Any:
        """Return the kernel of reduced states that it reads; None where it is the fidelity."""
        return None

    @abstractmethod
    def check_backend(self, backend: Backend, n_points: int) -> None:
        """Refuse a backend that cannot measure it, or has other points."""

    @abstractmethod
    def default_shots(self, n_points: int, n_qubits: int) -> int:
        """Return the training shots where no budget is given."""

    @abstractmethod
    def training_table(
        self, problem: Problem, n_qubits: int | None, seed: int, steers: bool
    ) -> UnitTable:
        """Return an empty table of the training points; ``steers`` if the allocator looks at it."""

    @abstractmethod
    def plan(self, table: Any, shots: IntArray, landmarks: Landmarks | None) -> Plan:
        """Return the plan that gives each unit these shots."""

    @abstractmethod
    def read(
        self,
        table: Any,
        problem: Problem,
        landmarks: Landmarks | None = None,
        confusion: FloatArray | None = None,
    ) -> Estimate:
        """Return what the counts say about the kernel."""

    @abstractmethod
    def new_points(
        self, head: FittedHead, n_points: int, budget: int, stop: Stop, seed: int
    ) -> NewPoints:
        """Return new points to be measured for a head's decisions."""

    @abstractmethod
    def check_new_points(self, backend: Backend, head: FittedHead) -> None:
        """Refuse a backend of new points that does not fit the head."""

    @abstractmethod
    def decide_known(
        self, head: FittedHead, table: Any, rows: IntArray, columns: IntArray
    ) -> FloatArray:
        """Return f of some points of a finished run, by a head trained on others of them."""

    def least_shots(self, table: Any) -> int:
        """Return the shots that a unit needs before anything can be read."""
        return 0

    @abstractmethod
    def facts(self, table: Any) -> dict[str, str]:
        """Return what a run depends on beyond what every session names, as texts."""

    @abstractmethod
    def extent(self, table: Any) -> dict[str, str]:
        """Return what training plans may name, as texts."""

    @abstractmethod
    def results(self, table: Any, estimate: Any) -> dict[str, Any]:
        """Return what a finished run says of what it measured, as plain values."""

    @abstractmethod
    def looks(self, stop: Stop) -> int:
        """Return in how many submissions predictions are bought, at most."""


def doubling(budget: int, rounds: int, first: float) -> list[int]:
    """Return the shots spent after each of some rounds, growing by a common factor.

    Examples
    --------
    >>> doubling(8000, 4, first=1000)
    [1000, 2000, 4000, 8000]
    """
    ends = np.geomspace(budget, min(budget / rounds, first), rounds)[::-1]  # of one, the budget
    return [int(end) for end in np.unique(np.rint(ends).astype(np.int64))]
