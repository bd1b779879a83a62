"""Plans and answers as entries of the ledger, and back."""

from typing import Any, TypeAlias

from aqka._util.arrays import IntArray
from aqka.core.calibration import CalibrationPlan
from aqka.core.outcome_plans import OutcomePlan
from aqka.core.outcomes import OutcomeCounts
from aqka.core.plans import Answer, Landmarks, Plan, ShotPlan
from aqka.core.point_plans import PointPlan
from aqka.errors import InputError
from aqka.runs.ledger import Entry

RecordedPlan: TypeAlias = ShotPlan | PointPlan | CalibrationPlan
OUTCOMES = ("rows", "outcomes", "counts")


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
    if isinstance(answer, OutcomeCounts):
        return {name: getattr(answer, name) for name in OUTCOMES}
    return {"hits": answer}


def answer_of(entry: Entry, measured: Plan) -> Answer:
    """Return the answer in a ``collected`` or ``failed`` entry, which must fit what was measured.

    A KeyError names what the entry does not have.
    """
    answer: Any = None
    if isinstance(measured, OutcomePlan):
        answer = OutcomeCounts(*(entry.arrays[name] for name in OUTCOMES))
    else:
        answer = entry.arrays["hits"]
    return measured.checked(answer)  # type: ignore[no-any-return]
