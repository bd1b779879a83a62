"""The commands around a run: run, resume, status, watch, cancel. They parse, call, print."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from aqka._util.text import counted, inert
from aqka.cli import options
from aqka.errors import InputError, LedgerError

if TYPE_CHECKING:
    from aqka.backends.base import JobState
    from aqka.planning.quotes import Quote
    from aqka.report.run_report import RunReport
    from aqka.study.carry_out import Watcher
    from aqka.study.directory import Prepared
    from aqka.study.progress import Progress
    from aqka.study.store import StudyRun

LOOK_SECONDS = 0.5
RESUME_SECONDS = 60.0  # that a watcher waits for a run to be resumed

COLOURS = {"learnt": "green", "guessing": "red", "plain": "yellow", "open": "blue"}
AT_REST = ("interrupted", "cancelled", "stopped")


def run(
    study: options.StudyFile,
    output: Annotated[Path | None, typer.Option(help="Directory of the run.")] = None,
    yes: options.Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the quote on its device; submit nothing.")
    ] = False,
    allow_code: options.AllowCode = False,
    as_json: options.AsJson = False,
) -> None:
    """Spend a study's budget; on paid hardware the quote is shown first, and you are asked.

    Exit code 2: bad input; 3: interrupted or cancelled, 4: failed and 7: the ceiling is reached,
    all resumable; 5: another process is using the run; 6: the disk is full.
    """
    from aqka.cli.plan import show_quote
    from aqka.planning.device import HERON
    from aqka.study.carry_out import carry_out
    from aqka.study.directory import check_unused, output_directory, prepare
    from aqka.study.quoting import make_offer

    prepared = prepare(study, allow_code=allow_code)
    if dry_run:
        _, backends, quoted = make_offer(prepared)
        show_quote(quoted, prepared.study.budget.rate, HERON, as_json)
        if not as_json:
            typer.echo(f"On {inert(backends.train.name)}; nothing was submitted.")
        return
    directory = output_directory(prepared.study, study, output)
    check_unused(directory)
    _spend(lambda watcher: carry_out(prepared, directory, watcher), directory, as_json, yes)


def resume(
    run: options.Run,
    yes: options.Yes = False,
    ceiling: Annotated[
        str | None,
        typer.Option(help="In place of the study's: shots, QPU time or money for all of the run."),
    ] = None,
    allow_code: options.AllowCode = False,
    as_json: options.AsJson = False,
) -> None:
    """Resume an interrupted or killed run from its directory. Exit codes as for run."""
    from aqka.study import carry_out
    from aqka.study.directory import RESULTS_NAME, is_held
    from aqka.study.progress import lacks_report
    from aqka.study.store import RunStore, load_study_run

    store = RunStore(run)
    store.prepared(allow_code=allow_code)  # refuses what cannot be resumed
    if not store.complete:
        given: Any = {"ceiling": ceiling, "allow_code": allow_code}
        _spend(lambda watcher: carry_out.resume(store, watcher, **given), run, as_json, yes)
        return
    if lacks_report(store) and not is_held(run):  # a kill may have come before it
        _write_report(load_study_run(store))
    if as_json:
        typer.echo(json.dumps(store.results, indent=2))
    else:
        typer.echo(
            f"{inert(run, 300)} is finished; see {inert(run / RESULTS_NAME, 300)}, or: "
            f"aqka report {options.quoted(run)}"
        )


def status(run: options.Run, as_json: options.AsJson = False) -> None:
    """Show a run's progress and job states, even while another process is running it."""
    from aqka.study.progress import ProgressReader, ask_jobs
    from aqka.study.store import RunStore

    store = RunStore(run)
    now = ask_jobs(store, ProgressReader(store).look())
    if as_json:
        typer.echo(_as_line(now, indent=2))
        return
    Console().print(progress_table(str(run), now))
    if now.resumable:
        typer.echo(f"To continue: aqka resume {options.quoted(run)}")


def watch(
    run: options.Run,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between updates.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per update.")] = False,
) -> None:
    """Show a run live until it ends; it may run in another process or wait for hardware.

    If the run is stopped when the watch begins, it waits up to a minute for it to be resumed.
    """
    from rich.live import Live

    from aqka.study.progress import ProgressReader
    from aqka.study.store import RunStore

    reader = ProgressReader(RunStore(run))
    now = reader.look()
    waits_until = time.monotonic() + RESUME_SECONDS
    if now.state in AT_REST:
        typer.echo(f"{now.state}; waiting for: aqka resume {options.quoted(run)}", err=True)
    with (
        suppress(KeyboardInterrupt),  # the watcher leaves, the run continues
        Live(progress_table(str(run), now), console=Console(quiet=as_json)) as live,
    ):
        while True:
            if as_json:
                typer.echo(_as_line(now))
            rests = now.state in AT_REST
            if not rests:
                waits_until = -math.inf  # seen running: when it stops again, the watch ends
            if now.state == "finished" or (rests and time.monotonic() >= waits_until):
                break
            time.sleep(every)
            now = reader.look()
            live.update(progress_table(str(run), now))


def cancel(
    run: options.Run, allow_code: options.AllowCode = False, as_json: options.AsJson = False
) -> None:
    """Cancel a run's queued jobs; aqka resume continues the run.

    Another process that is running it stops before its next submission. A job that has started is
    left alone, and collected when the run is resumed.
    """
    from aqka.study.carry_out import cancel_run

    found = cancel_run(run, allow_code=allow_code)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    for job in found.jobs:
        typer.echo(job_text(job))
    if not found.jobs:
        typer.echo("No jobs are queued.")
    if not found.stopped:
        typer.echo("Another process is running this; it will stop before its next submission.")
    typer.echo(f"To continue: aqka resume {options.quoted(run)}")


def _spend(
    spend: "Callable[[Watcher], StudyRun]", directory: Path, as_json: bool, yes: bool
) -> None:
    """Run with a live view; if the user or the backend stops it, say how to continue."""
    from threadpoolctl import threadpool_limits

    from aqka.study.carry_out import Watcher
    from aqka.study.directory import REPORT_NAME

    made: list[RunReport | None] = []
    with (
        options.leaving_resumable(directory, f"aqka resume {options.quoted(directory)}"),
        threadpool_limits(1),
        _live(directory) as look,
    ):
        watcher = Watcher(
            confirm=lambda quote, device: options.ask_to_spend(
                options.describe_quote(quote), device, yes
            ),
            on_start=lambda *started: _announce(directory, *started),
            on_round=look,
            # While the run is still held, so that others see that it is not at its end.
            on_results=lambda done: made.append(_write_report(done)),
        )
        done = spend(watcher)
    report, page = made[0], directory / REPORT_NAME
    if as_json:
        from aqka.report.answers import decide

        facts: dict[str, Any] = {"directory": str(directory), "report": None, "verdict": None}
        if report is not None:
            facts |= {"report": str(page), "verdict": decide(report)._asdict()}
        typer.echo(json.dumps(done.results | facts, indent=2))
        return
    if report is not None:
        print_results(report, Console())
    typer.echo(f"Everything is in {inert(directory, 300)}")
    if report is not None:
        typer.echo(f"The report is in {inert(page, 300)}")


def _write_report(done: "StudyRun") -> "RunReport | None":
    """Write the run's report; a run that has its results never fails for it."""
    from aqka.study.directory import REPORT_NAME

    try:
        from aqka.report.run_page import write_report
        from aqka.report.run_report import study_report

        report = study_report(done)
        write_report([report], done.directory / REPORT_NAME)
    except (Exception, KeyboardInterrupt) as error:
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else inert(error, 300)
        again = f"aqka report {options.quoted(done.directory)}"
        options.say(f"No report: {reason or type(error).__name__}. Try: {again}", err=True)
        return None
    return report


def _announce(directory: Path, prepared: "Prepared", quote: "Quote", test_shots: int) -> None:
    unit, count, _ = quote.units
    trained = quote.part("map training").shots
    first = f"{trained:,} shots to train the map, then " if trained else ""
    options.say(
        f"{inert(directory, 300)}: {first}{quote.shots:,} shots for {counted(count, unit)} in "
        f"{counted(quote.submissions, 'submission')}, then at most {test_shots:,} for "
        f"predictions. {quote.split}".rstrip(),
        err=True,
    )
    if prepared.design_reason is not None:
        options.say(inert(prepared.design_reason, 300), err=True)
    for sentence in quote.warnings:
        options.say(f"Warning: {sentence}", err=True)


@contextmanager
def _live(directory: Path) -> Iterator[Callable[[], None]]:
    errors = Console(stderr=True)
    if not errors.is_terminal:
        yield lambda: None
        return
    from rich.console import RenderableType
    from rich.live import Live

    from aqka.study.progress import Progress, ProgressReader
    from aqka.study.store import RunStore

    # Redrawn by a thread, so that the clock keeps running while a job waits. The ledger is read
    # after a round, unless that was just done: rounds on a simulator take milliseconds.
    seen: Progress | str = "starting"
    reader: ProgressReader | None = None
    looked = -math.inf

    def look() -> None:
        nonlocal seen, reader, looked
        if time.monotonic() - looked > LOOK_SECONDS:
            try:  # the directory is made by the run itself
                reader = reader or ProgressReader(RunStore(directory))
                seen = reader.look()
            except (InputError, LedgerError, OSError) as error:  # a view never stops the run
                seen = inert(error, limit=None)
            looked = time.monotonic()

    def drawn() -> RenderableType:
        return Text(seen) if isinstance(seen, str) else progress_table(str(directory), seen)

    with Live(get_renderable=drawn, console=errors, refresh_per_second=2):
        yield look


def _as_line(now: "Progress", indent: int | None = None) -> str:
    facts = {"shots_left": now.shots_left, "resumable": now.resumable}
    return json.dumps(asdict(now) | facts, indent=indent)


def progress_table(title: str, now: "Progress") -> Table:
    """Return one row per figure."""
    return options.make_table(inert(title, 60), ["", ""], progress_rows(now), header=False)


def progress_rows(now: "Progress") -> list[tuple[str, str]]:
    """Return name and value of each figure."""
    from aqka.planning.budget import duration

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
        ("Gini, from counts", "–" if now.gini is None else f"{now.gini:.3f}"),
        ("accuracy, cross-validated", "–" if now.accuracy is None else f"{now.accuracy:.3f}"),
        ("QPU time", duration(now.qpu_seconds) if now.qpu_seconds else "–"),
        # A clock that was put back, or a ledger with a time of its own choosing, is not shown.
        ("last entry", f"{duration(round(passed))} ago" if 0 <= passed < 1e10 else "–"),
        ("time left", "–" if now.seconds_left is None else f"about {duration(now.seconds_left)}"),
    ]


def job_text(job: "JobState") -> str:
    """Return a job's id, state and place in the queue."""
    place = "" if job.queue_position is None else f", place {job.queue_position} in the queue"
    return f"{inert(job.job_id)}: {inert(job.state)}{place}"


def print_results(report: "RunReport", console: Console) -> None:
    """Print the verdict, the figures, what was quoted and used, and what to do next."""
    from aqka.report.answers import answer_questions, decide
    from aqka.report.run_page import key_figures
    from aqka.report.sections import usage_rows

    verdict = decide(report)
    line = Text(inert(verdict.headline, limit=None), style=f"bold {COLOURS[verdict.outcome]}")
    line.append(f": {inert(verdict.reason, limit=None)}", style="default not bold")
    console.print(line, highlight=False, soft_wrap=True)
    figures = [(what.replace("\u00a0", " "), figure) for figure, what in key_figures(report)]
    console.print(options.make_table(None, ["", ""], figures, header=False))
    headings = ["figure", "quoted", "used", "share"]
    console.print(options.make_table("quoted and used", headings, usage_rows(report)))
    for question, words in answer_questions(report).items():
        options.say(f"{question} {inert(words, limit=None)}")
