"""What a study's run was quoted and what it used, read from its ledgers."""

import math
from typing import Any

from aqka.report.bill import BillRow, bill
from aqka.study.method import sentinel_shots
from aqka.study.quoting import stored_quote
from aqka.study.results import quote_versus_actual, training_use, wall_seconds
from aqka.study.study_run import StudyRun


def usage_of(run: StudyRun) -> list[dict[str, Any]]:
    """Return quoted against used, from the ledgers; the predictions' quote is an upper limit."""
    quoted = stored_quote(run.results)
    if quoted is None:
        return []
    predictions = run.audits.get("predictions")
    actual = {
        **training_use(run.history),
        "wall_seconds": wall_seconds(run.history),
        "rate": run.study.budget.rate,
        "sentinel_shots": sentinel_shots(run.history),
    }
    if predictions is not None:
        actual |= {
            "test_shots": predictions.shots,
            "test_submissions": predictions.rounds,
            "test_qpu_seconds": predictions.qpu_seconds,
            "test_wall_seconds": _prediction_seconds(run),
        }
    rows = quote_versus_actual(quoted, actual)
    most = run.results.get("test_shots")
    # A quote of 0.1.0 is of the training kernel alone.
    if not quoted.parts and predictions is not None and isinstance(most, int):
        rows.append(
            {"figure": "shots for predictions", "quoted": most, "actual": predictions.shots}
        )
        if predictions.qpu_seconds is not None:
            used = predictions.qpu_seconds
            rows.append({"figure": "QPU seconds for predictions", "quoted": None, "actual": used})
    return rows


def _prediction_seconds(run: StudyRun) -> float:
    """Return what the results say that predictions took; they may be anyone's."""
    actual = run.results.get("actual")
    stored = actual.get("test_wall_seconds") if isinstance(actual, dict) else None
    is_time = isinstance(stored, int | float) and 0 <= stored < math.inf
    return float(stored) if is_time else 0.0  # type: ignore[arg-type]


def bill_of(run: StudyRun) -> list[BillRow]:
    """Return what a run cost in all."""
    predictions, rate = run.audits.get("predictions"), run.study.budget.rate
    sentinels = sentinel_shots(run.history)
    return bill(run.audits["training"], predictions, stored_quote(run.results), rate, sentinels)
