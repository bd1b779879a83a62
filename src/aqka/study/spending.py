"""What a study may spend: its split, its ceiling, and what of it predictions get."""

from dataclasses import replace
from pathlib import Path

from aqka._util.text import inert
from aqka.backends.base import Workload
from aqka.errors import CeilingError, InputError
from aqka.planning.budget import duration
from aqka.planning.device import make_ceiling
from aqka.planning.quotes import PREDICTIONS, Quote, Wish
from aqka.runs.audit import begun_history
from aqka.runs.ledger import LEDGER_NAME
from aqka.runs.spend import Ceiling
from aqka.study.data import Points
from aqka.study.schema import Study
from aqka.study.seal import PREDICTIONS_NAME


def wish_of(study: Study, points: Points) -> Wish:
    """Return what a study buys beside its training shots."""
    budget, sentinels = study.budget, study.sentinels
    test_shots = budget.wanted_test_shots
    return Wish(
        new_points=0 if test_shots == 0 else len(points.test),
        train_share=budget.train_share,
        test_shots=test_shots,
        sentinel_shots=sentinels.points * sentinels.shots,
        calibration_shots=study.method.calibration_shots,
        on_top=budget.total is None,
        design=study.method.design,
    )


def prediction_shots(quoted: Quote, directory: Path) -> int:
    """Return the shots that predictions may take; those that a begun run promised its ledger."""
    ledger = directory / PREDICTIONS_NAME / LEDGER_NAME
    begun = begun_history(ledger) if ledger.exists() else None
    if begun is not None and begun.budget is not None:
        return begun.budget
    part = quoted.part(PREDICTIONS)
    return 0 if part is None else part.shots


def study_ceiling(study: Study, quoted: Quote, given: str | None = None) -> Ceiling | None:
    """Return the ceiling of a study: the one given now, its own, or its total."""
    own = study.budget.total if study.budget.ceiling is None else study.budget.ceiling
    limit = own if given is None else given
    if limit is None:
        return None
    return make_ceiling(
        str(limit), execution_seconds=quoted.execution_seconds, rate=study.budget.rate
    )


def check_ceiling(quoted: Quote, ceiling: Ceiling | None, *, new: bool) -> Quote:
    """Refuse a ceiling that a new run's first round does not fit under; warn where not all does."""
    if ceiling is None:
        return quoted
    sentinels = quoted.part("sentinels")
    beside = 0 if sentinels is None else sentinels.shots // quoted.submissions
    shots = quoted.shots_per_round[0] + beside
    try:
        if new:
            executions = -(-shots // quoted.tiles)
            ceiling.check(Workload(shots, executions, quoted.jobs_per_round[0]))
    except CeilingError as error:
        raise InputError(
            f"budget.ceiling is below one round: {inert(error, limit=None)}. Raise it, or lower "
            "the budget; nothing was spent or written."
        ) from None
    if fits(quoted, ceiling):
        return quoted
    words = (
        f"All in all at most {quoted.total_shots:,} shots and {duration(quoted.total_qpu_seconds)} "
        f"of QPU time are quoted, more than the ceiling of {inert(ceiling.words)}: the run stops "
        "there, keeps what it has, and can be resumed with a higher one."
    )
    return replace(quoted, warnings=(*quoted.warnings, words))


def fits(quoted: Quote, ceiling: Ceiling) -> bool:
    """Return whether everything quoted fits under a ceiling."""
    if ceiling.shots is not None and quoted.total_shots > ceiling.shots:
        return False
    return ceiling.seconds is None or quoted.total_qpu_seconds <= ceiling.seconds * (1 + 1e-9)
