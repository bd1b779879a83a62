"""A run's progress as a table, once or live."""

import time

from rich.table import Table
from rich.text import Text

from aqka._util.text import inert
from aqka.backends.base import JobState
from aqka.planning.budget import duration
from aqka.study.progress import Progress


def progress_table(title: str, now: Progress) -> Table:
    """Return one row per figure."""
    table = Table(title=Text(inert(title, 60)), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in progress_rows(now):
        table.add_row(Text(name), Text(value))
    return table


def progress_rows(now: Progress) -> list[tuple[str, str]]:
    """Return name and value of each figure."""
    of_planned = "" if now.rounds_planned is None else f" of {now.rounds_planned}"
    return [
        ("state", now.state),
        ("backend", now.backend or "–"),
        *(("job", job_text(job)) for job in now.jobs),
        ("rounds", f"{now.rounds}{of_planned}"),
        ("shots spent", f"{now.shots:,} of {now.budget:,}"),
        ("shots for predictions", _predictions(now)),
        ("shots left", f"{now.shots_left:,}"),
        (f"{now.unit} seen", f"{now.pairs_seen:,} of {now.pairs:,}"),
        ("Gini, from counts", _figure(now.gini)),
        ("accuracy, cross-validated", _figure(now.accuracy)),
        ("QPU time", "–" if now.qpu_seconds is None else duration(now.qpu_seconds)),
        ("last entry", _ago(now.updated_at)),
        ("time left", "–" if now.seconds_left is None else f"about {duration(now.seconds_left)}"),
    ]


def _predictions(now: Progress) -> str:
    if now.prediction_budget is None:
        return "–"
    if now.predicted:
        return f"{now.prediction_shots:,}, all made"
    return f"{now.prediction_shots:,} of at most {now.prediction_budget:,}"


def job_text(job: JobState) -> str:
    """Return a job's id, state and place in the queue."""
    place = "" if job.queue_position is None else f", place {job.queue_position} in the queue"
    return f"{inert(job.job_id)}: {inert(job.state)}{place}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _ago(at: float | None) -> str:
    if at is None:
        return "–"
    passed = time.time() - at
    # A clock that was put back, or a ledger with a time of its own choosing.
    return f"{duration(round(passed))} ago" if 0 <= passed < 1e10 else "–"
