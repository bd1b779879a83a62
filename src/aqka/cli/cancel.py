"""The command ``aqka cancel``: parse, call, print."""

import json
import shlex
from dataclasses import asdict

import typer

from aqka._util.text import inert
from aqka.cli.asking import AllowCode
from aqka.cli.options import AsJson, Run


def cancel(run: Run, allow_code: AllowCode = False, as_json: AsJson = False) -> None:
    """Cancel the jobs of a run that wait in a queue; resume goes on with it.

    Also while another process works on the run, which then stops before its next submission. A job
    that is being run is left alone, and collected when the run is resumed.
    """
    from aqka.cli.live_view import job_text
    from aqka.study.cancel import cancel_run

    found = cancel_run(run, allow_code=allow_code)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    for job in found.jobs:
        typer.echo(job_text(job))
    if not found.jobs:
        typer.echo("no job waits")
    if not found.stopped:
        typer.echo("another process is at work on the run; it stops before its next submission")
    typer.echo(f"Go on with: aqka resume {shlex.quote(inert(run, 300))}")
