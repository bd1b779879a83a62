"""Plans, which say what a backend measures with how many shots, and tables of their answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from aqka._util.arrays import MAX_COUNT, FloatArray, IntArray, as_array, as_column, as_counts
from aqka._util.shown import Shown
from aqka.core.outcomes import OutcomeCounts
from aqka.errors import InputError

Answer: TypeAlias = IntArray | OutcomeCounts
"""What comes back for a plan: hits of pairs or their flipped bits, or outcomes of points."""


class Plan(ABC):
    """Rows with shots; what a row measures, and what comes back for it, a subclass says.

    Attributes
    ----------
    theta
        Set where a feature map is trained: row s holds the values of its trainable parameters at
        which points s N to (s + 1) N - 1 are the backend's N points.
    """

    shots: IntArray
    landmarks: "Landmarks | None" = None
    letters: Any = None  # the Pauli settings, where points are measured
    theta: FloatArray | None = None
    bits: int | None = None  # of an outcome, where pairs are answered by their flipped bits
    ROWS: ClassVar[tuple[str, ...]]  # columns that say what a row measures
    calibrates: ClassVar[bool] = False  # whether it measures the readout, not the user's points

    def __post_init__(self) -> None:
        names = (*self.ROWS, "shots")
        for name in names:
            object.__setattr__(self, name, as_column(getattr(self, name), name))
        lengths = [len(getattr(self, name)) for name in names]
        if len(set(lengths)) > 1:
            raise InputError(
                f"{', '.join(self.ROWS)} and shots must have one length, got "
                f"{', '.join(map(str, lengths[:-1]))} and {lengths[-1]}."
            )
        if self.shots.sum(dtype=np.float64) > MAX_COUNT:
            raise InputError(
                f"shots must be at most 2**50 in all, got {self.shots.sum(dtype=np.float64):.3g}."
            )

    @property
    def n_qubits(self) -> int | None:
        """Qubits whose outcomes answer a row; None where hits of a pair do."""
        return None

    def __len__(self) -> int:
        return len(self.shots)

    @property
    def total(self) -> int:
        """All shots of the plan together."""
        return int(np.sum(self.shots))

    def equals(self, other: object) -> bool:
        """Return whether both ask for the same shots of the same in the same order, at one θ."""
        return type(other) is type(self) and all(
            np.array_equal(value, getattr(other, name))
            for name, value in vars(self).items()
            if name != "landmarks"
        )

    def without(self, done: Self) -> Self:
        """Return what is left of the plan after ``done``, which has the same rows."""
        rest = self.shots - done.shots
        left = rest > 0
        rows: dict[str, Any] = {name: getattr(self, name)[left] for name in self.ROWS}
        return replace(self, shots=rest[left], **rows)  # type: ignore[type-var]

    def cut_to(self, shots: ArrayLike) -> Self:
        """Return the plan with the shots that each row really got, at most the planned ones."""
        done = as_counts(shots, "shots")
        if done.shape != self.shots.shape or np.any((done < 0) | (done > self.shots)):
            raise InputError(
                f"shots must be {len(self)} counts between 0 and the planned ones, "
                f"got {done.shape[0]} with a largest of {done.max(initial=0)}."
            )
        return replace(self, shots=done)  # type: ignore[type-var]

    @abstractmethod
    def checked(self, answer: object) -> Any:
        """Return what came back for the plan, or say what of it does not fit."""

    @abstractmethod
    def no_answer(self) -> Any:
        """Return the answer of a plan of which nothing was run."""

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps; ``from_ledger`` reads them back."""
        columns = {name: getattr(self, name) for name in (*self.ROWS, "shots")}
        if self.theta is None:
            return {}, columns
        # Bit for bit: what was measured is not computed again.
        bits = np.ascontiguousarray(self.theta).view(np.int64).ravel()
        return {"thetas": len(self.theta)}, columns | {"theta": bits}

    @classmethod
    @abstractmethod
    def from_ledger(cls, facts: Mapping[str, Any], columns: Mapping[str, IntArray]) -> Self:
        """Return the plan of a ledger's facts and columns; a KeyError names what is missing."""

    @abstractmethod
    def answer_to_ledger(self, answer: Any) -> dict[str, IntArray]:
        """Return the columns of an answer; ``answer_from_ledger`` reads them back."""

    @abstractmethod
    def answer_from_ledger(self, columns: Mapping[str, IntArray]) -> Any:
        """Return a ledger's answer, checked; a KeyError names what is missing."""

    @abstractmethod
    def counted(self, answer: Any) -> tuple[IntArray, ...]:
        """Return what was seen as the columns of a long table: what was measured, and counts."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The points whose rows were measured so that the other entries can be reconstructed.

    Parameters
    ----------
    points : array of int
        Indices of the landmark points.
    keep_block : bool
        Whether measured entries inside the landmark rows are kept as they are (hybrid), or the
        whole matrix is replaced by its reconstruction (plain Nyström).
    """

    points: IntArray
    keep_block: bool


@dataclass(frozen=True, eq=False)
class ShotPlan(Plan):
    """Shots to spend, one row per pair.

    Parameters
    ----------
    rows, cols : array of int
        The two points of each pair: training points both, or test point and training point.
    shots : array of int
        Shots for each pair.
    landmarks : Landmarks, default=None
        Set by allocators whose learner reconstructs unmeasured entries.
    theta : array of shape (settings, parameters), default=None
        Set where a map is trained: points s N to (s + 1) N - 1 are the N points at its row s.
    bits : int, default=None
        Set where flipped bits count: the answer then has a row per pair, with the number of shots
        that read 0, 1, … up to so many ones. None is answered by hits, the shots that read none.

    Examples
    --------
    >>> plan = ShotPlan([0, 0], [1, 2], [5, 3])
    >>> len(plan), plan.total
    (2, 8)
    """

    rows: IntArray
    cols: IntArray
    shots: IntArray
    landmarks: Landmarks | None = None
    theta: FloatArray | None = None
    bits: int | None = None
    ROWS: ClassVar[tuple[str, ...]] = ("rows", "cols")

    def checked(self, answer: object) -> IntArray:
        """Return the hits or flipped bits that came back, or say what of them does not fit."""
        what, each, must = "hits", "one entry", "lie between 0 and the shots"
        if self.bits is not None:
            what, must = "flipped bits", "be counts that sum to the shots"
            each = f"the shots that read 0 to {self.bits} ones"
        shape = self.no_answer().shape
        given = answer if isinstance(answer, np.ndarray) else as_array(answer, what)  # type: ignore[arg-type]
        if given.shape != shape:
            raise InputError(
                f"{what} must have {each} per pair of the plan: expected shape {shape}, got "
                f"{given.shape}."
            )
        counts = as_counts(given.reshape(-1), what).reshape(shape)
        if self.bits is None:
            wrong = (counts < 0) | (counts > self.shots)
        else:
            seen = np.minimum(counts, self.shots[:, None] + 1).sum(axis=1)  # no sum wraps around
            wrong = (counts < 0).any(axis=1) | (seen != self.shots)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InputError(
                f"{what} must {must} of their pair: pair ({self.rows[k]}, {self.cols[k]}) had "
                f"{self.shots[k]} shots, got {counts[k].tolist()} {what} ({wrong.sum()} such)."
            )
        return counts

    def no_answer(self) -> IntArray:
        """Return no hits, or no flipped bits."""
        width = () if self.bits is None else (self.bits + 1,)
        return np.zeros((len(self), *width), dtype=np.int64)

    def to_ledger(self) -> tuple[dict[str, Any], dict[str, IntArray]]:
        """Return the facts and columns that a ledger keeps, those of the landmarks among them."""
        facts, columns = super().to_ledger()
        if self.landmarks is not None:
            facts["keep_block"] = self.landmarks.keep_block
            columns["landmarks"] = self.landmarks.points
        if self.bits is not None:
            facts["bits"] = self.bits
        return facts, columns

    @classmethod
    def from_ledger(cls, facts: Mapping[str, Any], columns: Mapping[str, IntArray]) -> Self:
        """Return the plan of a ledger's facts and columns."""
        landmarks = None
        if "landmarks" in columns:
            landmarks = Landmarks(columns["landmarks"], bool(facts["keep_block"]))
        pairs = columns["rows"], columns["cols"], columns["shots"]
        return cls(*pairs, landmarks, theta_from(facts, columns), facts.get("bits"))

    def answer_to_ledger(self, answer: IntArray) -> dict[str, IntArray]:
        """Return the column of the hits, or of flipped bits pair after pair."""
        return {"hits": answer.reshape(-1)}

    def answer_from_ledger(self, columns: Mapping[str, IntArray]) -> IntArray:
        """Return a ledger's hits or flipped bits, checked."""
        given, shape = columns["hits"], self.no_answer().shape
        return self.checked(given.reshape(shape) if given.size == math.prod(shape) else given)

    def counted(self, answer: IntArray) -> tuple[IntArray, ...]:
        """Return row, column, shots and hits or flipped bits of the pairs that got shots."""
        ran = self.shots > 0
        return self.rows[ran], self.cols[ran], self.shots[ran], answer[ran]


def theta_from(facts: Mapping[str, Any], columns: Mapping[str, IntArray]) -> FloatArray | None:
    """Return the θ of a ledger's plan, as it was written; None where it has none."""
    if "theta" not in columns:
        return None
    bits = np.ascontiguousarray(columns["theta"], dtype=np.int64)
    return bits.view(np.float64).reshape(facts["thetas"], -1)


class UnitTable(Shown):
    """Counts of training points; a unit is what an allocator gives shots to, a pair or a point."""

    n_points: int
    shots: IntArray
    PLAN: ClassVar[type[Plan]]  # whose answers it counts

    @property
    def unit_shots(self) -> IntArray:
        """Shots of each unit, all settings of a point together."""
        return np.array(self.shots if self.shots.ndim == 1 else self.shots.sum(axis=1))

    @property
    def total(self) -> int:
        """All shots spent so far."""
        return int(self.shots.sum())

    @abstractmethod
    def add(self, plan: Any, answer: Any) -> None:
        """Count what came back for an executed plan; on bad input the table is unchanged."""

    def read_only(self) -> Self:
        """Return a copy whose counts cannot be changed, for code that is not trusted with them."""
        made = copy(self)
        for name, column in vars(self).items():
            if isinstance(column, np.ndarray):
                kept = column.copy()
                kept.setflags(write=False)
                setattr(made, name, kept)
        return made
