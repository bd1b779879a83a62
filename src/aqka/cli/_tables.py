"""Quotes, progress and results as tables."""

import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import figure_text, inert, number_text
from aqka.backends.base import JobState
from aqka.cli.options import make_table, say
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
    title = f"{quote.n_points} points, {quote.shots:,} shots"
    rows = quote_rows(quote, device, rate)
    console.print(make_table(title, ["figure", "value", "how"], rows, left=["how"]))
    if quote.parts:  # training, predictions and all the rest, and what they come to
        per_second = None if quote.cost is None else quote.cost / quote.qpu_seconds
        training = ("training", quote.shots, quote.jobs, quote.qpu_seconds)
        parts = [(p.name, p.shots, p.jobs, p.qpu_seconds) for p in (*quote.parts, quote.total)]
        bill = []
        for name, shots, jobs, seconds in (training, *parts):
            cost = "–" if per_second is None else f"{per_second * seconds:,.2f} {quote.currency}"
            bill.append((name, f"{shots:,}", f"{jobs:,}", duration(seconds), cost.strip()))
        headings = ["part", "shots", "jobs", "QPU time", "cost"]
        console.print(make_table("the whole bill, at most", headings, bill))
    for title, sentences in (("Warning", quote.warnings), ("Advice", quote.advice)):
        for sentence in sentences:
            say(f"{title}: {sentence}")
    if quote.split:
        say(f"Split: {quote.split}")
    of = "everything above" if quote.parts else "the training kernel alone; predictions are extra"
    say(
        f"An estimate of {of}. Times are as if on IBM hardware, also for a simulator. Constants "
        "and their sources: --json."
    )


def quote_rows(quote: Quote, device: DeviceModel, rate: float | None) -> list[tuple[str, str, str]]:
    """Return name, value and derivation of each figure."""
    unit, n_units, how = quote.units
    each = "one shot each" if quote.tiles == 1 else f"{quote.tiles} shots each, one on every tile"
    execution = (
        f"rep_delay {duration(device.rep_delay)} + {duration(device.execution_overhead)} + "
        f"depth {quote.depth} × {duration(device.layer_time)}"
    )
    job, queued = duration(device.job_overhead), duration(device.queued_job_seconds)
    transpiled = duration(device.transpile_seconds)
    rows = [
        (f"{unit}s", f"{n_units:,}", how),
        ("shots", f"{quote.shots:,}", "of all rounds"),
        ("executions", f"{quote.executions:,}", each),
        (f"shots per {unit}", f"{quote.shots / n_units:.3g}", "mean"),
        ("submissions", f"{quote.submissions}", "warm-up and rounds, without empty ones"),
        ("shots per round", _span(quote.shots_per_round), "smallest to largest"),
        ("jobs", f"{quote.jobs}", f"{_span(quote.jobs_per_round)} per round"),
        ("one execution", duration(quote.execution_seconds), execution),
        ("QPU time", duration(quote.qpu_seconds), f"jobs × {job} + executions × one execution"),
        ("queue time", duration(quote.queue_seconds), f"submissions × waiting jobs × {queued}"),
        ("classical time", duration(quote.classical_seconds), "between two submissions, ∝ N³"),
        (
            "wall time",
            duration(quote.wall_seconds),
            f"transpile once ({transpiled}) + queue + QPU + classical",
        ),
        ("session time", duration(quote.session_seconds), "QPU + classical: billed in a session"),
    ]
    if quote.cost is not None:
        price = f"{quote.cost:,.2f} {quote.currency}".strip()
        rows.append(("cost", price, f"QPU time at {rate:g} per minute, outside a session"))
    if quote.tiles > 1:
        more = quote.shots / quote.executions
        how = f"QPU time of {quote.shots:,} executions, {more:.1f} × as many"
        if quote.untiled_cost is not None:
            how += f"; {quote.untiled_cost:,.2f} {quote.currency}".rstrip()
        rows.append(("without tiles", duration(quote.untiled_seconds), how))
    return rows


def _span(counts: tuple[int, ...]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def progress_table(title: str, now: Progress) -> Table:
    """Return one row per figure."""
    return make_table(inert(title, 60), ["", ""], progress_rows(now), header=False)


def progress_rows(now: Progress) -> list[tuple[str, str]]:
    """Return name and value of each figure."""
    planned = "" if now.rounds_planned is None else f" of {now.rounds_planned}"
    predictions = "–"
    if now.predicted:
        predictions = f"{now.prediction_shots:,}, all made"
    elif now.prediction_budget is not None:
        predictions = f"{now.prediction_shots:,} of at most {now.prediction_budget:,}"
    passed = -1.0 if now.updated_at is None else time.time() - now.updated_at
    return [
        ("state", f"{now.state}, training the feature map" if now.trains_map else now.state),
        ("backend", now.backend or "–"),
        *(("job", job_text(job)) for job in now.jobs),
        ("rounds", f"{now.rounds}{planned}"),
        ("shots spent", f"{now.shots:,} of {now.budget:,}"),
        ("shots for predictions", predictions),
        ("shots left", f"{now.shots_left:,}"),
        (f"{now.unit} seen", f"{now.seen:,} of {now.units:,}"),
        ("Gini, from counts", _figure(now.gini)),
        ("accuracy, cross-validated", _figure(now.accuracy)),
        ("QPU time", duration(now.qpu_seconds) if now.qpu_seconds else "–"),
        # A clock that was put back, or a ledger with a time of its own choosing, is not shown.
        ("last entry", f"{duration(round(passed))} ago" if 0 <= passed < 1e10 else "–"),
        ("time left", "–" if now.seconds_left is None else f"about {duration(now.seconds_left)}"),
    ]


def job_text(job: JobState) -> str:
    """Return a job's id, state and place in the queue."""
    place = "" if job.queue_position is None else f", place {job.queue_position} in the queue"
    return f"{inert(job.job_id)}: {inert(job.state)}{place}"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def print_results(results: dict[str, Any], report: "RunReport | None", console: Console) -> None:
    """Print the verdict, accuracy, what was used and what to do next; without a report, figures."""
    if report is not None:
        from aqka.report.answers import decide

        verdict = decide(report)
        line = Text(inert(verdict.headline, limit=None), style=f"bold {COLOURS[verdict.outcome]}")
        line.append(f": {inert(verdict.reason, limit=None)}", style="default not bold")
        console.print(line, highlight=False, soft_wrap=True)
    title = f"{results['results']['test_points']} test points"
    console.print(make_table(title, ["", ""], _result_rows(results), header=False))
    timed = results["actual"]["qpu_seconds"] is not None  # a simulator's times compare with none
    used = [
        (row["figure"], *(number_text(row[name]) for name in ("quoted", "actual")))
        for row in results["quote_versus_actual"]
        if timed or not row["figure"].startswith(("QPU seconds", "seconds", "cost"))
    ]
    console.print(make_table("quoted and used", ["figure", "quoted", "used"], used))
    if report is not None:
        from aqka.report.answers import answer_questions

        for question, words in answer_questions(report).items():
            say(f"{question} {inert(words, limit=None)}")


def _result_rows(results: dict[str, Any]) -> list[tuple[str, str]]:
    found, actual = results["results"], results["actual"]
    seen = ("shots a point", f"{found.get('shots_per_point', 0):,.0f}")
    if "pairs" in found:
        seen = ("pairs seen", f"{found['pairs_seen']:,} of {found['pairs']:,}")
    if not found["predictions"]:
        by_folds = ("accuracy, cross-validated", _figure(found["cross_validated_accuracy"]))
        return [by_folds, seen, ("predictions", "none: trained only")]
    if found.get("task") == "regression":
        scores = [
            (
                "root mean square error",
                f"{figure_text(found['rmse'])} ± {figure_text(found['rmse_error'], 2)}",
            ),
            ("mean absolute error", figure_text(found["mean_absolute_error"])),
            ("R²", f"{found['r2']:.3f}"),
            ("training mean's error", figure_text(found["mean_rmse"])),
        ]
    else:
        count = found["test_points"]
        low, high = share_interval(round(found["accuracy"] * count), count)
        scores = [
            ("accuracy", f"{found['accuracy']:.3f}, 95 %: {low:.2f} to {high:.2f}"),
            ("balanced accuracy", f"{found['balanced_accuracy']:.3f}"),
            ("majority class", f"{found['majority_accuracy']:.3f}"),
            ("settled", f"{sum(found['settled'])} of {count}"),
        ]
    in_all = actual["shots"] + actual.get("calibration_shots", 0) + actual["test_shots"]
    return [
        *scores,
        seen,
        ("shots for predictions", f"{actual['test_shots']:,} of {results['test_shots']:,}"),
        ("shots in all", f"{in_all:,}"),
    ]
