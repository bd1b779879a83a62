"""What a run's plans may name, as the fingerprint in its ledger says.

A number in a ledger that anyone may have made decides how much memory its reader takes, so every
one is checked against a limit before anything is built.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aqka._util.arrays import MAX_COUNT
from aqka._util.limits import MAX_PAIRS, MAX_POINTS
from aqka.core.calibration import CalibrationPlan
from aqka.core.pairs import Diagonal
from aqka.core.plans import Plan, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError


@dataclass(frozen=True)
class Extent:
    """What a run's plans may name; None where it has none of that kind.

    Attributes
    ----------
    points, diagonal
        Training points, and of a run of pairs whether their own entries are measured.
    block
        Of a prediction by pairs: test points and training points.
    new_points
        Of a prediction that measures points: how many.
    pauli
        Of a run that measures points: settings and qubits.
    calibration
        Of one that calibrates the readout first: the shots of that.
    """

    points: int | None = None
    diagonal: Diagonal | None = None
    block: tuple[int, int] | None = None
    new_points: int | None = None
    pauli: tuple[int, int] | None = None
    calibration: int | None = None

    @classmethod
    def of(cls, facts: dict[str, Any]) -> "Extent":
        """Read a fingerprint."""
        pauli = _pauli(facts)
        most = MAX_POINTS if pauli is None else MAX_PAIRS // pauli[0]
        diagonal = facts.get("diagonal")
        if "diagonal" in facts and diagonal not in ("known", "measured"):
            raise InputError("diagonal must be 'known' or 'measured'")
        found = cls(
            _within(facts, "points", 2, most),
            diagonal,
            _block(facts),
            _within(facts, "new_points", 1, most),
            pauli,
            _within(facts, "calibration", 2, MAX_COUNT),
        )
        trains = found.points is not None and (pauli is not None or diagonal is not None)
        if not trains and found.block is None and (found.new_points is None or pauli is None):
            raise InputError("its fingerprint does not say which pairs or points it measures")
        return found

    def check(self, plan: Plan) -> None:
        """Refuse a plan that names what the run does not have."""
        if isinstance(plan, PointPlan):
            self._check_points(plan)
        elif isinstance(plan, CalibrationPlan):
            self._check_references(plan)
        else:
            assert isinstance(plan, ShotPlan)
            self._check_pairs(plan)

    def _check_points(self, plan: PointPlan) -> None:
        if plan.letters.shape != self.pauli:
            raise InputError(
                f"its settings have shape {plan.letters.shape}, but the run has {self.pauli}"
            )
        for size in (self.points, self.new_points):
            _check_below(int(plan.points.max(initial=-1)), size, "point")

    def _check_references(self, plan: CalibrationPlan) -> None:
        if self.pauli is None or self.calibration is None:
            raise InputError("it plans a calibration, but the run has none")
        if plan.n_qubits != self.pauli[1]:
            raise InputError(
                f"it calibrates {plan.n_qubits} qubits, but the run has {self.pauli[1]}"
            )
        if plan.total > self.calibration:
            raise InputError(
                f"it calibrates with {plan.total} shots, but the run has {self.calibration}"
            )

    def _check_pairs(self, plan: ShotPlan) -> None:
        if self.pauli is not None:
            raise InputError("it plans pairs, but the run measures points")
        for largest, size, what in self._named(plan):
            _check_below(largest, size, what)
        if plan.landmarks is not None:
            points = plan.landmarks.points
            if not points.size or points.min() < 0 or np.unique(points).size != points.size:
                raise InputError("its landmarks are none, negative or repeated")
        if self.diagonal == "known" and np.any(plan.rows == plan.cols):
            raise InputError("it measures the diagonal, which is known")

    def _named(self, plan: ShotPlan) -> Iterator[tuple[int, int, str]]:
        """Yield the largest number that a plan names, the size it must stay below, and of what."""
        if self.points is not None:
            columns = [plan.rows, plan.cols]
            if plan.landmarks is not None:
                columns.append(plan.landmarks.points)
            yield max(int(column.max(initial=-1)) for column in columns), self.points, "point"
        if self.block is not None:
            yield int(plan.rows.max(initial=-1)), self.block[0], "row"
            yield int(plan.cols.max(initial=-1)), self.block[1], "column"


def as_number(text: Any) -> int | None:
    """Return a whole number as a fingerprint writes it, small enough for 64 bits."""
    is_number = isinstance(text, str) and re.fullmatch("[0-9]{1,18}", text) is not None
    return int(text) if is_number else None


def _check_below(largest: int, size: int | None, what: str) -> None:
    if size is not None and largest >= size:
        raise InputError(f"it names {what} {largest}, but the run has {size}")


def _within(facts: dict[str, Any], name: str, least: int, most: int) -> int | None:
    if name not in facts:
        return None
    number = as_number(facts[name])
    if number is None or not least <= number <= most:
        raise InputError(f"{name} must be a number from {least} to {most}")
    return number


def _pauli(facts: dict[str, Any]) -> tuple[int, int] | None:
    if "settings" not in facts:
        return None
    settings, qubits = as_number(facts["settings"]), as_number(facts.get("qubits"))
    if not settings or not qubits or settings > MAX_PAIRS or qubits > MAX_QUBITS:
        raise InputError(
            f"settings and qubits must be numbers of at least 1, at most {MAX_QUBITS} qubits"
        )
    return settings, qubits


def _block(facts: dict[str, Any]) -> tuple[int, int] | None:
    if "rows" not in facts:
        return None
    rows, cols = as_number(facts["rows"]), as_number(facts.get("cols"))
    if not rows or not cols or rows * cols > MAX_PAIRS:
        raise InputError(
            f"rows and cols must be numbers of at least 1 that make at most {MAX_PAIRS} pairs"
        )
    return rows, cols
