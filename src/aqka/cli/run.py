"""The commands around a run: run, resume, status, watch. They parse, call, print."""

import json
import math
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from aqka._util.text import inert
from aqka.cli.asking import AllowCode, Yes, confirm_quote
from aqka.cli.options import AsJson, Run
from aqka.cli.stopping import leaving_resumable
from aqka.errors import InputError, LedgerError

if TYPE_CHECKING:
    from aqka.planning.quotes import Quote
    from aqka.report.run_report import RunReport
    from aqka.study.directory import Prepared
    from aqka.study.progress import Progress
    from aqka.study.study_run import StudyRun

LOOK_SECONDS = 0.5
RESUME_SECONDS = 60.0  # that a watcher waits for a run to be taken up again

AT_REST = ("interrupted", "cancelled", "stopped")

app = typer.Typer()


@app.command(epilog="Example: aqka run study.toml --output runs/first")
def run(
    study: Annotated[Path, typer.Argument(help="Study file, in TOML; see aqka init.")],
    output: Annotated[Path | None, typer.Option(help="Directory of the run.")] = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the quote on its device; submit nothing.")
    ] = False,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Spend a study's budget; on paid hardware the quote is shown first, and you are asked.

    Exit code 2: bad input; 3: interrupted or cancelled, 4: failed and 7: the ceiling is reached,
    all resumable; 5: another process is at work on the run; 6: the disk is full.
    """
    from aqka.study.directory import check_unused, output_directory, prepare

    prepared = prepare(study, allow_code=allow_code)
    if dry_run:
        _show_dry_run(prepared, as_json)
        return
    directory = output_directory(prepared.study, study, output)
    check_unused(directory)
    _carry_out(prepared, directory, new=True, as_json=as_json, yes=yes)


@app.command(epilog="Example: aqka resume runs/first")
def resume(
    run: Run,
    yes: Yes = False,
    ceiling: Annotated[
        str | None,
        typer.Option(help="In place of the study's: shots, QPU time or money for all of the run."),
    ] = None,
    allow_code: AllowCode = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted or killed, from its directory. Exit codes: as run."""
    from aqka.study.directory import read_results, read_run
    from aqka.study.progress import has_results, read_begun_history
    from aqka.study.seal import RESULTS_NAME

    prepared = read_run(run, allow_code=allow_code)
    # As a writer: a kill may have left the ledger so that only a writer can open it.
    history = read_begun_history(run, write=True)
    if history is None or not has_results(run, history):
        _carry_out(prepared, run, new=False, as_json=as_json, yes=yes, ceiling=ceiling)
    elif as_json:
        typer.echo(json.dumps(read_results(run), indent=2))
    else:
        typer.echo(
            f"{inert(run, 300)} is finished; see {inert(run / RESULTS_NAME, 300)}, or: "
            f"aqka report {_quoted(run)}"
        )


@app.command(epilog="Example: aqka status runs/first --json")
def status(run: Run, as_json: AsJson = False) -> None:
    """Show where a run stands, also while another process works on it; ask after its jobs."""
    from aqka.cli.live_view import progress_table
    from aqka.study.job_progress import ask_jobs
    from aqka.study.progress import progress

    now = ask_jobs(run, progress(run))
    if as_json:
        typer.echo(json.dumps(_progress_facts(now), indent=2))
        return
    Console().print(progress_table(str(run), now))
    if now.resumable:
        typer.echo(f"Go on with: aqka resume {_quoted(run)}")


@app.command(epilog="Example: aqka watch runs/first")
def watch(
    run: Run,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON a look.")] = False,
) -> None:
    """Show a run live until it ends; it may run in another process or wait for hardware.

    A run that is at rest when the watch begins is waited for, a minute at most.
    """
    from rich.live import Live

    from aqka.cli.live_view import progress_table
    from aqka.study.progress import ProgressReader

    reader = ProgressReader(run)
    now = reader.look()
    waits_until = time.monotonic() + RESUME_SECONDS
    if now.state in AT_REST:
        typer.echo(f"{now.state}; waiting for: aqka resume {_quoted(run)}", err=True)
    try:
        with Live(progress_table(str(run), now), console=Console(quiet=as_json)) as live:
            while True:
                if as_json:
                    typer.echo(json.dumps(_progress_facts(now)))
                if now.state not in AT_REST:
                    waits_until = -math.inf  # seen at work: when it rests again, the watch ends
                if now.state == "finished" or (
                    now.state in AT_REST and time.monotonic() >= waits_until
                ):
                    break
                time.sleep(every)
                now = reader.look()
                live.update(progress_table(str(run), now))
    except KeyboardInterrupt:
        return  # the watcher goes, the run goes on


def _show_dry_run(prepared: "Prepared", as_json: bool) -> None:
    """Show what a study would buy on its device; nothing is submitted or written."""
    from aqka.cli.plan import show_quote
    from aqka.planning.device import HERON
    from aqka.study.carry_out import quote_on_device

    quoted, backends = quote_on_device(prepared)
    show_quote(quoted, prepared.study.budget.rate, HERON, as_json)
    if not as_json:
        typer.echo(f"On {inert(backends.train.name)}; nothing was submitted.")


def _carry_out(
    prepared: "Prepared",
    directory: Path,
    *,
    new: bool,
    as_json: bool,
    yes: bool,
    ceiling: str | None = None,
) -> None:
    """Run with a live view; a stop by the user or the backend tells how to go on."""
    from threadpoolctl import threadpool_limits

    from aqka.cli.results_table import print_results
    from aqka.study.carry_out import carry_out

    errors = Console(stderr=True)
    again = f"aqka resume {_quoted(directory)}"
    made: list[tuple[RunReport, Path]] = []
    with (
        leaving_resumable(directory, again),
        threadpool_limits(1),
        _live(directory, errors) as look,
    ):
        done = carry_out(
            prepared,
            directory,
            new=new,
            on_start=lambda quoted, test: _announce(quoted, test, directory, errors),
            on_round=look,
            confirm=confirm_quote(yes),
            ceiling=ceiling,
            # While the run is still held, so that others see that it is not at its end.
            on_results=lambda done: made.extend(_write_report(done, errors)),
        )
    report, page = made[0] if made else (None, None)
    if as_json:
        places = {"directory": str(directory), "report": None if page is None else str(page)}
        typer.echo(json.dumps(done.results | places | _verdict_facts(report), indent=2))
        return
    print_results(done.results, report, Console())
    typer.echo(f"Everything is in {inert(directory, 300)}")
    if page is not None:
        typer.echo(f"The report is in {inert(page, 300)}")


def _verdict_facts(report: "RunReport | None") -> dict[str, Any]:
    if report is None:
        return {"verdict": None}
    from aqka.report.verdict import decide

    return {"verdict": decide(report)._asdict()}


def _write_report(done: "StudyRun", errors: Console) -> "list[tuple[RunReport, Path]]":
    """Write the run's report; a run that has its results never fails for it."""
    from aqka.study.directory import REPORT_NAME

    directory = done.directory
    try:
        from aqka.report.run_page import write_report
        from aqka.report.run_report import study_report

        target = directory / REPORT_NAME
        report = study_report(done)
        write_report([report], target)
        return [(report, target)]
    except (Exception, KeyboardInterrupt) as error:
        reason = "interrupted" if isinstance(error, KeyboardInterrupt) else inert(error, 300)
        errors.print(
            f"No report: {reason or type(error).__name__}. Try: aqka report {_quoted(directory)}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        return []


def _announce(quote: "Quote", test_shots: int, directory: Path, errors: Console) -> None:
    from aqka.study.directory import read_results

    pairs = f"{quote.n_pairs:,} pairs of " if quote.design == "pairs" else ""
    why = read_results(directory).get("design_reason")  # written before the first shot
    sentences = [
        f"{inert(directory, 300)}: {quote.shots:,} shots for {pairs}{quote.n_points} points in "
        f"{quote.submissions} submissions, then at most {test_shots:,} for predictions. "
        f"{quote.split}".rstrip(),
        *([] if why is None else [inert(why, 300)]),
        *(f"Warning: {sentence}" for sentence in quote.warnings),
    ]
    for sentence in sentences:
        errors.print(sentence, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def _live(directory: Path, errors: Console) -> Iterator[Callable[[], None] | None]:
    """Show the run's progress while it goes on, where somebody watches."""
    if not errors.is_terminal:
        yield None
        return
    from rich.console import RenderableType
    from rich.live import Live
    from rich.text import Text

    from aqka.cli.live_view import progress_table
    from aqka.study.progress import Progress, ProgressReader

    # Redrawn by a thread, so that the clock goes on while a job waits. The ledger is read after
    # a round, if the last look is a moment ago: rounds on a simulator take milliseconds.
    seen: list[Progress | str] = ["starting"]
    looked = [-math.inf]
    reader: list[ProgressReader] = []

    def look() -> None:
        if time.monotonic() - looked[0] > LOOK_SECONDS:
            try:
                if not reader:  # the directory is made by the run itself
                    reader.append(ProgressReader(directory))
                seen[0] = reader[0].look()
            except (InputError, LedgerError, OSError) as error:  # a view never stops the run
                seen[0] = inert(error, limit=None)
            looked[0] = time.monotonic()

    def drawn() -> RenderableType:
        now = seen[0]
        return Text(now) if isinstance(now, str) else progress_table(str(directory), now)

    with Live(get_renderable=drawn, console=errors, refresh_per_second=2):
        yield look


def _progress_facts(now: "Progress") -> dict[str, Any]:
    derived = {"shots_left": now.shots_left, "resumable": now.resumable}
    return asdict(now) | derived


def _quoted(path: Path) -> str:
    return shlex.quote(inert(path, 300))
