"""What the plans of a run may name, as its ledger's first entry says.

A number in a ledger that anyone may have made decides how much memory its reader takes, so each
one is checked against a limit before anything is built.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal

from aqka._util.arrays import MAX_COUNT, MAX_PAIRS, MAX_POINTS, IntArray
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError

Diagonal = Literal["known", "measured"]


@dataclass(frozen=True)
class Extent:
    """What a run's plans may name; None where it has none of that kind."""

    points: int | None = None  # of training
    diagonal: Diagonal | None = None  # of pairs: whether their own entries are measured
    block: tuple[int, int] | None = None  # test and training points of a prediction by pairs
    new_points: int | None = None  # that a prediction measures
    pauli: tuple[int, int] | None = None  # settings and qubits of a run that measures points
    calibration: int | None = None  # shots of it
    bits: int | None = None  # whose flips a run of pairs counts

    @property
    def design(self) -> str:
        """Name of the design that the run measures."""
        return "pairs" if self.pauli is None else "points"

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Extent":
        """Read a fingerprint."""
        pauli = _two(facts, "settings", "qubits")
        if pauli is not None and (pauli[0] > MAX_PAIRS or not 0 < pauli[1] <= MAX_QUBITS):
            raise InputError(
                f"settings and qubits must be numbers of at least 1, at most {MAX_QUBITS} qubits"
            )
        block = _two(facts, "rows", "cols")
        if block is not None and not 0 < block[0] * block[1] <= MAX_PAIRS:
            raise InputError(
                f"rows and cols must be numbers of at least 1 that make at most {MAX_PAIRS} pairs"
            )
        diagonal = facts.get("diagonal")
        if "diagonal" in facts and diagonal not in ("known", "measured"):
            raise InputError("diagonal must be 'known' or 'measured'")
        most = MAX_POINTS if pauli is None else MAX_PAIRS // pauli[0]
        found = cls(
            _within(facts, "points", 2, most),
            diagonal,
            block,
            _within(facts, "new_points", 1, most),
            pauli,
            _within(facts, "calibration", 2, MAX_COUNT),
            _within(facts, "bits", 1, MAX_QUBITS),
        )
        trains = found.points is not None and (pauli is not None or diagonal is not None)
        if not trains and found.block is None and (found.new_points is None or pauli is None):
            raise InputError("its fingerprint does not say which pairs or points it measures")
        return found


def as_number(text: Any) -> int | None:
    """Return a whole number as a fingerprint writes it, small enough for 64 bits."""
    is_number = isinstance(text, str) and re.fullmatch("[0-9]{1,18}", text) is not None
    return int(text) if is_number else None


def check_below(numbers: IntArray, size: int | None, what: str) -> None:
    """Refuse a plan that names what lies beyond the size of its run."""
    largest = int(numbers.max(initial=-1))
    if size is not None and largest >= size:
        raise InputError(f"it names {what} {largest}, but the run has {size}")


def _within(facts: dict[str, Any], name: str, least: int, most: int) -> int | None:
    if name not in facts:
        return None
    number = as_number(facts[name])
    if number is None or not least <= number <= most:
        raise InputError(f"{name} must be a number from {least} to {most}")
    return number


def _two(facts: dict[str, Any], first: str, second: str) -> tuple[int, int] | None:
    """Return two numbers that stand together; one that cannot be read is 0."""
    if first not in facts:
        return None
    one, other = as_number(facts[first]) or 0, as_number(facts.get(second)) or 0
    return (one, other) if one else (0, 0)
