"""What the report of a run leaves out, and why."""

from aqka.report.exact_kernel import ExactKernel
from aqka.study.rounds import MAX_ASSESSED_POINTS
from aqka.study.study_run import StudyRun

MAX_ROUNDS_POINTS = 1000  # above it only the last round has a Gini: each takes seconds


def is_small(run: StudyRun) -> bool:
    """Return whether a run is small enough for what takes minutes of larger ones."""
    return len(run.points.train) <= MAX_ASSESSED_POINTS


def what_is_left_out(run: StudyRun, exact: ExactKernel | str) -> list[str]:
    """Return what was left out, and why."""
    notes = []
    if isinstance(exact, str):
        notes.append(f"The exact kernel is not simulated: {exact}.")
    if run.points.origin.train_columns is None:
        notes.append("The run does not keep the user's columns: plain models see the features.")
    if not is_small(run):
        notes.append(
            f"Above {MAX_ASSESSED_POINTS} training points accuracy by cross-validation, the "
            "curve of fewer shots, how sure the comparison with even shots is and intervals that "
            "count the training shots are left out: they take minutes."
        )
    if len(run.points.train) > MAX_ROUNDS_POINTS:
        notes.append(
            f"Above {MAX_ROUNDS_POINTS} training points only the last round has a Gini, for the "
            "same reason."
        )
    if run.session.table.total and getattr(run.session, "landmarks", None) is not None:
        notes.append(
            "The allocator completes rows from landmarks; how that compares with even shots is not "
            "worked out."
        )
    predictions = run.audits.get("predictions")
    if run.session.done and predictions is not None and not predictions.sound:
        notes.append("The test points are left out: the ledger of the predictions is not sound.")
    return notes
