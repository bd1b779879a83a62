"""Plans and answers: checked, written as entries of the ledger, and read back.

A number in a ledger that anyone may have made decides how much memory its reader takes, so each
one is checked against a limit before anything is built.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from aqka._util.arrays import MAX_COUNT, MAX_PAIRS, MAX_POINTS, IntArray
from aqka._util.text import inert, without_secrets
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcome_plans import OutcomePlan
from aqka.core.outcomes import OutcomeCounts, outcomes_shape
from aqka.core.pairs import Diagonal
from aqka.core.plans import Answer, Landmarks, Plan, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.core.settings import MAX_QUBITS
from aqka.errors import InputError, JobError
from aqka.runs.ledger import Entry

RecordedPlan: TypeAlias = ShotPlan | PointPlan | CalibrationPlan
OUTCOMES = ("rows", "outcomes", "counts")
MAX_EVIDENCE_CHARACTERS = 2000


def plan_columns(plan: Plan) -> tuple[dict[str, Any], dict[str, IntArray]]:
    """Return body and arrays of a plan's entry; :func:`plan_of` reads them back."""
    arrays = {name: getattr(plan, name) for name in (*plan.ROWS, "shots")}
    if isinstance(plan, PointPlan):
        # The ledger keeps columns, so a table of letters is written row after row.
        return {"qubits": plan.n_qubits}, arrays | {"letters": plan.letters.reshape(-1)}
    if isinstance(plan, CalibrationPlan):
        return {"qubits": plan.n_qubits}, arrays
    landmarks = getattr(plan, "landmarks", None)
    if landmarks is None:
        return {}, arrays
    return {"keep_block": landmarks.keep_block}, arrays | {"landmarks": landmarks.points}


def plan_of(entry: Entry) -> RecordedPlan:
    """Return the plan of a ``planned`` entry."""
    arrays = entry.arrays
    if "references" in arrays:
        return CalibrationPlan(arrays["references"], arrays["shots"], entry.body["qubits"])
    if "letters" in arrays:
        letters = _letters(arrays["letters"], entry.body["qubits"])
        return PointPlan(arrays["points"], arrays["settings"], arrays["shots"], letters)
    landmarks = None
    if "landmarks" in arrays:
        landmarks = Landmarks(arrays["landmarks"], bool(entry.body["keep_block"]))
    return ShotPlan(arrays["rows"], arrays["cols"], arrays["shots"], landmarks)


def _letters(column: IntArray, qubits: Any) -> IntArray:
    """Return the table of letters that was written row after row."""
    if not isinstance(qubits, int) or qubits < 1 or len(column) % qubits:
        raise InputError("its settings cannot be read: qubits must divide their letters")
    return column.reshape(-1, qubits)


def answer_columns(answer: Answer) -> dict[str, IntArray]:
    """Return the arrays of an answer; :func:`answer_of` reads them back."""
    if isinstance(answer, OutcomeCounts):  # columns again: many qubits row after row
        return {name: getattr(answer, name).reshape(-1) for name in OUTCOMES}
    return {"hits": answer}


def answer_of(entry: Entry, measured: Plan) -> Answer:
    """Return the answer in a ``collected`` or ``failed`` entry, which must fit what was measured.

    A KeyError names what the entry does not have.
    """
    answer: Any = None
    if isinstance(measured, OutcomePlan):
        rows, outcomes, counts = (entry.arrays[name] for name in OUTCOMES)
        shape = outcomes_shape(len(rows), measured.n_qubits)
        if outcomes.size == math.prod(shape):  # what does not fit is refused below
            outcomes = outcomes.reshape(shape)
        answer = OutcomeCounts(rows, outcomes, counts)
    else:
        answer = entry.arrays["hits"]
    return measured.checked(answer)  # type: ignore[no-any-return]


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


def as_seconds(given: Any) -> float | None:
    """Return QPU seconds as a backend or a ledger states them; None: not known.

    A service that cannot be asked for the bill says anything; the counts are no worse for it.
    """
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 <= given < math.inf:
        return None
    return float(min(given, 1e300))  # a whole number beyond a float's range would overflow


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


class WrongAnswer(JobError):
    """A backend answered with something that does not fit the plan.

    The shots were run, so they count against the budget; the answer is kept as evidence.
    """

    def __init__(self, plan: Plan, answer: object, reason: str) -> None:
        super().__init__(f"the backend's answer cannot be used: {reason}", lost=plan.total)
        self.evidence = as_evidence(answer)


def check_answer(plan: Plan, answer: object) -> Answer:
    """Return a backend's answer, checked before anything is written or believed."""
    try:
        return plan.checked(answer)  # type: ignore[no-any-return]
    except InputError as error:
        raise WrongAnswer(plan, answer, str(error)) from error


def as_evidence(answer: object) -> str:
    """Return what a backend said, as text that is safe to keep."""
    said = without_secrets(f"{type(answer).__name__} {answer!r}")
    return inert(said, MAX_EVIDENCE_CHARACTERS)
