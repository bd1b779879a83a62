"""Quotes, progress and results as tables."""

import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import inert
from aqka.backends.base import JobState
from aqka.cli.options import say
from aqka.maths.metrics import share_interval
from aqka.planning.budget import duration
from aqka.planning.device import DeviceModel
from aqka.planning.quotes import Quote
from aqka.study.progress import Progress

if TYPE_CHECKING:
    from aqka.report.run_report import RunReport

COLOURS = {"learnt": "green", "guessing": "red", "plain": "yellow", "open": "blue"}


def print_quote(quote: Quote, device: DeviceModel, rate: float | None, console: Console) -> None:
    """Print the figures with their notes, then warnings and advice."""
    table = Table(title=f"{quote.n_points} points, {quote.shots:,} shots")
    table.add_column("figure", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("how")
    for row in quote_rows(quote, device, rate):
        table.add_row(*row)
    console.print(table)
    if quote.parts:
        console.print(_whole_bill(quote))
    for title, sentences in (("Warning", quote.warnings), ("Advice", quote.advice)):
        for sentence in sentences:
            say(f"{title}: {sentence}")
    if quote.split:
        say(f"Split: {quote.split}")
    of = "everything above" if quote.parts else "the training kernel alone; predictions are extra"
    say(f"An estimate of {of}. Constants and their sources: --json.")


def _whole_bill(quote: Quote) -> Table:
    """Return training, predictions and all the rest, and what they come to."""
    table = Table(title="the whole bill, at most")
    for heading in ("part", "shots", "jobs", "QPU time", "cost"):
        table.add_column(heading, justify="left" if heading == "part" else "right", no_wrap=True)
    per_second = None if quote.cost is None else quote.cost / quote.qpu_seconds
    parts = [("training", quote.shots, quote.jobs, quote.qpu_seconds)]
    for part in (*quote.parts, quote.total):
        parts.append((part.name, part.shots, part.jobs, part.qpu_seconds))
    for name, shots, jobs, seconds in parts:
        cost = "–" if per_second is None else f"{per_second * seconds:,.2f} {quote.currency}"
        table.add_row(name, f"{shots:,}", f"{jobs:,}", duration(seconds), cost.strip())
    return table


def quote_rows(quote: Quote, device: DeviceModel, rate: float | None) -> list[tuple[str, str, str]]:
    """Return name, value and derivation of each figure."""
    unit, n_units, how = quote.units
    rows = [
        (f"{unit}s", f"{n_units:,}", how),
        ("shots", f"{quote.shots:,}", "of all rounds"),
        ("executions", f"{quote.executions:,}", _per_execution(quote.tiles)),
        (f"shots per {unit}", f"{quote.shots / n_units:.3g}", "mean"),
        ("submissions", f"{quote.submissions}", "warm-up and rounds, without empty ones"),
        ("shots per round", _span(quote.shots_per_round), "smallest to largest"),
        ("jobs", f"{quote.jobs}", f"{_span(quote.jobs_per_round)} per round"),
        (
            "one execution",
            duration(quote.execution_seconds),
            f"rep_delay {duration(device.rep_delay)} + {duration(device.execution_overhead)} + "
            f"depth {quote.depth} × {duration(device.layer_time)}",
        ),
        (
            "QPU time",
            duration(quote.qpu_seconds),
            f"jobs × {duration(device.job_overhead)} + executions × one execution",
        ),
        (
            "queue time",
            duration(quote.queue_seconds),
            f"submissions × waiting jobs × {duration(device.queued_job_seconds)}",
        ),
        ("classical time", duration(quote.classical_seconds), "between two submissions, ∝ N³"),
        (
            "wall time",
            duration(quote.wall_seconds),
            f"transpile once ({duration(device.transpile_seconds)}) + queue + QPU + classical",
        ),
        ("session time", duration(quote.session_seconds), "QPU + classical: billed in a session"),
    ]
    if quote.cost is not None:
        price = f"{quote.cost:,.2f} {quote.currency}".strip()
        rows.append(("cost", price, f"QPU time at {rate:g} per minute, outside a session"))
    if quote.tiles > 1:
        rows.append(("without tiles", duration(quote.untiled_seconds), _without_tiles(quote)))
    return rows


def _per_execution(tiles: int) -> str:
    return "one shot each" if tiles == 1 else f"{tiles} shots each, one on every tile"


def _without_tiles(quote: Quote) -> str:
    """Return how much more the same shots cost one at a time."""
    saved = (
        f"QPU time of {quote.shots:,} executions, {quote.shots / quote.executions:.1f} × as many"
    )
    if quote.untiled_cost is None:
        return saved
    return f"{saved}; {quote.untiled_cost:,.2f} {quote.currency}".strip()


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


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
        (f"{now.unit} seen", f"{now.seen:,} of {now.units:,}"),
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


def print_results(results: dict[str, Any], report: "RunReport | None", console: Console) -> None:
    """Print the verdict, accuracy, what was used, and what to do next.

    Verdict and advice are the report's; without one there are figures only.
    """
    if report is not None:
        _print_verdict(report, console)
    _print_figures(results, console)
    if report is not None:
        _print_advice(report)


def _print_verdict(report: "RunReport", console: Console) -> None:
    from aqka.report.verdict import decide

    verdict = decide(report)
    line = Text(inert(verdict.headline, limit=None), style=f"bold {COLOURS[verdict.outcome]}")
    line.append(f": {inert(verdict.reason, limit=None)}", style="default not bold")
    console.print(line, highlight=False, soft_wrap=True)


def _print_advice(report: "RunReport") -> None:
    from aqka.report.answers import answer_questions

    for answer in answer_questions(report):
        say(f"{answer.question} {inert(answer.words, limit=None)}")


def _class_scores(found: dict[str, Any]) -> list[tuple[str, str]]:
    count = found["test_points"]
    low, high = share_interval(round(found["accuracy"] * count), count)
    return [
        ("accuracy", f"{found['accuracy']:.3f}, 95 %: {low:.2f} to {high:.2f}"),
        ("balanced accuracy", f"{found['balanced_accuracy']:.3f}"),
        ("majority class", f"{found['majority_accuracy']:.3f}"),
        ("settled", f"{sum(found['settled'])} of {found['test_points']}"),
    ]


def _value_scores(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("root mean square error", f"{found['rmse']:.4g} ± {found['rmse_error']:.2g}"),
        ("mean absolute error", f"{found['mean_absolute_error']:.4g}"),
        ("R²", f"{found['r2']:.3f}"),
        ("training mean's error", f"{found['mean_rmse']:.4g}"),
    ]


def _print_figures(results: dict[str, Any], console: Console) -> None:
    found = results["results"]
    table = Table(title=f"{found['test_points']} test points", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in _rows(results):
        table.add_row(name, value)
    console.print(table)
    use = Table(title="quoted and used")
    for heading in ("figure", "quoted", "used"):
        use.add_column(heading, justify="left" if heading == "figure" else "right", no_wrap=True)
    for row in results["quote_versus_actual"]:
        use.add_row(Text(row["figure"]), _number(row["quoted"]), _number(row["actual"]))
    console.print(use)


def _rows(results: dict[str, Any]) -> list[tuple[str, str]]:
    found = results["results"]
    rows = [("shots a point", f"{found.get('shots_per_point', 0):,.0f}")]
    if "pairs" in found:
        rows = [("pairs seen", f"{found['pairs_seen']:,} of {found['pairs']:,}")]
    is_regression = found.get("task") == "regression"
    if not found["predictions"]:
        by_folds = found["cross_validated_accuracy"]
        shown = "–" if by_folds is None else f"{by_folds:.3f}"
        return [("accuracy, cross-validated", shown), *rows, ("predictions", "none: trained only")]
    return [
        *(_value_scores(found) if is_regression else _class_scores(found)),
        *rows,
        (
            "shots for predictions",
            f"{results['actual']['test_shots']:,} of {results['test_shots']:,}",
        ),
        ("shots in all", f"{_shots_in_all(results['actual']):,}"),
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _shots_in_all(actual: dict[str, Any]) -> int:
    return int(actual["shots"] + actual.get("calibration_shots", 0) + actual["test_shots"])
