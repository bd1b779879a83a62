"""What a study's run was quoted and what it used, read from its ledgers."""

import math
from typing import Any

from aqka.report.bill import BillRow, bill
from aqka.study.carry_out import stored_quote
from aqka.study.results import quote_versus_actual, seconds_at_work
from aqka.study.study_run import StudyRun


def usage_of(run: StudyRun) -> list[dict[str, Any]]:
    """Return quoted against used, from the ledgers; the predictions' quote is an upper limit."""
    quoted = stored_quote(run.results)
    if quoted is None:
        return []
    rounds = run.history.rounds
    actual = {
        "shots": run.history.shots,
        "submissions": len(rounds),
        "qpu_seconds": run.history.qpu_seconds,
        "wall_seconds": _wall_seconds(run),
        "rate": run.study.budget.rate,
    }
    rows = quote_versus_actual(quoted, actual)
    predictions = run.audits.get("predictions")
    most = run.results.get("test_shots")
    if predictions is not None and isinstance(most, int):
        rows.append(
            {"figure": "shots for predictions", "quoted": most, "actual": predictions.shots}
        )
        if predictions.qpu_seconds is not None:
            used = predictions.qpu_seconds
            rows.append({"figure": "QPU seconds for predictions", "quoted": None, "actual": used})
    return rows


def _wall_seconds(run: StudyRun) -> float:
    """Return the seconds of a run: those of its results, or of its ledger so far."""
    actual = run.results.get("actual")
    stored = actual.get("wall_seconds") if isinstance(actual, dict) else None
    if isinstance(stored, int | float) and 0 <= stored < math.inf:
        return float(stored)
    return seconds_at_work(run.history, None)


def bill_of(run: StudyRun) -> list[BillRow]:
    """Return what a run cost, training and predictions together."""
    predictions, rate = run.audits.get("predictions"), run.study.budget.rate
    return bill(run.audits["training"], predictions, stored_quote(run.results), rate)
