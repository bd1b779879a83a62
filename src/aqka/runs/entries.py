"""A plan as an entry of the ledger, and back."""

from typing import Any

from aqka._util.arrays import IntArray
from aqka.core.plans import Landmarks, ShotPlan
from aqka.runs.ledger import Entry


def plan_columns(plan: ShotPlan) -> tuple[dict[str, Any], dict[str, IntArray]]:
    """Return body and arrays of a plan's entry; :func:`plan_of` reads them back."""
    arrays = {"rows": plan.rows, "cols": plan.cols, "shots": plan.shots}
    if plan.landmarks is None:
        return {}, arrays
    keep_block = {"keep_block": plan.landmarks.keep_block}
    return keep_block, arrays | {"landmarks": plan.landmarks.points}


def plan_of(entry: Entry) -> ShotPlan:
    """Return the plan of a ``planned`` entry."""
    arrays = entry.arrays
    landmarks = None
    if "landmarks" in arrays:
        landmarks = Landmarks(arrays["landmarks"], bool(entry.body["keep_block"]))
    return ShotPlan(arrays["rows"], arrays["cols"], arrays["shots"], landmarks)
