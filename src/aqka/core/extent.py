"""What the plans of a run may name, as its ledger's first entry says."""

import re
from dataclasses import dataclass
from typing import Any, Literal

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

        def number(name: str) -> int:
            found = as_number(facts.get(name))
            if found is None:
                raise InputError(f"{name} must be a number")
            return found

        def if_named(name: str) -> int | None:
            return number(name) if name in facts else None

        return cls(
            if_named("points"),
            facts.get("diagonal"),
            (number("rows"), number("cols")) if "rows" in facts else None,
            if_named("new_points"),
            (number("settings"), number("qubits")) if "settings" in facts else None,
            if_named("calibration"),
            if_named("bits"),
        )


def as_number(text: Any) -> int | None:
    """Return a whole number as a fingerprint writes it, small enough for 64 bits."""
    is_number = isinstance(text, str) and re.fullmatch("[0-9]{1,18}", text) is not None
    return int(text) if is_number else None
