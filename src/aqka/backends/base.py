"""The contract of a backend: two steps, so that a crash in between loses nothing."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from aqka._util.arrays import FloatArray, IntArray
from aqka.core.plans import Plan
from aqka.errors import InputError

if TYPE_CHECKING:
    from qiskit import QuantumCircuit


@dataclass(frozen=True)
class JobState:
    """One job of a submission, as the service tells."""

    job_id: str
    state: str = "not queried"  # the service's word: QUEUED, RUNNING, DONE, CANCELLED, …
    queue_position: int | None = None
    seconds: float | None = None  # on the QPU


def job_ids_of(ticket: str) -> list[str]:
    """Return the ids of the jobs that a ticket names; none of a simulator's.

    >>> job_ids_of("d1abc+d2def:eJxj"), job_ids_of("aqka-uniform-1f2e-r0")
    (['d1abc', 'd2def'], [])
    """
    names, colon, _ = ticket.rpartition(":")
    inner = names.rpartition("|")[2]  # sentinels write their number before it
    return inner.split("+") if colon and inner else []


@dataclass(frozen=True)
class Workload:
    """What a submission asks of a device, with whatever is measured beside the plan."""

    shots: int
    executions: int  # billed: fewer than shots where several circuits run side by side
    jobs: int

    def part(self, shots: int, of: int) -> "Workload":
        """Return the work where only some of a plan's shots were run, rounded up."""
        if shots == 0:
            return Workload(0, 0, 0)
        return Workload(-(-self.shots * shots // of), -(-self.executions * shots // of), self.jobs)


DESIGNS = ("pairs", "points")
"""What a backend can be made for, so that the circuit it tells of is the one that will run."""


class Backend(ABC):
    """Runs the shots of a plan.

    A plan asks for pairs (:class:`~aqka.core.ShotPlan`), answered by hits, one count per pair;
    or for points in Pauli settings (:class:`~aqka.core.PointPlan`) and for reference states on the
    same qubits (:class:`~aqka.core.CalibrationPlan`), both answered by
    :class:`~aqka.core.OutcomeCounts`, which a backend with ``n_qubits`` can do.

    A subclass must write ``shape``, ``submit`` and ``collect``. Everything else has a default
    that says less or costs more, never something wrong; a subclass that knows better overrides
    it. :func:`aqka.testing.check_backend` checks all of it.

    Notes
    -----
    Where jobs outlive the process, write ``recover``. Where the same tag gives the same hits
    at no cost, set ``replayable``. Where data, circuit or device can differ, write
    ``fingerprint``. Where the exact kernel can be computed, write ``has_kernel`` and
    ``kernel``, both or none. Where points can be measured, write ``n_qubits``.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Points that a plan's rows and columns may name."""

    @abstractmethod
    def submit(self, plan: Plan, tag: str) -> str:
        """Hand in a plan under a tag of the caller's and return a ticket for it.

        The tag identifies the submission: on a seeded simulator the same tag gives the same
        hits, and another tag gives fresh randomness. A plan that names a point beyond ``shape``
        is refused with an InputError, as ``aqka.backends.base.check_plan`` does.
        """

    @abstractmethod
    def collect(self, ticket: str) -> Any:
        """Wait for a submitted plan and return the answer: hits of pairs, outcomes of points.

        Raise ``aqka.TransientError`` for what may pass, and ``aqka.JobError`` for
        shots that are lost.
        """

    def open(self) -> None:
        """Open what jobs run in, such as a session, at the start of a ``with`` block."""
        return

    def close(self) -> None:
        """Close it, at the end of the block, whatever ended that."""
        return

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def replayable(self) -> bool:
        """Whether a tag gives the same hits again at no cost, so that a lost ticket is no loss."""
        return False

    @property
    def n_qubits(self) -> int | None:
        """Qubits that a row point's state is measured on; None: it cannot measure points."""
        return None

    @property
    def flipped_bits(self) -> int | None:
        """Bits of a pair's outcome, where it can say how many are 1; None: it counts hits alone.

        A plan with ``bits`` is then answered by a row of counts for each pair, the shots with 0,
        1, … ones.
        """
        return None

    @property
    def measures_pairs(self) -> bool:
        """Whether it can measure pairs, as all can but those for points alone."""
        return True

    def with_points(self, X: ArrayLike) -> "Backend | None":
        """Return the backend for other points of the same circuit; None: it must be made anew."""
        return None

    def recover(self, plan: Plan, tag: str) -> str | None:
        """Return the ticket of a plan that a process submitted before it died; None: none known.

        A backend whose jobs outlive the process must look for them, or shots are paid twice.
        """
        return None

    def workload(self, plan: Plan) -> Workload:
        """Return what a plan asks of the device; by default one job, an execution per shot."""
        return Workload(plan.total, plan.total, 1 if plan.total else 0)

    def cancel(self, plan: Plan, tag: str, ticket: str | None) -> list[JobState]:
        """Cancel the jobs of a submission that wait in a queue, and return how all of them stand.

        ``ticket`` is None where it was not stored. A job that is being run is left alone.
        """
        return []

    @property
    def is_paid(self) -> bool:
        """Whether shots may cost money, so a study asks first; by default if not replayable."""
        return not self.replayable

    def remarks(self, ticket: str) -> Mapping[str, Any]:
        """Return what else the ledger should keep of a collected ticket: names and JSON values."""
        return {}

    @property
    def usage(self) -> Mapping[str, float | None]:
        """QPU seconds of each ticket that :meth:`collect` has returned or failed.

        Failed or cancelled jobs count with what they used. None: the service could not tell.
        """
        return {}

    def limit_seconds(self, seconds: float | None) -> None:
        """Let no later submission run longer than this many QPU seconds; None lifts the limit.

        A run calls it before it submits, with what its ceiling leaves.
        """
        return

    @property
    def rep_delay(self) -> float | None:
        """Seconds that the device waits before each execution; None: it does not say."""
        return None

    @property
    def n_tiles(self) -> int:
        """How many copies of :attr:`circuit` run side by side."""
        return 1

    def settle_on(self, design: str) -> None:
        """Take a design for :attr:`circuit` and :attr:`n_tiles`, as a run does before it begins."""
        return

    @property
    def name(self) -> str:
        """What a ledger and a report call it, such as a device's name."""
        return type(self).__name__

    @property
    def calibrated_at(self) -> str | None:
        """When the device was last calibrated, if it says so."""
        return None

    def fingerprint(self) -> str:
        """Return a text that tells backends of other data, another circuit or device apart.

        A run is resumed only on a backend with the same one, so a backend made again of the same
        parts must have it too, in every process. The default knows the class alone.
        """
        return type(self).__name__

    @property
    def has_kernel(self) -> bool:
        """Whether :meth:`kernel` gives the exact kernel."""
        return False

    def kernel(self) -> FloatArray:
        """Return the exact kernel, rows by columns, of a backend that can compute it."""
        raise InputError(f"{type(self).__name__} has no exact kernel; it only measures.")

    def states(self) -> Any:
        """Return the exact states of the row points, one per row; None where they are unknown."""
        return None

    def expectations(self, edges: IntArray) -> FloatArray | None:
        """Return the exact expectations of the row points' Pauli operators, one row per point.

        X, Y, Z of each qubit, then XX, XY, … ZZ of each edge, a pair of qubits a row. None where
        :meth:`states` is the way to them, or they are unknown.
        """
        return None

    @property
    def joint_pairs(self) -> IntArray | None:
        """Pairs of qubits whose bits are drawn together; None: all qubits are, as on a device."""
        return None

    @property
    def lattice(self) -> IntArray | None:
        """Pairs of qubits that the feature map's gates act on; None: neighbours on a line."""
        return None

    @property
    def circuit(self) -> "QuantumCircuit | None":
        """The transpiled circuit, of a backend that has one."""
        return None


def wrapped(name: str, part: str = "backend") -> Any:
    """Return a property that a part of a backend answers, the backend it wraps for example."""
    return property(lambda self: getattr(getattr(self, part), name), doc=f"As the {part} says.")


def check_design(design: Any) -> str:
    """Return the name of a design that a backend can be made for."""
    if design not in DESIGNS:
        raise InputError(f"design must be 'pairs' or 'points', got {design!r}.")
    return str(design)


def as_backend(backend: Any) -> Backend:
    """Return a backend; refuse what is none, a kernel matrix for example."""
    if not isinstance(backend, Backend):
        given = backend.__name__ if isinstance(backend, type) else type(backend).__name__
        remedy = (
            "for a kernel matrix pass MatrixBackend(kernel), for a class of your own derive it "
            "from aqka.Backend"
        )
        if isinstance(backend, str) or hasattr(backend, "target"):
            # A device's, or its name: obvious, but for the points.
            remedy = (
                "it must know the points: StatevectorBackend(X), AerBackend(X, noise=…), "
                "PennylaneBackend(X, function) or RuntimeBackend(device, X)"
            )
        raise InputError(f"backend must be a Backend, got {given}; {remedy}.")
    return backend


def check_measures_pairs(backend: Backend) -> None:
    """Refuse a backend that measures points alone."""
    if not backend.measures_pairs:
        raise InputError(
            f"{type(backend).__name__} measures points, not pairs: use design='points', or for "
            "pairs of a few qubits another backend, such as StatevectorBackend."
        )


def check_plan(
    plan: Plan,
    shape: tuple[int, int],
    n_qubits: int | None = None,
    flipped_bits: int | None = None,
) -> None:
    """Refuse a plan that names a point or qubit that the backend does not have."""
    if plan.bits not in (None, flipped_bits):
        raise InputError(
            f"the plan counts {plan.bits} flipped bits of each pair, and the backend "
            f"{'hits alone' if flipped_bits is None else f'{flipped_bits} bits'}; use "
            "reading='all-zero', or a backend such as StatevectorBackend."
        )
    if plan.n_qubits is not None and n_qubits is None:
        raise InputError(
            "this backend measures pairs, not points: it has no circuit that prepares a point's "
            "state. Use design='pairs', or a backend of a feature map, such as StatevectorBackend."
        )
    if plan.n_qubits not in (None, n_qubits):
        raise InputError(
            f"settings of the plan must name {n_qubits} qubits, those of the feature map, "
            f"got {plan.n_qubits}."
        )
    sizes = {"rows": shape[0], "cols": shape[1], "points": shape[0]}
    for name in plan.ROWS:
        largest = getattr(plan, name).max(initial=-1)
        if name in sizes and largest >= sizes[name]:
            raise InputError(f"{name} of the plan must be below {sizes[name]}, got {largest}.")
